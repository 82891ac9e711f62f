/**
 * `unique`: values that may be accepted once within a window. A decision lists the values as claims. The caller claims them in its store,
 * and `settleClaims` adds the outcome to the decision.
 */
import { createHash } from 'node:crypto'
import type { Mode } from '#config/model/model.js'
import type { UniqueConfig } from '#config/model/policy-model.js'
import { duration } from '#config/model/units.js'
import { inexactPath, NOT_EXACT, spendBudget } from '#jsonschema/evaluation.js'
import { canonical } from '#jsonschema/keyword-functions.js'
import type { CompiledPolicy, CompiledRule, CompiledUnique } from '../compile/compiled.js'
import { broken, addFault } from '../rule-check.js'
import type { Selected } from '../selectors/selection.js'
import type { Violation } from '../violation.js'
import { rejectionOf } from '../violation.js'
import type { Claim, Decision } from './decision.js'

/** Outcome of a claim. `seen`: the value was accepted before. `unavailable`: the store cannot tell. */
export type Claimed = 'new' | 'seen' | 'unavailable'

export function compileUnique ({ window, onUnknown }: UniqueConfig): CompiledUnique {
  return { window: duration(window), onUnknown: onUnknown ?? 'reject' }
}

/** Maximum number of values of one rule in one request. Each value is an entry of the store. */
const MAX_VALUES = 64

/** Steps of a digest, without the cost of its text. */
const DIGEST = 3

/**
 * Adds the values of a rule to the claims of the request.
 * @param claims by key. A policy for several extensions of the card runs its rules for each, and claims a value once
 * @returns false when a value cannot be claimed, or occurs twice
 */
export function claimValues (
  policy: CompiledPolicy,
  rule: CompiledRule,
  selected: readonly Selected[],
  violations: Violation[],
  claims: Map<string, Claim>
): boolean {
  const { id, mode, unique, errorClass } = rule
  if (unique === null) return true
  const before = violations.length
  const tooMany = selected[MAX_VALUES]
  if (tooMany !== undefined) {
    const message = `is one too many: at most ${MAX_VALUES} values that must be unique are allowed`
    return addFault({ policy, rule, mode, errorClass, path: tooMany.path, message }, violations)
  }
  for (const { value, path } of selected) {
    if (inexactPath(value) !== null) {
      addFault({ policy, rule, mode, errorClass, path, message: NOT_EXACT }, violations)
      continue
    }
    spendBudget(DIGEST)
    const key = createHash('sha256').update(JSON.stringify([policy.name, id])).update(canonical(value)).digest('base64url')
    const other = claims.get(key)
    if (other === undefined) claims.set(key, { key, window: unique.window, policy, rule, path })
    else if (other.rule === rule) broken({ policy, rule, mode, path, message: 'occurs twice; send each value once' }, violations)
  }
  return violations.length === before
}

/**
 * Adds the outcome of the claims to a decision.
 * @param claimed outcome of each of `decision.claims`, in their order
 */
export function settleClaims (decision: Decision, claimed: readonly Claimed[]): Decision {
  if (claimed.every(claimed => claimed === 'new')) return decision
  const violations = [...decision.violations]
  decision.claims.forEach(({ policy, rule, path }, i) => {
    const mode: Mode = rule.mode
    if (claimed[i] === 'seen') {
      broken({ policy, rule, mode, path, message: 'was accepted before; send a new value' }, violations)
    } else if (claimed[i] !== 'new' && rule.unique?.onUnknown === 'reject') {
      const message = 'cannot be evaluated: the gateway does not know whether it has accepted the value before; try again later with a new value'
      addFault({ policy, rule, mode, errorClass: rule.errorClass, path, message }, violations)
    }
  })
  return { ...decision, violations, rejection: rejectionOf(violations) }
}
