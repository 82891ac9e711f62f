/** Finds data of extensions that no rule looked at: a client put the data where the author of the policy did not expect it. */
import { unevaluated } from '#jsonschema/evaluation.js'
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

const NO_UNEXAMINED_DATA: readonly UnexaminedData[] = []

/** @returns a list for the paths that rules look at, or null when the request holds no data that a policy owns */
export function lookedPaths (policies: readonly PolicyActivity[]): string[] | null {
  return policies.some(policy => policy.evidence !== null && isEvaluated(policy)) ? [] : null
}

/** @param looked paths that rules selected */
export function unexaminedData (
  policies: readonly PolicyActivity[],
  subject: RequestSubject,
  looked: readonly string[]
): readonly UnexaminedData[] {
  const unexamined: UnexaminedData[] = []
  try {
    const isExamined = overlapsWith(looked)
    for (const state of policies) {
      if (state.evidence === null || !isEvaluated(state)) continue
      const { policy } = state
      const missed = ownedPaths(policy, subject).filter(path => !isExamined(path))
      if (missed.length === 0) continue
      const isRemembered = overlapsWith(taskPaths(policy, subject))
      for (const path of missed) {
        if (unexamined.length < MAX_REPORTED && !isRemembered(path)) unexamined.push({ extension: policy.name, path })
      }
    }
  } catch (error) {
    // The report takes steps too, and no request is rejected for a report.
    if (unevaluated(error) === null) throw error
  }
  return unexamined.length === 0 ? NO_UNEXAMINED_DATA : unexamined
}

function ownedPaths ({ activation: { owned } }: CompiledPolicy, subject: RequestSubject): readonly string[] {
  return [...new Set(owned.flatMap(selector => selector.select(subject).map(({ path }) => path)))]
}

/** Paths that the state and the correlations of a policy select. */
function taskPaths ({ state, correlations }: CompiledPolicy, subject: RequestSubject): readonly string[] {
  const sides = correlations.flatMap(correlation => [correlation.remember, correlation.check]).filter(side => side.on === 'request').map(side => side.select)
  const selectors = [...(state === null ? [] : [state.from, ...(state.monotonic === null ? [] : [state.monotonic])]), ...sides]
  return selectors.flatMap(({ request }) => request.select(subject).map(({ path }) => path))
}

/**
 * Returns a test that is true for a path when one of the paths is the same, leads into it, or begins with it. Sets hold the beginnings of
 * the paths: comparing the paths of 400 parts with each other took 22 ms, and the sets take less than 1 ms.
 */
function overlapsWith (paths: readonly string[]): (path: string) => boolean {
  const exact = new Set(paths)
  const reached = new Set(paths.flatMap(beginningsOf))
  return path => exact.has(path) || reached.has(path) || beginningsOf(path).some(beginning => exact.has(beginning))
}

/** Paths of the values that contain the value of a path. */
function beginningsOf (path: string): string[] {
  const names: string[] = []
  for (let i = 0; i < path.length; i++) if (path[i] === '.' || path[i] === '[') names.push(path.slice(0, i))
  return names
}
