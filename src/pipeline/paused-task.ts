/** The task that the gateway serves for a request that waits for a person (`pause`), as a response of each binding and version. */
import type { Caller } from '#a2a/errors.js'
import { decisionHeader } from '#a2a/errors.js'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import { wireEvent, wireTask } from '#a2a/message/wire-response.js'
import type { StatusSpec, TaskSpec } from '#a2a/message/wire-spec.js'
import type { Operation } from '#a2a/operations.js'
import { isStreaming } from '#a2a/operations.js'
import type { TaskState } from '#a2a/task-state.js'
import { A2A_MEDIA_TYPE } from '#a2a/versions.js'
import type { CompiledPause } from '#policy/compile/compiled.js'
import type { Paused, PausedState } from '#policy/task/paused.js'
import type { JsonObject } from '#wire/json/object.js'
import { grpcFrame } from '#wire/grpc/deframer.js'
import { writeProtobuf } from '#wire/protobuf/write.js'
import { eventBytes } from '#wire/sse/write.js'

export interface PausedTask extends Pick<Paused, 'state' | 'contextId' | 'at'> {
  readonly id: string
  /** The rule that asks, as `policy/rule`. */
  readonly rule: string
  /** Null when a reload has removed the rule. */
  readonly question: { readonly pause: CompiledPause, readonly uri: string } | null
  /** Why the last message did not let the request pass; null for none. */
  readonly problem: string | null
}

const STATES: Readonly<Record<Exclude<PausedState, 'waiting'>, { readonly state: TaskState, readonly text: string }>> = {
  resumed: { state: 'completed', text: 'The request was sent to the agent. The response has the task of the agent.' },
  rejected: { state: 'rejected', text: 'The request was declined. The agent did not get the request.' },
  canceled: { state: 'canceled', text: 'The request was canceled. The agent did not get the request.' }
}

/** The state of the task, by its A2A name. */
export function taskStateIn ({ state, question }: Pick<PausedTask, 'state' | 'question'>): TaskState {
  return state === 'waiting' ? question?.pause.state ?? 'input-required' : STATES[state].state
}

function taskSpec (task: PausedTask): TaskSpec {
  const { id, contextId, state, at, question, problem } = task
  const asked = state === 'waiting' ? question : null
  const text = state === 'waiting' ? question?.pause.text ?? 'The request waits for a person.' : STATES[state].text
  const { data, metadata } = asked?.pause ?? {}
  const status: StatusSpec = {
    state: taskStateIn(task),
    timestamp: at,
    message: {
      messageId: `${id}-${state}`,
      taskId: id,
      contextId,
      parts: [{ text }, ...(data === undefined ? [] : [{ data }]), ...(problem === null ? [] : [{ text: problem }])],
      ...(metadata === undefined || asked === null ? {} : { metadata: { [asked.uri]: metadata }, extensions: [asked.uri] })
    }
  }
  return { id, contextId, status }
}

export interface PausedResponse {
  /** Flat list of names and values. */
  readonly headers: string[]
  /** The body over HTTP, the message with its prefix over gRPC. */
  readonly body: Buffer
}

/**
 * Writes the response to an operation on the task. A stream has the task as its only event: the client then knows that the agent works on
 * nothing.
 * @param caller how the client reads responses
 */
export function pausedResponse (task: PausedTask, operation: Operation, caller: Caller): PausedResponse {
  const { binding, version, id } = caller
  const variant = { binding, version }
  const spec = taskSpec(task)
  const ids = { task: task.id, context: task.contextId }
  const isBare = operation === 'GetTask' || operation === 'CancelTask'
  const result = isBare ? wireTask(spec, variant, ids) : wireEvent({ task: spec }, variant, ids)
  const decision = task.state === 'waiting' ? ['gateway-decision', decisionHeader(task.rule, 'pause')] : []
  if (binding === 'GRPC') {
    const table = grpcMethodFor(operation, version)?.response
    if (table === undefined) throw new Error(`A2A ${version} has no gRPC method for ${operation}`)
    return { headers: ['content-type', 'application/grpc', ...decision], body: grpcFrame(writeProtobuf(result as JsonObject, table)) }
  }
  const text = binding === 'JSONRPC' ? `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}` : JSON.stringify(result)
  const isStream = isStreaming(operation)
  const body = isStream ? eventBytes(text) : Buffer.from(text)
  const type = isStream ? 'text/event-stream' : isA2a(caller) ? A2A_MEDIA_TYPE : 'application/json'
  return { headers: ['content-type', type, 'content-length', String(body.length), 'cache-control', 'no-store', ...decision], body }
}

/** HTTP+JSON 1.0 has a media type of its own, which the client uses too, or accepts. */
function isA2a ({ binding, version, mediaType }: Caller): boolean {
  return binding === 'HTTP+JSON' && version === '1.0' && mediaType !== 'application/json'
}
