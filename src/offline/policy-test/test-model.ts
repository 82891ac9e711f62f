/** A policy test file after loading, with every default filled in. `test-schema.ts` is its source of truth. */
import type { ErrorSpec, EventSpec, JsonMap, MessageSpec, TaskSpec } from '#a2a/message/wire-spec.js'
import type { Binding, Version } from '#a2a/versions.js'
import type { GrpcCodeName } from '#wire/grpc/codes.js'
import type { CallerSpec } from '../caller.js'
import type { RecordedAnswers } from '../recorded-answers.js'
import type { OPERATION_NAMES } from './test-schema.js'

export interface TestFile {
  readonly card?: string | JsonMap
  readonly agent?: string | JsonMap
  /** Default of the tests. */
  readonly caller?: CallerSpec | null
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
  /** Null: nobody that the gateway knows. Default: that of the file. */
  readonly caller?: CallerSpec | null
  /** State and owner of the task before the test. Default: the state that `before` leaves, and a task of the caller. */
  readonly memory?: 'unknown' | { readonly state?: string, readonly owner?: 'caller' | 'other' | 'unknown' }
  /** Answers of policy servers, by name. */
  readonly external?: RecordedAnswers
  /** Exchanges that run before the test. */
  readonly before?: readonly ExchangeSpec[]
  readonly request: RequestSpec
  readonly answer?: ResponseSpec
  readonly expect: Expectation
}

export interface ExchangeSpec {
  /** Default: that of the test. */
  readonly caller?: CallerSpec | null
  readonly request: RequestSpec
  readonly answer: ResponseSpec
}

export interface RequestSpec {
  readonly operation?: typeof OPERATION_NAMES[number]
  readonly extensions?: readonly string[]
  readonly headers?: Readonly<Record<string, string | null>>
  readonly message?: MessageSpec
  readonly metadata?: JsonMap
  readonly params?: JsonMap
  readonly method?: string
  /** RFC 3339. */
  readonly at?: string
  /** File, `file#name` or `file#number` of a recorded request. */
  readonly http?: string
}

/** Has exactly one of task, message, tasks, events, result, error and http. */
export interface ResponseSpec {
  readonly task?: TaskSpec
  readonly message?: MessageSpec
  readonly tasks?: readonly TaskSpec[]
  readonly events?: readonly EventSpec[]
  /** Result that is sent unchanged. */
  readonly result?: unknown
  readonly error?: ErrorSpec
  /** File of a recorded response. */
  readonly http?: string
  /** URIs in the header of the agent. */
  readonly extensions?: readonly string[]
  readonly headers?: Readonly<Record<string, string | null>>
  readonly status?: number
}

/** URI sets of a decision. */
export const URI_SETS = ['declared', 'requested', 'listed', 'evidenced', 'active', 'injected', 'missing', 'forbidden'] as const

export interface Expectation extends Readonly<Partial<Record<typeof URI_SETS[number], readonly string[]>>> {
  readonly decision: 'forward' | 'reject' | 'pause'
  readonly rule?: string
  readonly reason?: string
  readonly path?: string
  readonly message?: string
  readonly status?: number
  readonly grpcStatus?: GrpcCodeName
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
  readonly grpcStatus?: GrpcCodeName
  /** For a stream: number of the rejected event, from 1. */
  readonly event?: number
  readonly violations?: readonly string[]
  readonly edited?: readonly string[]
  readonly annotations?: readonly string[]
  readonly body?: JsonMap
  readonly unchanged?: boolean
  readonly attributes?: JsonMap
  readonly measures?: JsonMap
}
