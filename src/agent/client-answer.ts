/** What the client gets of an answer that was judged. */
import type { Caller, Refusal } from '../a2a/errors.js'
import { decisionHeader } from '../a2a/errors.js'
import type { Verdict } from '../policy/answer.js'
import { editJson } from '../wire/json-edit.js'
import { headersOfChanged } from './answer-head.js'
import { refusalAnswer } from './refusal-answer.js'

/** Every answer gets Date and Connection besides. */
export interface ClientAnswer {
  readonly status: number
  /** Reason phrase; '' for the status' usual one. */
  readonly phrase: string
  /** Flat list, names in lower case. */
  readonly headers: readonly string[]
  readonly body: Buffer
  /** Whether the body is the agent's, byte by byte. */
  readonly unchanged: boolean
}

export function refusedAnswer (refusal: Refusal, caller: Caller): ClientAnswer {
  return { ...refusalAnswer(refusal, caller), unchanged: false }
}

/** @param headers of the agent's answer, with the client's echo */
export function wholeAnswer ({ status, body }: { readonly status: number, readonly body: Buffer }, headers: readonly string[], verdict: Verdict): ClientAnswer {
  const edited = verdict.edits.length === 0 ? body : editJson(body, verdict.edits)
  const unchanged = edited === body
  const kept = unchanged ? [...headers] : headersOfChanged(headers, edited.length)
  for (const name of verdict.annotations) kept.push('gateway-decision', decisionHeader(name, 'warn'))
  return { status, phrase: '', headers: kept, body: edited, unchanged }
}

/** @param sent what goes out of the agent's stream */
export function streamAnswer (status: number, headers: readonly string[], sent: Buffer, received: Buffer): ClientAnswer {
  const more = ([['cache-control', 'no-cache'], ['x-accel-buffering', 'no']] as const).filter(([name]) => !headers.some((one, i) => i % 2 === 0 && one === name)).flat()
  return { status, phrase: '', headers: [...headers, ...more], body: sent, unchanged: sent.equals(received) }
}
