/**
 * What the tests of answers share: the same tasks, messages and updates in both versions and bindings, and a request whose review judges
 * them.
 */
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { GrpcMethod } from '#a2a/grpc/methods.js'
import { readCall } from '#a2a/message/call.js'
import { methodOfOperation } from '#a2a/operations.js'
import type { Operation } from '#a2a/operations.js'
import { payloadOf } from '#a2a/payload.js'
import type { Binding, Version } from '#a2a/versions.js'
import type { Principal } from '#identity/principal.js'
import type { AgentConfig, PolicyConfig, ResponseRuleConfig } from '#config/model/model.js'
import type { ResponseEvaluator, ResponseDecision } from '#policy/response/evaluator.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import { decide } from '#policy/request/evaluate.js'
import type { Decision } from '#policy/request/decision.js'
import { evaluatorOf } from '#policy/response/policy-evaluator.js'
import type { TaskRecord } from '#policy/task/memory.js'
import type { Tracer } from '#policy/trace.js'
import type { JsonObject } from '#wire/json/object.js'
import type { MessageTable } from '#wire/protobuf/table.js'
import { writeProtobuf } from '#wire/protobuf/write.js'
import { declaring, policyOf } from './fixtures.js'

export const URI = 'https://x.test/ext/v1'
export const TYPE = 'application/json;schema=order'
export const LIMITS = { depth: 64, members: 100_000 }

export class Style {
  readonly version: Version
  readonly binding: Binding

  constructor (version: Version, binding: Binding) {
    this.version = version
    this.binding = binding
  }

  get name (): string {
    return `${this.version} ${this.binding}`
  }

  /** ProtoJSON and its names. */
  private get proto (): boolean {
    return this.version === '1.0' || this.binding !== 'JSONRPC'
  }

  /** Path of the task that a call answers. */
  get task (): string {
    return [...(this.binding === 'JSONRPC' ? ['result'] : []), ...(this.proto ? ['task'] : [])].join('.')
  }

  part (data: unknown, mediaType = TYPE, metadata: object = {}): object {
    if (this.version === '1.0') return { data, mediaType, metadata }
    return this.binding === 'JSONRPC'
      ? { kind: 'data', data, metadata: { mimeType: mediaType, ...metadata } }
      : { data: { data }, metadata: { mimeType: mediaType, ...metadata } }
  }

  text (text: string): object {
    return this.proto ? { text } : { kind: 'text', text }
  }

  message (parts: readonly object[], more: object = {}, role: 'agent' | 'user' = 'agent'): object {
    const list = this.proto && this.version === '0.3' ? { content: parts } : { parts }
    return {
      ...(this.proto ? {} : { kind: 'message' }),
      messageId: 'm',
      role: this.proto ? `ROLE_${role.toUpperCase()}` : role,
      ...list,
      ...more
    }
  }

  state (state: string): string {
    return this.proto ? `TASK_STATE_${state.toUpperCase().replaceAll('-', '_')}` : state
  }

  taskOf (
    state: string,
    {
      message,
      artifacts = [],
      ...more
    }: { message?: object; artifacts?: readonly (readonly object[])[] } & Readonly<Record<string, unknown>> = {}
  ): object {
    return {
      ...(this.proto ? {} : { kind: 'task' }),
      id: 't1',
      contextId: 'c1',
      status: { state: this.state(state), ...(message === undefined ? {} : { message }) },
      artifacts: artifacts.map((parts, i) => ({ artifactId: String(i), parts })),
      ...more
    }
  }

  /** The body of an answer, or an event. */
  body (kind: 'task' | 'message' | 'statusUpdate' | 'artifactUpdate', object: object): Buffer {
    // proto 0.3.0 names the field `msg`, with json_name `message`.
    const member = kind === 'message' && this.version === '0.3' && this.binding !== 'GRPC' ? 'msg' : kind
    return this.raw(this.proto ? { [member]: object } : object)
  }

  raw (result: unknown): Buffer {
    if (this.binding === 'GRPC') return writeProtobuf(result as JsonObject, this.table(result as JsonObject))
    return Buffer.from(JSON.stringify(this.binding === 'JSONRPC' ? { jsonrpc: '2.0', id: 1, result } : result))
  }

  /** Table of a response message: a stream's, whose fields are those of SendMessageResponse too, or that of a bare task. */
  private table (result: JsonObject): MessageTable {
    const operation = 'tasks' in result ? 'ListTasks' : 'id' in result ? 'GetTask' : 'SendStreamingMessage'
    return (grpcMethodFor(operation, this.version) as GrpcMethod).response
  }

  /** The response after the edits, as JSON. */
  edited (bytes: Buffer, { edits }: ResponseDecision): unknown {
    const payload = payloadOf(this.binding, this.version, 'SendStreamingMessage', 'response')
    const parsed = payload.parse(payload.edit(bytes, edits), LIMITS)
    if (!parsed.ok) throw new Error(parsed.problem.message)
    return parsed.value
  }

  task_ (state: string, more: Parameters<Style['taskOf']>[1] = {}): Buffer {
    return this.body('task', this.taskOf(state, more))
  }

  status (state: string, more: object = {}): Buffer {
    return this.body('statusUpdate', {
      ...(this.proto ? {} : { kind: 'status-update', final: false }),
      taskId: 't1',
      contextId: 'c1',
      status: { state: this.state(state), ...more }
    })
  }

  artifact (parts: readonly object[], more: object = {}): Buffer {
    return this.body('artifactUpdate', {
      ...(this.proto ? {} : { kind: 'artifact-update' }),
      taskId: 't1',
      contextId: 'c1',
      artifact: { artifactId: 'a', parts },
      ...more
    })
  }
}

export const STYLES = [
  new Style('1.0', 'JSONRPC'),
  new Style('1.0', 'HTTP+JSON'),
  new Style('0.3', 'JSONRPC'),
  new Style('0.3', 'HTTP+JSON')
]
/** With gRPC, whose messages hold nothing but the members that A2A defines. */
export const EVERY_STYLE = [...STYLES, new Style('1.0', 'GRPC'), new Style('0.3', 'GRPC')]
export const V1 = STYLES[0] as Style

export const SCHEMA = { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] }

export function rule (more: Partial<ResponseRuleConfig> = {}): ResponseRuleConfig {
  return { id: 'r', select: { part: { data: true } }, schema: SCHEMA, verdict: 'reject', ...more }
}

/** One extension that the card declares, and an agent that enforces, unless said otherwise. */
export function policyFor (config: Partial<PolicyConfig>, more: Partial<AgentConfig> = {}): AgentPolicy {
  return policyOf(declaring(URI), { ext: { uri: URI, ...config } }, { responses: 'enforce', ...more })
}

export interface Asking {
  readonly style?: Style
  readonly operation?: Operation
  /** JSON-RPC method of an extension, instead of the operation. */
  readonly method?: string
  readonly requested?: readonly string[]
  /** Of the message that is sent. */
  readonly message?: object
  readonly taskId?: string | null
  readonly record?: TaskRecord | null
  readonly tracer?: Tracer
  readonly clock?: () => number
  readonly caller?: Principal
}

export interface Asked { readonly decision: Decision, readonly review: ResponseEvaluator | null }

export function ask (
  policy: AgentPolicy,
  { style = V1, operation: asked = 'SendMessage', method, requested = [], message = {}, taskId = null, record = null, tracer, clock, caller }: Asking = {}
): Asked {
  const operation = method === undefined ? asked : 'Other'
  const sends = operation === 'SendMessage' || operation === 'SendStreamingMessage'
  const content = { ...style.message([style.text('x')], taskId === null ? {} : { taskId }, 'user'), ...message }
  const namedTask = style.binding === 'GRPC' && style.version === '0.3' ? { name: `tasks/${taskId}` } : { id: taskId }
  const params: JsonObject = sends ? { [style.version === '0.3' && style.binding === 'HTTP+JSON' ? 'request' : 'message']: content } : namedTask
  const grpc = style.binding === 'GRPC' ? grpcMethodFor(operation, style.version) : null
  const text = JSON.stringify(
    style.binding === 'JSONRPC' ? { jsonrpc: '2.0', id: 1, method: method ?? methodOfOperation(operation, style.version), params } : params
  )
  const call = readCall({
    bytes: grpc === null ? Buffer.from(style.binding === 'JSONRPC' || sends ? text : '') : writeProtobuf(params, grpc.request),
    binding: style.binding,
    version: style.version,
    contentType: 'application/json',
    restOperation: style.binding === 'JSONRPC' ? null : operation,
    limits: LIMITS
  })
  const decision = decide(
    { call, requested, headerName: 'A2A-Extensions', pathTenant: null, extensionRoute: null, headers: [], record, caller: caller ?? null },
    policy
  )
  return {
    decision,
    review: evaluatorOf({
      policy,
      decision,
      requested,
      operation,
      method: call.operation === 'Other' ? call.method : null,
      binding: style.binding,
      version: style.version,
      id: call.idValue,
      taskId,
      limits: LIMITS,
      tracer: tracer ?? null,
      ...(clock === undefined ? {} : { clock })
    })
  }
}

export function judge (policy: AgentPolicy, bytes: Buffer, asking: Asking = {}): ResponseDecision {
  const { review } = ask(policy, asking)
  if (review === null) throw new Error('nobody looks at the answer')
  return review.evaluate(bytes, false)
}

/** What becomes of an answer, in a line. */
export function outcome ({ rejection: refusal, edited, annotations, violations }: ResponseDecision): string {
  if (refusal !== null) return `refused: ${refusal.message}`
  const told = [...edited.map(one => `edited ${one}`), ...annotations.map(one => `annotated ${one}`)]
  return [...told, ...violations.map(found => `${found.extension}/${found.rule} ${found.path} ${found.message}`)].join('; ')
}

export function edited (bytes: Buffer, verdict: ResponseDecision, style = V1): unknown {
  return style.edited(bytes, verdict)
}
