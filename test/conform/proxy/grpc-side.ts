/** The gRPC side of the faulty proxy: one connection to the agent for each call. */
import { connect, constants } from 'node:http2'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { GrpcDeframer, grpcFrame } from '#wire/grpc/deframer.js'
import { UNKNOWN_FIELD } from '#conform/protocol.js'
import { missingOf } from './enforce.js'
import type { ProxyState } from './proxy.js'

const KNOWN = new Set(['content-type', 'te', 'grpc-timeout', 'a2a-version', 'a2a-extensions', 'x-a2a-extensions', 'authorization', 'user-agent', 'traceparent'])
const HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'host'])

export function forwardGrpc (stream: ServerHttp2Stream, incoming: IncomingHttpHeaders, raw: readonly string[], state: ProxyState): void {
  const { has } = state
  stream.on('error', () => stream.close())
  const finish = (status: number, message: string): void => {
    if (!stream.headersSent && !stream.destroyed) stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': String(status), 'grpc-message': encodeURIComponent(message) }, { endStream: true })
  }
  if (has('answers-html')) {
    stream.respond({ ':status': 502, 'content-type': 'text/html' })
    stream.end('<html></html>')
    return
  }
  const lines: Array<[string, string]> = []
  for (let i = 0; i + 1 < raw.length; i += 2) if (raw[i]?.startsWith(':') === false) lines.push([raw[i] as string, raw[i + 1] as string])
  const missing = missingOf(lines, state, /\/Send(?:Streaming)?Message$/.test(String(incoming[':path'])))
  if (missing !== null) return finish(9, has('names-nothing') ? 'an extension is missing' : `EXTENSION_SUPPORT_REQUIRED: ${missing.join(', ')}`)
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => { chunks.push(chunk) })
  stream.on('end', () => call({ stream, incoming, lines, body: Buffer.concat(chunks), finish }, state))
}

interface Call {
  readonly stream: ServerHttp2Stream
  readonly incoming: IncomingHttpHeaders
  readonly lines: ReadonlyArray<[string, string]>
  readonly body: Buffer
  readonly finish: (status: number, message: string) => void
}

function call (one: Call, state: ProxyState, tries = 0): void {
  const { stream, incoming, lines, body, finish } = one
  const { has, agent } = state
  const headers: Record<string, string | string[]> = { ':method': 'POST', ':path': String(incoming[':path']) }
  for (const [name, value] of lines) {
    if (HOP.has(name) || (has('grpc-drops-metadata') && !KNOWN.has(name))) continue
    if (has('drops-version') && name === 'a2a-version') continue
    if (has('drops-extensions') && /a2a-extensions$/.test(name)) continue
    if (has('drops-credentials') && name === 'authorization') continue
    if (has('drops-traces') && name === 'traceparent') continue
    if (has('drops-unknown-headers') && !KNOWN.has(name)) continue
    const before = headers[name]
    if (before !== undefined && has('drops-header-line')) continue
    headers[name] = before === undefined ? value : [...Array.isArray(before) ? before : [before], value]
  }
  if (has('adds-version')) headers['a2a-version'] = '1.0'
  const session = connect(agent)
  session.on('error', () => finish(14, 'the agent cannot be reached'))
  const upstream = session.request(headers)
  upstream.on('error', () => {})
  let idle: NodeJS.Timeout | undefined
  const watch = (): void => {
    clearTimeout(idle)
    if (has('closes-idle-streams')) idle = setTimeout(() => stream.end(), 900)
  }
  let trailers: Record<string, unknown> = {}
  let held: Buffer[] = []
  upstream.on('response', (response, flags) => {
    watch()
    if (stream.destroyed) return
    const kept: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(response)) {
      if (HOP.has(name) || ((has('grpc-drops-metadata') || has('drops-unknown-headers')) && !KNOWN.has(name) && !name.startsWith('grpc-') && name !== ':status')) continue
      kept[name] = value
    }
    if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0) {
      stream.respond(changed(kept, state) as never, { endStream: true })
      return
    }
    if (has('grpc-assumes-ok')) kept[':status'] = 200
    stream.respond(kept as never, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers(changed(trailers, state) as never))
  })
  upstream.on('trailers', received => { trailers = received })
  upstream.on('data', (chunk: Buffer) => {
    watch()
    if (has('grpc-drops-unknown-fields')) chunk = withoutUnknown(chunk)
    if (has('buffers-events')) held.push(chunk)
    else stream.write(chunk)
  })
  upstream.on('close', () => {
    clearTimeout(idle)
    session.destroy()
    const broken = upstream.rstCode !== 0
    for (const chunk of held.splice(0)) stream.write(chunk)
    held = []
    if (broken && !stream.headersSent && has('grpc-retries') && tries === 0) return call(one, state, 1)
    if (broken && !stream.headersSent) return finish(14, 'the agent cannot be reached')
    if (broken && has('completes-broken')) trailers = { 'grpc-status': '0' }
    if (broken && !has('completes-broken')) stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    else if (!stream.writableEnded) stream.end()
  })
  stream.on('close', () => { if (!has('ignores-leaving')) upstream.close(constants.NGHTTP2_CANCEL) })
  upstream.end(has('grpc-drops-unknown-fields') ? withoutUnknown(body) : body)
}

function changed (lines: Readonly<Record<string, unknown>>, { has }: ProxyState): Record<string, unknown> {
  const result = { ...lines }
  if (has('grpc-assumes-ok')) {
    result['grpc-status'] ??= '0'
    if (result[':status'] !== undefined) result[':status'] = 200
  }
  if (has('grpc-drops-trailers')) for (const name of Object.keys(result)) if (!['grpc-status', 'grpc-message', ':status', 'content-type'].includes(name)) delete result[name]
  if (has('grpc-hides-statuses') && result['grpc-status'] !== '0') Object.assign(result, { 'grpc-status': '2', 'grpc-message': 'error' })
  return result
}

/** Removes the unknown field, and writes the lengths anew as far as the test's messages need: its length has one byte. */
function withoutUnknown (body: Buffer): Buffer {
  return Buffer.concat(new GrpcDeframer(64 * 1024 * 1024).feed(body).map(({ bytes }) => {
    const at = bytes.indexOf(UNKNOWN_FIELD)
    return grpcFrame(at < 0 ? bytes : Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + UNKNOWN_FIELD.length)]))
  }))
}
