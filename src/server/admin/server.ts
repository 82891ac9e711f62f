import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyError, FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { Limits } from '#config/model/model.js'
import { HEADERS, readProblem, writeProblem } from '#console/guard.js'
import type { ConsoleHandler } from '#console/handler.js'
import type { ConsoleSource } from '#console/source.js'
import { guarded, listenOnce, ownerOf } from '#guard.js'
import { fastify, LogController, NO_SCHEMAS } from '#framework.js'
import { framingFault } from '#pipeline/guard.js'
import { duplicatedHeader } from '#wire/headers.js'
import { acceptsOpenMetrics, OPEN_METRICS } from '#telemetry/metrics/open-metrics.js'
import type { AdminAccess, SignIn } from './access.js'
import { docsRoutes } from './docs.js'
import { hostProblem } from './host-guard.js'
import { parseJson } from '#wire/json/parse-json.js'

/** Number of agents that must be callable before the gateway is ready: all of them, or any. */
export type Enough = 'all' | 'any'

/** The state that the admin listener reports. Read at every request. */
export interface AdminState {
  /** false = the process cannot recover and should be restarted. */
  live (): boolean
  /** True when the gateway accepts calls to all agents, or to any agent; `reasons` explain why not. */
  ready (agents: Enough): { ready: boolean, reasons: string[] }
  /** The content of `/agents`, or a promise of it; must be serialisable and hold no secrets. */
  agents (): unknown
  /** The content of `/agent-sources`, default `[]`; must be serialisable and hold no secrets. */
  sources? (): unknown
}

/** Limits of a listener of its own: those of the main listener, below the bounds of this file. */
export type AdminLimits = Pick<Limits, 'headersTimeout' | 'requestTimeout' | 'idleTimeout' | 'connections'>

export interface AdminOptions {
  readonly state: AdminState
  readonly metrics: {
    text (): Promise<string>
    readonly contentType: string
    /** Null when the process does not serve the format. */
    openMetrics? (): Promise<string | null>
  }
  readonly log: FastifyBaseLogger
  /** The source of the page under `/console/`; null for no console. Default null. */
  readonly console?: ConsoleSource | null
  /** Host names, other than IP addresses and localhost, under which agents and console are served. Default: none. */
  readonly names?: ReadonlySet<string>
  /** Who may use `/agents` and the console. Default: everybody. */
  readonly access?: AdminAccess
  /** Serves only probes and metrics, for `server.metrics`. Default false. */
  readonly probesOnly?: boolean
}

const PROBES = ['/livez', '/readyz', '/metrics']
const NO_HOST_NAMES: ReadonlySet<string> = new Set()
/** Data of the console, below the prefix of the admin routes. */
const API = '/console/api/'
const SESSION = '/console/api/session'
/** Longest time to receive a request, ms. */
const REQUEST_TIMEOUT = 10_000
/** Connections at once: probes, scrapes and browsers. */
const CONNECTIONS = 256
/** Time between two checks of the access to an open stream, ms. */
const RECHECK = 5_000
const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Builds the second listener: probes, metrics, the state of every agent, and the console. The main listener never serves these. The
 * listener changes no state. Only the console sends calls to agents, when that is enabled.
 */
export function buildAdmin (options: AdminOptions, limits: AdminLimits): FastifyInstance {
  const app = fastify({
    loggerInstance: options.log,
    // No request log: probes and scrapes arrive every few seconds.
    logController: new LogController({ disableRequestLogging: true }),
    schemaController: NO_SCHEMAS,
    serverFactory: listener => serverOf(listener as RequestListener, limits),
    exposeHeadRoutes: false,
    frameworkErrors: (_error, _request, reply) => { badRequest(reply as unknown as FastifyReply) }
  })
  app.register(adminRoutes, { ...options, ownApp: true })
  app.setNotFoundHandler((_request, reply) =>
    reply
      .code(404)
      .header('cache-control', 'no-store')
      .send({ error: 'not found', endpoints: endpointsOf(options) })
  )
  return app
}

function serverOf (listener: RequestListener, { headersTimeout, requestTimeout, idleTimeout, connections }: AdminLimits): Server {
  const longest = Math.min(REQUEST_TIMEOUT, requestTimeout)
  const server = createServer({
    requestTimeout: longest,
    headersTimeout: Math.min(headersTimeout, longest),
    keepAliveTimeout: idleTimeout,
    // With Node's default, a request that does not end is noticed up to 30 s later.
    connectionsCheckingInterval: 1_000
  }, listener)
  server.maxConnections = Math.min(CONNECTIONS, connections === 0 ? Infinity : connections)
  return server
}

/** A Fastify plugin with the routes of the admin listener. `ownApp` adds a redirect from `/` to the console. */
export async function adminRoutes (app: FastifyInstance, options: AdminOptions & { readonly ownApp?: boolean }): Promise<void> {
  const { state, metrics, log, console: source = null, names = NO_HOST_NAMES, access, probesOnly = false, ownApp = false } = options
  // No endpoint reads a body. The console reads its own bodies.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => { done(null) })
  // An application that mounts these routes may speak HTTP/2.
  const isHttp2 = app.initialConfig.http2 === true
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    // As on the main listener: the end of such a request is uncertain.
    const fault = isHttp2 ? null : framingFault(request.raw, request.raw.httpVersion)
    if (fault !== null) return reply.code(400).header('connection', 'close').send({ error: fault.message })
    // Two readers could take different lines: a proxy one Host, this listener the other.
    const twice = duplicatedHeader(request.raw.rawHeaders)
    if (twice !== null) return reply.code(400).send({ error: `the request has the header ${twice} twice` })
  })
  app.setErrorHandler((err: FastifyError, request, reply) => {
    const { statusCode = 500 } = err
    if (statusCode < 500) return reply.code(statusCode).send({ error: err.message })
    request.log.error({ err }, 'an admin request failed')
    return reply.code(500).send({ error: 'internal error' })
  })

  const get = (url: string, handler: RouteHandlerMethod): void => {
    app.route({ method: ['GET', 'HEAD'], url, handler })
    const others = app.supportedMethods.filter(method => method !== 'GET' && method !== 'HEAD')
    app.route({
      method: others,
      url,
      handler: (_request, reply) =>
        reply
          .code(405)
          .header('allow', 'GET, HEAD')
          .send({ error: 'method not allowed', allow: ['GET', 'HEAD'] })
    })
  }

  get('/livez', async (_request, reply) => {
    const live = state.live()
    return reply.code(live ? 200 : 503).send({ status: live ? 'ok' : 'not ok' })
  })

  get('/readyz', async (request, reply) => {
    const { agents = 'all' } = request.query as { agents?: unknown }
    if (agents !== 'all' && agents !== 'any') return reply.code(400).send({ error: 'agents must be "all" or "any"' })
    const { ready, reasons } = state.ready(agents)
    // The reasons contain addresses. Callers under an unknown name, such as probes, and callers of the metrics listener see only which
    // agent is not ready.
    const open = probesOnly || hostProblem(request.headers.host, names) !== null
    return reply
      .code(ready ? 200 : 503)
      .send({ status: ready ? 'ready' : 'not ready', reasons: open ? reasons.map(withoutDetails) : reasons })
  })

  get('/metrics', async (request, reply) => {
    const open = acceptsOpenMetrics(request.headers.accept) ? await metrics.openMetrics?.() ?? null : null
    if (open !== null) return reply.header('content-type', OPEN_METRICS).send(open)
    const text = await metrics.text()
    return reply.header('content-type', metrics.contentType).send(text)
  })

  if (probesOnly) return
  const listing = (path: string, content: () => unknown): void => {
    get(path, async (request, reply) => {
      const rejected = hostProblem(request.headers.host, names) ?? readProblem(request.headers)
      if (rejected !== null) return reply.code(rejected.status).send({ error: rejected.error })
      const denied = await access?.check(request.raw) ?? null
      if (denied !== null) return reply.code(denied.status).headers(denied.headers).send({ error: denied.error })
      return reply.header('content-type', JSON_TYPE).send(JSON.stringify(await content(), null, 2) + '\n')
    })
  }
  listing('/agents', () => state.agents())
  listing('/agent-sources', () => state.sources?.() ?? [])

  docsRoutes({
    get,
    prefix: app.prefix,
    guard: async ({ raw, headers }) => hostProblem(headers.host, names) ?? await access?.check(raw) ?? null,
    console: source !== null
  })

  if (source === null) return
  const page = lazily(source, app, log)
  const serve = async ({ raw: request, url }: FastifyRequest, response: ServerResponse): Promise<void> => {
    const target = url.slice(app.prefix.length)
    const rejected = hostProblem(request.headers.host, names)
    // The files of the page hold no data: the page that signs in needs them.
    if (access === undefined || rejected !== null || !target.startsWith(API)) return page(request, response, target, rejected)
    if (access.required && target === SESSION) return await serveSession(access, request, response, app.prefix === '' ? '/' : app.prefix)
    const denied = await access.check(request)
    if (response.destroyed) return
    if (denied === null) recheck(access, request, response, log)
    // A challenge would open the browser's own dialog over the page.
    page(request, response, target, denied === null ? null : { status: denied.status, error: denied.error })
  }
  const handler = (request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack()
    for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) reply.raw.setHeader(name, value)
    serve(request, reply.raw).catch((error: unknown) => {
      log.error({ err: error }, 'a request for the console failed')
      reply.raw.destroy()
    })
  }
  for (const url of ['/console', '/console/*', ...ownApp ? ['/'] : []]) app.all(url, handler)
}

/**
 * Ends a stream of the console when its credential or session is no longer valid, or when a reload denies access to its caller. A stream
 * survives 503: keys of an issuer that are not available say nothing about the caller.
 */
function recheck (access: AdminAccess, request: IncomingMessage, response: ServerResponse, log: FastifyBaseLogger): void {
  const owner = ownerOf('admin', () => { response.destroy() })
  const timer = setInterval(guarded(owner, () => {
    access.check(request).then(
      denied => { if (denied !== null && denied.status !== 503) response.destroy() },
      (error: unknown) => {
        log.error({ err: error }, 'access to the console could not be checked')
        response.destroy()
      }
    )
  }), RECHECK).unref()
  listenOnce(owner, response, 'close', () => { clearInterval(timer) })
}

function endpointsOf ({ probesOnly = false }: AdminOptions): readonly string[] {
  return probesOnly ? PROBES : [...PROBES, '/agents', '/agent-sources', '/docs/']
}

/** Loads the console's code at the first request, to keep the start fast. */
function lazily (source: ConsoleSource, app: FastifyInstance, log: FastifyBaseLogger): ConsoleHandler['handle'] {
  let loading: Promise<ConsoleHandler> | null = null
  // Without this hook, the listener would wait for open pages.
  app.addHook('preClose', async () => { (await loading)?.close() })
  return (request, response, url, rejected) => {
    loading ??= import('#console/handler.js').then(({ consoleHandler }) => consoleHandler(source, log))
    loading.then(({ handle }) => { handle(request, response, url, rejected) }, (error: unknown) => {
      log.error({ err: error }, 'the console cannot be loaded')
      response.destroy()
    })
  }
}

/** Rejects a target that the router cannot read, such as `/%zz`: hooks do not run for such a target. */
function badRequest (reply: FastifyReply): void {
  reply.code(400).header('cache-control', 'no-store').send({ error: 'bad request' })
}

function withoutDetails (reason: string): string {
  return reason.replace(/^(agent [a-z0-9-]+): .*$/s, '$1: not ready; /agents on the admin listener says why')
}

// `/console/api/session`: a browser signs in with POST and signs out with DELETE.

/** Largest body of a sign-in, bytes. Access tokens have at most 8 KiB. */
const BODY = 16 * 1024

/**
 * @param path below which the cookie is valid: the prefix of the admin routes, or `/`
 */
async function serveSession (access: AdminAccess, request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
  for (const [name, value] of HEADERS) response.setHeader(name, value)
  const send = (status: number, headers: Record<string, string | string[]>, body: object | null): void => {
    if (!request.complete) response.setHeader('connection', 'close')
    response.writeHead(status, { ...headers, ...(body === null ? {} : { 'content-type': 'application/json; charset=utf-8' }) })
    response.end(body === null ? undefined : JSON.stringify(body))
  }
  if (request.method !== 'POST' && request.method !== 'DELETE') return send(405, { allow: 'POST, DELETE' }, { error: 'use POST or DELETE' })
  const foreign = writeProblem(request.headers)
  if (foreign !== null) return send(foreign.status, {}, { error: foreign.error })
  if (request.method === 'DELETE') return send(204, { 'set-cookie': access.signOut(request, path) }, null)
  const text = await bodyOf(request)
  if (text === null) return send(413, {}, { error: `the body is larger than ${BODY} bytes` })
  const signIn = readSignIn(text)
  if (signIn === null) return send(400, {}, { error: 'send {"credential": "…"}, with "user" for Basic credentials' })
  const result = await access.signIn(signIn, request, path)
  if ('cookie' in result) return send(204, { 'set-cookie': result.cookie }, null)
  // A challenge would open the browser's own dialog over the page.
  const { 'www-authenticate': _, ...headers } = result.headers
  send(result.status, headers, { error: result.error })
}

async function bodyOf (request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > BODY) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** A credential has no control characters: it becomes the value of a header. */
function readSignIn (text: string): SignIn | null {
  let value: unknown
  try {
    value = parseJson(text)
  } catch {
    return null
  }
  const { user = '', credential } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  if (typeof user !== 'string' || typeof credential !== 'string' || credential === '') return null
  return /\p{Cc}/u.test(user + credential) ? null : { user, credential: credential.trim() }
}
