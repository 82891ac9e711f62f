/** Reasons why a response could not be checked. When responses are enforced, the gateway rejects the response for this reason. */
import type { CallProblem } from '#a2a/message/call.js'
import { BODY } from '#policy/selectors/response.js'
import { isUtf8Of } from '#wire/media-type.js'

/** Label `reason` of `answers_unread_total`. */
export type UnreadableReason = 'too_large' | 'encoding' | 'content_type' | 'malformed'

/** @param bytes `limits.response` */
export function responseTooLarge (bytes: number): CallProblem {
  return problem(
    'response-size',
    `The agent sent a response of more than ${bytes} bytes, which the gateway does not check. Request less at once, or ask the operator ` +
      'of the gateway to raise limits.response.',
    { limitBytes: String(bytes) }
  )
}

export const noMemoryForResponse: CallProblem = problem(
  'response-memory',
  "The memory budget for requests and responses is used up, so that the gateway cannot check the agent's response. Try again later, or " +
    'ask the operator of the gateway to raise limits.memory.'
)

/** Maximum lines of one event. An A2A event has one line, or one for each line of its JSON. */
export const EVENT_LINES = 10_000

/** @param bytes `limits.event` */
export function eventTooLarge (bytes: number): CallProblem {
  return problem(
    'event-size',
    `The agent sent an event of more than ${bytes} bytes or ${EVENT_LINES} lines, which the gateway does not check. Ask the operator of ` +
      'the gateway to raise limits.event.',
    { limitBytes: String(bytes) }
  )
}

/** @param bytes `limits.event` */
export function messageTooLarge (bytes: number): CallProblem {
  return problem(
    'event-size',
    `The agent sent a message of more than ${bytes} bytes in a stream, which the gateway does not check. Ask the operator of the gateway ` +
      'to raise limits.event.',
    { limitBytes: String(bytes) }
  )
}

export const compressedMessage: CallProblem = problem(
  'response-encoding',
  'The agent sent a compressed message although the gateway requested none, so that the gateway cannot check it.'
)

export const notProtobuf: CallProblem = problem(
  'response-type',
  'The agent sent a gRPC response whose messages are not protocol buffers, so that the gateway cannot check it.'
)

export const ambiguousMessages: CallProblem = problem(
  'response-messages',
  'The agent sent a gRPC response that some clients read as something else, so that the gateway cannot check it: not exactly one message ' +
    'in a unary call, or an incomplete message.'
)

/** Agents of either binding use either type. */
const JSON_TYPES = ['application/json', 'application/a2a+json']
const EVENT_STREAM = ['text/event-stream']

/**
 * Returns the reason why a response cannot be read according to its headers; null when it can. Clients differ on which of two header lines
 * counts, and decode as the header declares. Python's clients read event streams in any charset.
 * @param headers flat list, names in lower case
 */
export function unreadByHeader (headers: readonly string[], stream: boolean): UnreadableReason | null {
  if (isEncoded(headers)) return 'encoding'
  const [type, ...others] = valuesOf(headers, 'content-type')
  return type !== undefined && others.every(other => other === type) && isUtf8Of(type, stream ? EVENT_STREAM : JSON_TYPES)
    ? null
    : 'content_type'
}

/** True when the bytes are encoded: gzip, br. */
export function isEncoded (headers: readonly string[]): boolean {
  return valuesOf(headers, 'content-encoding').some(encoding => encoding !== '' && encoding.toLowerCase() !== 'identity')
}

function valuesOf (headers: readonly string[], name: string): string[] {
  const problems: string[] = []
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === name) problems.push(headers[i + 1] ?? '')
  return problems
}

export const encoded: CallProblem = problem(
  'response-encoding',
  'The agent sent a response with a Content-Encoding although the gateway requested none, so that the gateway cannot check it.'
)

export const notJson: CallProblem = problem(
  'response-type',
  'The agent sent a response that is neither JSON nor an event stream in UTF-8, so that the gateway cannot check it.'
)

export const ambiguousStream: CallProblem = problem(
  'response-events',
  'The agent sent an event stream that some clients read as something else, so that the gateway cannot check it.'
)

function problem (rule: string, message: string, metadata?: Readonly<Record<string, string>>): CallProblem {
  return { reason: 'INVALID_AGENT_RESPONSE', rule, path: BODY, message, ...(metadata === undefined ? {} : { metadata }) }
}
