/** Why an answer could not be checked; where answers are enforced, it is refused for that. */
import type { CallProblem } from '../a2a/call.js'

/** Label `reason` of `answers_unread_total`. */
export type Unread = 'too_large' | 'encoding' | 'content_type' | 'malformed'

/** @param bytes `limits.response` */
export function answerTooLarge (bytes: number): CallProblem {
  return problem('response-size', `The agent sent an answer of more than ${bytes} bytes, which the gateway does not check. Ask for less at once, or have limits.response raised.`, { limitBytes: String(bytes) })
}

/**
 * @param bytes `limits.event`
 * @param lines that an event may have
 */
export function eventTooLarge (bytes: number, lines: number): CallProblem {
  return problem('event-size', `The agent sent an event of more than ${bytes} bytes or ${lines} lines, which the gateway does not check. Have limits.event raised.`, { limitBytes: String(bytes) })
}

export const encoded: CallProblem = problem('response-encoding', 'The agent sent an answer with a Content-Encoding although it was asked for none, so that the gateway cannot check it.')

export const notJson: CallProblem = problem('response-type', 'The agent sent an answer that is neither JSON nor an event stream, so that the gateway cannot check it.')

function problem (rule: string, message: string, metadata?: Readonly<Record<string, string>>): CallProblem {
  return { reason: 'INVALID_AGENT_RESPONSE', rule, path: '', message, ...(metadata === undefined ? {} : { metadata }) }
}
