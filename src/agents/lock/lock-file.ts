/** The lock file of agents, `agents.lock` beside the configuration: the agents that somebody has agreed to. */
import { readFileSync } from 'node:fs'
import { parseStrict } from '#wire/json/json.js'
import { isObject } from '#wire/json/object.js'

export interface LockedAgent {
  /** URL of the card. */
  readonly url: string
  /** `sha256:` and the digest of the card in hex. */
  readonly digest: string
  /** URIs of the extensions that the card requires. */
  readonly requires: readonly string[]
  readonly pinnedAt: string
  readonly pinnedBy: string
}

export interface LockFile {
  /** By name of the agent. */
  readonly agents: Readonly<Record<string, LockedAgent>>
}

/**
 * Reads the lock file. A file that does not exist locks nothing.
 * @throws Error with a readable message when the file cannot be read
 */
export function readLockFile (path: string): LockFile {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { agents: {} }
    throw error
  }
  const parsed = parseStrict(bytes, { depth: 8, members: 200_000 })
  const agents = parsed.ok && isObject(parsed.value) ? parsed.value['agents'] : null
  if (!isObject(agents)) throw new Error(`${path} is not a lock file: it has no "agents"`)
  return {
    agents: Object.fromEntries(Object.entries(agents).map(([name, entry]) => {
      const { url, digest, requires, pinnedAt, pinnedBy } = isObject(entry) ? entry : {}
      if (typeof url !== 'string' || typeof digest !== 'string') throw new Error(`${path}: agents.${name} needs url and digest`)
      const uris = Array.isArray(requires) ? requires.filter(uri => typeof uri === 'string') : []
      return [name, { url, digest, requires: uris, pinnedAt: String(pinnedAt), pinnedBy: String(pinnedBy) }]
    }))
  }
}
