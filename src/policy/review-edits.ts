/** What is to be taken out of one answer before the client sees it: collected while it is judged, settled at the end. */
import type { ContentView } from '../a2a/message.js'
import type { JsonEdit, JsonPath } from '../wire/json-edit.js'
import type { CompiledPolicy } from './compiled.js'
import type { ResultSubject } from './result-subject.js'
import { partSteps } from './select-part.js'
import { ANSWER_CONTENTS } from './select.js'
import type { Violation } from './violation.js'
import { note, violation } from './violation.js'

interface Removal extends JsonEdit { readonly policy: CompiledPolicy, readonly rule: string }

export class AnswerEdits {
  private removals: Removal[] = []

  remove (path: JsonPath, policy: CompiledPolicy, rule: string): void {
    this.removals.push({ path, value: null, policy, rule })
  }

  get all (): readonly JsonEdit[] {
    return this.removals
  }

  /** `policy/rule` of each, each once. */
  get edited (): readonly string[] {
    return [...new Set(this.removals.map(({ policy, rule }) => `${policy.name}/${rule}`))]
  }

  /**
   * An object with parts has at least one: where all of them would go, the last stays. Asked once for each result.
   * @param violations gets a note of what stays
   */
  keepParts (subject: ResultSubject, violations: Violation[]): void {
    if (this.removals.length === 0) return
    for (const content of subject.contents(ANSWER_CONTENTS)) this.keepPart(content, violations)
  }

  private keepPart (content: ContentView, violations: Violation[]): void {
    const { list } = content
    if (list === null || list.length === 0) return
    const steps: JsonPath = [...content.steps, list.key]
    const isPart = ({ path }: Removal): boolean => path.length === steps.length + 1 && steps.every((step, i) => path[i] === step)
    const removed = this.removals.filter(isPart)
    if (new Set(removed.map(({ path }) => path[steps.length])).size < list.length) return
    const last = content.parts.at(-1)
    if (last === undefined) return
    const kept = partSteps(content, last).at(-1)
    this.removals = this.removals.filter(one => !(isPart(one) && one.path[steps.length] === kept))
    for (const { policy, rule } of removed.filter(({ path }) => path[steps.length] === kept)) {
      note(violations, violation('observe', 'INVALID_AGENT_RESPONSE', policy.name, rule, last.path, 'was to be removed and stays: no part would be left', policy.uri))
    }
  }
}
