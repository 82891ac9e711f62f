/** Finds rules of a policy that never apply, that can never be met, or that never use one of their keys. */
import { isDeepStrictEqual } from 'node:util'
import { dotted, formatValue } from '../diagnostics.js'
import type { Path, PathProblem } from '../diagnostics.js'
import { OPERATIONS } from '../schema/rule-schema.js'
import { problemAt, items, mapping } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'

/** Finds the problems that only request rules can have. */
export function ruleProblems (rule: Mapping, at: Path, policy: Mapping): PathProblem[] {
  return [
    ...countProblems(rule, at),
    ...conditionProblems(rule, at, policy),
    ...matchProblems(rule, at),
    ...unseen(rule, at),
    ...stripsUnique(rule, at),
    ...externalRuleProblems(rule, at),
    ...pauseProblems(rule, at),
    ...idleUnknown(rule, at)
  ]
}

/** Finds `onUnknown` in a rule without a task state condition. */
function idleUnknown (rule: Mapping, at: Path): PathProblem[] {
  if (rule.onUnknown === undefined || mapping(rule.when).taskState !== undefined || mapping(rule.unless).taskState !== undefined) return []
  return [
    problemAt(
      [...at, 'onUnknown'],
      `${dotted([...at, 'onUnknown'])} has no effect without taskState`,
      'it applies to rules with a condition on the state of a task',
      'key'
    )
  ]
}

/** Finds `unique` in a rule that removes values: a request claims its values after all edits are known. */
function stripsUnique (rule: Mapping, at: Path): PathProblem[] {
  if (rule.unique === undefined || rule.verdict !== 'strip') return []
  return [problemAt([...at, 'unique'], `${dotted(at)} has both unique and verdict: strip`, 'use reject or warn', 'key')]
}

/** Finds `external` beside a key that it replaces, and in a rule that removes values without a decision of their own. */
export function externalRuleProblems (rule: Mapping, at: Path): PathProblem[] {
  if (rule.external === undefined) return []
  const place: Path = [...at, 'external']
  return [
    ...(rule.schema === undefined ? [] : [problemAt(place, `${dotted(at)} has both schema and external`, 'write two rules', 'key')]),
    ...(rule.verdict !== 'strip'
      ? []
      : [problemAt(
          place, `${dotted(at)} has both external and verdict: strip`, 'the policy server can ask to remove values, with an ' +
            'obligation', 'key'
        )])
  ]
}

/** Finds `pause` in a rule that never rejects a message, and evidence that nothing could have. */
function pauseProblems (rule: Mapping, at: Path): PathProblem[] {
  if (rule.pause === undefined) return []
  const place: Path = [...at, 'pause']
  const { evidence, declined } = mapping(rule.pause)
  const { select, schema } = mapping(evidence)
  const operations = items(rule.on)
  return [
    ...(rule.verdict === 'warn' || rule.verdict === 'strip'
      ? [problemAt(
          place, `${dotted(at)} has both pause and verdict: ${rule.verdict}`, 'the rule must reject requests: remove verdict', 'key'
        )]
      : []),
    ...(rule.external === undefined ? [] : [problemAt(place, `${dotted(at)} has both pause and external`, 'write two rules', 'key')]),
    ...(operations.length > 0 && !operations.some(mayCarryMessage)
      ? [
          problemAt(
            place, `${dotted(place)}: no operation in on carries a message`, 'only SendMessage and SendStreamingMessage can wait', 'key'
          )
        ]
      : []),
    ...(select === undefined && (schema !== undefined || declined !== undefined)
      ? [problemAt(
          [...place, 'evidence'], `${dotted([...place, 'evidence'])} has no select`, 'name the values that schema and declined apply to'
        )]
      : []),
    ...partMatchProblems(select, [...place, 'evidence', 'select']),
    ...sourceProblems(schema, [...place, 'evidence', 'schema']),
    ...sourceProblems(declined, [...place, 'declined'])
  ]
}

const SOURCES: ReadonlySet<string> = new Set(['file', 'ref', 'fromCard', 'enumFromCard'])

/**
 * Checks that `match` in selectors and conditions holds an inline schema. A value such as `{file: x}` would be a schema that matches
 * everything.
 */
export function matchProblems ({ select, when, unless }: Mapping, at: Path): PathProblem[] {
  return [
    ...partMatchProblems(select, [...at, 'select']),
    ...sourceProblems(mapping(when).match, [...at, 'when', 'match']),
    ...sourceProblems(mapping(unless).match, [...at, 'unless', 'match'])
  ]
}

/** Checks the same for the selector of a part. */
export function partMatchProblems (select: unknown, at: Path): PathProblem[] {
  return sourceProblems(mapping(mapping(select).part).match, [...at, 'part', 'match'])
}

/** Checks that a value is an inline schema, and not the location of one. */
export function sourceProblems (schema: unknown, at: Path): PathProblem[] {
  const [only, ...more] = Object.keys(mapping(schema))
  if (only === undefined || more.length > 0 || !SOURCES.has(only)) return []
  return [problemAt([...at, only], `${dotted(at)} needs an inline schema, not ${only}`, 'write the schema itself', 'key')]
}

/** Smallest number of values that a rule accepts, as written. */
export function lowerBound ({ count, required }: Mapping): unknown {
  return mapping(count).min ?? (required === true ? 1 : undefined)
}

/** Warns about a request rule that accepts a request without the value, although its schema looks like a requirement. */
export function absenceWarnings (rule: Mapping, at: Path): PathProblem[] {
  if (rule.schema === undefined || rule.count !== undefined || rule.required !== undefined || rule.verdict === 'strip') return []
  return [
    problemAt(
      [...at, 'schema'],
      `${dotted([...at, 'schema'])} applies to selected values only: a request without the value satisfies the rule`,
      'write required: true to require the value, or required: false if absence is intended',
      'key'
    )
  ]
}

/** Warns about a harmless combination of keys that is probably not intended. */
export function ruleWarnings (rule: Mapping, at: Path): PathProblem[] {
  if (mapping(rule.count).max !== 0 || rule.schema === undefined) return []
  return [
    problemAt(
      [...at, 'schema'],
      `${dotted([...at, 'schema'])} is never used: count.max is 0, so every selected value is rejected`,
      'remove one of the two',
      'key'
    )
  ]
}

/** Warns about task state conditions on requests that name no task, because no task state is known for them. */
export function stateWarnings ({ when, unless, on }: Mapping, at: Path): PathProblem[] {
  return (['when', 'unless'] as const).flatMap((side) => {
    if (mapping(side === 'when' ? when : unless).taskState === undefined) return []
    const operations = items(on)
    const why =
      mapping(when).taskId === 'absent'
        ? 'when.taskId is absent'
        : isDeepStrictEqual(unless, { taskId: 'present' })
          ? 'unless.taskId is present'
          : operations.length > 0 && !operations.some(mayCarryMessage)
            ? 'no operation in on carries a message'
            : null
    if (why === null) return []
    return [
      problemAt(
        [...at, side, 'taskState'],
        `${dotted([...at, side, 'taskState'])}: ${why}, so no state of a task can be known`,
        'remove one of the two',
        'key'
      )
    ]
  })
}

export function countProblems (rule: Mapping, at: Path): PathProblem[] {
  const problems: PathProblem[] = []
  const { max } = mapping(rule.count)
  const min = lowerBound(rule)
  if (
    Object.keys(rule).length > 0 &&
    ['count', 'schema', 'notOlderThan', 'unique', 'external'].every(key => rule[key] === undefined) &&
    rule.required !== true
  ) {
    problems.push(problemAt(at, `${dotted(at)} needs count, required, schema or external`, 'a rule without them checks nothing'))
  }
  if (rule.notOlderThan !== undefined && ['age', 'ttl', 'expires'].every(key => mapping(rule.notOlderThan)[key] === undefined)) {
    problems.push(problemAt([...at, 'notOlderThan'], `${dotted([...at, 'notOlderThan'])} needs age, ttl or expires`, 'such as "age: 5m"'))
  }
  if (rule.required !== undefined && mapping(rule.count).min !== undefined) {
    problems.push(problemAt([...at, 'required'], `${dotted(at)} has both required and count.min`, 'keep one', 'key'))
  }
  if (rule.required === true && max === 0) {
    problems.push(problemAt([...at, 'required'], `${dotted(at)} requires a value, but count.max is 0`, 'keep one', 'key'))
  }
  if (min === 0 && max === undefined && rule.schema === undefined && rule.external === undefined) {
    problems.push(problemAt([...at, 'count', 'min'], `${dotted(at)}: at least 0 is always satisfied`, 'the rule checks nothing'))
  }
  if (rule.required !== true && typeof min === 'number' && typeof max === 'number' && min > max) {
    problems.push(problemAt([...at, 'count', 'min'], `${dotted([...at, 'count', 'min'])} must not be above max, ${max}`))
  }
  const { part, pointer, event } = mapping(rule.select)
  const single = mapping(part).take === 'first' ? 'take: first' : pointer !== undefined ? 'a pointer' : event === undefined ? null : 'event'
  if (single !== null && typeof min === 'number' && min > 1) {
    problems.push(
      problemAt(
        [...at, 'count', 'min'],
        `${dotted([...at, 'count', 'min'])} can never be satisfied: ${single} selects one value at most`,
        'write 1'
      )
    )
  }
  return problems
}

export const NEVER = 'the rule would never apply'

/** The condition values of a request without a message. */
const NO_MESSAGE: Mapping = { taskId: 'absent', contextId: 'absent', listed: false }

/** Finds conditions that never hold. */
export function exclusions (rule: Mapping, at: Path): PathProblem[] {
  const when = mapping(rule.when)
  const excepted = Object.entries(mapping(rule.unless))
  if (when.match === false) return [problemAt([...at, 'when', 'match'], `${dotted(at)}: nothing matches when.match`, NEVER)]
  // The exception holds wherever the condition holds: each key of the exception is also in the condition, or matches everything.
  const covers = (key: string, value: unknown): boolean =>
    key === 'taskState' ? items(when[key]).every(state => items(value).includes(state)) : isDeepStrictEqual(when[key], value)
  if (
    excepted.length > 0 &&
    excepted.every(([key, value]) => (key === 'match' && isEverything(value)) || (Object.hasOwn(when, key) && covers(key, value)))
  ) {
    return [
      problemAt(
        [...at, 'unless'],
        rule.when === undefined ? `${dotted(at)}: everything matches unless` : `${dotted(at)}: unless matches whenever when does`,
        NEVER,
        'key'
      )
    ]
  }
  return []
}

function conditionProblems (rule: Mapping, at: Path, policy: Mapping): PathProblem[] {
  const when = mapping(rule.when)
  const unless = mapping(rule.unless)
  const excepted = Object.entries(unless)
  const excluded = exclusions(rule, at)
  if (excluded.length > 0) return excluded
  const activation = mapping(policy.activation)
  const onlyListed = policy.owns === undefined && isDeepStrictEqual(activation.signals, ['listed'])
  if (onlyListed && (when.listed === false || (excepted.length === 1 && unless.listed === true))) {
    const side = when.listed === false ? 'when' : 'unless'
    return [
      problemAt(
        [...at, side, 'listed'],
        `${dotted(at)}: rules run only if message.extensions names the extension, which is the only activation signal`,
        NEVER
      )
    ]
  }
  const operations = items(rule.on)
  if (operations.length === 0 || operations.some(mayCarryMessage)) return []
  const [failing] = Object.keys(NO_MESSAGE).filter(key => when[key] !== undefined && when[key] !== NO_MESSAGE[key])
  if (failing !== undefined) {
    return [
      problemAt(
        [...at, 'when', failing], `${dotted([...at, 'when', failing])} can never match: no operation in on carries a message`, NEVER
      )
    ]
  }
  if (excepted.length > 0 && excepted.every(([key, value]) => NO_MESSAGE[key] === value)) {
    return [problemAt([...at, 'unless'], `${dotted([...at, 'unless'])} always matches: no operation in on carries a message`, NEVER, 'key')]
  }
  return []
}

function isEverything (schema: unknown): boolean {
  return schema === true || (typeof schema === 'object' && schema !== null && Object.keys(schema).length === 0)
}

function mayCarryMessage (operation: unknown): boolean {
  return (
    typeof operation !== 'string' ||
    !OPERATIONS.includes(operation) ||
    operation === 'SendMessage' ||
    operation === 'SendStreamingMessage' ||
    operation === 'all'
  )
}

/** Finds a rule on message content for an operation without a message. */
function unseen (rule: Mapping, at: Path): PathProblem[] {
  const { part, metadata, pointer } = mapping(rule.select)
  const inMessage = typeof pointer === 'string' && /^\/message(?:\/|$)/.test(pointer)
  if (part === undefined && !inMessage && (metadata === undefined || items(mapping(metadata).in).includes('params'))) return []
  return items(rule.on).flatMap((operation, index) =>
    mayCarryMessage(operation)
      ? []
      : [
          problemAt(
            [...at, 'on', index],
            `${dotted([...at, 'on', index])}: ${String(operation)} carries no message`,
            'select a header, a pointer or the metadata of params'
          )
        ]
  )
}

/** Finds two rules of one policy on the same values, where one rule requires more than the other allows. */
export function contradictions (rules: readonly Mapping[], at: Path, subject: 'request' | 'response' = 'request'): PathProblem[] {
  const looked = rules.slice(0, MAX_RULES)
  return looked.flatMap((rule, index) => {
    const earlier = looked.findIndex(
      (other, before) => before < index && (exceeds(rule, other) || exceeds(other, rule)) && isAboutTheSame(rule, other)
    )
    if (earlier < 0) return []
    const [demand, bound] = exceeds(rule, rules[earlier] as Mapping) ? [rule, rules[earlier] as Mapping] : [rules[earlier] as Mapping, rule]
    const what = `rule ${formatValue(demand.id)} requires at least ${String(lowerBound(demand))}, rule ${formatValue(bound.id)} allows ` +
      `at most ${String(mapping(bound.count).max)} of the same`
    return [
      problemAt(
        [...at, index, 'count'],
        `${dotted([...at, index])} contradicts ${dotted([...at, earlier])}: ${what}`,
        `no ${subject} satisfies both; give them different conditions`,
        'key'
      )
    ]
  })
}

/** The schema rejects longer lists. The limit bounds the time of comparing each rule with each other rule. */
const MAX_RULES = 1000

function isAboutTheSame (a: Mapping, b: Mapping): boolean {
  const on = (rule: Mapping): unknown => rule.on === undefined ? null : new Set(items(rule.on))
  return isDeepStrictEqual([a.select, a.when, a.unless, on(a)], [b.select, b.when, b.unless, on(b)])
}

function exceeds (a: Mapping, b: Mapping): boolean {
  const min = lowerBound(a)
  const { max } = mapping(b.count)
  return typeof min === 'number' && typeof max === 'number' && min > max
}
