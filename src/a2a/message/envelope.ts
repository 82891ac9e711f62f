/**
 * The JSON-RPC 2.0 envelope of a request, validated according to the reference table "JSON-RPC corners". Batches, ids of other types, wrong
 * versions and case variants are rejected before `params` is read.
 */
import type { JsonObject } from '#wire/json/object.js'
import { isObject, own } from '#wire/json/object.js'
import { memberSpan } from '#wire/json/span.js'
import type { Bytes } from '#wire/chunked-buffer.js'
import { withContiguous } from '#wire/chunked-buffer.js'
import type { FieldProblem } from '../fields.js'
import { Fields } from '../fields.js'
import { RPC_REQUEST } from '../members.js'

export interface RpcEnvelope {
  readonly method: string
  /** Absent and null params are both null. */
  readonly params: JsonObject | null
  readonly id: string | number | null
}

export interface EnvelopeProblem {
  readonly reason: 'INVALID_REQUEST' | 'INVALID_PARAMS'
  readonly path: string
  readonly message: string
}

export type EnvelopeResult =
  { readonly ok: true; readonly envelope: RpcEnvelope } | { readonly ok: false; readonly problem: EnvelopeProblem }

function bad (path: string, message: string, reason: EnvelopeProblem['reason'] = 'INVALID_REQUEST'): EnvelopeResult {
  return { ok: false, problem: { reason, path, message } }
}

export function readEnvelope (value: unknown): EnvelopeResult {
  if (Array.isArray(value)) return bad('', 'Batch requests are not supported by A2A; send one JSON-RPC object per HTTP request.')
  if (!isObject(value)) return bad('', 'The body must be one JSON-RPC 2.0 object with "jsonrpc", "id", "method" and "params".')
  const problems: FieldProblem[] = []
  Fields.read(value, RPC_REQUEST, '', problems)
  if (problems.length > 0) return worst(problems)
  if (own(value, 'jsonrpc') !== '2.0') return bad('jsonrpc', 'The member "jsonrpc" must be the string "2.0".')
  const method = own(value, 'method')
  if (typeof method !== 'string' || method === '') return bad('method', 'The member "method" must be a non-empty string.')
  const params = own(value, 'params')
  const id = own(value, 'id') as string | number | null | undefined
  return { ok: true, envelope: { method, params: isObject(params) ? params : null, id: id ?? null } }
}

/**
 * Rejects an envelope for its gravest problem, so that the error code does not depend on the order of the members. An ambiguous envelope
 * has no certain reading. Params of the wrong type are the only problem that leaves the envelope itself valid (JSON-RPC 2.0 §5.1).
 */
function worst (problems: readonly FieldProblem[]): EnvelopeResult {
  const ambiguous = problems.find(({ message }) => !message.startsWith('must be '))
  if (ambiguous !== undefined) return bad(ambiguous.path, `Ambiguous envelope: the member ${ambiguous.path} ${ambiguous.message}.`)
  const typed = problems.find(({ path }) => path !== 'params') ?? problems[0] as FieldProblem
  const { path, message } = typed
  return bad(path, `The member "${path}" ${message}.`, path === 'params' ? 'INVALID_PARAMS' : 'INVALID_REQUEST')
}

/**
 * Returns the `id` of a parsed body as the raw token that the client wrote, so that an integer beyond 2^53 keeps its digits. Returns `null`
 * when the id is absent or is neither string nor number (JSON-RPC 2.0 §5).
 */
export function idToken (bytes: Bytes, value: unknown): string {
  if (!isObject(value)) return 'null'
  const id = own(value, 'id')
  if (typeof id !== 'string' && typeof id !== 'number') return 'null'
  return withContiguous(bytes, whole => {
    const span = memberSpan(whole, ['id'])
    return span === null ? 'null' : whole.toString('utf8', span.start, span.end)
  })
}
