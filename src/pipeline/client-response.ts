/** Builds the client's response from an evaluated response of the agent. */
import type { Caller, Rejection } from '../a2a/errors.js'
import { decisionHeader } from '../a2a/errors.js'
import type { ResponseDecision } from '../policy/response/evaluator.js'
import { editJson } from '../wire/json/edit.js'
import { headersOfChanged } from './response-head.js'
import { rejectionResponse } from './rejection-response.js'

/** A response for the client. Every response also gets the headers Date and Connection. */
export interface ClientResponse {
  readonly status: number
  /** Reason phrase; '' for the usual phrase of the status. */
  readonly phrase: string
  /** Flat list, names in lower case. */
  readonly headers: readonly string[]
  readonly body: Buffer
  /** True when the body is the agent's, byte for byte. */
  readonly unchanged: boolean
}

export function rejectedResponse (rejection: Rejection, caller: Caller): ClientResponse {
  return { ...rejectionResponse(rejection, caller), unchanged: false }
}

/** @param headers of the agent's response, with the client's extension header */
export function wholeResponse ({ status, body }: { readonly status: number, readonly body: Buffer }, headers: readonly string[], decision: ResponseDecision): ClientResponse {
  const edited = decision.edits.length === 0 ? body : editJson(body, decision.edits)
  const unchanged = edited === body
  const kept = unchanged ? [...headers] : headersOfChanged(headers, edited.length)
  for (const name of decision.annotations) kept.push('gateway-decision', decisionHeader(name, 'warn'))
  return { status, phrase: '', headers: kept, body: edited, unchanged }
}

/** @param sent the part of the agent's stream that the client gets */
export function streamResponse (status: number, headers: readonly string[], sent: Buffer, received: Buffer): ClientResponse {
  const more = ([['cache-control', 'no-cache'], ['x-accel-buffering', 'no']] as const).filter(([name]) => !headers.some((one, i) => i % 2 === 0 && one === name)).flat()
  return { status, phrase: '', headers: [...headers, ...more], body: sent, unchanged: sent.equals(received) }
}
