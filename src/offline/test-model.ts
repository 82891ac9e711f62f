/** A file of policy tests once it is read, every default filled in. Its source of truth is `test-schema.ts`. */
import type { Binding, Version } from '../a2a/versions.js'
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
  readonly request: RequestSpec
  readonly expect: Expectation
}

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
  readonly role: 'user' | 'agent'
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
}
