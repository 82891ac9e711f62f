/** Official SDK agents that record their reading of a request: as the transport passes it on, and as the executor gets it. */
import type { Test } from 'tap'
import type { Operation } from '#a2a/operations.js'
import { startAgent } from '../helpers/agents.js'
import type { AgentKind, TestAgent } from '../helpers/agents.js'
import { elementsOf } from './same.js'

export const OPTIONAL = ['https://e.test/a', 'https://e.test/b'] as const

/** A part as its reader sees it. */
export interface PartReading {
  /** Null: a kind that the reader does not know. */
  readonly kind: 'text' | 'data' | 'url' | 'raw' | null
  readonly value: unknown
  /** Every stated media type. For an agent: the media type that the agent reads. */
  readonly mediaTypes: readonly string[]
  readonly metadata: unknown
}

export interface MessageReading {
  readonly role: unknown
  readonly contextId: unknown
  readonly parts: ReadonlyArray<PartReading | null>
  readonly metadata: unknown
  readonly extensions: unknown
}

export interface Reading {
  readonly operation: Operation
  readonly tenant: unknown
  /** Id of the task that the request names. */
  readonly taskId: unknown
  readonly requested: readonly string[]
  readonly message: MessageReading | null
  readonly metadata: unknown
}

export interface Oracle {
  readonly kind: AgentKind
  readonly agent: TestAgent
  /** The reading since the last call of this function; null when the agent rejected the request before it had read all of it. */
  take (): Reading | null
  /** The parts that the executor got since the last call; null when the executor did not run. */
  takeExecuted (): readonly unknown[] | null
}

const OPERATIONS: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ['sendMessage', 'SendMessage'],
  ['sendMessageStream', 'SendStreamingMessage'],
  ['getTask', 'GetTask'],
  ['listTasks', 'ListTasks'],
  ['cancelTask', 'CancelTask'],
  ['resubscribe', 'SubscribeToTask'],
  ['createTaskPushNotificationConfig', 'CreateTaskPushNotificationConfig'],
  ['setTaskPushNotificationConfig', 'CreateTaskPushNotificationConfig'],
  ['getTaskPushNotificationConfig', 'GetTaskPushNotificationConfig'],
  ['listTaskPushNotificationConfigs', 'ListTaskPushNotificationConfigs'],
  ['deleteTaskPushNotificationConfig', 'DeleteTaskPushNotificationConfig'],
  ['getAuthenticatedExtendedAgentCard', 'GetExtendedAgentCard']
])

interface Context { readonly tenant?: unknown, readonly requestedExtensions?: readonly string[] }
type Members = Readonly<Record<string, unknown>>

export async function startOracle (t: Test, kind: AgentKind): Promise<Oracle> {
  let reading: Reading | null = null
  let executed: readonly unknown[] | null = null
  const listening = (handler: object): object => new Proxy(handler, {
    get (target, name) {
      const member: unknown = Reflect.get(target, name)
      const operation = typeof name === 'string' ? OPERATIONS.get(name) : undefined
      if (typeof member !== 'function') return member
      return (...given: unknown[]): unknown => {
        // A copy, because the handler narrows the extensions and adds ids later.
        if (operation !== undefined) reading = structuredClone(readingOf(kind, operation, given))
        return Reflect.apply(member, target, given)
      }
    }
  })
  const agent = await startAgent({
    kind,
    card: { extensions: OPTIONAL.map(uri => ({ uri })) },
    wrap: <T extends object>(handler: T) => listening(handler) as T,
    behaviour: turn => {
      executed = structuredClone(turn.parts)
      turn.message({ text: 'read' })
    }
  })
  t.teardown(() => agent.close())
  return {
    kind,
    agent,
    take () {
      const was = reading
      reading = null
      return was
    },
    takeExecuted () {
      const was = executed
      executed = null
      return was
    }
  }
}

function readingOf (kind: AgentKind, operation: Operation, given: readonly unknown[]): Reading {
  const cardOf03 = kind === 'v03' && operation === 'GetExtendedAgentCard'
  const params = (cardOf03 ? {} : given[0] ?? {}) as Members
  const context = (cardOf03 ? given[0] : given[1]) as Context | undefined
  const message = params.message as Members | null | undefined
  return {
    operation,
    // 0.3 has no tenants, and passes every member on.
    tenant: kind === 'v03' ? null : params.tenant || context?.tenant || null,
    taskId: (message == null ? taskOf(kind, operation, params) : message.taskId) || null,
    requested: [...context?.requestedExtensions ?? []],
    message: message == null ? null : messageOf(message, kind === 'v03' ? partOf03 : partOf10),
    metadata: params.metadata
  }
}

function taskOf (kind: AgentKind, operation: Operation, params: Members): unknown {
  if (operation === 'GetTask' || operation === 'CancelTask' || operation === 'SubscribeToTask') return params.id
  return kind === 'v03' && operation !== 'CreateTaskPushNotificationConfig' ? params.id : params.taskId
}

function messageOf (message: Members, partOf: (part: Members) => PartReading): MessageReading {
  const parts = elementsOf(message.parts) as readonly (Members | null)[]
  return {
    role: ROLES.get(message.role) ?? message.role,
    contextId: message.contextId,
    parts: parts.map(part => (part === null || typeof part !== 'object' ? null : partOf(part))),
    metadata: message.metadata,
    extensions: message.extensions
  }
}

const ROLES: ReadonlyMap<unknown, string> = new Map<unknown, string>([[1, 'user'], [2, 'agent']])

export function partOf10 (part: Members): PartReading {
  const content = part.content as { readonly $case: PartReading['kind'], readonly value: unknown } | undefined
  return {
    kind: content?.$case ?? null,
    value: Buffer.isBuffer(content?.value) ? content.value.toString('base64') : content?.value,
    mediaTypes: typesOf(part.mediaType),
    metadata: part.metadata
  }
}

export function partOf03 (part: Members): PartReading {
  const { kind, metadata } = part
  if (kind === 'text' || kind === 'data') return { kind, value: part[kind], mediaTypes: [], metadata }
  const file = (kind === 'file' ? part.file ?? {} : {}) as Members
  return {
    kind: file.bytes != null ? 'raw' : file.uri != null ? 'url' : null,
    value: file.bytes ?? file.uri,
    mediaTypes: typesOf(file.mimeType),
    metadata
  }
}

function typesOf (value: unknown): readonly string[] {
  return value === undefined || value === null || value === '' ? [] : [value as string]
}
