/** Sends one gRPC call over a connection of its own, and reads headers, messages and trailers as they are. */
import { connect, constants } from 'node:http2'
import { grpcFrame, GrpcDeframer } from '#wire/grpc/deframer.js'
import { filled, filledBytes } from '../mark.js'
import type { Exchange, GrpcRequest, Line } from '../model.js'
import { ExchangeRecord } from './exchange-record.js'

export interface CallOptions {
  /** `http://host:port` or `https://host:port`. */
  readonly base: string
  readonly name: string
  /** Called when the client has a message. */
  readonly release?: (message: number) => void
  readonly messages?: number
  readonly timeout?: number
}

const LARGEST = 64 * 1024 * 1024

/** @returns the exchange, whose body is the messages with their prefixes; `status` is the HTTP status */
export async function callGrpc (request: GrpcRequest, options: CallOptions): Promise<Exchange> {
  const { base, name, release, messages = 0, timeout } = options
  return await new Promise(resolve => {
    const session = connect(base, { rejectUnauthorized: false, settings: { initialWindowSize: 4 * 1024 * 1024 } })
    const close = (end: Exchange['end']): void => {
      if (end === 'left') stream.close(constants.NGHTTP2_CANCEL, () => session.destroy())
      else session.destroy()
    }
    const record = new ExchangeRecord({ pieces: messages, release, timeout, close, done: resolve })
    session.on('error', error => record.settle('broken', `no response: ${(error as NodeJS.ErrnoException).code ?? error.message}`))
    const headers: Record<string, string | string[]> = {
      ':method': 'POST', ':path': request.path, te: 'trailers', 'content-type': 'application/grpc'
    }
    for (const [key, value] of request.metadata) {
      const text = filled(value, name).toString('latin1')
      const before = headers[key]
      headers[key] = before === undefined ? text : [...Array.isArray(before) ? before : [before], text]
    }
    const stream = session.request(headers)
    const deframer = new GrpcDeframer(LARGEST)
    stream.on('response', (response, _flags, ...rest: unknown[]) => {
      record.status = Number(response[':status'])
      record.headers = linesOf(rest[0] as string[] | undefined ?? flat(response))
      record.watch()
    })
    stream.on(
      'trailers', (trailers, _flags, ...rest: unknown[]) => { record.trailers = linesOf(rest[0] as string[] | undefined ?? flat(trailers)) }
    )
    stream.on('data', (chunk: Buffer) => {
      record.chunks.push(chunk)
      for (let i = deframer.feed(chunk).length; i > 0; i--) record.arrived()
      if (request.leaveAfter !== undefined && record.piece >= request.leaveAfter) record.settle('left')
    })
    stream.on('end', () => {
      // Trailers-only: the status comes with the headers.
      if (
        record.trailers.length === 0 &&
        record.headers.some(([key]) => key === 'grpc-status')
      ) record.trailers = record.headers.filter(([key]) => key.startsWith('grpc-'))
    })
    stream.on('error', error => record.settle('broken', error.message))
    stream.on('close', () => {
      if (stream.rstCode !== 0) record.settle('broken', `the stream ended with HTTP/2 error ${stream.rstCode}`)
      else record.settle(record.status === 0 ? 'broken' : 'complete', record.status === 0 ? 'the connection ended before a response' : null)
    })
    for (const message of request.messages) {
      const frame = grpcFrame(filledBytes(Buffer.from(message, 'base64'), name))
      if (request.compressed === true) frame[0] = 1
      stream.write(frame)
    }
    stream.end()
  })
}

function flat (headers: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(headers).flatMap(([key, value]) => (Array.isArray(value) ? value : [value]).flatMap(line => [key, String(line)]))
}

function linesOf (raw: readonly string[]): Line[] {
  const lines: Line[] = []
  for (let i = 0; i + 1 < raw.length; i += 2) if (raw[i]?.startsWith(':') === false) lines.push([raw[i] as string, raw[i + 1] as string])
  return lines
}
