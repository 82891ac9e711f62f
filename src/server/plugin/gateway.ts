/** `a2aGateway`: the gateway in another team's Fastify application, behind that application's own hooks. */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Writable } from 'node:stream'
import { Server as TlsServer } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import { diagnostic } from '#config/diagnostics.js'
import { withoutGrpc } from '#config/listeners/resolve-grpc.js'
import type { Diagnostic, LoadResult } from '#config/load.js'
import { formatDiagnostic, parseConfig, printDiagnostic } from '#config/load.js'
import { HttpFront, sharedFront } from '#front/http/plugin.js'
import { logEngine } from '../about.js'
import { CHECKS, readConfiguration } from '#offline/configuration.js'
import { FollowedConfiguration } from '../followed-configuration.js'
import { Reloads } from '../reload.js'
import type { Runtime } from '../runtime.js'
import { buildRuntime, hasPassthrough } from '../runtime.js'
import type { HostPort } from '#config/model/listener-model.js'
import type { ErrorCode } from '#operator-errors.js'
import { OperatorError } from '#operator-errors.js'

export interface A2aGatewayOptions {
  /** Path of the configuration file, or the configuration as an object with the keys of the file. */
  readonly config: string | Readonly<Record<string, unknown>>
  /** Variables for `${NAME}` in the configuration. Default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv
  /** Applies changes of the file, and of the files that it names, while the application runs. Default: true. */
  readonly watch?: boolean
  /** Destination of the gateway's log lines. Default: stdout. */
  readonly logs?: Writable
  /** Destination of audit lines. Default: stdout. */
  readonly audit?: Writable
}

/** An error of the plugin. */
export interface A2aGatewayError extends Error {
  /** docs/reference/operator-errors.md */
  readonly code: ErrorCode
  /** The problems of a configuration that cannot be used. The message lists them, one on each line. */
  readonly problems?: readonly Diagnostic[]
}

const runtimes = new WeakMap<Server, Runtime>()

/** @returns the gateway of the application, or null */
export function runtimeIn (app: FastifyInstance): Runtime | null {
  return runtimes.get(app.server) ?? null
}

/**
 * A Fastify plugin, encapsulated. Adds a wildcard route for the path of each agent; the application's hooks run before the gateway.
 * @throws {A2aGatewayError} when the configuration or the application cannot be used
 */
export async function a2aGateway (app: FastifyInstance, options: A2aGatewayOptions): Promise<void> {
  const problem = problemOf(app, options)
  if (problem !== null) throw new OperatorError(problem.code, `a2aGateway: ${problem.message}`)
  const { config: from, env = process.env, watch = true, logs, audit } = options
  const load = (): LoadResult => overHttp(typeof from === 'string'
    ? readConfiguration({ file: from, env, overrides: {} })
    : parseConfig(JSON.stringify(from), { file: 'options.config', baseDir: process.cwd(), env, checks: CHECKS }))
  const followed = typeof from === 'string' && watch ? new FollowedConfiguration(from, load) : null
  app.addHook('onClose', () => { followed?.close() })
  const loaded = followed?.first ?? load()
  if (!loaded.ok) {
    followed?.close()
    const problems = typeof from === 'string' ? loaded.problems : loaded.problems.map(problem => ({ ...problem, line: 0, col: 0 }))
    const message = `a2aGateway: the configuration cannot be used:\n${problems.map(printDiagnostic).join('\n')}`
    throw Object.assign(new OperatorError('A2AGW_ERR_CONFIG_INVALID', message), { problems })
  }
  const { config } = loaded
  // By default, Node silently drops headers beyond 2000. `maxHeaderSize` already bounds their bytes.
  app.server.maxHeadersCount ??= 0

  const runtime = await buildRuntime(config, { env, ...logs === undefined ? {} : { logs }, ...audit === undefined ? {} : { audit } })
  const { registry, services, services: { log, metrics, inFlight } } = runtime
  const front = await HttpFront.create({
    services,
    snapshot: () => registry.snapshot,
    passthrough: hasPassthrough(config),
    directory: config.server.console.public
  })
  const reloads = new Reloads({ registry, metrics, log, apply: runtime.apply })
  runtimes.set(app.server, runtime)
  metrics.read('config_info', () => [[config.hash, 1]])
  logEngine(log)
  for (const warning of loaded.warnings) log.warn({}, formatDiagnostic(warning))
  const paths = [...new Set(config.agents.map(agent => agent.path))]
  await app.register(sharedFront, { front, paths })

  const reload = async (now: LoadResult): Promise<void> => {
    if (!now.ok) {
      reloads.reject(now.problems)
      return
    }
    const { ok } = await reloads.reload(now.config, now.warnings.map(formatDiagnostic))
    if (!ok) return
    for (const { name, path } of registry.config.agents) {
      if (!paths.includes(path)) {
        log.warn(
          { agent: name },
          `agent ${name}: the application has no route for ` +
            `${path === '' ? '/' : path} until it restarts: Fastify adds no routes after its start`
        )
      }
    }
  }
  app.addHook('onReady', async () => {
    await registry.start()
    followed?.follow(now => {
      reload(now).catch((error: unknown) => {
        log.error({ err: error }, 'the configuration could not be reloaded')
      })
    })
  })
  app.addHook('preClose', async () => {
    followed?.close()
    await Promise.all([inFlight.drain(config.server.drainTimeout), reloads.close()])
  })
  app.addHook('onClose', async () => {
    await front.close()
    await runtime.close()
    await runtime.logsSent()
  })
}

const NO_GRPC = 'server.grpc and grpc.listen of agents have no effect in an application: its listener has no gRPC, so the served cards name none'
const NO_MESH = 'server.mesh has no effect in an application: only serve has a listener for a mesh'
const NO_SOURCES = 'agentSources has no effect in an application: only serve reads sources of agents'

/** The application listens, without gRPC and for no mesh: cards must not name an address at which nothing listens. */
function overHttp (result: LoadResult): LoadResult {
  if (!result.ok) return result
  const { agentSources, server: { grpc, mesh } } = result.config
  const useless = [
    ...(grpc === null ? [] : [NO_GRPC]),
    ...(mesh === null ? [] : [NO_MESH]),
    ...(agentSources.length === 0 ? [] : [NO_SOURCES])
  ]
  if (useless.length === 0) return result
  const warnings = useless.map(message => diagnostic('a2aGateway', 0, 0, { message }))
  return { ...result, config: withoutGrpc(result.config), warnings: [...result.warnings, ...warnings] }
}

/** @returns where the application listens, or null before that and on a Unix socket */
export function addressOf (app: FastifyInstance): HostPort | null {
  const address = app.server.address() as AddressInfo | string | null
  return address === null || typeof address === 'string' ? null : { host: address.address, port: address.port }
}

export function isTls (app: FastifyInstance): boolean {
  return app.server instanceof TlsServer
}

function problemOf (app: FastifyInstance, { config }: A2aGatewayOptions): { readonly code: ErrorCode, readonly message: string } | null {
  const options = (message: string) => ({ code: 'A2AGW_ERR_PLUGIN_OPTIONS', message }) as const
  const application = (message: string) => ({ code: 'A2AGW_ERR_PLUGIN_APPLICATION', message }) as const
  if (typeof config !== 'string' && (typeof config !== 'object' || config === null)) {
    return options('the option config is missing; set it to the path of the configuration file, or to an object with the keys of the file')
  }
  if (app.prefix !== '') return options(`remove the prefix ${app.prefix}; the configuration has the path of each agent (agents[].path)`)
  if (runtimes.has(app.server)) return application('the application has a gateway already; put all agents into one configuration')
  if (app.initialConfig.http2 === true) {
    return application('the application speaks HTTP/2, which the gateway does not support; terminate HTTP/2 in front of the application')
  }
  if ((app.server as Server & { readonly insecureHTTPParser?: boolean }).insecureHTTPParser === true) {
    return application('the application uses the option insecureHTTPParser; the gateway needs the strict parser of Node')
  }
  return null
}
