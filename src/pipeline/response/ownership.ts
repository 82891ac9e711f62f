/**
 * Owners of tasks in responses (`access.tasks`). The owner of a new task is recorded before the client sees its id. ListTasks loses the
 * tasks of other callers. A response with a task or context of another caller is rejected.
 */
import type { Rejection } from '#a2a/errors.js'
import { foreignResponse, outcomeOf, UNAVAILABLE, unavailable } from '#policy/access/ownership.js'
import type { ResponseDecision, ResultSummary } from '#policy/response/evaluator.js'
import { FORWARD } from '#policy/response/evaluator.js'
import { responseRejection } from '#policy/response/rejection.js'
import type { Violation } from '#policy/violation.js'
import type { JsonEdit } from '#wire/json/edit.js'
import type { OwnedNames, OwnershipPlan, OwnersOf, ResponseDriver } from './driver.js'
import { whenReady } from '#wire/when-ready.js'

type Name = OwnedNames[number]

export function keyOf ({ kind, id }: Name): string {
  return `${kind} ${id}`
}

export class ResponseOwnership {
  private readonly plan: OwnershipPlan
  private readonly driver: ResponseDriver
  /** The events of a stream name the same task again and again. */
  private readonly proven: Set<string>

  constructor (plan: OwnershipPlan, driver: ResponseDriver) {
    this.plan = plan
    this.driver = driver
    this.proven = new Set(plan.proven)
  }

  /** @returns the decision with its consequences; a promise, which never rejects, when the store needs time */
  apply (decision: ResponseDecision, event: number | null): ResponseDecision | Promise<ResponseDecision> {
    if (decision.rejection !== null) return decision
    const { operation } = this.plan
    const names = operation === 'list' ? taskNames(decision.results) : this.newNames(decision.results)
    if (names.length === 0 && operation !== 'list') return decision
    const { owner } = this.plan.caller
    const knownOwners = names.length === 0 ? [] : this.driver.owners(names, owner, this.plan.claims)
    const settle = (owners: OwnersOf): ResponseDecision => {
      return operation === 'list' ? this.filtered(decision, owners, event) : this.checked(decision, names, owners, event)
    }
    return whenReady(knownOwners, settle)
  }

  /** Tasks and contexts that nothing has proven yet, each once. */
  private newNames (results: readonly ResultSummary[]): OwnedNames {
    const names = new Map<string, Name>()
    const add = (name: Name): void => {
      const key = keyOf(name)
      if (!this.proven.has(key)) names.set(key, name)
    }
    for (const { taskId, contextId } of results) {
      if (taskId !== null) add({ kind: 'task', id: taskId })
      if (contextId !== null && this.plan.ownership.contexts) add({ kind: 'context', id: contextId })
    }
    return [...names.values()]
  }

  private checked (decision: ResponseDecision, names: OwnedNames, owners: OwnersOf, event: number | null): ResponseDecision {
    const { ownership, caller } = this.plan
    if (owners === 'unavailable') return ownership.onUnknown === 'allow' ? decision : this.rejected(unavailable, UNAVAILABLE, event)
    const foreign = names.filter((_, i) => {
      const outcome = outcomeOf(caller, owners[i] ?? null)
      // A task that a request without a caller creates belongs to nobody: such a request sees the task once.
      return outcome === 'mismatch' && !(this.plan.claims && owners[i] === caller.owner)
    })
    const [first] = foreign
    if (first !== undefined) {
      const violation = foreignResponse(first.kind === 'task' ? 'the task' : 'the context')
      return this.rejected(violation, responseRejection([violation]), event)
    }
    for (const name of names) this.proven.add(keyOf(name))
    return decision
  }

  private filtered (decision: ResponseDecision, owners: OwnersOf, event: number | null): ResponseDecision {
    const { ownership, caller } = this.plan
    const mayBeUnknown = ownership.onUnknown === 'allow'
    if (owners === 'unavailable' && !mayBeUnknown) return this.rejected(unavailable, UNAVAILABLE, event)
    const { results, list } = decision
    const edits: JsonEdit[] = []
    let count = 0
    let at = 0
    results.forEach(({ taskId }, i) => {
      const owner = taskId === null || owners === 'unavailable' ? null : owners[at++] ?? null
      const outcome = outcomeOf(caller, owner)
      if (outcome === 'match' || (outcome === 'unknown' && mayBeUnknown)) count++
      else edits.push({ path: [...list?.tasks ?? [], i], value: null })
    })
    // The number of the agent counts the tasks of other callers.
    for (const path of list?.totals ?? []) edits.push({ path, value: Buffer.from(String(count)) })
    return edits.length === 0 ? decision : { ...decision, edits: [...decision.edits, ...edits] }
  }

  private rejected (violation: Violation, rejection: Rejection | null, event: number | null): ResponseDecision {
    const decision = { ...FORWARD, rejection, violations: [violation] }
    this.driver.evaluated(decision, event)
    return decision
  }
}

function taskNames (results: readonly ResultSummary[]): OwnedNames {
  return results.flatMap(({ taskId }) => taskId === null ? [] : [{ kind: 'task' as const, id: taskId }])
}
