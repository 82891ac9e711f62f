/** Calls of a proxy for the warm-up of a process: Envoy waits 200 ms for each reply, and a cold process takes a good part of it. */
import { once } from 'node:events'
import type { ClientHttp2Session } from 'node:http2'
import { connect } from 'node:http2'
import type { Config } from '#config/model/model.js'
import type { MeshFrontOptions } from '#front/mesh/front.js'
import { MeshListener } from '#front/mesh/listener.js'
import type { WarmUpCall } from '#pipeline/warm-up-calls.js'
import { ends } from '#upstream/in-process.js'
import { CHECK } from '#wire/envoy/check.js'
import { integer, run } from '#wire/envoy/fields.js'
import { BODY_MODES, PROCESS } from '#wire/envoy/processing.js'
import { grpcFrame } from '#wire/grpc/deframer.js'

/** Asks about the calls through both services, over and over. @param isOver whether the time is up */
export async function rehearseMesh (
  config: Config,
  options: MeshFrontOptions,
  calls: readonly WarmUpCall[],
  isOver: () => boolean
): Promise<void> {
  const { server } = config
  const listener = server.mesh === null
    ? null
    : MeshListener.of({ ...config, server: { ...server, mesh: { ...server.mesh, tls: null } } }, options)
  if (listener === null) return
  const [client, end] = ends()
  const session = connect('http://in-process.invalid', { createConnection: () => client })
  session.on('error', () => {})
  listener.accept(end)
  try {
    for (let next = 0; calls.length > 0 && !isOver(); next++) {
      const call = calls[next % calls.length] as WarmUpCall
      await callService(session, CHECK, [checkOf(call)])
      await callService(session, PROCESS, call.body === null ? [headOf(call)] : [headOf(call), run(4, run(1, call.body), integer(2, 1))])
    }
  } finally {
    session.destroy()
    listener.close()
  }
}

/** Sends one message after the other, each behind the reply to the one before. */
async function callService (session: ClientHttp2Session, path: string, messages: readonly Buffer[]): Promise<void> {
  const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' })
  let next = 0
  const send = (): void => {
    const message = messages[next++]
    if (message !== undefined) stream.write(grpcFrame(message))
    // The verdict is the last reply: the calls have no response of an agent.
    else stream.close()
  }
  stream.on('data', send)
  stream.on('error', () => {})
  stream.on('end', () => { stream.close() })
  send()
  await once(stream, 'close')
}

/** `CheckRequest`. */
function checkOf ({ method, path, headers, body }: WarmUpCall): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => run(3, run(1, name), run(2, value)))
  const http = [run(2, method), ...lines, run(4, path), run(5, hostOf(headers)), run(6, 'http'), ...(body === null ? [] : [run(12, body)])]
  return run(1, run(4, run(2, ...http)))
}

/** `ProcessingRequest` with the head. */
function headOf ({ method, path, headers, body }: WarmUpCall): Buffer {
  const lines = [[':method', method], [':path', path], [':authority', hostOf(headers)], [':scheme', 'http'], ...Object.entries(headers)]
  const map = run(1, ...lines.map(([name = '', value = '']) => run(1, run(1, name), run(3, value))))
  const head = run(2, map, ...(body === null ? [integer(3, 1)] : []))
  return Buffer.concat([head, run(11, integer(1, BODY_MODES.BUFFERED))])
}

function hostOf (headers: WarmUpCall['headers']): string {
  return headers.host ?? 'in-process.invalid'
}
