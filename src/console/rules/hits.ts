/** Counts the violations of each rule since the start, and those that `mode: enforce` would reject. */
import { parseJson } from '#wire/json/parse-json.js'
import { keyOf, sumBy } from '../counts.js'
import type { ConsoleSource } from '../source.js'
import { clip } from '../text.js'
import { wouldReject } from './explained.js'
import type { Phase, RulePlace } from './rule-index.js'
import { ruleIndexOf } from './rule-index.js'

export interface RuleHits extends RulePlace {
  readonly agent: string
  /** Name of the policy, URI of an extension without a policy, or `gateway`. */
  readonly extension: string
  readonly rule: string
  readonly phase: Phase
  /** Violations, as in `violations_total`. One call may have several. */
  readonly enforced: number
  readonly observed: number
  /** The observed violations that the settings in `needs` turn into rejections. */
  readonly wouldReject: number
}

const ROWS = 2_000

/** Lists the rules of all policies, also those without violations, and the built-in rules with violations. */
export async function hitsOf (source: ConsoleSource): Promise<{ readonly rows: readonly RuleHits[], readonly omitted: number }> {
  const config = source.config()
  const counts = new Map<string, { enforce: number, observe: number }>()
  const rules = new Map<string, Map<string, readonly [extension: string, rule: string, phase: Phase]>>()
  const list = (agent: string, extension: string, rule: string, phase: Phase): void => {
    let agentRules = rules.get(agent)
    if (agentRules === undefined) rules.set(agent, agentRules = new Map())
    agentRules.set(keyOf(extension, rule, phase), [extension, rule, phase])
  }
  for (const { name } of source.agents()) {
    for (const { policy, rule, phase } of ruleIndexOf(config, name)?.listed ?? []) list(name, policy, rule, phase)
  }
  for (const [key, value] of sumBy(await source.metrics(), 'violations_total', labels =>
    keyOf(labels.agent, labels.extension, labels.rule, labels.phase, labels.mode)
  )) {
    const [agent, extension, rule, phase, mode] = parseJson(key) as [string, string, string, Phase, 'enforce' | 'observe']
    // Counters outlive their agents.
    if (!rules.has(agent) && ruleIndexOf(config, agent) === null) continue
    list(agent, extension, rule, phase)
    const at = keyOf(agent, extension, rule, phase)
    const count = counts.get(at) ?? { enforce: 0, observe: 0 }
    count[mode] += value
    counts.set(at, count)
  }
  const rows: RuleHits[] = []
  let omitted = 0
  for (const [agent, agentRules] of rules) {
    const index = ruleIndexOf(config, agent)
    if (index === null) continue
    for (const [extension, rule, phase] of agentRules.values()) {
      if (rows.length >= ROWS) {
        omitted++
        continue
      }
      const place = index.placeOf(extension, rule, phase)
      const { enforce, observe } = counts.get(keyOf(agent, extension, rule, phase)) ?? { enforce: 0, observe: 0 }
      rows.push({
        agent,
        extension: clip(extension, 300),
        rule,
        phase,
        ...place,
        enforced: enforce,
        observed: observe,
        wouldReject: wouldReject(place) ? observe : 0
      })
    }
  }
  return { rows, omitted }
}
