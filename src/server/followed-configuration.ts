/** A configuration that is read again whenever one of its files changes. */
import type { LoadResult } from '#config/load.js'
import type { Config } from '#config/model/model.js'
import { cardKeyFiles } from '#agents/card/key-files.js'
import { identityFiles } from '#agents/identity/identity.js'
import { credentialSecretFiles } from '#config/credential-secrets.js'
import { secretFiles } from '#config/secrets.js'
import { FileWatch } from '#config/watch.js'

export class FollowedConfiguration {
  readonly first: LoadResult
  private readonly file: string
  private readonly load: () => LoadResult
  private readonly watch: FileWatch
  private good: Config | null = null
  private changed: ((now: LoadResult) => void) | null = null

  /** Reads the file. @param load reads the file and everything that the file names */
  constructor (file: string, load: () => LoadResult) {
    this.file = file
    this.load = load
    // Watch the file before reading it, so that no change in between is missed.
    this.watch = new FileWatch([file], () => { this.reread() })
    this.first = load()
  }

  /** @param changed called with each later configuration, valid or not */
  follow (changed: (now: LoadResult) => void): void {
    this.changed = changed
    this.watchFilesOf(this.first)
  }

  /** Reads the files again now. */
  reread (): void {
    if (this.changed === null) return
    // Acknowledge before reading, so that a change during the read is detected.
    this.watch.acknowledge()
    const now = this.load()
    this.watchFilesOf(now)
    this.changed(now)
  }

  close (): void {
    this.changed = null
    this.watch.close()
  }

  private watchFilesOf (now: LoadResult): void {
    if (now.ok) this.good = now.config
    this.watch.follow([this.file, ...this.good === null ? [] : filesRead(this.good), ...now.files])
  }
}

/** Returns the files that a running gateway has read. Card files are missing, because the gateway re-reads them itself. */
function filesRead (config: Config): string[] {
  const tls = config.agents.flatMap(({ upstream }) => [upstream.tls.ca, upstream.tls.cert, upstream.tls.key]).filter(name => name !== null)
  const { tls: own } = config.server
  const listener = own === null ? [] : [own.cert, own.key, own.clientCa].filter(name => name !== null)
  const ofAgents = config.agents.flatMap(agent => [
    ...secretFiles(agent), ...cardKeyFiles(agent.card), ...credentialSecretFiles(agent.upstream.credentials),
    ...(agent.card.lock === null ? [] : [agent.card.lock])
  ])
  return [...tls, ...listener, ...identityFiles(config.identity), ...ofAgents]
}
