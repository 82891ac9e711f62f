/** Checks of response rules: finds rules that never apply, rules that can never be met, and keys without effect. */
import { isCatalogued } from '../model/model.js'
import type { TaskState } from '#a2a/task-state.js'
import { isTerminal } from '#a2a/task-state.js'
import { didYouMean, dotted, formatValue } from '../diagnostics.js'
import type { Path, PathProblem } from '../diagnostics.js'
import type { LayeredPolicy } from '../layers.js'
import { RESPONDING } from '../schema/response-schema.js'
import { contradictions, countProblems, exclusions, externalRuleProblems, lowerBound, matchProblems, NEVER } from './rule-checks.js'
import { problemAt, items, mapping } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'

export function responseProblems (policy: Mapping, path: Path): PathProblem[] {
  const rules = items(policy.response).map(mapping)
  const requestRules = items(policy.request).map((rule) => mapping(rule).id).filter((id) => typeof id === 'string')
  return [
    ...rules.flatMap((rule, index) => {
      const at = [...path, 'response', index]
      return [
        ...countProblems(rule, at),
        ...externalRuleProblems(rule, at),
        ...alwaysMet(rule, at),
        ...exclusions(rule, at),
        ...matchProblems(rule, at),
        ...matchedProblems(rule, at, requestRules),
        ...onProblems(rule, at, Object.keys(mapping(policy.methods))),
        ...placeProblems(rule, at),
        ...notTerminal(rule, at),
        ...wholePieces(rule, at)
      ]
    }),
    ...contradictions(rules, [...path, 'response'], 'response'),
    ...inactiveProblems(policy, path)
  ]
}

/**
 * Checks the request rules that the conditions of a rule name.
 * @param ids ids of the request rules
 */
export function matchedProblems (rule: Mapping, at: Path, ids: readonly string[]): PathProblem[] {
  return ['when', 'unless'].flatMap((side) => {
    const { requestMatched } = mapping(rule[side])
    if (typeof requestMatched !== 'string' || ids.includes(requestMatched)) return []
    const place = [...at, side, 'requestMatched']
    return [
      problemAt(
        place,
        `${dotted(place)}: no rule in request is named ${formatValue(requestMatched)}`,
        didYouMean(requestMatched, ids) ?? (ids.length === 0 ? 'this policy has none' : `request rules: ${ids.join(', ')}`)
      )
    ]
  })
}

/** Conditions that hold for the result of a method, which is neither a task nor a message. */
const METHOD_CONDITIONS: readonly string[] = ['active', 'requestMatched']

/** Checks the names in `on`, and that `result` selects from methods only. */
function onProblems (rule: Mapping, at: Path, methods: readonly string[]): PathProblem[] {
  const operations = items(rule.on)
  const unknown = operations.flatMap((name, index) => {
    if (typeof name !== 'string' || RESPONDING.includes(name) || methods.includes(name)) return []
    const place = [...at, 'on', index]
    return [
      problemAt(
        place,
        `${dotted(place)} must be one of ${[...RESPONDING, ...methods].join(', ')}, not ${formatValue(name)}`,
        didYouMean(name, [...RESPONDING, ...methods]) ?? 'list a method of the extension in methods first'
      )
    ]
  })
  if (mapping(rule.select).result === undefined) return unknown
  const other = operations.findIndex(name => RESPONDING.includes(String(name)))
  const useless = (['when', 'unless'] as const).flatMap(side =>
    Object.keys(mapping(rule[side])).filter(key => !METHOD_CONDITIONS.includes(key)).map(key => [...at, side, key])
  )
  return [
    ...unknown,
    ...(rule.on === undefined
      ? [problemAt([...at, 'select', 'result'], `${dotted([...at, 'select', 'result'])} needs on`, 'name methods of the policy', 'key')]
      : []),
    ...(other < 0
      ? []
      : [
          problemAt(
            [...at, 'on', other],
            `${dotted([...at, 'on', other])}: result selects from the results of extension methods, not of operations`,
            'select a part, metadata or event'
          )
        ]),
    ...useless.map(place =>
      problemAt(place, `${dotted(place)}: the result of a method is neither a task nor a message`, 'use requestMatched or active', 'key')
    )
  ]
}

/** Finds counts that are always met: `event` always selects exactly one value. */
function alwaysMet (rule: Mapping, at: Path): PathProblem[] {
  const { max } = mapping(rule.count)
  const min = lowerBound(rule)
  if (
    mapping(rule.select).event === undefined ||
    rule.schema !== undefined ||
    max === 0 ||
    typeof (min ?? max) !== 'number' ||
    Number(min ?? 0) > 1
  ) { return [] }
  const place = [...at, rule.required === true ? 'required' : 'count']
  return [
    problemAt(
      place,
      `${dotted(place)} is always satisfied: event selects exactly one result`,
      'use schema to validate the result, or write max: 0',
      'key'
    )
  ]
}

const STREAMS: readonly unknown[] = ['SendStreamingMessage', 'SubscribeToTask']
const SENDS: readonly unknown[] = ['SendMessage', 'SendStreamingMessage']

/** Places that only the responses of some operations have. */
const ONLY_IN: Readonly<Record<string, readonly unknown[]>> = { message: SENDS, event: STREAMS }

function placeProblems (rule: Mapping, at: Path): PathProblem[] {
  const operations = items(rule.on)
  const [kind = ''] = Object.keys(mapping(rule.select))
  const places = items(mapping(mapping(rule.select)[kind]).in).map(String)
  const occurs = places.some((place) => operations.some((operation) => ONLY_IN[place]?.includes(operation) ?? true))
  if (operations.length === 0 || places.length === 0 || occurs) return []
  return [
    problemAt(
      [...at, 'select', kind, 'in'],
      `${dotted([...at, 'select', kind, 'in'])}: no operation in on returns ${places.join(' or ')}`,
      NEVER
    )
  ]
}

function notTerminal (rule: Mapping, at: Path): PathProblem[] {
  const states = items(mapping(rule.when).taskState)
  if (mapping(rule.select).event !== 'terminal' || states.length === 0 || states.some((state) => isTerminal(state as TaskState))) return []
  return [
    problemAt(
      [...at, 'when', 'taskState'],
      `${dotted([...at, 'when', 'taskState'])} can never match: an event is not terminal in any of these states`,
      NEVER
    )
  ]
}

/** Checks that only rules on artifacts set `chunked`: other content never arrives in fragments. */
function wholePieces (rule: Mapping, at: Path): PathProblem[] {
  const { part, metadata } = mapping(rule.select)
  const places = [...items(mapping(part).in), ...items(mapping(metadata).in)]
  if (rule.chunked === undefined || places.length === 0 || places.includes('artifact') || places.includes('part')) return []
  return [
    problemAt(
      [...at, 'chunked'],
      `${dotted([...at, 'chunked'])} has no effect: only artifacts arrive in chunks, and the rule does not select them`,
      'remove it',
      'key'
    )
  ]
}

function inactiveProblems ({ inactive, owns, activation }: Mapping, path: Path): PathProblem[] {
  if (mapping(inactive).response !== 'strip') return []
  const at = [...path, 'inactive', 'response']
  const { metadata, dataKeys, data, mediaTypes } = mapping(owns)
  if (owns === undefined) return [problemAt(at, `${dotted(at)} has no effect without owns`, 'list the extension\'s own data in owns')]
  if ([metadata, dataKeys, data, mediaTypes].every(names => items(names).length === 0)) {
    return [
      problemAt(
        at,
        `${dotted(at)} has no effect: it applies to metadata and parts of responses, and owns names only headers`,
        'own data that responses contain'
      )
    ]
  }
  if (items(mapping(activation).signals).includes('always')) {
    return [
      problemAt(at, `${dotted(at)} has no effect: the signal always makes the extension active in every request`, 'remove one of them')
    ]
  }
  return []
}

/** Warns when the agent's `responses` setting contradicts its policies. */
export function responsesWarnings (agent: Mapping, policies: readonly (LayeredPolicy | null)[], path: Path): PathProblem[] {
  const layers = policies.filter((policy) => policy !== null)
  const at = [...path, 'responses']
  if (agent.responses === 'off') return layers.filter(policy => isEnforced(policy, agent.mode)).flatMap(policy => unreadProblems(policy, at))
  // No warning when a policy is unknown, or when any policy checks or changes responses.
  if (agent.responses !== 'enforce' || layers.length < policies.length || layers.some(({ value }) => speaksOfResponses(value))) return []
  return [
    problemAt(
      at,
      `${dotted(at)} is enforce, but none of the agent's policies applies to responses`,
      'list a policy with response, or remove it'
    )
  ]
}

const READ_HINT = 'write observe or enforce, or set the policy\'s mode to off'

/**
 * Warns about response rules of a policy when the agent does not read responses. Ignores keys from the catalogue, because the catalogue is
 * for all agents.
 */
function unreadProblems ({ name, value, from }: LayeredPolicy, at: Path): PathProblem[] {
  const rule =
    isCatalogued(from.get('response'))
      ? undefined
      : items(value.response)
        .map(mapping)
        .find(({ verdict }) => verdict === 'reject' || verdict === 'strip' || verdict === 'annotate')
  const key = ['state', 'correlate'].find((field) => value[field] !== undefined && !isCatalogued(from.get(field)))
  return [
    ...(rule === undefined
      ? []
      : [
          problemAt(
            at,
            `${dotted(at)} is off, so the gateway evaluates no responses: rule ${formatValue(rule.id)} of policy ` +
              `${formatValue(name)} never applies`,
            READ_HINT
          )
        ]),
    ...(key === undefined
      ? []
      : [problemAt(
          at, `${dotted(at)} is off, so the state of tasks is unknown: ${key} of policy ${formatValue(name)} is never checked`, READ_HINT
        )])
  ]
}

function isEnforced ({ value }: LayeredPolicy, agentMode: unknown): boolean {
  return agentMode !== 'off' && (value.mode ?? agentMode) === 'enforce'
}

function speaksOfResponses ({ response, state, correlate, inactive, echo, redact }: Mapping): boolean {
  return (
    items(response).length > 0 ||
    state !== undefined ||
    items(correlate).length > 0 ||
    mapping(inactive).response === 'strip' ||
    (echo !== undefined && echo !== 'passthrough') ||
    items(redact).length > 0
  )
}
