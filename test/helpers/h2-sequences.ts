/** Sequences of HTTP/2 frames that no client sends: all frames, all error codes, on open, half-closed and closed streams (RFC 9113). */
import { codec } from '../front/envoy-proto.js'
import { HELLO } from '../front/grpc-kit.js'
import type { Random } from '../fuzz/engine/random.js'
import { grpcMessage, SEND_MESSAGE } from './grpc-raw.js'
import { ACK, END_HEADERS, END_STREAM, FRAME, SETTING, frame, headerBlock, settings, uint32 } from './h2-frames.js'

/** Error codes of RFC 9113 §7, and others that it does not define. */
export const ERROR_CODES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff, 0xffffffff]

/** What a sequence consists of. Each has the bytes of one or more frames; `wait` lets the peer take the frames before it. */
export type Step = Buffer | 'wait'

/** A service, with a message that it accepts. */
export interface Service {
  readonly name: string
  readonly path: string
  readonly headers?: ReadonlyArray<readonly [string, string]>
  /** A complete message with its prefix. */
  readonly message: Buffer
}

const LINES = [[':method', 'POST'], [':path', '/rpc'], [':authority', 'agents.test'], [':scheme', 'http'], ['content-type', 'application/json']]
const MAP = { headers: LINES.map(([key, value]) => ({ key, rawValue: Buffer.from(value ?? '') })) }
const QUESTION = { attributes: { request: { http: { method: 'POST', path: '/rpc', host: 'agents.test', scheme: 'http', rawBody: Buffer.from('{}'), size: 2, headerMap: MAP } } } }
const PARTS = [
  { requestHeaders: { headers: MAP, endOfStream: false }, protocolConfig: { requestBodyMode: 2, responseBodyMode: 2 } },
  { requestBody: { body: Buffer.from('{}'), endOfStream: true } }
]

/** What the listener for proxies serves. */
export const MESH_SERVICES: readonly Service[] = [
  { name: 'ext_authz', path: '/envoy.service.auth.v3.Authorization/Check', message: grpcMessage(codec('CheckRequest').encode(QUESTION)) },
  {
    name: 'ext_proc',
    path: '/envoy.service.ext_proc.v3.ExternalProcessor/Process',
    headers: [['x-envoy-internal', 'true']],
    message: Buffer.concat(PARTS.map(one => grpcMessage(codec('ProcessingRequest').encode(one))))
  },
  { name: 'health of the mesh', path: '/grpc.health.v1.Health/Check', message: grpcMessage(Buffer.alloc(0)) },
  { name: 'health of the mesh, Watch', path: '/grpc.health.v1.Health/Watch', message: grpcMessage(Buffer.alloc(0)) }
]

const V1 = [['a2a-version', '1.0']] as const
/** What a gRPC listener serves, and what it does not. */
export const GRPC_SERVICES: readonly Service[] = [
  { name: 'SendMessage', path: SEND_MESSAGE, headers: V1, message: HELLO },
  { name: 'SendStreamingMessage', path: '/lf.a2a.v1.A2AService/SendStreamingMessage', headers: V1, message: HELLO },
  { name: 'health of gRPC', path: '/grpc.health.v1.Health/Check', message: grpcMessage(Buffer.alloc(0)) },
  { name: 'an unknown service', path: '/other.Service/Get', message: grpcMessage(Buffer.from('any')) }
]

const pick = <T> (random: Random, list: readonly T[]): T => list[random.below(list.length)] as T

/** The head of a call of the service, as a block of headers. */
export function headOf ({ path, headers = [] }: Service): Buffer {
  return headerBlock([
    [':method', 'POST'], [':scheme', 'http'], [':path', path], [':authority', '127.0.0.1'], ['te', 'trailers'],
    ['content-type', 'application/grpc'], ...headers
  ])
}

/** How a call begins: the state of its stream when the hostile frames come. */
const BEGINNINGS: Readonly<Record<string, (service: Service, random: Random) => readonly Step[]>> = {
  idle: () => [],
  'no data': service => [frame(FRAME.headers, END_HEADERS, 1, headOf(service)), 'wait'],
  'half a prefix': service => [frame(FRAME.headers, END_HEADERS, 1, headOf(service)), frame(FRAME.data, 0, 1, Buffer.from([0, 0])), 'wait'],
  'half a message': (service, random) => [
    frame(FRAME.headers, END_HEADERS, 1, headOf(service)),
    frame(FRAME.data, 0, 1, service.message.subarray(0, 5 + random.below(Math.max(1, service.message.length - 5)))),
    ...random.below(2) === 0 ? ['wait'] as const : []
  ],
  'a large length': service => [
    frame(FRAME.headers, END_HEADERS, 1, headOf(service)), frame(FRAME.data, 0, 1, grpcMessage(Buffer.alloc(2_000), 0, 19_000_000)), 'wait'
  ],
  'a whole message': (service, random) => [
    frame(FRAME.headers, END_HEADERS, 1, headOf(service)), frame(FRAME.data, 0, 1, service.message),
    ...random.below(2) === 0 ? ['wait'] as const : []
  ],
  'half-closed': (service, random) => [
    frame(FRAME.headers, END_HEADERS, 1, headOf(service)), frame(FRAME.data, END_STREAM, 1, service.message),
    ...random.below(2) === 0 ? ['wait'] as const : []
  ],
  closed: (service, random) => [
    frame(FRAME.headers, END_HEADERS, 1, headOf(service)), frame(FRAME.data, 0, 1, service.message),
    frame(FRAME.reset, 0, 1, uint32(pick(random, ERROR_CODES))), 'wait'
  ],
  garbage: (service, random) => [
    frame(FRAME.headers, END_HEADERS, 1, headOf(service)), frame(FRAME.data, random.below(2), 1, grpcMessage(random.bytes(random.below(200)))), 'wait'
  ]
}

/** One hostile frame. */
const FRAMES: Readonly<Record<string, (service: Service, random: Random) => Buffer>> = {
  reset: (_service, random) => frame(FRAME.reset, 0, 1, uint32(pick(random, ERROR_CODES))),
  'reset of another': (_service, random) => frame(FRAME.reset, 0, 3 + 2 * random.below(4), uint32(pick(random, ERROR_CODES))),
  goaway: (_service, random) => frame(FRAME.goaway, 0, 0, Buffer.concat([uint32(random.below(4)), uint32(pick(random, ERROR_CODES))])),
  data: (_service, random) => frame(FRAME.data, random.below(2), 1, random.bytes(random.below(300))),
  end: () => frame(FRAME.data, END_STREAM, 1),
  message: ({ message }, random) => frame(FRAME.data, random.below(2), 1, message),
  trailers: (_service, random) => frame(FRAME.headers, END_HEADERS | (random.below(2) * END_STREAM), 1, headerBlock([['x-trailer', 'a']])),
  'head again': service => frame(FRAME.headers, END_HEADERS, 1, headOf(service)),
  'another call': (service, random) =>
    frame(FRAME.headers, END_HEADERS | (random.below(2) * END_STREAM), 3 + 2 * random.below(3), headOf(service)),
  continuation: (_service, random) => frame(FRAME.continuation, random.below(2) * END_HEADERS, 1, headerBlock([['x-more', 'a']])),
  priority: (_service, random) => frame(FRAME.priority, 0, 1, Buffer.concat([uint32(random.below(3)), Buffer.from([random.below(256)])])),
  settings: (_service, random) =>
    settings([[pick(random, [1, ...Object.values(SETTING), 99]), pick(random, [0, 1, 65_535, 0x7fffffff, 0xffffffff])]]),
  'settings with ACK': () => frame(FRAME.settings, ACK, 0),
  push: () => frame(FRAME.push, END_HEADERS, 1, uint32(2)),
  ping: (_service, random) => frame(FRAME.ping, random.below(2), 0, random.bytes(8)),
  window: (_service, random) => frame(FRAME.windowUpdate, 0, random.below(2), uint32(pick(random, [0, 1, 65_535, 0x7fffffff]))),
  unknown: (_service, random) => frame(10 + random.below(200), random.below(256), random.below(3), random.bytes(random.below(50))),
  'wrong length': (_service, random) => frame(random.below(10), random.below(256), random.below(3), random.bytes(random.below(20))),
  padded: (_service, random) => frame(FRAME.data, 8, 1, Buffer.concat([Buffer.from([random.below(256)]), random.bytes(random.below(100))]))
}

export interface Sequence {
  /** The names of its parts, to repeat it. */
  readonly name: string
  readonly steps: readonly Step[]
  /** The client leaves without waiting for a response. */
  readonly leaves: boolean
}

/** Every beginning with a reset of every code, and every beginning with every frame. */
export function * everyPair (service: Service, random: Random): Generator<Sequence> {
  for (const [begin, steps] of Object.entries(BEGINNINGS)) {
    for (const code of ERROR_CODES) {
      yield { name: `${service.name}: ${begin}, reset ${code}`, steps: [...steps(service, random), frame(FRAME.reset, 0, 1, uint32(code))], leaves: false }
    }
    for (const [name, make] of Object.entries(FRAMES)) {
      yield { name: `${service.name}: ${begin}, ${name}`, steps: [...steps(service, random), make(service, random)], leaves: false }
    }
  }
}

/** A random sequence of up to eight frames. */
export function sequence (service: Service, random: Random): Sequence {
  const begin = pick(random, Object.keys(BEGINNINGS))
  const names = Array.from({ length: 1 + random.below(8) }, () => pick(random, Object.keys(FRAMES)))
  const steps: Step[] = [...BEGINNINGS[begin]?.(service, random) ?? []]
  for (const name of names) {
    steps.push(FRAMES[name]?.(service, random) ?? Buffer.alloc(0))
    if (random.below(4) === 0) steps.push('wait')
  }
  return { name: `${service.name}: ${[begin, ...names].join(', ')}`, steps, leaves: random.below(3) === 0 }
}

/** Parts of requests of HTTP/1.1 that no client sends. */
const HTTP1: ReadonlyArray<(random: Random) => Buffer> = [
  () => Buffer.from('POST /rpc HTTP/1.1\r\nhost: a.test\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"half'),
  () => Buffer.from('POST /rpc HTTP/1.1\r\nhost: a.test\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n'),
  () => Buffer.from('GET /.well-known/agent-card.json HTTP/1.1\r\nhost: a.test\r\n\r\n'),
  () => Buffer.from('GET / HTTP/1.1\r\nhost: a.test\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: YQ==\r\n\r\n'),
  () => Buffer.from('CONNECT a.test:80 HTTP/1.1\r\nhost: a.test\r\n\r\n'),
  () => Buffer.from('POST /rpc HTTP/1.1\r\nhost: a.test\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n'),
  () => Buffer.from('POST /rpc HTTP/1.0\r\ncontent-length: 2\r\n\r\n{}'),
  () => Buffer.from('OPTIONS * HTTP/1.1\r\nhost: a.test\r\n\r\n'),
  () => Buffer.from('GET /%zz HTTP/1.1\r\nhost: a.test\r\n\r\n'),
  () => Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  random => Buffer.concat([Buffer.from('GET / HTTP/1.1\r\n'), random.bytes(random.below(200))]),
  random => random.bytes(1 + random.below(400)),
  () => Buffer.from('\r\n'),
  () => Buffer.from([0x16, 3, 1, 0, 200, 1, 0, 0, 196])
]

/** A random sequence of parts of HTTP/1.1, for a listener that speaks it. */
export function http1Sequence (random: Random): Sequence {
  const parts = Array.from({ length: 1 + random.below(4) }, () => random.below(HTTP1.length))
  const steps = parts.flatMap((part): Step[] => {
    const bytes = HTTP1[part]?.(random) ?? Buffer.alloc(0)
    const cut = random.below(4) === 0 ? bytes.subarray(0, random.below(bytes.length)) : bytes
    return random.below(2) === 0 ? [cut, 'wait'] : [cut]
  })
  return { name: `HTTP/1.1: parts ${parts.join(', ')}`, steps, leaves: random.below(2) === 0 }
}
