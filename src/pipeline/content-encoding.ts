/** Decides how a compressed request body is read (RFC 9110 §8.4). */
import type { CallProblem } from '#a2a/message/call.js'
import type { Rejection } from '#a2a/errors.js'
import type { GzipMember } from '#wire/gzip.js'
import { gunzipSync, readGzip } from '#wire/gzip.js'
import { contentEncoding, notGzip, tooCompressed, tooLarge } from './rejections.js'

/** Content up to this size may have any ratio, bytes. */
const ANY_RATIO = 1024 * 1024
/** Largest ratio of content to body. JSON seldom exceeds 20; gzip can reach 1,032. */
const MAX_RATIO = 100

export type Encoding =
  /** Not compressed. */
  | { readonly kind: 'plain' }
  | { readonly kind: 'gzip', readonly member: GzipMember }
  /** The call is evaluated without its content. */
  | { readonly kind: 'problem', readonly problem: CallProblem }
  /** A limit is exceeded. The call is rejected in every mode. */
  | { readonly kind: 'rejected', readonly rejection: Rejection }

const IDENTITY: Encoding = { kind: 'plain' }
const UNSUPPORTED: Encoding = { kind: 'problem', problem: contentEncoding }
export const MALFORMED: Encoding = { kind: 'problem', problem: notGzip }

/** True for a body that `encodingOf` need not look at. */
export function isPlain (header: string | undefined): boolean {
  return header === undefined || header.toLowerCase() === 'identity'
}

/**
 * Reads the header Content-Encoding, and header and trailer of the body.
 * @param header several codings are not supported: agents differ in which of them they undo
 * @param limit largest size of the content, bytes
 */
export function encodingOf (header: string | undefined, bytes: Buffer, limit: number): Encoding {
  if (isPlain(header)) return IDENTITY
  const coding = header?.trim().toLowerCase()
  if (coding !== 'gzip' && coding !== 'x-gzip') return UNSUPPORTED
  const member = readGzip(bytes)
  if (member === null) return MALFORMED
  if (member.size > limit) return { kind: 'rejected', rejection: tooLarge(limit) }
  if (member.size > ANY_RATIO && member.size > MAX_RATIO * bytes.length) return { kind: 'rejected', rejection: tooCompressed(MAX_RATIO) }
  return { kind: 'gzip', member }
}

/** A request body as rules read it. */
export type Decoded = { readonly content: Buffer, readonly problem: CallProblem | null } | { readonly rejection: Rejection }

/** Decodes a body at once, for offline tools. */
export function decodeSync (header: string | undefined, bytes: Buffer, limit: number): Decoded {
  const encoding = encodingOf(header, bytes, limit)
  if (encoding.kind === 'rejected') return { rejection: encoding.rejection }
  if (encoding.kind === 'problem') return { content: bytes, problem: encoding.problem }
  const content = encoding.kind === 'plain' ? bytes : gunzipSync(encoding.member)
  return content === null ? { content: bytes, problem: notGzip } : { content, problem: null }
}
