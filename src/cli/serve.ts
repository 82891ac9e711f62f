/** `serve`: runs the gateway until a signal, then drains. */
import closeWithGrace from 'close-with-grace'
import type { LoadResult } from '../config/load.js'
import { defaultConfig, formatDiagnostic, loadConfig, mergeOverrides, overridesFromEnvironment } from '../config/load.js'
import { startGateway } from '../gateway/start.js'
import type { Output } from './output.js'

export interface ServeArguments {
  readonly config: string | null
  readonly upstream: string | undefined
  readonly listen: string | undefined
  readonly admin: string | undefined
  readonly env: NodeJS.ProcessEnv
}

/** @returns the exit code: 0 after a drained stop, 1 when the gateway could not start */
export async function runServe (args: ServeArguments, io: Output): Promise<number> {
  const { env } = args
  const overrides = mergeOverrides({ upstream: args.upstream, listen: args.listen, admin: args.admin }, overridesFromEnvironment(env))
  const file = args.config ?? (env.A2A_GATEWAY_CONFIG || null)
  const loaded: LoadResult = file === null ? defaultConfig({ env, overrides }) : loadConfig({ file, env, overrides })
  if (!loaded.ok) {
    for (const problem of loaded.problems) io.err(formatDiagnostic(problem))
    return 1
  }
  for (const warning of loaded.warnings) io.err(`warning: ${formatDiagnostic(warning)}`)
  const { config } = loaded
  const starting = startGateway(config, { env })
  return await new Promise<number>(resolve => {
    const say = (message: unknown): void => { io.err(`a2a-gateway: ${message instanceof Error ? message.stack ?? message.message : String(message)}`) }
    // Signals count from the first moment. A stop that works is done well within the drain time; past the delay the process ends anyway.
    const grace = closeWithGrace({ delay: config.server.drainTimeout + 10_000, logger: { error: say } }, async ({ err }) => {
      if (err !== undefined) say(err)
      const gateway = await starting
      await gateway.close()
      resolve(err === undefined ? 0 : 1)
    })
    starting.catch(error => {
      grace.uninstall()
      io.err(`a2a-gateway: ${startProblem(error)}`)
      resolve(1)
    })
  })
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
