/** `serve`: runs the gateway until a signal, then drains. Reloads the configuration when its file changes, and on SIGHUP. */
import closeWithGrace from 'close-with-grace'
import type { LoadResult } from '../config/load.js'
import { formatDiagnostic, mergeOverrides, overridesFromEnvironment } from '../config/load.js'
import type { Config } from '../config/model/model.js'
import { secretFiles } from '../config/secrets.js'
import { FileWatch } from '../config/watch.js'
import { workersOf } from '../cluster/how-many.js'
import { setEngineFlags } from '../engine.js'
import type { Gateway } from '../gateway/start.js'
import { startGateway } from '../gateway/start.js'
import { readConfiguration } from './configuration.js'
import type { Output } from './output.js'

export interface ServeArguments {
  readonly config: string | null
  readonly upstream: string | undefined
  readonly listen: string | undefined
  readonly admin: string | undefined
  readonly env: NodeJS.ProcessEnv
}

/**
 * Runs the command.
 * @returns exit code: 0 after a drained stop, 1 when the gateway could not start
 */
export async function runServe (args: ServeArguments, io: Output): Promise<number> {
  setEngineFlags()
  const { env } = args
  const overrides = mergeOverrides({ upstream: args.upstream, listen: args.listen, admin: args.admin }, overridesFromEnvironment(env))
  const file = args.config ?? (env.A2A_GATEWAY_CONFIG || null)
  const load = (): LoadResult => readConfiguration({ file, env, overrides })
  let changed = (): void => {}
  // Watch the file before reading it, so that no change in between is missed.
  const watch = file === null ? null : new FileWatch([file], () => { changed() })
  const loaded = load()
  if (!loaded.ok) {
    watch?.close()
    for (const problem of loaded.problems) io.err(formatDiagnostic(problem))
    return 1
  }
  for (const warning of loaded.warnings) io.err(`warning: ${formatDiagnostic(warning)}`)
  const { config } = loaded
  const say = (message: unknown): void => { io.err(`a2a-gateway: ${message instanceof Error ? message.stack ?? message.message : String(message)}`) }
  const starting = start(config, env)
  if (file !== null && watch !== null) {
    let good = config
    const follow = (now: LoadResult): void => { watch.follow([file, ...filesRead(now.ok ? now.config : good), ...now.files]) }
    follow(loaded)
    changed = () => {
      // Acknowledge before reading, so that a change during the read is detected.
      watch.acknowledge()
      const now = load()
      follow(now)
      if (now.ok) good = now.config
      reload(starting, now).catch(say)
    }
    process.on('SIGHUP', () => { changed() })
  }
  return await new Promise<number>(resolve => {
    // Handle signals from the start. A normal stop takes no longer than the drain time; after the delay the process exits in any case.
    const grace = closeWithGrace({ delay: config.server.drainTimeout + 10_000, skip: file === null ? [] : ['SIGHUP'], logger: { error: say } }, async ({ err }) => {
      if (err !== undefined) say(err)
      watch?.close()
      const gateway = await starting
      await gateway.close()
      resolve(err === undefined ? 0 : 1)
    })
    starting.catch(error => {
      grace.uninstall()
      watch?.close()
      io.err(`a2a-gateway: ${startProblem(error)}`)
      resolve(1)
    })
  })
}

/** Starts the gateway. Loads the code for several processes only when there are several. */
async function start (config: Config, env: NodeJS.ProcessEnv): Promise<Gateway> {
  const workers = workersOf(config.server.workers)
  if (workers === 1) return await startGateway(config, { env })
  const { startCluster } = await import('../cluster/primary.js')
  return await startCluster(config, workers, env)
}

async function reload (starting: Promise<Gateway>, loaded: LoadResult): Promise<void> {
  // The reason of a failed start is reported elsewhere.
  const gateway = await starting.catch(() => null)
  if (loaded.ok) await gateway?.reload(loaded.config, loaded.warnings.map(formatDiagnostic))
  else gateway?.reject(loaded.problems.map(formatDiagnostic))
}

/** Returns the files that a running gateway has read. Card files are missing, because the gateway re-reads them itself. */
function filesRead (config: Config): string[] {
  const tls = config.agents.flatMap(({ upstream }) => [upstream.tls.ca, upstream.tls.cert, upstream.tls.key]).filter(name => name !== null)
  return [...tls, ...secretFiles(config.agents.flatMap(({ policies }) => policies))]
}

function startProblem (error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if ('code' in error && 'address' in error && 'port' in error) {
    const at = `${String(error.address)}:${String(error.port)}`
    if (error.code === 'EADDRINUSE') return `the address ${at} is taken; choose another with --listen or --admin`
    if (error.code === 'EACCES') return `the address ${at} may not be used; choose a port above 1023`
    if (error.code === 'EADDRNOTAVAIL') return `the address ${at} is not one of this machine; choose another with --listen or --admin`
  }
  return error.message
}
