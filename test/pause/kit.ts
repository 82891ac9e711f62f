/** A policy that lets large orders wait for a person, and the orders and decisions of clients. */
import type { AgentClient } from '../helpers/sdk-clients.js'

export const APPROVAL = 'https://example.com/ext/approval/v1'
export const QUESTION = 'May the agent place this order?'

/** Lines of YAML at the root. @param pause further keys of `pause` */
export function approvalPolicy (pause: readonly string[] = []): string[] {
  return [
    'extensions:',
    '  approval:',
    `    uri: ${APPROVAL}`,
    '    owns: {metadata: [$uri]}',
    '    request:',
    '      - id: large-order',
    '        select: {part: {where: {path: /type, equals: order}, path: /amount}}',
    '        schema: {type: number, maximum: 1000}',
    '        pause:',
    '          state: input-required',
    `          text: ${QUESTION}`,
    '          data: {options: [approve, decline]}',
    '          metadata: {type: approval_request}',
    '          evidence:',
    '            select: {metadata: {in: [message], key: $uri}}',
    '            schema: {type: object, required: [approved], properties: {approved: {const: true}}}',
    '          declined: {type: object, required: [approved], properties: {approved: {const: false}}}',
    ...pause.map(line => `          ${line}`)
  ]
}

export const CARD = { extensions: [{ uri: APPROVAL }] }

export function order (client: AgentClient, amount: number): Promise<unknown> {
  return client.send('order', { data: { type: 'order', amount } })
}

/** A message on the task of an order, with a decision; `undefined`: without one. */
export function decide (client: AgentClient, taskId: string, approved?: unknown): Promise<unknown> {
  return client.send('my decision', {
    taskId,
    ...(approved === undefined ? {} : { message: { metadata: { [APPROVAL]: { approved } } } })
  })
}

/** A task as either generation of the SDK returns it: its state by its name in A2A 0.3, and the content of its status. */
export interface Shown {
  readonly id: string
  readonly state: string
  readonly texts: readonly string[]
  readonly data: unknown
  readonly metadata: unknown
}

export function shown (value: unknown): Shown {
  const task = found(value)
  const { state, message } = task.status ?? {}
  const parts = message?.parts ?? []
  return {
    id: task.id,
    state: typeof state === 'number' ? (STATES[state] ?? '') : state ?? '',
    texts: parts.map(({ content, text }) => content?.$case === 'text' ? content.value : text).filter(one => typeof one === 'string'),
    data: parts.map(({ content, data }) => content?.$case === 'data' ? content.value : data).find(data => data !== undefined),
    metadata: message?.metadata
  }
}

interface AnyPart {
  readonly text?: string
  readonly data?: unknown
  readonly content?: { readonly $case: string, readonly value: unknown }
}
interface AnyTask {
  readonly id: string
  readonly status?: {
    readonly state?: string | number
    readonly message?: { readonly parts?: readonly AnyPart[], readonly metadata?: unknown }
  }
}

/** SDK 1.3.0 wraps the result of a send. */
function found (value: unknown): AnyTask {
  const { payload } = value as { readonly payload?: { readonly value: AnyTask } }
  return payload?.value ?? value as AnyTask
}

/** `TaskState` of SDK 1.3.0. */
const STATES: Readonly<Record<number, string>> = {
  2: 'working', 3: 'completed', 4: 'failed', 5: 'canceled', 6: 'input-required', 7: 'rejected', 8: 'auth-required'
}
