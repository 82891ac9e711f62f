/** `serve`: runs the gateway until a signal, then drains. Reloads the configuration when its file changes, and on SIGHUP. */
import closeWithGrace from 'close-with-grace'
import { AgentSources } from '#agents/sources/sources.js'
import type { LoadResult } from '#config/load.js'
import { formatDiagnostic, mergeOverrides, overridesFromEnvironment } from '#config/load.js'
import type { Config } from '#config/model/model.js'
import { workersOf } from '#server/cluster/how-many.js'
import { lowerPriorityOfEngineThreads, setEngineFlags } from '#engine.js'
import { readConfiguration } from '#offline/configuration.js'
import { FollowedConfiguration } from '#server/followed-configuration.js'
import { startGateway } from '#server/start.js'
import type { Output } from './output.js'
import { unusableConfiguration } from './reports/configuration-problems.js'
import { reportFailure, usageProblem } from './reports/failure.js'
import type { Gateway } from '#server/about.js'
import { errorCode, listenCode, withCode } from '#operator-errors.js'

export interface ServeArguments {
  readonly config: string | null
  readonly upstream: string | undefined
  readonly listen: string | undefined
  readonly admin: string | undefined
  readonly env: NodeJS.ProcessEnv
}

const NO_TARGET = 'nothing to run: name a configuration (a2a-gateway serve FILE) or an agent (--upstream URL); there is no ./gateway.yaml'

/** Errors that no guard of a call or a connection has caught (src/guard.ts). */
const UNKNOWN = ['uncaughtException', 'unhandledRejection'] as const

/**
 * Runs the command.
 * @returns exit code: 0 after a drained stop, 1 when the gateway could not start, 2 when the arguments or the environment do not name what
 * to run, or a file that cannot be read
 */
export async function runServe (args: ServeArguments, io: Output): Promise<number> {
  setEngineFlags()
  lowerPriorityOfEngineThreads()
  const { env } = args
  const overrides = mergeOverrides({ upstream: args.upstream, listen: args.listen, admin: args.admin }, overridesFromEnvironment(env))
  const file = args.config ?? (env.A2A_GATEWAY_CONFIG || null)
  if (file === null && overrides.upstream === undefined) {
    reportFailure('serve', [usageProblem(NO_TARGET)], false, io)
    return 2
  }
  // A change of the agents that sources have found is read and put in force like a change of the file.
  const sources: AgentSources | null = file === null ? null : new AgentSources(file, () => { followed?.reread() })
  const load = (): LoadResult => readConfiguration({ file, env, overrides, discovered: sources?.discovered() })
  const followed = file === null ? null : new FollowedConfiguration(file, load)
  let loaded = followed?.first ?? load()
  if (loaded.ok && loaded.config.agentSources.length > 0) {
    await sources?.use(loaded.config, loaded.leftOut)
    loaded = load()
    if (loaded.ok) await sources?.use(loaded.config, loaded.leftOut)
  }
  if (!loaded.ok) {
    followed?.close()
    sources?.close()
    const { problems, usage } = unusableConfiguration(file, loaded)
    reportFailure('serve', problems, false, io)
    return usage ? 2 : 1
  }
  for (const warning of loaded.warnings) io.err(`warning: ${formatDiagnostic(warning)}`)
  const { config } = loaded
  const logError = (message: unknown): void => {
    io.err(`a2a-gateway serve: ${message instanceof Error ? (message.stack ?? message.message) : String(message)}`)
  }
  const starting = start(config, env, sources)
  if (followed !== null) {
    followed.follow(now => {
      if (now.ok) sources?.use(now.config, now.leftOut).catch(logError)
      reload(starting, now).catch(logError)
    })
    process.on('SIGHUP', () => { followed.reread() })
  }
  return await new Promise<number>(resolve => {
    // Handle signals from the start. A normal stop takes no longer than the drain time; after the delay the process exits in any case.
    let failed = false
    const grace = closeWithGrace(
      {
        delay: config.server.drainTimeout + 10_000,
        skip: [
          ...UNKNOWN, ...file === null ? [] : ['SIGHUP' as const]
        ],
        logger: { error: logError }
      },
      async () => {
        followed?.close()
        sources?.close()
        const gateway = await starting
        await gateway.close()
        // close-with-grace exits with 0.
        if (failed) process.exit(1)
        resolve(0)
      }
    )
    // Calls in flight get the drain time to end, whatever else fails meanwhile: close-with-grace would exit at a second error.
    const fail = (error: unknown): void => {
      logError(error)
      if (failed) return
      failed = true
      grace.close()
    }
    for (const event of UNKNOWN) process.on(event, fail)
    starting.catch(error => {
      grace.uninstall()
      followed?.close()
      sources?.close()
      reportStart(error, io)
      resolve(1)
    })
  })
}

/** Starts the gateway. Loads the code for several processes only when there are several. */
async function start (config: Config, env: NodeJS.ProcessEnv, sources: AgentSources | null): Promise<Gateway> {
  const workers = workersOf(config.server.workers)
  if (workers === 1) return await startGateway(config, { env, sources, warmUp: true })
  const { startCluster } = await import('#server/cluster/primary.js')
  return await startCluster(config, workers, env, sources)
}

async function reload (starting: Promise<Gateway>, loaded: LoadResult): Promise<void> {
  // The reason of a failed start is reported elsewhere.
  const gateway = await starting.catch(() => null)
  if (loaded.ok) await gateway?.reload(loaded.config, loaded.warnings.map(formatDiagnostic))
  else gateway?.reject(loaded.problems)
}

/** An error without a code is none of the operator, or one of Node that has no better words. */
function reportStart (error: unknown, io: Output): void {
  io.err(withCode(`a2a-gateway serve: ${startProblem(error)}`, errorCode(error) ?? listenCode(error)))
}

function startProblem (error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if ('code' in error && 'address' in error && 'port' in error) {
    const at = `${String(error.address)}:${String(error.port)}`
    if (error.code === 'EADDRINUSE') return `the address ${at} is already in use; choose another with --listen or --admin`
    if (error.code === 'EACCES') return `the address ${at} needs privileges that the process does not have; choose a port above 1023`
    if (error.code === 'EADDRNOTAVAIL') return `the address ${at} does not belong to this machine; choose another with --listen or --admin`
  }
  return error.message
}
