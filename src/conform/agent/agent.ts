/**
 * `conform agent`: a scripted A2A agent for 0.3 and 1.0 with JSON-RPC, HTTP+JSON and gRPC on one port. A runner gives it a script for each
 * call, and reads what arrived. Requests without a script get an ordinary response.
 */
import { createHash, createPrivateKey, createSign, generateKeyPairSync } from 'node:crypto'
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { createServer as createHttp2 } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import { parseJson } from '#wire/json/parse-json.js'
import { valueOf } from '../http1.js'
import type { Script } from '../model.js'
import { CALL } from '../model.js'
import { operationOf, responseOf } from '../protocol.js'
import { serveGrpc } from './grpc-connection.js'
import { serveHttp1 } from './http-connection.js'
import type { SeenRequest } from './store.js'
import { CallStore } from './store.js'

/** The path of requests that a runner sends. A proxy forwards them like all others. */
export const CONTROL = '/.conform/'

export interface AgentOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** URIs of extensions that the card declares as required. */
  readonly required?: readonly string[]
}

export interface ConformAgent {
  readonly url: string
  close (): Promise<void>
}

const CARD_PATHS: ReadonlySet<string> = new Set(['/.well-known/agent-card.json', '/.well-known/agent.json'])
const PREFACE = 'PRI * HTTP/2.0'

/** @throws Error when the address cannot be used */
export async function startAgent ({ host, port, required = [] }: AgentOptions): Promise<ConformAgent> {
  const store = new CallStore()
  let origin = ''
  const card = (caller?: string): string => cardText({
    origin, grpc: origin.replace(/^http:\/\//, ''), required, ...caller === undefined ? {} : { extended: true, caller }
  })
  let publicCard = ''
  const respond = (seenRequest: SeenRequest): Script | null => {
    const path = seenRequest.target.split('?')[0] ?? ''
    if (CARD_PATHS.has(path)) return servedCard(seenRequest, publicCard)
    const operation = operationOf(seenRequest.method, seenRequest.target, seenRequest.body.toString('latin1'))
    if (operation === null) return null
    const caller = valueOf(seenRequest.headers, 'authorization') ?? 'nobody'
    const script = responseOf(operation.operation, operation.transport, operation.version, card(caller))
    if (operation.operation !== 'get_extended_agent_card' || operation.transport === 'grpc') return withId(script, seenRequest)
    return withId(
      { ...script, headers: [...script.headers ?? [], ['Cache-Control', 'private, no-store'], ['Vary', 'Authorization']] }, seenRequest
    )
  }
  const control = (seenRequest: SeenRequest): Script | null => {
    // Whatever the script of the call says: nobody should come here.
    if (seenRequest.target.startsWith(`${TRAP}/`)) {
      store.trap(seenRequest.target)
      return json({ keys: [] })
    }
    const [, what, name = '', piece = ''] = /^\/\.conform\/(script|release|receipts|traps)\/(conform-call-[0-9a-f]{8})(?:\/(\d+))?$/.exec(
      seenRequest.target
    ) ?? []
    switch (what) {
      case 'script':
        store.script(name, parseJson(seenRequest.body) as Script)
        return json({})
      case 'release':
        store.release(name, Number(piece))
        return json({})
      case 'receipts': return json(store.receipts(name))
      case 'traps': return json(store.trappedOf(name))
      default: return null
    }
  }
  const sessions = new Set<ServerHttp2Session>()
  const http2 = createHttp2()
  http2.on('session', session => {
    sessions.add(session)
    session.on('error', () => session.destroy())
    session.on('close', () => sessions.delete(session))
  })
  http2.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
    serveGrpc(stream, headers, raw, { store, respond })
  })
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.once('readable', () => {
      const first = socket.read() as Buffer | null
      if (first === null) {
        socket.destroy()
        return
      }
      socket.unshift(first)
      if (PREFACE.startsWith(first.toString('latin1', 0, PREFACE.length))) http2.emit('connection', socket)
      else serveHttp1(socket, { store, respond, control })
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  origin = `http://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`
  publicCard = card()
  return {
    url: origin,
    close: async () => {
      const closed = new Promise<void>(resolve => { server.close(() => { resolve() }) })
      for (const session of sessions) session.destroy()
      for (const socket of sockets) socket.destroy()
      await closed
    }
  }
}

const json = (value: unknown): Script => ({ status: 200, headers: [['Content-Type', 'application/json']], pieces: [JSON.stringify(value)] })

/** RFC 9110 §13.1.2, for the one entity tag of the card. */
function servedCard (seenRequest: SeenRequest, text: string): Script {
  const tag = `"${createHash('sha256').update(text).digest('hex').slice(0, 16)}"`
  const headers = [['ETag', tag], ['Cache-Control', 'public, max-age=3600'], ['Content-Type', 'application/json']] as const
  return valueOf(seenRequest.headers, 'if-none-match') === tag
    ? { status: 304, headers: headers.slice(0, 2) }
    : { status: 200, headers, pieces: [text] }
}

/** A request without a mark has an id of its own. */
function withId (script: Script, seenRequest: SeenRequest): Script {
  const id = /"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)/.exec(seenRequest.body.toString('utf8'))?.[1]
  if (id === undefined) return script
  return { ...script, pieces: (script.pieces ?? []).map(piece => piece.replaceAll(`"id":"${CALL}","result"`, `"id":${id},"result"`)) }
}

/* The card of the scripted agent: both versions in one document, all bindings, a signature, and names that no proxy should lose. */

/** Never fetched by a proxy: the agent records each request for these. */
const TRAP = '/.conform/trap'

interface CardOptions {
  /** `http://host:port`, without a final slash. */
  readonly origin: string
  /** `host:port` of the gRPC interface. */
  readonly grpc: string
  /** URIs of extensions that the card declares as required. */
  readonly required: readonly string[]
  readonly extended?: boolean
  /** A text that depends on the caller, in the extended card. */
  readonly caller?: string
}

/** An extension that the card declares and does not require. */
const OPTIONAL_EXTENSION = 'https://conform.example/extensions/optional/v1'

const KEY = generateKeyPairSync(
  'ec', { namedCurve: 'P-256', privateKeyEncoding: { type: 'pkcs8', format: 'pem' }, publicKeyEncoding: { type: 'spki', format: 'pem' } }
)

/** The text of the card. */
function cardText (options: CardOptions): string {
  const { origin, grpc, required, extended = false, caller = 'nobody' } = options
  const entry = (url: string, protocolBinding: string, protocolVersion: string): object => ({ url, protocolBinding, protocolVersion })
  const extensions = [
    ...required.map(uri => ({ uri, description: 'Required', required: true })),
    { uri: OPTIONAL_EXTENSION, description: 'Optional', params: { limit: 3, nested: { list: [1, 2, 3] } } }
  ]
  const card = {
    name: 'Conformance agent',
    description: 'A scripted agent for the conformance tests of proxies: größer, 大きい, \u{1f9ea}',
    version: '1.0.0',
    protocolVersion: '0.3.0',
    url: `${origin}/jsonrpc`,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [
      { url: `${origin}/jsonrpc`, transport: 'JSONRPC' },
      { url: `${origin}/rest`, transport: 'HTTP+JSON' },
      { url: grpc, transport: 'GRPC' }
    ],
    supportedInterfaces: [
      entry(`${origin}/jsonrpc`, 'JSONRPC', '1.0'), entry(`${origin}/rest`, 'HTTP+JSON', '1.0'), entry(grpc, 'GRPC', '1.0'),
      entry(`${origin}/jsonrpc`, 'JSONRPC', '0.3'), entry(`${origin}/rest`, 'HTTP+JSON', '0.3'), entry(grpc, 'GRPC', '0.3')
    ],
    provider: { organization: 'Conformance', url: `${origin}${TRAP}/provider` },
    documentationUrl: `${origin}${TRAP}/documentation`,
    iconUrl: `${origin}${TRAP}/icon.png`,
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true, extensions },
    supportsAuthenticatedExtendedCard: true,
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: [{ id: 'scripted', name: 'Scripted', description: 'Sends what a script says', tags: ['conformance'] }],
    'x-conform': { scripted: true, number: 12345, empty: {}, list: [] },
    ...extended ? { 'x-caller': caller } : {}
  }
  return JSON.stringify({ ...card, signatures: [signatureOf(card, origin)] })
}

/** A signature as spec 1.0.1 §8.4 describes it. `jku` is an address that a proxy may fetch only if its configuration says so. */
function signatureOf (card: object, origin: string): object {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = encode({ alg: 'ES256', typ: 'JOSE', kid: 'conform-1', jku: `${origin}${TRAP}/keys.json` })
  const payload = Buffer.from(canonical(card)).toString('base64url')
  const signature = createSign('SHA256').update(`${header}.${payload}`)
    .sign({ key: createPrivateKey(KEY.privateKey), dsaEncoding: 'ieee-p1363' }).toString('base64url')
  return { protected: header, signature }
}

/** RFC 8785, for values without fractions. */
function canonical (value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{${Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([key, child]) => `${JSON.stringify(key)}:${canonical(child)}`).join(',')}}`
}
