/** Reads the answer of a policy server (AuthZEN 1.0 §5.5, draft of the profile for obligations). Pure. Anything unexpected fails. */
import { visible } from '#a2a/fields.js'
import { isObject } from '#wire/json/object.js'

/** Why a question has no valid answer. */
export const FAILURES = [
  'timeout', 'unreachable', 'status', 'redirect', 'malformed', 'too_large', 'busy', 'open', 'inexact', 'cancelled'
] as const
export type FailureKind = typeof FAILURES[number]

/** One obligation: an object with `type`, as the server sent it. */
export interface Obligation { readonly id: string | null, readonly type: string, readonly properties: Readonly<Record<string, unknown>> }

export interface Decided {
  readonly kind: 'decided'
  readonly decision: boolean
  /** The server's id of the decision, for audit; null for none. */
  readonly id: string | null
  /** The reason for users, as visible text; null for none. */
  readonly reasonUser: string | null
  /** The reason for administrators. Goes to audit and console only. */
  readonly reasonAdmin: string | null
  readonly obligations: readonly Obligation[]
  /** True for an answer that the gateway remembered. */
  readonly cached: boolean
}

export interface Failed {
  readonly kind: 'failed'
  readonly failure: FailureKind
  /** For operators, without text of the server. */
  readonly problem: string
  /** The call passes although nobody has decided about it (`onError: forward`). */
  readonly forward: boolean
}

export type Answer = Decided | Failed

/** Longest texts of a server that the gateway keeps, in UTF-16 code units. */
const MAX_REASON = 300
const MAX_ID = 128
const MAX_OBLIGATIONS = 64

/** @returns the decision, or the problem as a predicate of the server */
export function readAnswer (value: unknown): Omit<Decided, 'cached'> | string {
  if (!isObject(value)) return 'answered with JSON that is not an object'
  const { decision, context } = value
  if (typeof decision !== 'boolean') return 'answered without the boolean "decision"'
  if (context !== undefined && !isObject(context)) return 'answered with a "context" that is not an object'
  const obligations = obligationsOf(context?.['obligations'])
  if (typeof obligations === 'string') return obligations
  return {
    kind: 'decided',
    decision,
    id: textOf(context?.['decision_id'] ?? context?.['id'], MAX_ID),
    reasonUser: reasonOf(context?.['reason_user']),
    reasonAdmin: reasonOf(context?.['reason_admin'] ?? context?.['reason']),
    obligations
  }
}

function obligationsOf (list: unknown): readonly Obligation[] | string {
  if (list === undefined) return []
  if (!Array.isArray(list)) return 'answered with "obligations" that are not a list'
  if (list.length > MAX_OBLIGATIONS) return `answered with more than ${MAX_OBLIGATIONS} obligations`
  const obligations: Obligation[] = []
  for (const entry of list as unknown[]) {
    if (!isObject(entry) || typeof entry['type'] !== 'string') return 'answered with an obligation without "type"'
    const { properties } = entry
    obligations.push({
      id: textOf(entry['id'], MAX_ID),
      type: visible(entry['type'], MAX_ID),
      // The draft requires `properties`; an obligation without them cannot be fulfilled.
      properties: isObject(properties) ? properties : {}
    })
  }
  return obligations
}

/** A text, or the first text of an object by HTTP status or language (AuthZEN 1.0, example 1 of decision contexts). */
function reasonOf (reason: unknown): string | null {
  if (!isObject(reason)) return textOf(reason, MAX_REASON)
  return textOf(reason['403'] ?? Object.values(reason).find(text => typeof text === 'string'), MAX_REASON)
}

function textOf (text: unknown, limit: number): string | null {
  return typeof text === 'string' && text.trim() !== '' ? visible(text.trim(), limit) : null
}
