/** Checks `state`, `correlate` and `observe` of a policy: finds keys that can have no effect. */
import { matchedProblems } from './response-checks.js'
import { didYouMean, dotted, formatValue } from '../diagnostics.js'
import type { Path, PathProblem } from '../diagnostics.js'
import { exclusions, matchProblems, partMatchProblems } from './rule-checks.js'
import { problemAt, items, mapping } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'

export function taskProblems (policy: Mapping, path: Path): PathProblem[] {
  const { state, correlate, observe, request } = policy
  const requestRules = items(request).map((rule) => mapping(rule).id).filter((id) => typeof id === 'string')
  return [
    ...stateProblems(mapping(state), [...path, 'state']),
    ...items(correlate).flatMap((item, index) => correlationProblems(mapping(item), [...path, 'correlate', index], requestRules)),
    ...observeProblems(mapping(observe), [...path, 'observe'])
  ]
}

function stateProblems (state: Mapping, at: Path): PathProblem[] {
  const problems = ['from', 'key', 'monotonic'].flatMap((key) => partMatchProblems(state[key], [...at, key]))
  if (state.from !== undefined && ['taskStates', 'transitions', 'monotonic', 'maxVisits'].every((key) => state[key] === undefined)) {
    problems.push(problemAt(at, `${dotted(at)} needs taskStates, transitions, monotonic or maxVisits`, 'without them nothing is checked'))
  }
  return problems
}

/** Finds substates that the policy names but no transition reaches, and listed substates that look misspelt. */
export function unreached ({ transitions, taskStates, maxVisits }: Mapping, at: Path): PathProblem[] {
  const next = new Map(Object.entries(mapping(transitions)))
  const substates = new Set([''])
  for (const substate of substates) {
    const after = next.get(substate)
    if (after === undefined) return misspelt(next, [...at, 'transitions'])
    for (const name of items(after)) substates.add(String(name))
  }
  return Object.entries({ taskStates, transitions, maxVisits }).flatMap(([key, named]) =>
    Object.keys(mapping(named))
      .filter(name => !substates.has(name))
      .map(name =>
        problemAt(
          [...at, key, name],
          `${dotted([...at, key])}: no transition leads to ${formatValue(name)}`,
          'name it in transitions after the substate that it follows',
          'key'
        )
      )
  )
}

/** Finds misspelt substates. Any substate may follow an unlisted substate, so a typing error would silently disable the check. */
function misspelt (next: ReadonlyMap<string, unknown>, at: Path): PathProblem[] {
  const listed = new Set([...next.values()].flatMap((after) => items(after).map(String)))
  const orphans = [...next.keys()].filter((name) => name !== '' && !listed.has(name))
  return [...next].flatMap(([substate, after]) => items(after).flatMap((name, index) => {
    const hint = next.has(String(name)) || String(name).length < 3 ? undefined : didYouMean(String(name), orphans)
    return hint === undefined
      ? []
      : [
          problemAt(
            [...at, substate, index],
            `${dotted([...at, substate])}: any substate may follow ${formatValue(name)}, because transitions does not list it`,
            hint
          )
        ]
  }))
}

function correlationProblems (correlation: Mapping, at: Path, requestRules: readonly string[]): PathProblem[] {
  const check = mapping(correlation.check)
  return [
    ...['remember', 'check'].flatMap(key => sideProblems(mapping(correlation[key]), [...at, key])),
    ...exclusions(correlation, at),
    ...matchProblems(correlation, at),
    ...(check.on === 'request' ? needlessMatched(correlation, at) : matchedProblems(correlation, at, requestRules)),
    ...(check.relation === 'sameLength' && isSingle(check) && isSingle(mapping(correlation.remember))
      ? [
          problemAt(
            [...at, 'check', 'relation'],
            `${dotted([...at, 'check', 'relation'])} is always satisfied: both sides select one value at most`,
            'pick several with "*", such as "/items/*"'
          )
        ]
      : [])
  ]
}

function needlessMatched (correlation: Mapping, at: Path): PathProblem[] {
  return ['when', 'unless']
    .filter(side => mapping(correlation[side]).requestMatched !== undefined)
    .map(side =>
      problemAt(
        [...at, side, 'requestMatched'],
        `${dotted([...at, side, 'requestMatched'])} applies to checks of responses, and check.on is request`,
        'remove it',
        'key'
      )
    )
}

/** Places that `in` may name for each side. When a place exists on one side only, the other side skips the place. */
const PLACES: Readonly<Record<string, readonly string[]>> = {
  request: ['message', 'params', 'part'],
  response: ['message', 'status', 'artifact', 'task', 'event', 'part']
}

function sideProblems (side: Mapping, at: Path): PathProblem[] {
  const problems = partMatchProblems(side.select, [...at, 'select'])
  const [kind = ''] = Object.keys(mapping(side.select))
  const places = items(mapping(mapping(side.select)[kind]).in)
  const possible = PLACES[String(side.on)] ?? []
  if (kind === 'event' && side.on === 'request') {
    problems.push(
      problemAt(
        [...at, 'select', 'event'],
        `${dotted([...at, 'select', 'event'])} selects nothing: only responses have events`,
        'select metadata or parts',
        'key'
      )
    )
  }
  if (possible.length > 0 && places.length > 0 && !places.some((place) => possible.includes(String(place)))) {
    problems.push(
      problemAt(
        [...at, 'select', kind, 'in'],
        `${dotted([...at, 'select', kind, 'in'])} selects nothing: ${side.on === 'request' ? 'a request' : 'a response'} has no ` +
          `${places.map(String).join(' and no ')}`,
        `available: ${possible.join(', ')}`
      )
    )
  }
  if (side.first === true && items(side.pick).length < 2) {
    problems.push(problemAt(
      [...at, 'first'], `${dotted([...at, 'first'])} has no effect without several pointers in pick`, 'remove it', 'key'
    ))
  }
  return problems
}

/** True when a side always selects at most one value. */
function isSingle ({ select, pick }: Mapping): boolean {
  const { metadata, part, event } = mapping(select)
  const pointers = typeof pick === 'string' ? [pick] : items(pick)
  if (pointers.length > 1 || pointers.some((pointer) => String(pointer).split('/').includes('*'))) return false
  if (event !== undefined) return true
  const { key, in: places } = mapping(metadata)
  const [place, ...more] = items(places)
  if (metadata !== undefined) {
    return typeof key === 'string' && !key.includes('*') && more.length === 0 && place !== 'artifact' && place !== 'part'
  }
  const { take, dataKey } = mapping(part)
  return take === 'first' && !String(dataKey ?? '').includes('*')
}

function observeProblems ({ spanAttributes, metrics }: Mapping, at: Path): PathProblem[] {
  const names = new Set<unknown>()
  return [
    ...Object.entries(mapping(spanAttributes)).flatMap(([name, from]) => partMatchProblems(from, [...at, 'spanAttributes', name])),
    ...items(metrics).flatMap((item, index) => {
      const { name, from, by } = mapping(item)
      const here = [...at, 'metrics', index]
      const again = typeof name === 'string' && names.has(name)
      names.add(name)
      return [
        ...(again ? [problemAt([...here, 'name'], `two metrics of this policy have the name ${formatValue(name)}`)] : []),
        ...partMatchProblems(from, [...here, 'from']),
        ...partMatchProblems(mapping(by).from, [...here, 'by', 'from'])
      ]
    })
  ]
}
