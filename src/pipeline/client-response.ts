/** What the client gets of an answer that was judged. */
import type { Caller, Rejection } from '../a2a/errors.js'
import { decisionHeader } from '../a2a/errors.js'
import type { ResponseDecision } from '../policy/response/evaluator.js'
import { editJson } from '../wire/json/edit.js'
import { headersOfChanged } from './response-head.js'
import { rejectionResponse } from './rejection-response.js'

/** Every answer gets Date and Connection besides. */
export interface ClientResponse {
  readonly status: number
  /** Reason phrase; '' for the status' usual one. */
  readonly phrase: string
  /** Flat list, names in lower case. */
  readonly headers: readonly string[]
  readonly body: Buffer
  /** Whether the body is the agent's, byte by byte. */
  readonly unchanged: boolean
}

export function rejectedResponse (rejection: Rejection, caller: Caller): ClientResponse {
  return { ...rejectionResponse(rejection, caller), unchanged: false }
}

/** @param headers of the agent's answer, with the client's echo */
export function wholeResponse ({ status, body }: { readonly status: number, readonly body: Buffer }, headers: readonly string[], decision: ResponseDecision): ClientResponse {
  const edited = decision.edits.length === 0 ? body : editJson(body, decision.edits)
  const unchanged = edited === body
  const kept = unchanged ? [...headers] : headersOfChanged(headers, edited.length)
  for (const name of decision.annotations) kept.push('gateway-decision', decisionHeader(name, 'warn'))
  return { status, phrase: '', headers: kept, body: edited, unchanged }
}

/** @param sent what goes out of the agent's stream */
export function streamResponse (status: number, headers: readonly string[], sent: Buffer, received: Buffer): ClientResponse {
  const more = ([['cache-control', 'no-cache'], ['x-accel-buffering', 'no']] as const).filter(([name]) => !headers.some((one, i) => i % 2 === 0 && one === name)).flat()
  return { status, phrase: '', headers: [...headers, ...more], body: sent, unchanged: sent.equals(received) }
}
