/**
 * A listener of HTTP/2 as a reader of frames: the calls that the gateway gets for the bytes of a client, and the frames that the client
 * gets. nghttp2 and its use differ by version of Node.
 */
import type { AddressInfo } from 'node:net'
import type { GrpcFrontOptions } from '#front/grpc/front.js'
import { Http2Listener } from '#front/listener/http2-listener.js'
import type { Random } from '../fuzz/engine/random.js'
import type { Reader } from '../fuzz/engine/target.js'
import { FRAME, H2Socket, frame } from '../helpers/h2-frames.js'
import { everyPair, GRPC_SERVICES } from '../helpers/h2-sequences.js'
import { random } from '../helpers/seed.js'

/** Milliseconds without a response to PING after which the bytes count as incomplete. */
const WAITS = 1_500
/** Every frame in every state is a seed, once, for a service that takes a message. */
const SEED = 1
const LIMITS = { headers: 16_384, headersTimeout: 5_000, idleTimeout: 60_000, connections: 0 }
/** Frames whose number and time depend on the peer's buffers, or that answer ours. */
const UNTOLD: ReadonlySet<number> = new Set([FRAME.settings, FRAME.ping, FRAME.windowUpdate])

export async function frames (): Promise<Reader> {
  let received: unknown[] = []
  const listener = new Http2Listener({
    handle: ({ stream, raw, onClose }) => {
      const call = { head: raw.filter((_, i) => i < 40), body: Buffer.alloc(0), ended: false }
      received.push(call)
      stream.on('error', () => {})
      stream.on('close', () => { onClose() })
      stream.on('data', (chunk: Buffer) => { call.body = Buffer.concat([call.body, chunk]) })
      stream.on('end', () => {
        call.ended = true
        if (!stream.destroyed && !stream.closed) stream.respond({ ':status': 200, 'grpc-status': '0' }, { endStream: true, sendDate: false } as object)
      })
    }
  }, {
    name: 'server.grpc',
    tls: null,
    place: '',
    maxConcurrentStreams: 100,
    proxies: false,
    services: { metrics: { clientError: () => {} }, log: { info: () => {} } },
    snapshot: () => ({ limits: LIMITS, trusted: { trusts: () => true } })
  } as unknown as GrpcFrontOptions & ConstructorParameters<typeof Http2Listener>[1])
  await listener.listen({ host: '127.0.0.1', port: 0 })
  const { port } = listener.server.address() as AddressInfo
  const numbers: Random = random('runtimes frames', SEED)
  const seeds = [...everyPair(GRPC_SERVICES[0] as (typeof GRPC_SERVICES)[number], numbers)]
    .map(({ steps }) => Buffer.concat(steps.filter(step => step !== 'wait')))
    .filter(bytes => bytes.length < 600)
  return {
    name: 'frames',
    maxBytes: 700,
    seeds,
    dictionary: [
      frame(FRAME.data, 1, 1), frame(FRAME.reset, 0, 1, Buffer.alloc(4)), frame(FRAME.continuation, 4, 1),
      frame(FRAME.goaway, 0, 0, Buffer.alloc(8)), frame(10, 0, 0, Buffer.alloc(2)), frame(12, 0, 0), frame(16, 0, 0, Buffer.alloc(5))
    ].map(bytes => bytes.toString('latin1')),
    read: async bytes => {
      if (hasPriority(bytes)) return null
      received = []
      const got = await exchange(port, bytes)
      return [received, got]
    },
    close: async () => { listener.close() }
  }
}

/** @returns the frames of the listener that tell something, and how the connection ended */
async function exchange (port: number, bytes: Buffer): Promise<unknown> {
  const h2 = await H2Socket.to(`127.0.0.1:${port}`)
  const isLate = Symbol('late')
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<symbol>(resolve => { timer = setTimeout(() => { resolve(isLate) }, WAITS) })
  h2.send(bytes)
  // After the second response, the listener has also told what follows from the end of a message.
  const alive = async (): Promise<boolean> => await h2.alive() && await h2.alive()
  const over = h2.until(all => all.some(({ type }) => type === FRAME.goaway))
  const end = await Promise.race([alive(), over, late])
  clearTimeout(timer)
  h2.close()
  // The code of GOAWAY differs: for a frame that is not allowed, Node 20 says INTERNAL_ERROR, and later versions say PROTOCOL_ERROR.
  const told = h2.frames.filter(({ type }) => !UNTOLD.has(type)).map(({ type, flags, stream, payload }) =>
    [type, flags, stream, type === FRAME.reset ? payload.readUInt32BE() : null])
  // After GOAWAY for an error, Node 20 keeps the connection open, and reads nothing.
  const how = told.some(([type]) => type === FRAME.goaway) ? 'ended' : end === isLate ? 'waits for more' : end === true ? 'open' : 'closed'
  // Whether the response of a whole call still leaves before the end of its connection differs.
  return how === 'ended' ? how : [told, how]
}

const HEAD = 9
const PRIORITY = 0x20

/**
 * Tells whether a frame has a priority. For a stream that depends on itself, Node 20 ends the connection, and later versions ignore
 * priorities, as RFC 9113 §5.3.2 allows: what follows is another matter.
 */
function hasPriority (bytes: Buffer): boolean {
  for (let at = 0; at + HEAD <= bytes.length; at += HEAD + bytes.readUIntBE(at, 3)) {
    const type = bytes[at + 3]
    if (type === FRAME.priority || (type === FRAME.headers && ((bytes[at + 4] ?? 0) & PRIORITY) !== 0)) return true
  }
  return false
}
