/** A file of policy tests once it is read, every default filled in. Its source of truth is `test-schema.ts`. */
import type { Binding, Version } from '../../a2a/versions.js'
import type { OPERATION_NAMES } from './test-schema.js'

export type JsonMap = Readonly<Record<string, unknown>>

export interface TestFile {
  readonly card?: string | JsonMap
  readonly agent?: string | JsonMap
  readonly extensions?: JsonMap
  readonly bundles?: JsonMap
  readonly tests: readonly PolicyTest[]
}

export interface PolicyTest {
  readonly name: string
  readonly versions?: readonly Version[]
  readonly bindings?: readonly Binding[]
  readonly card?: string | JsonMap
  readonly agent?: string | JsonMap
  /** What is remembered of the task beforehand. Default: what `before` leaves. */
  readonly memory?: 'unknown' | { readonly state: string }
  /** Exchanges that run first. */
  readonly before?: readonly ExchangeSpec[]
  readonly request: RequestSpec
  readonly answer?: ResponseSpec
  readonly expect: Expectation
}

export interface ExchangeSpec { readonly request: RequestSpec, readonly answer: ResponseSpec }

export interface RequestSpec {
  readonly operation?: typeof OPERATION_NAMES[number]
  readonly extensions?: readonly string[]
  readonly headers?: Readonly<Record<string, string | null>>
  readonly message?: MessageSpec
  readonly metadata?: JsonMap
  readonly params?: JsonMap
  readonly method?: string
  /** File, `file#name` or `file#number`. */
  readonly http?: string
}

export interface MessageSpec {
  readonly messageId?: string
  /** Default user; in an answer agent. */
  readonly role?: 'user' | 'agent'
  readonly parts: readonly PartSpec[]
  readonly metadata?: JsonMap
  readonly taskId?: string
  readonly contextId?: string
  readonly extensions?: readonly string[]
  readonly referenceTaskIds?: readonly string[]
}

export interface PartSpec {
  readonly text?: string
  readonly raw?: string
  readonly url?: string
  readonly data?: unknown
  readonly mediaType?: string
  readonly filename?: string
  readonly metadata?: JsonMap
}

/** Exactly one of task, message, tasks, events, result, error and http. */
export interface ResponseSpec {
  readonly task?: TaskSpec
  readonly message?: MessageSpec
  readonly tasks?: readonly TaskSpec[]
  readonly events?: readonly EventSpec[]
  /** As it stands. */
  readonly result?: unknown
  readonly error?: ErrorSpec
  /** File. */
  readonly http?: string
  /** URIs of the agent's header. */
  readonly extensions?: readonly string[]
  readonly headers?: Readonly<Record<string, string | null>>
  readonly status?: number
}

/** Exactly one of its members. */
export interface EventSpec {
  readonly task?: TaskSpec
  readonly message?: MessageSpec
  readonly statusUpdate?: StatusUpdateSpec
  readonly artifactUpdate?: ArtifactUpdateSpec
  readonly result?: unknown
  readonly error?: ErrorSpec
}

export interface TaskSpec {
  readonly id?: string
  readonly contextId?: string
  readonly status?: StatusSpec
  readonly artifacts?: readonly ArtifactSpec[]
  readonly history?: readonly MessageSpec[]
  readonly metadata?: JsonMap
}

/** `state` by its name in either version. */
export interface StatusSpec { readonly state?: string, readonly message?: MessageSpec, readonly timestamp?: string }

export interface ArtifactSpec {
  readonly artifactId?: string
  readonly name?: string
  readonly description?: string
  readonly parts: readonly PartSpec[]
  readonly metadata?: JsonMap
  readonly extensions?: readonly string[]
}

interface UpdateSpec { readonly taskId?: string, readonly contextId?: string, readonly metadata?: JsonMap }
export interface StatusUpdateSpec extends UpdateSpec { readonly status?: StatusSpec }
export interface ArtifactUpdateSpec extends UpdateSpec { readonly artifact: ArtifactSpec, readonly append?: boolean, readonly lastChunk?: boolean }

export interface ErrorSpec { readonly code: number, readonly message?: string, readonly data?: unknown }

/** Sets of URIs that a decision knows. */
export const URI_SETS = ['declared', 'requested', 'listed', 'evidenced', 'active', 'injected', 'missing'] as const

export interface Expectation extends Readonly<Partial<Record<typeof URI_SETS[number], readonly string[]>>> {
  readonly decision: 'forward' | 'reject'
  readonly rule?: string
  readonly reason?: string
  readonly path?: string
  readonly message?: string
  readonly status?: number
  readonly violations?: readonly string[]
  readonly headers?: Readonly<Record<string, string | null>>
  readonly body?: JsonMap
  readonly unchanged?: boolean
  readonly answer?: ResponseExpectation
}

export interface ResponseExpectation extends Readonly<Partial<Record<'confirmed' | 'absent' | 'unexpected' | 'shown', readonly string[]>>> {
  readonly decision: 'forward' | 'reject'
  readonly rule?: string
  readonly reason?: string
  readonly path?: string
  readonly message?: string
  readonly status?: number
  /** Of a stream, from 1: the event that is refused. */
  readonly event?: number
  readonly violations?: readonly string[]
  readonly edited?: readonly string[]
  readonly annotations?: readonly string[]
  readonly body?: JsonMap
  readonly unchanged?: boolean
  readonly attributes?: JsonMap
  readonly measures?: JsonMap
}
