/** Finds contradictions in a policy that changes requests: strip, inject, verbatim. */
import { isDeepStrictEqual } from 'node:util'
import { dotted, formatValue } from '../diagnostics.js'
import type { Path, PathProblem } from '../diagnostics.js'
import { lowerBound, matchProblems } from './rule-checks.js'
import { problemAt, items, mapping } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'

export function editProblems (policy: Mapping, path: Path): PathProblem[] {
  return [
    ...(['request', 'response'] as const).flatMap(key =>
      items(policy[key]).flatMap((item, index) =>
        mapping(item).verdict === 'strip' ? stripProblems(mapping(item), [...path, key, index]) : []
      )
    ),
    ...(mapping(policy.inactive).request === 'strip' ? items(mapping(policy.owns).headers) : []).flatMap((name, index) =>
      headerProblems(name, [...path, 'owns', 'headers', index])
    ),
    ...items(policy.inject).flatMap((item, index, all) =>
      injectionProblems(mapping(item), all.slice(0, index).map(mapping), [...path, 'inject', index])
    ),
    ...(policy.integrity === 'verbatim' ? verbatimProblems(policy, path) : [])
  ]
}

/** Fields that every message needs. */
const NEEDED: readonly unknown[] = ['/message', '/message/parts', '/message/role', '/message/messageId']

const LAST_INDEX = /\/\d+$/

function stripProblems (rule: Mapping, at: Path): PathProblem[] {
  const { header, pointer, part, metadata, event } = mapping(rule.select)
  const problems = headerProblems(header, [...at, 'select', 'header'])
  if (lowerBound(rule) !== undefined) {
    const place = rule.required === true ? [...at, 'required'] : [...at, 'count', 'min']
    problems.push(
      problemAt(
        place,
        `${dotted(place)}: verdict strip cannot satisfy a lower bound, because it only removes values`,
        'put the lower bound into a separate rule',
        'key'
      )
    )
  }
  const moving = 'if one is removed, the next takes its place without an evaluation'
  if (mapping(part).take === 'first') {
    problems.push(
      problemAt(
        [...at, 'select', 'part', 'take'],
        `${dotted([...at, 'select', 'part', 'take'])}: verdict strip applies to all parts: ${moving}`,
        'remove take'
      )
    )
  }
  const steps: [unknown, Path][] = [
    [pointer, [...at, 'select', 'pointer']],
    [mapping(metadata).path, [...at, 'select', 'metadata', 'path']]
  ]
  for (const [text, place] of steps) {
    if (typeof text === 'string' && LAST_INDEX.test(text)) {
      problems.push(
        problemAt(place, `${dotted(place)}: verdict strip cannot remove one item from a list: ${moving}`, 'strip the list, or reject')
      )
    }
  }
  if (event !== undefined) {
    problems.push(
      problemAt(
        [...at, 'select', 'event'],
        `${dotted([...at, 'select', 'event'])}: verdict strip cannot remove a whole result`,
        'reject it instead, or select parts or metadata'
      )
    )
  }
  if (NEEDED.includes(pointer)) {
    problems.push(
      problemAt(
        [...at, 'select', 'pointer'],
        `${dotted([...at, 'select', 'pointer'])}: every message needs ${formatValue(pointer)}`,
        'reject it instead'
      )
    )
  }
  return problems
}

/** Headers that the gateway or its HTTP library writes, and the header that a reader needs to decode the body. */
const WRITTEN: readonly unknown[] = [
  'a2a-extensions',
  'x-a2a-extensions',
  'a2a-version',
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'content-type'
]

function headerProblems (name: unknown, at: Path): PathProblem[] {
  return typeof name === 'string' && WRITTEN.includes(name.toLowerCase())
    ? [problemAt(at, `${dotted(at)}: the header ${formatValue(name)} cannot be removed`, 'every request to an agent needs it')]
    : []
}

function injectionProblems (injection: Mapping, earlier: readonly Mapping[], at: Path): PathProblem[] {
  const { metadata, fromSecret, fromCaller, required, as, when, unless } = injection
  const problems: PathProblem[] = matchProblems(injection, at)
  const [first, second] = ['value', 'fromSecret', 'fromCaller'].filter(key => injection[key] !== undefined)
  if (first !== undefined && second !== undefined) {
    problems.push(problemAt([...at, second], `${dotted(at)} has both ${first} and ${second}`, 'keep one', 'key'))
  }
  if (first === undefined && metadata !== undefined) {
    problems.push(problemAt(at, `${dotted(at)} needs value, fromSecret or fromCaller`, 'such as "fromSecret: {file: token.txt}"'))
  }
  if (required !== undefined && fromCaller === undefined) {
    problems.push(problemAt([...at, 'required'], `${dotted([...at, 'required'])} has no effect without fromCaller`, undefined, 'key'))
  }
  if (as !== undefined && fromSecret === undefined) {
    problems.push(problemAt([...at, 'as'], `${dotted([...at, 'as'])} has no effect without fromSecret`, undefined, 'key'))
  }
  if (typeof metadata === 'string' && metadata.includes('*')) {
    problems.push(problemAt([...at, 'metadata'], `${dotted([...at, 'metadata'])} must be one name, without "*"`))
  }
  if (when !== undefined && isDeepStrictEqual(when, unless)) {
    problems.push(problemAt([...at, 'unless'], `${dotted(at)}: when and unless are the same`, 'it would never be added', 'key'))
  }
  if (
    typeof metadata === 'string' &&
    earlier.some(other => samePlace(other, injection) && other.when === undefined && other.unless === undefined)
  ) {
    problems.push(
      problemAt(
        [...at, 'metadata'],
        `${dotted([...at, 'metadata'])}: ${formatValue(metadata)} is already added`,
        'keep one, or give the earlier one a condition'
      )
    )
  }
  return problems
}

/** Warns about edits that a policy may make but that are probably not intended. */
export function editWarnings ({ inject, inactive, activation, owns }: Mapping, path: Path): PathProblem[] {
  const { default: initial, signals, callers } = mapping(activation)
  // For callers who may not use the extension, only owned data is kept from the agent.
  const guarded = callers === undefined || items(inject).every(entry => items(mapping(owns).metadata).includes(mapping(entry).metadata))
  const always = guarded && (initial === 'inject' || items(signals).includes('always'))
  if (items(inject).length === 0 || always || ['strip', 'reject'].includes(String(mapping(inactive).request))) return []
  return [
    problemAt(
      [...path, 'inject'],
      `${dotted([...path, 'inject'])} applies to requests in which the extension is active: other requests are forwarded with a client's ` +
        'own member of that name',
      'own the name, and set inactive.request to strip or reject',
      'key'
    )
  ]
}

function samePlace (mapping: Mapping, other: Mapping): boolean {
  return mapping.metadata === other.metadata && (mapping.in ?? 'message') === (other.in ?? 'message')
}

/** True when the gateway itself always sends the value that the rule requires. */
export function isSupplied (rule: Mapping, injections: readonly Mapping[]): boolean {
  const { key, in: places, path, equals } = mapping(mapping(rule.select).metadata)
  if (key === undefined || path !== undefined || equals !== undefined || Number(lowerBound(rule)) > 1) return false
  const placeNames = items(places)
  return injections.some(
    injection =>
      (placeNames.length === 0 ? ['message', 'params'] : placeNames).some(place => samePlace(injection, { metadata: key, in: place })) &&
      injection.when === undefined &&
      injection.unless === undefined &&
      (injection.fromCaller === undefined || injection.required === true)
  )
}

function verbatimProblems (policy: Mapping, path: Path): PathProblem[] {
  const problem = (at: Path, what: string): PathProblem =>
    problemAt(
      [...path, ...at],
      `${dotted(path)}: integrity verbatim forwards requests as the client sent them, but ${what}`,
      'remove one of the two',
      'key'
    )
  const { default: initial, onMissing } = mapping(policy.activation)
  return [
    ...items(policy.request).flatMap((item, index) =>
      mapping(item).verdict === 'strip' ? [problem(['request', index, 'verdict'], `rule ${formatValue(mapping(item).id)} strips`)] : []
    ),
    ...(policy.inject === undefined ? [] : [problem(['inject'], 'inject adds to them')]),
    ...(mapping(policy.inactive).request === 'strip' ? [problem(['inactive', 'request'], 'inactive.request strips')] : []),
    ...(initial === 'inject' ? [problem(['activation', 'default'], 'activation.default adds to their headers')] : []),
    ...(onMissing === 'add' ? [problem(['activation', 'onMissing'], 'activation.onMissing adds to their headers')] : [])
  ]
}
