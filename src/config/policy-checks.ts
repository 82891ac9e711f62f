/** What the schema cannot say of one policy: keys that contradict each other. */
import { isDeepStrictEqual } from 'node:util'
import { operationOfMethod } from '../a2a/operations.js'
import { dotted, nearest, shown } from './diagnostics.js'
import type { Path, PathProblem } from './diagnostics.js'
import { editProblems, isSupplied } from './edit-checks.js'
import { OPERATIONS } from './policy-schema.js'
import { fault, items, mapping } from './yaml-values.js'
import type { Mapping } from './yaml-values.js'

/**
 * Checks inside one policy.
 * @param catalogue names of the policies that this one could have been laid over
 */
export function policyProblems (policy: unknown, path: Path, catalogue: readonly string[] = []): PathProblem[] {
  const seen = new Set<string>()
  return [
    ...identityProblems(policy, path, catalogue),
    ...activationProblems(mapping(policy), path),
    ...editProblems(mapping(policy), path),
    ...Object.keys(mapping(mapping(policy).methods)).filter(isOperation).map((name) => fault([...path, 'methods', name], `${dotted([...path, 'methods'])}: ${shown(name)} is an operation of A2A`, 'write rules with on', 'key')),
    ...items(mapping(policy).request).flatMap((item, index) => ruleProblems(mapping(item), [...path, 'request', index], seen))
  ]
}

function isOperation (method: string): boolean {
  return operationOfMethod(method, '1.0') !== null || operationOfMethod(method, '0.3') !== null
}

/** Every URI that a policy claims as its own. */
export function ownUris (policy: unknown): string[] {
  const { uri, aliases } = mapping(policy)
  const same = items(aliases).map(mapping).filter((alias) => alias.relation === 'same').map((alias) => alias.uri)
  return [uri, ...same].filter((one) => typeof one === 'string')
}

function identityProblems (policy: unknown, path: Path, catalogue: readonly string[]): PathProblem[] {
  if (typeof policy !== 'object' || policy === null || Array.isArray(policy)) return []
  const { uri, uriPattern, aliases } = mapping(policy)
  const problems: PathProblem[] = []
  if (uri === undefined && uriPattern === undefined) {
    const near = nearest(String(path.at(-1) ?? ''), catalogue)
    problems.push(fault(path, `${dotted([...path, 'uri'])} is required`, near === null ? 'such as "uri: https://example.com/ext/v1"' : `or did you mean the catalogue's "${near}"?`))
  }
  if (uri !== undefined && uriPattern !== undefined) problems.push(fault([...path, 'uriPattern'], `${dotted(path)} has both uri and uriPattern`, 'keep one', 'key'))
  if (uriPattern !== undefined && aliases !== undefined) problems.push(fault([...path, 'aliases'], `${dotted(path)} has aliases beside uriPattern`, 'aliases are other names of one uri', 'key'))
  const seen: unknown[] = [uri]
  items(aliases).forEach((item, index) => {
    const alias = mapping(item).uri
    if (typeof alias === 'string' && seen.includes(alias)) problems.push(fault([...path, 'aliases', index, 'uri'], `${dotted([...path, 'aliases', index, 'uri'])} names ${shown(alias)} a second time`))
    seen.push(alias)
  })
  return problems
}

function activationProblems (policy: Mapping, path: Path): PathProblem[] {
  const { signals, default: initial, requires, onMissing } = mapping(policy.activation)
  const problems: PathProblem[] = []
  const evidence = items(signals).indexOf('evidence')
  if (evidence >= 0 && policy.owns === undefined) {
    problems.push(fault([...path, 'activation', 'signals', evidence], `${dotted(path)}: evidence is a signal, but there is no owns`, 'say what is the extension\'s own'))
  }
  const inactive = mapping(policy.inactive).request
  if (inactive === 'reject' || inactive === 'strip') {
    const at: Path = [...path, 'inactive', 'request']
    const activating = items(signals).find((signal) => signal === 'evidence' || signal === 'always')
    if (policy.owns === undefined) problems.push(fault(at, `${dotted(at)} has no effect without owns`, 'say what is the extension\'s own'))
    else if (activating !== undefined) problems.push(fault(at, `${dotted(at)} has no effect: the signal ${String(activating)} activates the extension wherever its data is`, 'remove one of them'))
  }
  if (initial === 'inject') {
    const duty = items(policy.request).map(mapping).find((rule) => Number(mapping(rule.count).min ?? 0) >= 1 && rule.verdict !== 'warn' && !isSupplied(rule, items(policy.inject).map(mapping)))
    if (duty !== undefined) problems.push(fault([...path, 'activation', 'default'], `${dotted(path)}: injection of an extension whose client has duties: rule ${shown(duty.id)} needs what the client may not send`, 'remove default: inject or the lower bound, or supply it with inject'))
  }
  if (onMissing !== undefined && requires === undefined) problems.push(fault([...path, 'activation', 'onMissing'], `${dotted([...path, 'activation', 'onMissing'])} has no effect without requires`, undefined, 'key'))
  return problems
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
