/** Collects the removals from one response during the evaluation, and settles them at the end, before the client sees the response. */
import type { JsonEdit, JsonPath } from '#wire/json/edit.js'
import type { CompiledPolicy } from '../compile/compiled.js'
import { spendBudget } from '#jsonschema/evaluation.js'
import type { ResultSubject } from './result-subject.js'
import { RESPONSE_CONTENTS } from '../selectors/response.js'
import type { Violation } from '../violation.js'
import { addViolation, violation } from '../violation.js'

const NONE: readonly never[] = []

/** Steps of a removal, including the cost to apply it. Its path is written as text twice. */
const EDIT = 4

interface Removal extends JsonEdit { readonly policy: CompiledPolicy, readonly rule: string }

export class ResponseEdits {
  /** `settled`: removals of finished results. `removals`: those of the result under evaluation. */
  private readonly settled: Removal[] = []
  private removals: Removal[] = []

  remove (path: JsonPath, policy: CompiledPolicy, rule: string): void {
    this.removals.push({ path, value: null, policy, rule })
  }

  get all (): readonly JsonEdit[] {
    return this.settled
  }

  /** `policy/rule` of each removal, each once. */
  get edited (): readonly string[] {
    return this.settled.length === 0 ? NONE : [...new Set(this.settled.map(({ policy, rule }) => `${policy.name}/${rule}`))]
  }

  /**
   * Ends a result. An object with parts has at least one part: if all parts would be removed, the last one stays.
   * @param subjects the results with removals
   * @param violations receives a violation for each part that stays
   */
  settle (subjects: readonly ResultSubject[], violations: Violation[]): void {
    const { removals } = this
    if (removals.length === 0) return
    this.removals = []
    spendBudget(removals.length * EDIT)
    const paths = partsToKeep(removals, subjects)
    for (const removal of removals) {
      const path = paths.size === 0 ? undefined : paths.get(keyOf(removal.path))
      if (path === undefined) this.settled.push(removal)
      else {
        addViolation(violations, violation({
          mode: 'observe',
          reason: 'INVALID_AGENT_RESPONSE',
          extension: removal.policy.name,
          uri: removal.policy.uri,
          rule: removal.rule,
          path,
          message: 'should be removed, but stays: no part would be left'
        }))
      }
    }
  }
}

/** @returns by its key, the path of the last part of every object that would have no part left */
function partsToKeep (removals: readonly Removal[], subjects: readonly ResultSubject[]): ReadonlyMap<string, string> {
  const removed = new Set(removals.map(({ path }) => keyOf(path)))
  const paths = new Map<string, string>()
  for (const { steps, list, parts } of subjects.flatMap(subject => subject.contents(RESPONSE_CONTENTS))) {
    const last = parts.at(-1)
    if (list === null || last === undefined || parts.length < list.length) continue
    const keyOfPart = (index: number): string => keyOf([...steps, list.key, index])
    if (parts.every(part => removed.has(keyOfPart(part.index)))) paths.set(keyOfPart(last.index), last.path)
  }
  return paths
}

function keyOf (path: JsonPath): string {
  return JSON.stringify(path)
}
