/** Which questions a call needs: `external` of the agent, and `external` of the rules of its policies. Compiled once for each agent. */
import type { Call } from '#a2a/message/call.js'
import { carriesMessage } from '#a2a/operations.js'
import type { AgentConfig, ExternalCondition, ExternalConfig } from '#config/model/model.js'
import { withBudget, unevaluated } from '#jsonschema/evaluation.js'
import { formatsOf } from '#jsonschema/format-assertion.js'
import type { Formats } from '#jsonschema/ajv.js'
import { compileShared } from '#jsonschema/shared-schemas.js'
import { compileCaller } from '#policy/access/caller.js'
import { additionName } from '#policy/request/methods.js'
import type { AskedRule } from '#policy/asked-rule.js'
import { RequestSubject } from '#policy/selectors/subject.js'
import type { JsonPath } from '#wire/json/edit.js'
import { escapePointer, parsePointer } from '#wire/json/pointer.js'
import type { RequestHead } from '../request-head.js'
import type { OperationRoute } from '#a2a/route.js'
import type { CallFacts, SentValue } from './question.js'
import type { RequestEvaluation } from '../request-evaluation.js'

/** The questions of one agent. */
export interface ExternalPlan {
  readonly entries: readonly CompiledExternal[]
  /** True when a rule of a policy for requests, or for responses, asks. */
  readonly rules: { readonly request: boolean, readonly response: boolean }
  /** True for an agent that only observes: no answer has an effect. */
  readonly observes: boolean
}

export interface CompiledExternal extends Pick<ExternalConfig, 'id' | 'use' | 'send' | 'mode'> {
  readonly request: boolean
  readonly response: boolean
  readonly redact: readonly (readonly string[])[]
  readonly applies: (call: AskedCall) => boolean
}

/** A call after the rules of the gateway. */
export interface AskedCall {
  readonly route: OperationRoute
  readonly call: Call
  readonly head: RequestHead
  readonly evaluation: RequestEvaluation
  readonly facts: CallFacts
}

/** @returns null for an agent that asks nobody */
export function externalPlanOf (agent: AgentConfig): ExternalPlan | null {
  if (agent.mode === 'off') return null
  const asks = (side: 'request' | 'response'): boolean =>
    agent.policies.some(({ policy }) => policy.mode !== 'off' && policy[side]?.some(rule => rule.external !== undefined) === true)
  const rules = { request: asks('request'), response: agent.responses !== 'off' && asks('response') }
  if (agent.external.length === 0 && !rules.request && !rules.response) return null
  return { entries: agent.external.map(entry => compile(entry, agent.jsonSchema.formats)), rules, observes: agent.mode === 'observe' }
}

function compile (
  { id, use, operations, phase, send, mode, redact, when }: ExternalConfig, formats: AgentConfig['jsonSchema']['formats']
): CompiledExternal {
  const names = new Set(operations)
  const condition = when === undefined ? null : compileCondition(when, schema => formatsOf(schema, formats, true))
  return {
    id,
    use,
    send,
    mode,
    request: phase !== 'response',
    response: phase !== 'request',
    redact: redact.map(parsePointer),
    applies: asked => isMeant(names, asked) && (condition === null || condition(asked))
  }
}

function isMeant (names: ReadonlySet<string>, { call: { operation, method }, route, evaluation: { policy } }: AskedCall): boolean {
  if (names.has('all') || names.has(operation) || (names.has('messages') && carriesMessage(operation))) return true
  return names.has('Extension') && operation === 'Other' && additionName(policy, method, route.extensionRoute) !== null
}

function compileCondition (
  { caller, active, taskId, contextId, match }: ExternalCondition,
  formats: (schema: NonNullable<ExternalCondition['match']>) => Formats
): (asked: AskedCall) => boolean {
  // `check` has compiled the schemas before. What cannot be decided matches: the server decides then.
  const compiled = (schema: NonNullable<ExternalCondition['match']>): (value: unknown) => boolean => {
    const result = compileShared(schema, formats(schema))
    return value => !result.ok || result.schema.matches(value) !== false
  }
  const isCaller = caller === undefined ? null : compileCaller(caller, schema => compiled(schema))
  const matches = match === undefined ? null : compiled(match)
  return ({ call, head, facts, evaluation: { decision } }) => {
    if (active !== undefined && !decision.active.includes(active)) return false
    const subject = new RequestSubject(call, head.rawHeaders)
    if (taskId !== undefined && taskId !== subject.taskId) return false
    if (contextId !== undefined && contextId !== subject.contextId) return false
    try {
      return withBudget(call.inexact, () =>
        (isCaller === null || isCaller(facts.caller)) && (matches === null || matches(subject.normalised)))
    } catch (error) {
      if (unevaluated(error) === null) throw error
      return true
    }
  }
}

/**
 * The values that a rule selected, with paths below the request object or the result.
 * @param root keys from the root of the body to that object
 */
export function sentValues ({ values }: AskedRule, root: JsonPath): readonly SentValue[] {
  return values.map(({ path, at, value }) => ({
    path: at.length < root.length || root.some((step, i) => at[i] !== step) || path.startsWith('header ')
      ? path
      : pointerOf(at.slice(root.length)),
    value
  }))
}

function pointerOf (path: JsonPath): string {
  return path.map(step => `/${escapePointer(String(step))}`).join('')
}
