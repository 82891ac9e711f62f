import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ConsoleHandler } from '../console/handler.js'
import type { ConsoleSource } from '../console/source.js'
import { fastify, LogController, NO_SCHEMAS } from '../framework.js'
import { hostProblem } from './host-guard.js'

/** How many agents must be callable for a gateway to be ready. */
export type Enough = 'all' | 'any'

/** What the admin listener reports. Asked on every request. */
export interface AdminState {
  /** false = the process cannot recover and should be restarted. */
  live (): boolean
  /** Whether calls may be sent here, to all agents or to any of them; `reasons` say why not. */
  ready (agents: Enough): { ready: boolean, reasons: string[] }
  /** Whatever `/agents` should show, or a promise of it; must be serialisable and hold no secrets. */
  agents (): unknown
}

export interface AdminOptions {
  readonly state: AdminState
  readonly metrics: { text (): Promise<string>, readonly contentType: string }
  readonly log: FastifyBaseLogger
  /** What the page under `/console/` shows; null where there is none. Default null. */
  readonly console?: ConsoleSource | null
  /** Names, beside addresses and localhost, by which agents and console may be asked for. Default: none. */
  readonly names?: ReadonlySet<string>
  /** Serves probes and metrics only: `server.metrics`. Default false. */
  readonly probesOnly?: boolean
}

const PROBES = ['/livez', '/readyz', '/metrics']
const NO_NAMES: ReadonlySet<string> = new Set()
const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * The second listener: probes, metrics, the state of every agent, and the console. Never exposed on the main one. It changes nothing; only the
 * console sends calls to agents, where that is turned on.
 */
export function buildAdmin (options: AdminOptions): FastifyInstance {
  const { state, metrics, log, console: source = null, names = NO_NAMES, probesOnly = false } = options
  const endpoints = probesOnly ? PROBES : [...PROBES, '/agents']
  const app = fastify({
    loggerInstance: log,
    // Probes and scrapes come every few seconds.
    logController: new LogController({ disableRequestLogging: true }),
    schemaController: NO_SCHEMAS,
    bodyLimit: 1_024,
    requestTimeout: 10_000,
    frameworkErrors: (_error, _request, reply) => { badRequest(reply as unknown as FastifyReply) }
  })

  const notFound = (_request: FastifyRequest, reply: FastifyReply): FastifyReply => reply.code(404).send({ error: 'not found', endpoints })
  const handler = source === null || probesOnly ? null : lazily(source, app)

  // Before any body is read: nothing here takes one but the console, which reads for itself.
  app.addHook('onRequest', async (request: FastifyRequest, reply: FastifyReply) => {
    if (handler !== null && /^\/(?:console(?:[/?]|$)|$|\?)/.test(request.url)) {
      reply.hijack()
      return handler(request.raw, reply.raw, hostProblem(request.headers.host, names))
    }
    reply.header('cache-control', 'no-store')
    if (request.method === 'GET' || request.method === 'HEAD') return
    if (!endpoints.includes(request.url.split('?', 1)[0] as string)) return notFound(request, reply)
    return reply.code(405).header('allow', 'GET, HEAD').send({ error: 'method not allowed', allow: ['GET', 'HEAD'] })
  })

  app.get('/livez', async (_request, reply) => {
    const live = state.live()
    return reply.code(live ? 200 : 503).send({ status: live ? 'ok' : 'not ok' })
  })

  app.get('/readyz', async (request, reply) => {
    const { agents = 'all' } = request.query as { agents?: unknown }
    if (agents !== 'all' && agents !== 'any') return reply.code(400).send({ error: 'agents must be "all" or "any"' })
    const { ready, reasons } = state.ready(agents)
    // Problems name addresses. Whoever asks by any name, as probes may, learns which agent to look at.
    const open = probesOnly || hostProblem(request.headers.host, names) !== null
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready', reasons: open ? reasons.map(withoutDetails) : reasons })
  })

  app.get('/metrics', async (_request, reply) => {
    const text = await metrics.text()
    return reply.header('content-type', metrics.contentType).send(text)
  })

  if (!probesOnly) {
    app.get('/agents', async (request, reply) => {
      const rejected = hostProblem(request.headers.host, names)
      if (rejected !== null) return reply.code(rejected.status).send({ error: rejected.error })
      return reply.header('content-type', JSON_TYPE).send(JSON.stringify(await state.agents(), null, 2) + '\n')
    })
  }

  app.setNotFoundHandler(notFound)
  app.setErrorHandler((err, request, reply) => {
    request.log.error({ err }, 'An admin request failed.')
    return reply.code(500).header('cache-control', 'no-store').send({ error: 'internal error' })
  })
  return app
}

/** The console's code is loaded when somebody looks: a start has other things to do. */
function lazily (source: ConsoleSource, app: FastifyInstance): ConsoleHandler['handle'] {
  let loading: Promise<ConsoleHandler> | null = null
  // Else the listener would wait for pages that are open.
  app.addHook('preClose', async () => { (await loading)?.close() })
  return (request, response, rejected) => {
    loading ??= import('../console/handler.js').then(({ consoleHandler }) => consoleHandler(source, app.log))
    loading.then(({ handle }) => { handle(request, response, rejected) }, (error: unknown) => {
      app.log.error({ err: error }, 'the console cannot be loaded')
      response.destroy()
    })
  }
}

/** A target the router cannot read, such as `/%zz`: hooks do not run for it. */
function badRequest (reply: FastifyReply): void {
  reply.code(400).header('cache-control', 'no-store').send({ error: 'bad request' })
}

function withoutDetails (reason: string): string {
  return reason.replace(/^(agent [a-z0-9-]+): .*$/s, '$1: not ready; /agents on the admin listener says why')
}
