/** The health service of gRPC (grpc/health/v1/health.proto), for the health checks of proxies. */
import type { ServerHttp2Stream } from 'node:http2'
import { integer } from '#wire/envoy/fields.js'
import { grpcFrame } from '#wire/grpc/deframer.js'
import { ignoreErrors, ownerOf } from '#guard.js'
import { endWithTrailers } from './trailers.js'
import type { MeshFrontOptions } from './front.js'

export const HEALTH = '/grpc.health.v1.Health/Check'

const SERVING = 1
const NOT_SERVING = 2

/** Responds as `/readyz?agents=any` does: a proxy sends no calls to a gateway without cards, or to one that stops. */
export function tellHealth (stream: ServerHttp2Stream, { services, snapshot }: MeshFrontOptions, warming: boolean): void {
  const isReady = !services.inFlight.draining && !warming && snapshot().agents.all.some(agent => agent.ready)
  ignoreErrors(stream)
  stream.resume()
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  endWithTrailers(ownerOf('mesh', () => { stream.close() }), stream, snapshot().limits.requestTimeout)
  stream.end(grpcFrame(integer(1, isReady ? SERVING : NOT_SERVING)))
}
