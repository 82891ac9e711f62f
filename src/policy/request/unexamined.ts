/** Finds data of extensions that no rule looked at: a client put the data where the author of the policy did not expect it. */
import { unevaluated } from '../../jsonschema/evaluation.js'
import type { CompiledPolicy, PolicyActivity } from '../compile/compiled.js'
import { isEvaluated } from './activation.js'
import type { RequestSubject } from '../selectors/subject.js'

/** A value that a policy owns. */
export interface UnexaminedData {
  /** Name of the policy. */
  readonly extension: string
  readonly path: string
}

/** Maximum number of reported values of one request. */
const MAX_REPORTED = 20

const NOTHING: readonly UnexaminedData[] = []

/** @returns a list for the paths that rules look at, or null when the request holds no data that a policy owns */
export function lookedPaths (policies: readonly PolicyActivity[]): string[] | null {
  return policies.some(one => one.evidence !== null && isEvaluated(one)) ? [] : null
}

/** @param looked paths that rules selected */
export function unexaminedData (
  policies: readonly PolicyActivity[],
  subject: RequestSubject,
  looked: readonly string[]
): readonly UnexaminedData[] {
  const found: UnexaminedData[] = []
  try {
    for (const state of policies) {
      if (state.evidence === null || !isEvaluated(state)) continue
      const { policy } = state
      const missed = ownedPaths(policy, subject).filter(path => !looked.some(one => overlaps(one, path)))
      if (missed.length === 0) continue
      const remembered = taskPaths(policy, subject)
      for (const path of missed) {
        if (found.length < MAX_REPORTED && !remembered.some(one => overlaps(one, path))) found.push({ extension: policy.name, path })
      }
    }
  } catch (error) {
    // The report takes steps too, and no request is rejected for a report.
    if (unevaluated(error) === null) throw error
  }
  return found.length === 0 ? NOTHING : found
}

function ownedPaths ({ activation: { owned } }: CompiledPolicy, subject: RequestSubject): readonly string[] {
  return [...new Set(owned.flatMap(one => one.select(subject).map(({ path }) => path)))]
}

/** Paths that the state and the correlations of a policy select. */
function taskPaths ({ state, correlations }: CompiledPolicy, subject: RequestSubject): readonly string[] {
  const sides = correlations.flatMap(one => [one.remember, one.check]).filter(side => side.on === 'request').map(side => side.select)
  const selectors = [...(state === null ? [] : [state.from, ...(state.monotonic === null ? [] : [state.monotonic])]), ...sides]
  return selectors.flatMap(({ request }) => request.select(subject).map(({ path }) => path))
}

/** True when one path is the other, or leads into it. */
function overlaps (one: string, other: string): boolean {
  const [outer, inner] = one.length <= other.length ? [one, other] : [other, one]
  if (!inner.startsWith(outer)) return false
  const next = inner[outer.length]
  return next === undefined || next === '.' || next === '['
}
