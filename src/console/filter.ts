/** Selects decisions: by agent, by outcome, and by words that occur in them. */
import type { DecisionEntry } from './entry.js'

export interface DecisionFilter {
  /** Name of the agent; '' for all. */
  readonly agent: string
  /** One outcome; `!` for all but `forwarded`; `would-reject` for calls that `mode: enforce` would reject; '' for all. */
  readonly outcome: string
  /** Lower case. Each must occur in one of the texts of an entry. */
  readonly words: readonly string[]
}

/** Longest search, in characters. */
const SEARCH = 500
const WORDS = 10

/** Reads the filter of a page. @returns null when the page shows all decisions */
export function readFilter (query: URLSearchParams): DecisionFilter | null {
  const agent = query.get('agent') ?? ''
  const outcome = query.get('outcome') ?? ''
  const words = (query.get('q') ?? '').slice(0, SEARCH).toLowerCase().split(/\s+/).filter(word => word !== '').slice(0, WORDS)
  return agent === '' && outcome === '' && words.length === 0 ? null : { agent, outcome, words }
}

export function matches (entry: DecisionEntry, { agent, outcome, words }: DecisionFilter): boolean {
  if (agent !== '' && entry.agent !== agent) return false
  if (!hasOutcome(entry, outcome)) return false
  if (words.length === 0) return true
  const texts = textsOf(entry).map(text => text.toLowerCase())
  return words.every(word => texts.some(text => text.includes(word)))
}

function hasOutcome (entry: DecisionEntry, wanted: string): boolean {
  if (wanted === '') return true
  if (wanted === '!') return entry.outcome !== 'forwarded'
  // Only the configuration tells which of these rules would reject: `rules/explained.ts` completes the selection.
  if (wanted === 'would-reject') return entry.outcome !== 'rejected' && entry.violations.some(violation => violation.mode === 'observe')
  return entry.outcome === wanted
}

/** Everything that the page shows of a decision. */
function textsOf (entry: DecisionEntry): string[] {
  const { rule, reason, message, requestId, traceId, taskId, contextId, caller, operation, binding, status, grpcStatus } = entry
  const texts = [rule, reason, message, requestId, traceId, taskId, contextId, operation, binding, String(status), grpcStatus]
  const searchTexts = entry.violations.flatMap(violation => [`${violation.extension}/${violation.rule}`, violation.reason, violation.path, violation.message])
  const answers = entry.answers.flatMap(({ rule, use, outcome, problem, id, reasonUser, reasonAdmin }) =>
    [rule, use, outcome, problem, id, reasonUser, reasonAdmin])
  const named = caller === null ? [] : [caller.source, caller.id]
  return [...[...texts, ...answers].filter(text => text !== null), ...searchTexts, ...named, ...entry.edited, ...entry.extensions]
}
