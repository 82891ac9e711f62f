/**
 * Requests of the gateway itself, for cards, key sets and tokens: bounded in time and size, without redirects, compression and retries.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { LookupFunction } from 'node:net'
import type { Dispatcher } from 'undici'
import { ignoreErrors } from '#guard.js'
import { agentClass } from './undici.js'
import { VIA } from './via.js'

/** Connections, for folders that do not import undici. */
export type Connections = Dispatcher

export interface BoundedRequest {
  readonly method: 'GET' | 'POST'
  /** Names in lower case. `via` is added. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Timeout of headers and of pauses in the body, ms. */
  readonly timeout: number
  /** Ends the request. */
  readonly signal: AbortSignal
}

export interface BoundedResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** True when the agent has compressed the body, although the request accepted no content-encoding. */
  readonly encoded: boolean
  /** Reads the body. @returns null for a body of more than `limit` bytes */
  readonly read: (limit: number) => Promise<Buffer | null>
  /** The body as it arrives, for responses without an end; instead of `read`. */
  readonly chunks: AsyncIterable<Buffer>
}

/** Bytes of an unwanted body that are read to keep its connection. */
const DISCARDED = 16_384

/** Opens connections to the services of issuers: always verified, without HTTP/2. */
export function serviceConnections (
  connections: number,
  timeout: number,
  tls: {
    readonly ca?: Buffer
    readonly cert?: Buffer
    readonly key?: Buffer
    readonly servername?: string
    readonly lookup?: LookupFunction
  } = {}
): Dispatcher {
  const Agent = agentClass()
  return new Agent({
    connections,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: 4_000,
    maxHeaderSize: 16_384,
    connect: { timeout, rejectUnauthorized: true, ...tls }
  })
}

/**
 * Sends a request, and passes the response to `use`. A body that `use` does not read is discarded.
 * @throws the error of the connection, or of the signal
 */
export async function boundedRequest<T> (
  url: URL,
  dispatcher: Dispatcher,
  { method, headers, body: sent, timeout, signal }: BoundedRequest,
  use: (response: BoundedResponse) => T | Promise<T>
): Promise<T> {
  const { statusCode: status, headers: responded, body } = await dispatcher.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method,
    headers: { ...headers, via: VIA },
    ...(sent === undefined ? {} : { body: sent }),
    headersTimeout: timeout,
    bodyTimeout: timeout,
    signal
  })
  try {
    return await use({
      status,
      headers: responded,
      encoded: isEncoded(responded),
      read: limit => readBody(body, limit),
      chunks: body as AsyncIterable<Buffer>
    })
  } finally {
    if (!body.destroyed && !body.readableEnded) discard(body, signal)
  }
}

/** Returns a header's value. Several lines are joined as HTTP defines. */
export function headerValue (value: string | string[] | undefined): string {
  if (value === undefined) return ''
  return Array.isArray(value) ? value.join(', ') : value
}

/** The code of a network error, or its name; null for something else. */
export function errorCode (error: unknown): string | null {
  if (!(error instanceof Error)) return null
  // Several addresses of one name failed. The first error stands for all of them.
  if (error instanceof AggregateError && error.errors.length > 0) return errorCode(error.errors[0])
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

function isEncoded (headers: IncomingHttpHeaders): boolean {
  const encoding = headerValue(headers['content-encoding']).trim().toLowerCase()
  return encoding !== '' && encoding !== 'identity'
}

async function readBody (body: AsyncIterable<Buffer>, limit: number): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > limit) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}

/** Reads and discards an unwanted body, or closes the connection when the body is long. An unread body would block its connection. */
function discard (body: Dispatcher.ResponseData['body'], signal: AbortSignal): void {
  ignoreErrors(body) // errors of the socket are irrelevant here
  body.dump({ limit: DISCARDED, signal }).catch(() => {})
}
