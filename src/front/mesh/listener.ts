/** The listener for proxies of a mesh (`server.mesh`): ext_authz and ext_proc of Envoy. */
import { constants } from 'node:http2'
import type { Duplex } from 'node:stream'
import type { ServerHttp2Stream } from 'node:http2'
import { guarded, ignoreErrors, listen, ownerOf } from '#guard.js'
import { hostPortText } from '#config/listeners/host-port.js'
import type { Config } from '#config/model/model.js'
import { CHECK } from '#wire/envoy/check.js'
import { PROCESS } from '#wire/envoy/processing.js'
import { GRPC_CODES } from '#wire/grpc/codes.js'
import type { IncomingCall } from '../grpc/front.js'
import { Http2Listener } from '../listener/http2-listener.js'
import { Check } from './check.js'
import type { MeshFrontOptions } from './front.js'
import { MeshFront } from './front.js'
import { Processor } from './processor.js'
import { AGENT } from './target.js'
import type { HostPort } from '#config/model/listener-model.js'
import { integer } from '#wire/envoy/fields.js'
import { grpcFrame } from '#wire/grpc/deframer.js'
import { endWithTrailers } from './trailers.js'

/** Calls at once on one connection: each client of a proxy that waits for a response may be one. */
const STREAMS = 10_000
const NAME = 'mesh'
/** Time for the ends of calls to reach the proxies, ms: a connection that closes earlier would break the responses of their clients. */
const LAST = 1_000

/** Address of the listener as the configuration has it, as `host:port`; null without one. */
export function meshAddress ({ server: { mesh } }: Config): string | null {
  return mesh === null ? null : hostPortText(mesh.listen)
}

export class MeshListener {
  private readonly at: HostPort
  private readonly listener: Http2Listener
  private readonly front: MeshFront
  private readonly processors = new Set<Processor>()
  private emptied: (() => void) | null = null
  /** True while the process warms up. */
  warming: () => boolean = () => false

  /** @returns null without `server.mesh`. @throws Error with a readable message when a file of TLS cannot be used */
  static of ({ server: { mesh } }: Config, options: MeshFrontOptions): MeshListener | null {
    return mesh === null ? null : new MeshListener(mesh, options)
  }

  private constructor ({ listen, tls }: NonNullable<Config['server']['mesh']>, options: MeshFrontOptions) {
    this.at = listen
    this.front = new MeshFront(options)
    this.listener = new Http2Listener(this, {
      ...options, name: NAME, tls, place: 'server.mesh.tls', maxConcurrentStreams: STREAMS, proxies: true
    })
  }

  /** `host:port`, once it listens. */
  get address (): string {
    return this.listener.addressAt(this.at.host)
  }

  /** @throws Error when the address is taken */
  async listen (): Promise<void> {
    await this.listener.listen(this.at)
  }

  /** Takes a connection that exists already. */
  accept (connection: Duplex): void {
    this.listener.server.emit('connection', connection)
  }

  handle (call: IncomingCall): void {
    const { stream, headers, socket, onClose } = call
    const owner = ownerOf('mesh', () => { stream.close(constants.NGHTTP2_INTERNAL_ERROR) })
    listen(owner, stream, 'close', () => { onClose() })
    if (stream.destroyed) return
    const named = headers[AGENT]
    const agent = typeof named === 'string' ? named : undefined
    switch (headers[':path']) {
      case CHECK:
        new Check(this.front, stream, socket, agent).read()
        return
      case HEALTH:
        tellHealth(stream, this.front.options, this.warming())
        return
      case PROCESS: {
        const processor = new Processor(this.front, call, agent)
        this.processors.add(processor)
        listen(owner, stream, 'close', () => {
          this.processors.delete(processor)
          if (this.processors.size === 0) this.emptied?.()
        })
        return
      }
      default:
        ignoreErrors(stream)
        stream.respond(
          { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': String(GRPC_CODES.UNIMPLEMENTED) }, { endStream: true }
        )
        stream.close()
    }
  }

  /** Puts other limits and files in force. The address needs a restart. */
  use ({ server: { mesh }, limits }: Config): void {
    if (mesh !== null) this.listener.use(mesh.tls, limits)
  }

  /** Stops accepting, asks proxies to use other connections, and lets responses go on that nothing holds. */
  drain (): void {
    this.listener.drain()
    for (const processor of this.processors) processor.drain()
  }

  /** Waits until proxies have the ends of all calls, for at most {@link LAST}. */
  async settled (): Promise<void> {
    if (this.processors.size === 0) return
    await new Promise<void>(resolve => {
      const timer = setTimeout(guarded(ownerOf('mesh'), resolve), LAST)
      this.emptied = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Ends the connections that are still open. */
  close (): void {
    this.listener.close()
  }
}

// The health service of gRPC (grpc/health/v1/health.proto), for the health checks of proxies.

const HEALTH = '/grpc.health.v1.Health/Check'

const SERVING = 1
const NOT_SERVING = 2

/** Responds as `/readyz?agents=any` does: a proxy sends no calls to a gateway without cards, or to one that stops. */
function tellHealth (stream: ServerHttp2Stream, { services, snapshot }: MeshFrontOptions, warming: boolean): void {
  const isReady = !services.inFlight.draining && !warming && snapshot().agents.all.some(agent => agent.ready)
  ignoreErrors(stream)
  stream.resume()
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  endWithTrailers(ownerOf('mesh', () => { stream.close() }), stream, snapshot().limits.requestTimeout)
  stream.end(grpcFrame(integer(1, isReady ? SERVING : NOT_SERVING)))
}
