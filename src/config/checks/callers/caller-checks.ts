/** Checks of conditions on the caller, and of what policies do with the caller. */
import { didYouMean, dotted, formatValue } from '../../diagnostics.js'
import type { Path, PathProblem } from '../../diagnostics.js'
import { sourceProblems } from '../rule-checks.js'
import { problemAt, items, mapping } from '../../yaml/values.js'
import type { Mapping } from '../../yaml/values.js'

/** A condition on the caller, and its place. */
interface Use { readonly caller: Mapping, readonly at: Path }

/** Finds contradictions within one condition on the caller. */
function callerProblems (caller: Mapping, at: Path): PathProblem[] {
  const problems = sourceProblems(caller.match, [...at, 'match'])
  const others = Object.keys(caller).filter(key => key !== 'anonymous')
  if (caller.anonymous === true && others.length > 0) {
    problems.push(
      problemAt(
        [...at, 'anonymous'],
        `${dotted([...at, 'anonymous'])} contradicts ${others.join(', ')}: a request without a caller has none of them`,
        'keep one of the two',
        'key'
      )
    )
  }
  if (caller.match === false) {
    problems.push(problemAt(
      [...at, 'match'], `${dotted([...at, 'match'])}: no caller matches false`, 'write a schema, or remove it'
    ))
  }
  return problems
}

/** Finds names of sources that `identity` does not have. @param also names that are valid besides those of sources */
export function unknownSources (names: unknown, at: Path, sources: readonly string[], also: readonly string[] = []): PathProblem[] {
  return items(names).flatMap((name, index) => {
    if (typeof name !== 'string' || sources.includes(name) || also.includes(name)) return []
    const path = [...at, index]
    const hint = sources.length === 0 ? 'define it in identity.sources' : `its sources: ${sources.join(', ')}`
    return [
      problemAt(path, `${dotted(path)}: identity has no source ${formatValue(name)}`, didYouMean(name, [...sources, ...also]) ?? hint)
    ]
  })
}

/** Checks a condition on the caller outside policies. @param sources none: another check reports the missing identity */
export function conditionProblems (caller: Mapping, at: Path, sources: readonly string[]): PathProblem[] {
  return [...callerProblems(caller, at), ...(sources.length === 0 ? [] : unknownSources(caller.source, [...at, 'source'], sources))]
}

/** Reports a place that needs a caller, in a file without `identity`. */
export function needsIdentity (at: Path): PathProblem {
  return problemAt(at, `${dotted(at)} never matches: without identity, no request has a caller`, 'configure identity', 'key')
}

/** Checks the conditions on the caller within one policy. */
export function policyCallerProblems (policy: Mapping, path: Path): PathProblem[] {
  const { callers, onForbidden } = mapping(policy.activation)
  const at: Path = [...path, 'activation', 'onForbidden']
  return [
    ...usesIn(policy, path).flatMap(({ caller, at }) => callerProblems(caller, at)),
    ...(onForbidden !== undefined && callers === undefined
      ? [problemAt(at, `${dotted(at)} has no effect without callers`, 'say who may use the extension', 'key')]
      : [])
  ]
}

/** Warns about `activation.callers` that does more or less than it seems. */
export function policyCallerWarnings ({ activation, owns }: Mapping, path: Path): PathProblem[] {
  const { callers, required } = mapping(activation)
  if (callers === undefined) return []
  const at: Path = [...path, 'activation', 'callers']
  return [
    ...(required === 'always'
      ? [
          problemAt(
            at,
            `${dotted(at)}: other callers can send no message at all, because activation.required is always`,
            'use access to keep callers away from an agent',
            'key'
          )
        ]
      : []),
    ...(owns === undefined
      ? [
          problemAt(
            at,
            `${dotted(at)} does not keep the data of the extension from the agent: owns is missing`,
            "list the extension's own data in owns",
            'key'
          )
        ]
      : [])
  ]
}

/** Warns about an agent that forwards requests without looking at their callers. */
export function unguarded (
  agent: Mapping,
  policies: readonly { readonly name: string; readonly value: unknown }[],
  path: Path
): PathProblem[] {
  if (mapping(agent.card).onUnavailable !== 'forward') return []
  const at: Path = [...path, 'card', 'onUnavailable']
  const guarded = policies.find(({ value }) => mapping(mapping(value).activation).callers !== undefined)
  return guarded === undefined
    ? []
    : [
        problemAt(
          at,
          `${dotted(at)}: without a card, the gateway also forwards requests that activation.callers of policy ` +
            `${formatValue(guarded.name)} forbids`,
          'write reject'
        )
      ]
}

interface Written { readonly problems: readonly PathProblem[], readonly warnings: readonly PathProblem[] }

/** Compares the policies of the file, and the agents' overlays, with `identity`. */
export function callersOfFile ({ identity, extensions, agents }: Mapping): Written {
  const overlays = items(agents).flatMap((agent, index) =>
    items(mapping(agent).extensions).flatMap((entry, at) =>
      Object.entries(mapping(entry)).map(([name, overlay]): [Mapping, Path] => [
        mapping(overlay), ['agents', index, 'extensions', at, name]
      ])
    )
  )
  const policies = [
    ...Object.entries(mapping(extensions)).map(([name, policy]): [Mapping, Path] => [mapping(policy), ['extensions', name]]),
    ...overlays
  ]
  const uses = policies.flatMap(([policy, path]) => usesIn(policy, path))
  if (identity !== undefined && identity !== null) {
    const sources = Object.keys(mapping(mapping(identity).sources))
    // Another check reports an identity without sources.
    return {
      problems: sources.length === 0 ? [] : uses.flatMap(({ caller, at }) => unknownSources(caller.source, [...at, 'source'], sources)),
      warnings: []
    }
  }
  const places = [
    ...uses.filter(({ caller }) => caller.anonymous !== true).map(({ at }) => at),
    ...policies.flatMap(([policy, path]) =>
      items(policy.inject).flatMap((item, index) => mapping(item).fromCaller === undefined
        ? []
        : [[...path, 'inject', index, 'fromCaller']])
    )
  ]
  return {
    problems: [],
    warnings: places.map(needsIdentity)
  }
}

/** Returns the conditions on the caller in a policy. */
function usesIn (policy: Mapping, path: Path): Use[] {
  const { callers } = mapping(policy.activation)
  const rules = (['request', 'response', 'correlate', 'inject'] as const).flatMap(key =>
    items(policy[key]).flatMap((item, index) =>
      (['when', 'unless'] as const).map(side => ({ value: mapping(mapping(item)[side]).caller, at: [...path, key, index, side, 'caller'] }))
    )
  )
  const evidence = items(policy.request).map((rule, index) => ({
    value: mapping(mapping(mapping(rule).pause).evidence).caller,
    at: [...path, 'request', index, 'pause', 'evidence', 'caller']
  }))
  return [{ value: callers, at: [...path, 'activation', 'callers'] }, ...rules, ...evidence].flatMap(({ value, at }) =>
    value === undefined ? [] : [{ caller: mapping(value), at }]
  )
}
