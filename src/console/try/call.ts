/** Sends one call to an agent through the gateway's own main listener, as a client would, and reports the gateway's decision. */
import { request } from 'node:http'
import { request as tlsRequest } from 'node:https'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Guarded } from '#guard.js'
import { guarded, listen } from '#guard.js'
import type { DecisionEntry } from '../entry.js'
import type { ConsoleAgent, ConsoleSource, MainAddress } from '../source.js'
import { authorityOf, routesOf } from './form.js'

/** The call that the page requests. */
export interface TryRequest {
  readonly agent: string
  readonly binding: string
  readonly version: string
  /** `route`: the HTTP route of an extension. A call of an extension's method is `send`: the body names the method. */
  readonly operation: 'send' | 'stream' | 'route'
  /** Id of the route in the form. */
  readonly route: string
  /** Values of the route's parameters, by name. */
  readonly parameters: Readonly<Record<string, string>>
  /** Query of the route, without `?`. */
  readonly query: string
  readonly extensions: readonly string[]
  /** Additional headers, names and values. */
  readonly headers: readonly (readonly [string, string])[]
  /** The body, sent unchanged. */
  readonly body: string
}

export interface TryResult {
  readonly request: {
    readonly method: string
    readonly path: string
    readonly headers: readonly (readonly [string, string])[]
    readonly body: string
  }
  readonly answer: TryResponse | null
  /** Why there is no response, or no complete response. */
  readonly problem: string | null
  /** Null when the gateway did not report its decision in time. */
  readonly decision: DecisionEntry | null
}

interface TryResponse {
  readonly status: number
  readonly phrase: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string
  readonly milliseconds: number
}

/** Largest part of a response that is read, bytes. */
const RESPONSE = 1024 * 1024
/** Time limit for the whole call, ms. */
const TIME = 30_000
/** The same for a stream that the page shows while it runs, and that the user can stop. */
const LIVE = 300_000
/** Time limit for the gateway to report its decision after the response, ms. */
const TELL = 3_000

/**
 * Reads the call that the page requests.
 * @returns the call, or its problem in words
 */
export function readTry (value: unknown): TryRequest | string {
  if (typeof value !== 'object' || value === null) return 'send an object'
  const {
    agent,
    binding,
    version,
    operation = 'send',
    route = '',
    parameters = {},
    query = '',
    extensions = [],
    headers = [],
    body
  } = value as Partial<Record<keyof TryRequest, unknown>>
  if (typeof agent !== 'string' || typeof binding !== 'string' || typeof version !== 'string') {
    return 'agent, binding and version must be strings'
  }
  if (binding === 'GRPC') return 'calls over gRPC cannot be sent from here; use a client of gRPC, or a policy test with binding GRPC'
  if (operation !== 'send' && operation !== 'stream' && operation !== 'route') return 'operation must be "send", "stream" or "route"'
  if (typeof route !== 'string' || !isTexts(parameters)) return 'route must be a string, and parameters must be strings by name'
  if (typeof query !== 'string' || !/^[\x21\x22\x24-\x7e]{0,4000}$/.test(query)) {
    return 'query must be ASCII without spaces and "#"; write other characters as %XX'
  }
  if (!isList(extensions, uri => typeof uri === 'string' && /^[\x21-\x2b\x2d-\x7e]+$/.test(uri)) || extensions.length > 100) {
    return 'extensions must be a list of at most 100 URIs, without commas and spaces'
  }
  if (!isList(headers, isHeader) || headers.length > 20) return 'headers must be at most 20 pairs of a name and a value'
  const forbidden = (headers as [string, string][]).find(([name]) => !mayBeSet(name))
  if (forbidden !== undefined) return `the header ${forbidden[0]} is set by the gateway; leave it out`
  if (typeof body !== 'string') return 'body must be a string'
  const uris = extensions as string[]
  return { agent, binding, version, operation, route, parameters, query, extensions: uris, headers: headers as [string, string][], body }
}

function isTexts (value: unknown): value is Readonly<Record<string, string>> {
  return typeof value === 'object' && value !== null && Object.values(value).every(text => typeof text === 'string' && text.length <= 1_000)
}

function isList (value: unknown, item: (element: unknown) => boolean): value is unknown[] {
  return Array.isArray(value) && value.every(item)
}

function isHeader (value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === 'string' && typeof value[1] === 'string' &&
    /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(value[0]) && /^[\x20-\x7e]{0,4000}$/.test(value[1])
}

/** True when the page may set a header. The page must not set headers for framing, routing or proxies. */
function mayBeSet (name: string): boolean {
  return !/^(?:host|connection|content-length|content-encoding|transfer-encoding|upgrade|te|trailer|keep-alive|expect|via|forwarded|proxy-.*|x-forwarded-.*|x-real-ip|cookie)$/i.test(
    name
  )
}

/** Shows a response while it arrives. */
export interface TryWatcher {
  head (response: Omit<TryResponse, 'body' | 'milliseconds'>): void
  /** @param milliseconds since the request was sent */
  data (text: string, milliseconds: number): void
  /** Aborted when the viewer is gone. */
  readonly signal: AbortSignal
}

/**
 * Sends the call.
 * @param watcher null when nobody looks before the call is over
 * @returns the result, or in words why the call cannot be sent
 */
export async function tryCall (source: ConsoleSource, wanted: TryRequest, watcher: TryWatcher | null): Promise<TryResult | string> {
  const agent = source.agents().find(agent => agent.name === wanted.agent)
  if (agent === undefined) return 'no agent has that name'
  const place = wanted.operation === 'route' ? routeOf(agent, wanted) : pathOf(agent, wanted)
  if (place === null) return 'the agent has no such interface; load the form again'
  if ('problem' in place) return place.problem
  const { method, path } = place
  const hasBody = method === 'POST' || wanted.body !== ''
  const main = source.main()
  if (main === null) return 'calls cannot be sent from here: the application does not listen on plain HTTP'
  const sent: [string, string][] = [
    ['Host', agent.config.host ?? source.config().server.hosts[0] ?? authorityOf(main)],
    ...(hasBody ? [['Content-Type', 'application/json'] as [string, string]] : []),
    ['Accept', wanted.operation === 'stream' ? 'text/event-stream' : 'application/json'],
    ...(wanted.version === '1.0' ? [['A2A-Version', '1.0'] as [string, string]] : []),
    ...(wanted.extensions.length === 0
      ? []
      : [[wanted.version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions', wanted.extensions.join(', ')] as [string, string]]),
    ...wanted.headers.map(([name, value]) => [name, value] as [string, string]),
    ...(hasBody ? [['Content-Length', String(Buffer.byteLength(wanted.body))] as [string, string]] : [])
  ]
  // This request makes the gateway also keep calls without findings from now on.
  const { cursor } = await source.decisions(new Map(), null)
  const at = Date.now()
  const { answer: response, problem, port } = await send(main, { method, path, headers: sent, body: wanted.body }, watcher)
  const decision = port === 0 ? null : await decisionOf(source, cursor, entry => entry.port === port && entry.at >= at)
  return { request: { method, path, headers: sent, body: wanted.body }, answer: response, problem, decision }
}

interface Place { readonly method: string, readonly path: string }

/** Fills in the parameters of a route. */
function routeOf (agent: ConsoleAgent, { route, parameters, query }: TryRequest): Place | { readonly problem: string } | null {
  const chosenRoute = routesOf(agent).find(formRoute => formRoute.id === route)
  if (chosenRoute === undefined) return null
  const names = [...chosenRoute.path.matchAll(/\{([^/}]*)\}/g)].map(([, name]) => name as string)
  // A segment of dots would lead elsewhere.
  const wrong = names.find(name => /^\.{0,2}$/.test(parameters[name] ?? ''))
  if (wrong !== undefined) return { problem: `the route needs a value for ${wrong}` }
  const path = chosenRoute.path.replace(/\{([^/}]*)\}/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ''))
  return { method: chosenRoute.verb, path: query === '' ? path : `${path}?${query}` }
}

function pathOf ({ config, state }: ConsoleAgent, { binding, version, operation }: TryRequest): Place | null {
  const interfaceOfCard = state?.interfaces.find(entry => entry.binding === binding && entry.version === version)
  if (interfaceOfCard === undefined) return null
  const base = config.path + interfaceOfCard.publicPath
  if (binding === 'JSONRPC') return { method: 'POST', path: base === '' ? '/' : base }
  const prefix = version === '0.3' ? '/v1' : interfaceOfCard.tenant === null ? '' : `/${encodeURIComponent(interfaceOfCard.tenant)}`
  return { method: 'POST', path: `${base}${prefix}/message:${operation}` }
}

function send (
  main: MainAddress,
  { method, path, headers, body }: TryResult['request'],
  watcher: TryWatcher | null
): Promise<{ answer: TryResponse | null; problem: string | null; port: number }> {
  const time = watcher === null ? TIME : LIVE
  return new Promise(resolve => {
    const startedAt = performance.now()
    const elapsed = (): number => Math.round((performance.now() - startedAt) * 10) / 10
    let port = 0
    let response: TryResponse | null = null
    const outgoing = (main.tls ? tlsRequest : request)({
      host: main.host,
      port: main.port,
      path,
      method,
      headers: headers.flat(),
      agent: false,
      // The gateway calls its own listener, whose certificate names public hosts and not this address.
      rejectUnauthorized: false
    })
    const owner: Guarded = { place: 'admin', endAfter: error => { outgoing.destroy(error instanceof Error ? error : undefined) } }
    const timer = setTimeout(guarded(owner, () => {
      outgoing.destroy(new Error(`the response was not complete after ${time / 1_000} s`))
    }), time)
    const stop = (): void => { outgoing.destroy(new Error('the viewer stopped the call')) }
    watcher?.signal.addEventListener('abort', stop)
    const done = (problem: string | null): void => {
      clearTimeout(timer)
      watcher?.signal.removeEventListener('abort', stop)
      resolve({ answer: response, problem, port })
    }
    listen(owner, outgoing, 'socket', (socket: Socket) => {
      listen(owner, socket, 'connect', () => {
        port = socket.localPort ?? 0
      })
    })
    listen(owner, outgoing, 'error', (error: Error) => {
      done(error.message)
    })
    listen(owner, outgoing, 'response', (incoming: IncomingMessage) => {
      const chunks: Buffer[] = []
      const decoder = new StringDecoder()
      let size = 0
      watcher?.head({ status: incoming.statusCode ?? 0, phrase: incoming.statusMessage ?? '', headers: pairs(incoming.rawHeaders) })
      const take = (problem: string | null): void => {
        const { statusCode = 0, statusMessage = '', rawHeaders } = incoming
        response = {
          status: statusCode,
          phrase: statusMessage,
          headers: pairs(rawHeaders),
          body: Buffer.concat(chunks).toString(),
          milliseconds: elapsed()
        }
        done(problem)
      }
      listen(owner, incoming, 'data', (chunk: Buffer) => {
        size += chunk.length
        chunks.push(chunk)
        watcher?.data(decoder.write(chunk), elapsed())
        if (size > RESPONSE) outgoing.destroy(new Error(`the response is longer than ${RESPONSE} bytes; the rest was not read`))
      })
      listen(owner, incoming, 'end', () => {
        take(null)
      })
      listen(owner, incoming, 'error', (error: Error) => {
        take(error.message)
      })
    })
    outgoing.end(body === '' ? undefined : body)
  })
}

function pairs (raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, i) => i % 2 === 0 ? [[name, raw[i + 1] ?? ''] as [string, string]] : [])
}

async function decisionOf (
  source: ConsoleSource,
  since: ReadonlyMap<number, number>,
  isIt: (entry: DecisionEntry) => boolean
): Promise<DecisionEntry | null> {
  let cursor = since
  for (const end = Date.now() + TELL; Date.now() < end;) {
    const page = await source.decisions(cursor, null)
    const routeEntry = page.entries.find(isIt)
    if (routeEntry !== undefined) return routeEntry
    cursor = page.cursor
    await sleep(20, undefined, { ref: false })
  }
  return null
}
