/**
 * Human approval: an agent of the official SDK that pauses until its tool calls are approved, the policy that enforces this for clients,
 * and the requests of clients. The text of the first message names the calls: `x` pauses for `x-1` and `x-2`.
 */
import type { Behaviour } from './agents.js'
import type { Answer } from './http.js'
import { rpc } from './http.js'

export const HITL = 'https://example.com/ext/hitl/v1'

/** The agent's behaviour. A continued task with the text `again: x` pauses once more, for the calls of `x`. */
export const approvals: Behaviour = turn => {
  const again = /^again: (.*)$/.exec(turn.text)?.[1]
  turn.task(turn.continued ? 'working' : 'submitted')
  if (turn.continued && again === undefined) return turn.status('completed', 'done')
  turn.status('working')
  turn.status('input-required', 'may I?', { metadata: request(again ?? turn.text) })
}

/** Metadata of the agent's status message. */
export function request (name: string): Record<string, unknown> {
  return { [HITL]: { type: 'request', tools: callsOf(name).map(id => ({ id })) } }
}

export function callsOf (name: string): string[] {
  return [`${name}-1`, `${name}-2`]
}

/** Lines of YAML at the root. @param onUnknown value of `onUnknown` in every rule about tasks */
export function approvalPolicy (onUnknown: 'allow' | 'reject'): string[] {
  return [
    'extensions:',
    '  hitl:',
    `    uri: ${HITL}`,
    '    mode: enforce',
    '    owns: {metadata: [$uri]}',
    '    request:',
    `      - {id: only-while-it-waits, select: {metadata: {key: $uri}}, unless: {taskState: [input-required]}, count: {max: 0}, onUnknown: ${onUnknown}, error: {class: conflict}}`,
    '    state:',
    '      from: {metadata: {in: [message, status], key: $uri, path: /type}}',
    '      taskStates: {request: [input-required]}',
    "      transitions: {'': [request], request: [response], response: [request]}",
    '      onViolation: reject',
    `      onUnknown: ${onUnknown}`,
    '    correlate:',
    '      - id: every-call-once',
    '        remember: {on: response, select: {metadata: {in: [status], key: $uri}}, pick: /tools/*/id}',
    '        check: {on: request, select: {metadata: {in: [message], key: $uri}}, pick: /approvals/*/id, relation: equalSet}',
    `        onUnknown: ${onUnknown}`
  ]
}

let serial = 0

export interface Sent {
  readonly text?: string
  readonly taskId?: string
  /** Ids of the approved calls. */
  readonly approved?: readonly string[]
  readonly tenant?: string
}

/** `params` of a send. */
export function sending ({ text = 'yes', taskId, approved, tenant }: Sent): Record<string, unknown> {
  return {
    ...(tenant === undefined ? {} : { tenant }),
    message: {
      messageId: `m-${++serial}`,
      role: 'ROLE_USER',
      parts: [{ text }],
      ...(taskId === undefined ? {} : { taskId }),
      ...(approved === undefined
        ? {}
        : { metadata: { [HITL]: { type: 'response', approvals: approved.map(id => ({ id, approved: true })) } } })
    }
  }
}

/** The result of one send: the task's id and state, and the rule that rejected the request. */
export interface Got { readonly taskId: string, readonly state: string, readonly rule: string | null, readonly answer: Answer }

/** @param url URL of the agent's JSON-RPC interface at the gateway */
export async function send (url: string, sent: Sent, streamed = false): Promise<Got> {
  const answer = await rpc(url, streamed ? 'SendStreamingMessage' : 'SendMessage', sending(sent), [
    'a2a-extensions',
    HITL,
    'accept',
    streamed ? 'text/event-stream' : 'application/json'
  ])
  return {
    taskId: /"(?:taskId|id)":"([^"]+)","contextId"/.exec(answer.text)?.[1] ?? '',
    state: [...answer.text.matchAll(/"TASK_STATE_(\w+)"/g)].at(-1)?.[1] ?? (answer.text.includes('"error"') ? 'error' : ''),
    rule: /rule="([^"]+)"/.exec(String(answer.headers['gateway-decision'] ?? ''))?.[1] ?? null,
    answer
  }
}
