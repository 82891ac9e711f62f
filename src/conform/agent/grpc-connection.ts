/** The gRPC side of the scripted agent: records metadata and messages as they arrive, and sends what the script of the call says. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'
import { grpcFrame } from '#wire/grpc/deframer.js'
import { filled, filledBytes } from '../mark.js'
import type { Line, Script } from '../model.js'
import { CALL } from '../model.js'
import type { CallStore, SeenRequest } from './store.js'
import { nameIn } from './store.js'

export interface GrpcAgent {
  readonly store: CallStore
  respond (seenRequest: SeenRequest): Script | null
}

const UNIMPLEMENTED: Script = { trailers: [['grpc-status', '12'], ['grpc-message', 'no such method']] }

/** Serves one call. @param rawHeaders names and values in turn */
export function serveGrpc (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[], agent: GrpcAgent): void {
  const lines: Line[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.startsWith(':') === false) lines.push([rawHeaders[i] as string, rawHeaders[i + 1] as string])
  }
  const seenRequest: SeenRequest = {
    method: String(headers[':method']),
    target: String(headers[':path']),
    headers: lines,
    body: Buffer.alloc(0),
    left: false,
    complete: false
  }
  const chunks: Buffer[] = []
  let done = false
  stream.on('data', (chunk: Buffer) => { chunks.push(chunk) })
  stream.on('error', () => { seenRequest.left ||= !done })
  stream.on('close', () => { seenRequest.left ||= !done })
  stream.on('end', () => {
    seenRequest.body = Buffer.concat(chunks)
    seenRequest.complete = true
    const name = nameIn(seenRequest.target, lines, seenRequest.body)
    agent.store.add(name, seenRequest)
    const script = agent.store.scriptOf(name) ?? agent.respond(seenRequest) ?? UNIMPLEMENTED
    play(stream, agent.store, name, script, seenRequest).then(
      () => { done = script.end !== 'hang' },
      () => stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    )
  })
}

async function play (
  stream: ServerHttp2Stream, store: CallStore, name: string | null, script: Script, seenRequest: SeenRequest
): Promise<void> {
  if (stream.destroyed) return
  if (script.begin === 'reset') return stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  const call = name ?? CALL
  const text = (value: string): string => filled(value, call).toString('latin1')
  const trailers = grouped((script.trailers ?? []).map(([key, value]) => [key, text(value)]))
  const initial = {
    ':status': script.status ?? 200,
    'content-type': 'application/grpc',
    ...grouped((script.headers ?? []).map(([key, value]) => [key, text(value)]))
  }
  const pieces = script.pieces ?? []
  if (pieces.length === 0 && script.end === undefined) return stream.respond({ ...initial, ...trailers }, { endStream: true })
  stream.respond(initial, { waitForTrailers: true })
  stream.on('wantTrailers', () => { stream.sendTrailers(trailers) })
  for (const [index, piece] of pieces.entries()) {
    if (index > 0 && script.gated === true && name !== null) await store.released(name, index - 1)
    if (index > 0 && script.pause !== undefined) await new Promise(resolve => setTimeout(resolve, script.pause))
    if (stream.destroyed || seenRequest.left) return
    const frame = grpcFrame(filledBytes(Buffer.from(piece, 'base64'), call))
    if (script.framing === 'gzip') frame[0] = 1
    stream.write(frame)
  }
  if (script.end === 'hang') return
  if (script.end === 'reset') {
    await new Promise(resolve => setTimeout(resolve, 30))
    return stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  }
  stream.end()
}

function grouped (lines: ReadonlyArray<readonly [string, string]>): Record<string, string[]> {
  const groups: Record<string, string[]> = {}
  for (const [name, value] of lines) (groups[name.toLowerCase()] ??= []).push(value)
  return groups
}
