/** Checks of one policy that the schema cannot express: keys that contradict each other. */
import { routeKey } from '#a2a/extension-routes.js'
import { operationOfMethod } from '#a2a/operations.js'
import { nearest } from '#wire/nearest.js'
import { policyCallerProblems, policyCallerWarnings } from './callers/caller-checks.js'
import { responseProblems } from './response-checks.js'
import { dotted, formatValue } from '../diagnostics.js'
import type { Path, PathProblem } from '../diagnostics.js'
import { editProblems, editWarnings, isSupplied } from './edit-checks.js'
import { reachWarnings } from './reach-checks.js'
import { contradictions, lowerBound, ruleProblems, ruleWarnings, stateWarnings } from './rule-checks.js'
import { taskProblems, unreached } from './task-checks.js'
import { problemAt, items, mapping } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'
import { isObject } from '#wire/json/object.js'

/**
 * Checks one policy.
 * @param catalogue names of the catalogue policies that this policy may override
 */
export function policyProblems (policy: unknown, path: Path, catalogue: readonly string[] = []): PathProblem[] {
  const { request, response, correlate } = mapping(policy)
  const rules = items(request).map(mapping)
  return [
    ...identityProblems(policy, path, catalogue),
    ...activationProblems(mapping(policy), path),
    ...policyCallerProblems(mapping(policy), path),
    ...editProblems(mapping(policy), path),
    ...Object.keys(mapping(mapping(policy).methods))
      .filter(isOperation)
      .map(name =>
        problemAt(
          [...path, 'methods', name],
          `${dotted([...path, 'methods'])}: ${formatValue(name)} is an operation of A2A`,
          'write rules, with the operation in on',
          'key'
        )
      ),
    ...routeProblems(items(mapping(policy).routes), [...path, 'routes']),
    ...sameIds(Object.entries({ request, response, correlate }), path),
    ...rules.flatMap((rule, index) => ruleProblems(rule, [...path, 'request', index], mapping(policy))),
    ...contradictions(rules, [...path, 'request']),
    ...responseProblems(mapping(policy), path),
    ...taskProblems(mapping(policy), path)
  ]
}

/** Warns about a valid policy that is probably not intended. */
export function policyWarnings (policy: unknown, path: Path): PathProblem[] {
  return [
    ...reachWarnings(mapping(policy), path),
    ...editWarnings(mapping(policy), path),
    ...policyCallerWarnings(mapping(policy), path),
    ...(['request', 'response'] as const).flatMap(key =>
      items(mapping(policy)[key]).flatMap((item, index) => ruleWarnings(mapping(item), [...path, key, index]))
    ),
    ...items(mapping(policy).request).flatMap((item, index) => stateWarnings(mapping(item), [...path, 'request', index])),
    ...unreached(mapping(mapping(policy).state), [...path, 'state'])
  ]
}

/** Checks that rule ids are unique. Metrics and rejections name a rule only by policy and id. */
function sameIds (lists: readonly [string, unknown][], path: Path): PathProblem[] {
  const ids = new Set<unknown>()
  return lists.flatMap(([key, list]) => items(list).flatMap((item, index) => {
    const { id } = mapping(item)
    if (typeof id !== 'string' || !ids.has(id)) {
      ids.add(id)
      return []
    }
    return [problemAt([...path, key, index, 'id'], `two rules of this policy have the id ${formatValue(id)}`)]
  }))
}

function isOperation (method: string): boolean {
  return operationOfMethod(method, '1.0') !== null || operationOfMethod(method, '0.3') !== null
}

function routeProblems (routes: readonly unknown[], path: Path): PathProblem[] {
  const indices = new Map<string, number>()
  return routes.flatMap((item, index) => {
    const { verb, path: at, base, body } = mapping(item)
    const problems: PathProblem[] = []
    if (typeof verb === 'string' && typeof at === 'string') {
      const key = routeKey(verb, at, base === 'interface' ? base : 'agent')
      const earlier = indices.get(key)
      if (earlier === undefined) indices.set(key, index)
      else {
        problems.push(
          problemAt(
            [...path, index, 'path'],
            `${dotted([...path, earlier])} and ${dotted([...path, index])} are the same route, ${formatValue(key)}`,
            'keep one'
          )
        )
      }
    }
    if (verb === 'GET' && body !== undefined) {
      problems.push(
        problemAt(
          [...path, index, 'body'],
          `${dotted([...path, index])} has a body, but a GET has none`,
          'remove body, or use another verb',
          'key'
        )
      )
    }
    return problems
  })
}

/** Returns every URI that a policy claims as its own. */
export function ownUris (policy: unknown): string[] {
  const { uri, aliases } = mapping(policy)
  const same = items(aliases).map(mapping).filter((alias) => alias.relation === 'same').map((alias) => alias.uri)
  return [uri, ...same].filter((text) => typeof text === 'string')
}

/** Returns every URI of another extension that satisfies the policy's extension. */
export function satisfyingUris (policy: unknown): string[] {
  return items(mapping(policy).aliases)
    .map(mapping)
    .filter(alias => alias.relation === 'satisfies')
    .map(alias => alias.uri)
    .filter(uri => typeof uri === 'string')
}

function identityProblems (policy: unknown, path: Path, catalogue: readonly string[]): PathProblem[] {
  if (!isObject(policy)) return []
  const { uri, uriPattern, aliases } = mapping(policy)
  const problems: PathProblem[] = []
  if (uri === undefined && uriPattern === undefined) {
    const near = nearest(String(path.at(-1) ?? ''), catalogue)
    problems.push(
      problemAt(
        path,
        `${dotted([...path, 'uri'])} is required`,
        near === null ? 'such as "uri: https://example.com/ext/v1"' : `or did you mean the catalogue's "${near}"?`
      )
    )
  }
  if (uri !== undefined && uriPattern !== undefined) {
    problems.push(problemAt([...path, 'uriPattern'], `${dotted(path)} has both uri and uriPattern`, 'keep one', 'key'))
  }
  if (uriPattern !== undefined && aliases !== undefined) {
    problems.push(
      problemAt([...path, 'aliases'], `${dotted(path)} has both aliases and uriPattern`, 'aliases are other names of one uri', 'key')
    )
  }
  const uris: unknown[] = [uri]
  items(aliases).forEach((item, index) => {
    const alias = mapping(item).uri
    if (typeof alias === 'string' && uris.includes(alias)) {
      problems.push(problemAt(
        [...path, 'aliases', index, 'uri'], `${dotted([...path, 'aliases', index, 'uri'])} names ${formatValue(alias)} twice`
      ))
    }
    uris.push(alias)
  })
  return problems
}

function activationProblems (policy: Mapping, path: Path): PathProblem[] {
  const { signals, default: initial, requires, onMissing, callers } = mapping(policy.activation)
  const problems: PathProblem[] = []
  const evidence = items(signals).indexOf('evidence')
  if (evidence >= 0 && policy.owns === undefined) {
    problems.push(
      problemAt(
        [...path, 'activation', 'signals', evidence],
        `${dotted(path)}: evidence is a signal, but owns is missing`,
        "list the extension's own data in owns"
      )
    )
  }
  const inactive = mapping(policy.inactive).request
  if (inactive === 'reject' || inactive === 'strip') {
    const at: Path = [...path, 'inactive', 'request']
    const activating = items(signals).find((signal) => signal === 'evidence' || signal === 'always')
    if (policy.owns === undefined) {
      problems.push(problemAt(
        at, `${dotted(at)} has no effect without owns`, "list the extension's own data in owns"
      ))
    } else if (activating !== undefined && callers === undefined) {
      problems.push(
        problemAt(
          at,
          `${dotted(at)} has no effect: the signal ${String(activating)} activates the extension in every request with its data`,
          'remove one of them'
        )
      )
    }
  }
  if (initial === 'inject') {
    const duty = items(policy.request)
      .map(mapping)
      .find(
        rule => Number(lowerBound(rule) ?? 0) >= 1 && rule.verdict !== 'warn' && !isSupplied(rule, items(policy.inject).map(mapping))
      )
    if (duty !== undefined) {
      problems.push(
        problemAt(
          [...path, 'activation', 'default'],
          `${dotted(path)}: default: inject activates the extension for clients that may not send the data that rule ` +
            `${formatValue(duty.id)} requires`,
          'remove default: inject or the lower bound, or supply it with inject'
        )
      )
    }
  }
  if (onMissing !== undefined && requires === undefined) {
    problems.push(
      problemAt(
        [...path, 'activation', 'onMissing'],
        `${dotted([...path, 'activation', 'onMissing'])} has no effect without requires`,
        undefined,
        'key'
      )
    )
  }
  return problems
}
