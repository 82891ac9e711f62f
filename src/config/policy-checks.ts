/** What the schema cannot say of one policy: keys that contradict each other. */
import { isDeepStrictEqual } from 'node:util'
import { dotted, shown } from './diagnostics.js'
import type { Path, PathProblem } from './diagnostics.js'
import { OPERATIONS } from './policy-schema.js'
import { fault, items, mapping } from './yaml-values.js'
import type { Mapping } from './yaml-values.js'

/** Checks inside one policy. */
export function policyProblems (policy: unknown, path: Path): PathProblem[] {
  const seen = new Set<string>()
  return items(mapping(policy).request).flatMap((item, index) => ruleProblems(mapping(item), [...path, 'request', index], seen))
}

function ruleProblems (rule: Mapping, at: Path, seen: Set<string>): PathProblem[] {
  const problems: PathProblem[] = []
  if (typeof rule.id === 'string') {
    if (seen.has(rule.id)) problems.push(fault([...at, 'id'], `two rules of this policy have the id ${shown(rule.id)}`))
    seen.add(rule.id)
  }
  if (Object.keys(rule).length > 0 && rule.count === undefined && rule.schema === undefined) {
    problems.push(fault(at, `${dotted(at)} needs count or schema`, 'a rule without them checks nothing'))
  }
  const { min, max } = mapping(rule.count)
  if (typeof min === 'number' && typeof max === 'number' && min > max) {
    problems.push(fault([...at, 'count', 'min'], `${dotted([...at, 'count', 'min'])} must not be above max, ${max}`))
  }
  if (rule.when !== undefined && isDeepStrictEqual(rule.when, rule.unless)) {
    problems.push(fault([...at, 'unless'], `${dotted(at)}: when and unless are the same`, 'the rule would never apply', 'key'))
  }
  return [...problems, ...unreachable(rule, at)]
}

const WITH_MESSAGE: readonly unknown[] = ['SendMessage', 'SendStreamingMessage', 'all']

/** A rule on what only messages have, on an operation that carries none. */
function unreachable (rule: Mapping, at: Path): PathProblem[] {
  const { part, metadata } = mapping(rule.select)
  const places = metadata === undefined ? [] : items(mapping(metadata).in)
  if ((part === undefined && metadata === undefined) || places.includes('params')) return []
  return items(rule.on).flatMap((operation, index) => typeof operation !== 'string' || !OPERATIONS.includes(operation) || WITH_MESSAGE.includes(operation)
    ? []
    : [fault([...at, 'on', index], `${dotted([...at, 'on', index])}: ${operation} carries no message`, 'select a header, a pointer or the metadata of params')])
}
