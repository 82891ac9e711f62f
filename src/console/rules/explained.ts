/** Adds the place of each rule to the decisions, and selects the calls that `mode: enforce` would reject. */
import type { DecisionEntry } from '../entry.js'
import type { ConsoleSource } from '../source.js'
import type { RulePlace } from './rule-index.js'
import { ruleIndexOf } from './rule-index.js'
import type { EntryViolation } from '../correction.js'

export interface ExplainedViolation extends EntryViolation {
  /** Null when the configuration no longer has the agent. */
  readonly place: RulePlace | null
  /** True when the violation was forwarded, and would be rejected with the settings in `place.needs`. */
  readonly wouldReject: boolean
}

export interface ExplainedEntry extends DecisionEntry {
  readonly violations: readonly ExplainedViolation[]
  readonly wouldReject: boolean
}

/** @returns the same source, with decisions that name the places of their rules */
export function explained (source: ConsoleSource): ConsoleSource {
  return {
    ...source,
    decisions: async (cursor, filter) => {
      const page = await source.decisions(cursor, filter)
      const entries = page.entries.map(entry => explainedEntry(source, entry))
      return { ...page, entries: filter?.outcome === 'would-reject' ? entries.filter(entry => entry.wouldReject) : entries }
    }
  }
}

function explainedEntry (source: ConsoleSource, entry: DecisionEntry): ExplainedEntry {
  const index = ruleIndexOf(source.config(), entry.agent)
  const violations = entry.violations.map(violation => {
    const place = index?.placeOf(violation.extension, violation.rule, violation.phase) ?? null
    return { ...violation, place, wouldReject: violation.mode === 'observe' && place !== null && wouldReject(place) }
  })
  return { ...entry, violations, wouldReject: entry.outcome !== 'rejected' && violations.some(violation => violation.wouldReject) }
}

export function wouldReject ({ effect, needs }: RulePlace): boolean {
  return effect === 'reject' && needs.length > 0
}
