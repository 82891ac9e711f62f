/** Runs one exchange of a test: evaluates the request, composes the agent's response, and evaluates the response. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import { taskIdOf } from '#a2a/task-id.js'
import { dryRunResponse } from '#pipeline/dry-run-response.js'
import { dryRunRequest } from '#pipeline/dry-run.js'
import { answersOf } from '../recorded-answers.js'
import type { Claimed } from '#policy/request/claims.js'
import type { TaskRecord } from '#policy/task/memory.js'
import { FIELDS } from '#policy/task/memory.js'
import { composeResponse } from './compose-response.js'
import { recordedGrpcResponse } from './grpc-response.js'
import type { RecordedResponse } from './recorded-response.js'
import { readResponse, RecordingError } from './recorded-response.js'
import type { TestAgent } from '../policy-test/test-agent.js'
import type { PolicyTest, ResponseSpec } from '../policy-test/test-model.js'
import type { ResponseDryRun } from '#pipeline/response/recording-driver.js'
import type { DryRun, DryRunMemory, PlainRequest, Recall, TaskOwner } from '#pipeline/dry-run-operation.js'
import type { Claim } from '#policy/request/decision.js'

export interface Exchanged {
  readonly dryRun: DryRun
  /** Response of the agent. Null when the agent gets no request, or when the test gives no response. */
  readonly received: RecordedResponse | null
  readonly response: ResponseDryRun | null
}

/** Task state and claimed values that are kept from one exchange to the next. */
export class Memory implements DryRunMemory {
  private readonly records = new Map<string, Map<string, string>>()
  /** Time of expiry of each claimed value. */
  private readonly claims = new Map<string, number>()
  /** State of any task without a stored state. */
  private readonly given: TaskRecord | null

  readonly owner: TaskOwner
  readonly answers: NonNullable<DryRunMemory['answers']>

  /** @param external answers of policy servers */
  constructor (memory: PolicyTest['memory'] = 'unknown', external?: PolicyTest['external']) {
    const { state, owner = 'caller' } = memory === 'unknown' ? {} : memory
    this.given = state === undefined ? null : new Map([[FIELDS.state, state]])
    this.owner = owner
    this.answers = answersOf(external) ?? (() => null)
  }

  readonly recall: Recall = taskId => this.records.get(taskId) ?? this.given

  readonly claim = (claims: readonly Claim[], now: number | null): readonly Claimed[] => claims.map(({ key, window }) => {
    const at = now ?? 0
    if ((this.claims.get(key) ?? Number.NEGATIVE_INFINITY) > at) return 'seen'
    this.claims.set(key, at + window)
    return 'new'
  })

  keep (response: ResponseDryRun): void {
    for (const { decision } of response.results) {
      if (decision.remember === null) continue
      const { taskId, fields } = decision.remember
      this.records.set(taskId, new Map([...this.recall(taskId) ?? [], ...fields]))
    }
  }
}

/**
 * Runs one exchange.
 * @param spec the response of the test; undefined when there is none
 * @param directory directory that files are relative to
 * @returns the exchange, or in words why the agent cannot give that response
 */
export function exchange (
  agent: TestAgent,
  request: PlainRequest,
  spec: ResponseSpec | undefined,
  memory: Memory,
  directory: string
): Exchanged | string {
  const dryRun = dryRunRequest(agent, request, agent.limits, null, memory)
  if (spec === undefined || dryRun.forwarded === null) return { dryRun, received: null, response: null }
  const received = spec.http === undefined ? composed(spec, dryRun) : recorded(join(directory, spec.http), dryRun)
  if (typeof received === 'string') return received
  const response = dryRunResponse(dryRun, received)
  memory.keep(response)
  return { dryRun, received, response }
}

const TASK = 'a2a-gateway-test-task'
const CONTEXT = 'a2a-gateway-test-context'

function composed (spec: ResponseSpec, { call, caller, route }: DryRun): RecordedResponse | string {
  const { version, binding } = caller
  const path = binding === 'HTTP+JSON' && route?.kind === 'operation' ? route.upstreamPath : null
  const contextId = call?.view?.message?.fields.get('contextId')
  const ids = {
    task: (call === null ? null : taskIdOf(call, path)) ?? TASK,
    context: typeof contextId === 'string' && contextId !== '' ? contextId : CONTEXT
  }
  return composeResponse(spec, { variant: { version, binding }, operation: call?.operation ?? 'Other', id: caller.id, ids })
}

function recorded (file: string, { caller, call }: DryRun): RecordedResponse | string {
  try {
    const response = readResponse(readFileSync(file), file)
    const method = caller.binding === 'GRPC' && call !== null ? grpcMethodFor(call.operation, caller.version) : null
    return method === null ? response : recordedGrpcResponse(response, method)
  } catch (error) {
    if (error instanceof RecordingError) return error.message
    const { code } = error as NodeJS.ErrnoException
    return `${file}: ${code === 'ENOENT' ? 'there is no such file' : `it cannot be read${code === undefined ? '' : ` (${code})`}`}`
  }
}
