/** Reads and decodes a request body, or discards its rest; bounded in bytes and in time. */
import { schedule } from '../event-loop-batch.js'
import type { Encoding } from '#pipeline/content-encoding.js'
import { encodingOf, isPlain } from '#pipeline/content-encoding.js'
import * as rejections from '#pipeline/rejections.js'
import type { Bytes } from '#wire/chunked-buffer.js'
import { collected, whole } from '#wire/chunked-buffer.js'
import { guarded, listen, listenOnce } from '#guard.js'
import { gunzip } from '#wire/gzip.js'
import type { ClientRequest } from '../client-streams.js'
import { readMessage } from '../read-message.js'
import type { Result } from '../step.js'
import { proceed } from '../run.js'
import { END, WAIT } from '../step.js'
import type { GrpcMessage } from '#wire/grpc/deframer.js'
import type { Work } from '../work.js'
import type { Exchange } from '../exchange.js'
import { reserveMemory, release } from '../capacity.js'
import { fail, reject } from '../reply.js'
import type { BodyLimits } from '../read-message.js'

type BodyProblem = 'too_large' | 'timeout' | 'aborted' | 'no_memory'
export type BodyResult = { readonly ok: true; readonly bytes: Bytes } | { readonly ok: false; readonly why: BodyProblem }

const NO_BYTES = Buffer.alloc(0)

/**
 * Reads the body and calls `done` exactly once. After `too_large` or `timeout` the reader stops reading the body: the caller responds and
 * closes the connection.
 */
export function collectBody (request: ClientRequest, limits: BodyLimits, done: (result: BodyResult) => void): void {
  const declared = request.headers['content-length']
  if (declared !== undefined && Number(declared) > limits.size) return done({ ok: false, why: 'too_large' })
  if (declared === undefined && request.headers['transfer-encoding'] === undefined) return done({ ok: true, bytes: NO_BYTES })
  new BodyReader(request, limits, done).start()
}

class BodyReader {
  private readonly request: ClientRequest
  private readonly limits: BodyLimits
  private readonly done: (result: BodyResult) => void
  private chunks: Buffer[] = []
  private size = 0
  private timer: NodeJS.Timeout | null = null
  private finished = false

  constructor (request: ClientRequest, limits: BodyLimits, done: (result: BodyResult) => void) {
    this.request = request
    this.limits = limits
    this.done = done
  }

  start (): void {
    const { owner, timeout } = this.limits
    this.timer = setTimeout(guarded(owner, () => { this.finish({ ok: false, why: 'timeout' }) }), timeout)
    listen(owner, this.request, 'data', (chunk: Buffer) => { this.onData(chunk) })
    listenOnce(owner, this.request, 'end', () => { this.finish({ ok: true, bytes: collected(this.chunks, this.size) }) })
    const aborted = (): void => { this.finish({ ok: false, why: 'aborted' }) }
    listenOnce(owner, this.request, 'close', aborted)
    listenOnce(owner, this.request, 'error', aborted)
  }

  private onData (chunk: Buffer): void {
    if (this.finished) return
    this.size += chunk.length
    if (this.size > this.limits.size) this.finish({ ok: false, why: 'too_large' })
    else if (!this.limits.reserveMemory(chunk.length)) this.finish({ ok: false, why: 'no_memory' })
    else this.chunks.push(chunk)
  }

  private finish (result: BodyResult): void {
    if (this.finished) return
    this.finished = true
    if (this.timer !== null) clearTimeout(this.timer)
    // An error after the decision is ignored: the connection closes anyway.
    if (!result.ok) this.request.pause()
    // A reader that stays referenced must not keep the body in memory.
    this.chunks = []
    this.done(result)
  }
}

/** Reads the body of a request for an operation. A GET has none, and a gRPC call has one message. */
export function readBody (exchange: Exchange): Result {
  const { request, binding } = exchange
  if (binding === 'GRPC') return readGrpcBody(exchange)
  if (request.method === 'GET') return withoutBody(exchange)
  return read(exchange, keepBody)
}

function keepBody (exchange: Exchange, sent: Bytes): Result {
  const work = exchange.work as Work
  const encoding = exchange.request.headers['content-encoding']
  work.sent = sent
  work.bytes = sent
  if (!isPlain(encoding)) work.encoding = encodingOf(encoding, whole(sent), exchange.snapshot.limits.body)
}

/**
 * Accepts a GET without a body. A body of `null` counts as empty, and the request is forwarded without it. The guard has bounded the
 * length.
 */
function withoutBody (exchange: Exchange): Result {
  if ((exchange.request.headers['content-length'] ?? '0') === '0') return
  return read(exchange, (exchange, bytes) => {
    if (whole(bytes).toString('latin1').trim() !== 'null') return reject(exchange, rejections.unexpectedBody('GET'), 'rejected')
  })
}

/**
 * Reads the body of a request over HTTP, then calls `keep` and goes on with the steps. Rejects the request when a limit is exceeded.
 * @param keep returns END when it has rejected the request
 */
export function read (exchange: Exchange, keep: (exchange: Exchange, bytes: Bytes) => Result): Result {
  collectBody(exchange.request, limitsOf(exchange), result => {
    if (!result.ok) return rejectBody(exchange, result.why)
    schedule('decide', exchange, () => {
      if (exchange.response.destroyed || keep(exchange, result.bytes) === END) release(exchange)
      else proceed(exchange)
    }, fail)
  })
  return WAIT
}

function limitsOf (exchange: Exchange): BodyLimits {
  const { body, requestTimeout } = exchange.snapshot.limits
  return { size: body, timeout: requestTimeout, owner: exchange, reserveMemory: bytes => reserveMemory(exchange, bytes) }
}

/** Rejects a request whose body is beyond a limit. The client of an aborted request is gone. */
function rejectBody (exchange: Exchange, why: BodyProblem): void {
  const { limits } = exchange.snapshot
  if (why === 'too_large') reject(exchange, rejections.tooLarge(limits.body), 'rejected')
  else if (why === 'no_memory') reject(exchange, rejections.noMemory(exchange.services.overload.retryAfter), 'rejected')
  else if (why === 'timeout') reject(exchange, rejections.tooSlow(limits.requestTimeout), 'rejected')
  release(exchange)
}

/** Reads the one message of a gRPC call. */
function readGrpcBody (exchange: Exchange): Result {
  readMessage(exchange, limitsOf(exchange), result => {
    if (!result.ok) {
      if (result.why in FRAMING) reject(exchange, rejections.badGrpcBody(FRAMING[result.why as keyof typeof FRAMING]), 'rejected')
      return rejectBody(exchange, result.why as BodyProblem)
    }
    schedule('decide', exchange, () => {
      if (exchange.work !== null) keepMessage(exchange, exchange.work, result.message)
      proceed(exchange)
    }, fail)
  })
  return WAIT
}

function keepMessage ({ request, snapshot }: Exchange, work: Work, { compressed, bytes, frame }: GrpcMessage): void {
  work.sent = frame
  work.bytes = bytes
  if (compressed) work.encoding = messageEncoding(request.headers['grpc-encoding'], bytes, snapshot.limits.body)
}

/** The encoding of a message whose flag says that it is compressed. */
function messageEncoding (header: string | readonly string[] | undefined, bytes: Buffer, limit: number): Encoding {
  if (typeof header !== 'string' || isPlain(header)) return UNKNOWN
  const encoding = encodingOf(header, bytes, limit)
  return encoding.kind === 'problem' && encoding.problem === rejections.contentEncoding ? UNKNOWN : encoding
}

const UNKNOWN: Encoding = { kind: 'problem', problem: rejections.grpcEncoding }

const FRAMING: Readonly<Record<'flag' | 'incomplete' | 'none' | 'several', string>> = {
  flag: 'the first byte of a message is 0, or 1 for a compressed message',
  incomplete: 'it ends before the length that its prefix announces',
  none: 'it has no message',
  several: 'it has more than one message'
}

/** Decodes a compressed body. The memory budget also counts the content. */
export function decodeBody (exchange: Exchange): Result {
  const work = exchange.work as Work
  const { encoding } = work
  if (encoding === null || encoding.kind === 'plain') return
  if (encoding.kind === 'rejected') return reject(exchange, encoding.rejection, 'rejected')
  if (encoding.kind === 'problem') {
    work.encodingProblem = encoding.problem
    return
  }
  if (!reserveMemory(exchange, encoding.member.size)) {
    return reject(exchange, rejections.noMemory(exchange.services.overload.retryAfter), 'rejected')
  }
  gunzip(encoding.member, content => {
    schedule('decide', exchange, () => {
      if (content === null) work.encodingProblem = rejections.notGzip
      else work.bytes = content
      proceed(exchange)
    }, fail)
  })
  return WAIT
}
