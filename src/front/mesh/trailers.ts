/** The end of the gateway's side of a call of a proxy: trailers with the status of gRPC. */
import type { ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'
import type { Guarded } from '#guard.js'
import { guarded, listen, listenOnce } from '#guard.js'

const { NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = constants

/**
 * Sends the status behind the last message.
 * @param patience milliseconds that the proxy has to end its side. A reset at once would let the clients of grpc-js wait for ever, if they
 * still send (measured with 1.14)
 * @param status returns the code of gRPC
 */
export function endWithTrailers (owner: Guarded, stream: ServerHttp2Stream, patience: number, status: () => number = OK): void {
  listen(owner, stream, 'wantTrailers', () => {
    if (stream.destroyed) return
    try {
      stream.sendTrailers({ 'grpc-status': String(status()) })
    } catch {
      // The proxy has reset the stream meanwhile.
      return stream.close(NGHTTP2_INTERNAL_ERROR)
    }
    if (stream.readableEnded || stream.endAfterHeaders) return
    const timer = setTimeout(guarded(owner, () => { stream.close(NGHTTP2_NO_ERROR) }), patience).unref()
    listenOnce(owner, stream, 'close', () => { clearTimeout(timer) })
  })
}

const OK = (): number => 0
