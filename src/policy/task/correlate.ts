/**
 * Compares a later message of a task with an earlier one.
 *
 * The memory holds the latest values. A result or request in which the selector finds something replaces them. When `pick` leads nowhere,
 * the new list is empty. Nothing is checked when the selector finds nothing.
 */
import type { CorrelationConfig, CorrelationSide, Mode } from '#config/model/model.js'
import { parsePointer } from '#wire/json/pointer.js'
import type { CompiledCorrelation, CompiledPolicy, CompiledSide } from '../compile/compiled.js'
import { compileCondition } from '../compile/condition.js'
import { InexactNumber, inexactPath, NOT_EXACT } from '#jsonschema/evaluation.js'
import { jsonDigest } from '#jsonschema/digest.js'
import type { Side } from '../reasons.js'
import { reasonOn, sideModes } from '../reasons.js'
import { compileBothSides, selectOn } from '../selectors/response.js'
import type { Place, SelectContext, Selected } from '../selectors/selection.js'
import { collect } from '../selectors/selection.js'
import type { Subject } from '../selectors/subject.js'
import type { TaskMemory } from './memory.js'
import { FIELDS } from './memory.js'
import type { Violation } from '../violation.js'
import { addViolation, isFull, violation } from '../violation.js'

/** @param responses mode of the agent */
export function compileCorrelation (
  config: CorrelationConfig,
  policyMode: Mode,
  responses: Mode,
  context: SelectContext
): CompiledCorrelation {
  const modes = sideModes(policyMode, responses)
  const mode = config.check.on === 'request' ? modes.request : modes.response
  return {
    id: config.id,
    remember: compileSide(config.remember, context),
    check: compileSide(config.check, context),
    relation: config.check.relation,
    mode: mode === 'enforce' && config.verdict === 'warn' ? 'observe' : mode,
    condition: compileCondition(config.when, config.unless, context, config.onUnknown),
    onUnknown: config.onUnknown ?? 'allow',
    errorClass: config.error?.class ?? 'invalid',
    message: config.error?.message ?? null,
    reason: config.error?.reason ?? null
  }
}

function compileSide ({ on, select, pick, first }: CorrelationSide, context: SelectContext): CompiledSide {
  const pointers = pick === undefined ? [] : typeof pick === 'string' ? [pick] : pick
  return { on, select: compileBothSides(select, context), pick: pointers.map(parsePointer), first: first === true }
}

/** Checks one request or result, then remembers its values. Conditions apply only to the check. */
export function correlate (policy: CompiledPolicy, subject: Subject, side: Side, memory: TaskMemory, violations: Violation[]): void {
  for (const correlation of policy.correlations) {
    if (correlation.mode === 'off') continue
    if (correlation.check.on === side) check(policy, correlation, subject, memory, violations)
    if (correlation.remember.on === side) remember(policy, correlation, subject, memory)
  }
}

function remember (policy: CompiledPolicy, correlation: CompiledCorrelation, subject: Subject, memory: TaskMemory): void {
  const { on, select } = correlation.remember
  const selected = selectOn(select, subject, on)
  if (selected.length === 0) return
  memory.set(FIELDS.correlation(policy.name, correlation.id), writeValues(picked(correlation.remember, selected).map(match => match.value)))
}

function check (
  policy: CompiledPolicy,
  correlation: CompiledCorrelation,
  subject: Subject,
  memory: TaskMemory,
  violations: Violation[]
): void {
  const { condition, relation, mode, errorClass } = correlation
  if (isFull(violations, mode) || (condition !== null && !condition(subject))) return
  const selected = selectOn(correlation.check.select, subject, correlation.check.on)
  const [first] = selected
  if (first === undefined) return
  const add = (path: string, message: string, fault = false): void => {
    const own = fault ? null : correlation.message
    addViolation(
      violations,
      violation({
        mode,
        reason: reasonOn(correlation.check.on, errorClass),
        extension: policy.name,
        uri: policy.uri,
        rule: correlation.id,
        path,
        message: own ?? message,
        customReason: fault ? null : correlation.reason,
        isStandalone: own !== null
      })
    )
  }
  for (const { ambiguous, path } of selected) if (ambiguous !== null) return add(path, `cannot be evaluated: ${ambiguous}`, true)
  const field = FIELDS.correlation(policy.name, correlation.id)
  const text = memory.get(field)
  const before = text === null ? null : readValues(text)
  if (before === null || (before.digests === null && relation !== 'sameLength')) {
    if (correlation.onUnknown === 'reject') {
      add(
        first.path,
        `cannot be evaluated: ${before === null ? 'the gateway does not know' : 'there are too many of'} the values to compare it with`
      )
    }
    return
  }
  const values = picked(correlation.check, selected)
  const problem = compared(relation, values, before, WHOSE[correlation.remember.on])
  if (problem?.fault === true) return add(problem.at?.path ?? first.path, problem.message, true)
  // The value may have been sent over another connection.
  const other = problem === null ? null : memory.elsewhere(field)
  if (other !== null && problemOf(relation, values, readValues(other), WHOSE[correlation.remember.on]) === null) return
  if (problem !== null) add((problem.at ?? first).path, problem.message)
}

/** Text for the reader of the rejection. */
const WHOSE = { request: 'the client sent earlier in this task', response: 'the agent sent earlier in this task' } as const

interface Picked { readonly path: string, readonly value: unknown }

/** `fault`: the values cannot be compared. */
interface Problem { readonly at: Picked | null, readonly message: string, readonly fault?: true }

function compared (
  relation: CompiledCorrelation['relation'], values: readonly Picked[], before: Remembered, whose: string
): Problem | null {
  try {
    return problemOf(relation, values, before, whose)
  } catch (error) {
    if (!(error instanceof InexactNumber)) throw error
    const at = values.find(value => inexactPath(value.value) !== null) ?? null
    return { at, message: NOT_EXACT, fault: true }
  }
}

/** @returns null when the relation holds */
function problemOf (
  relation: CompiledCorrelation['relation'],
  values: readonly Picked[],
  before: Remembered,
  whose: string
): Problem | null {
  if (relation === 'sameLength') {
    return values.length === before.length ? null : { at: null, message: `must have as many values as ${whose}: ${before.length}` }
  }
  if (values.length > MAX_VALUES) {
    return { at: null, message: `contains more than ${MAX_VALUES} values to compare with the values that ${whose}; send fewer` }
  }
  if (relation === 'member' && values.length > 1) {
    return { at: values[1] ?? null, message: `is one too many: choose one of the values that ${whose}` }
  }
  const digests = before.digests ?? new Set()
  const sent = new Set<string>()
  for (const value of values) {
    const digest = jsonDigest(value.value)
    if (!digests.has(digest)) return { at: value, message: `must be one of the values that ${whose}` }
    if (relation === 'equalSet' && sent.has(digest)) {
      return {
        at: value,
        message: 'occurs twice; send each value that ' +
      `${whose} exactly once`
      }
    }
    sent.add(digest)
  }
  if (relation !== 'equalSet' || sent.size === digests.size) return null
  const missing = digests.size - sent.size
  return { at: null, message: `leaves out ${missing} of the values that ${whose}; send each exactly once` }
}

/** The selected values, in order, or the values that the pointers lead to in each of them. */
function picked ({ pick, first }: CompiledSide, selected: readonly Selected[]): readonly Picked[] {
  if (pick.length === 0) return selected
  const places: Place[] = []
  for (const match of selected) {
    const before = places.length
    for (const steps of pick) {
      collect(match, steps, places)
      if (first && places.length > before) break
    }
  }
  return places
}

// Lists of values in the form of a record: their number, and a digest of each.

/** Maximum digests that are kept, and maximum values that are compared. For longer lists only the length is known. */
const MAX_VALUES = 1_000

interface Remembered {
  readonly length: number
  /** Null when the list was longer than the maximum. */
  readonly digests: ReadonlySet<string> | null
}

/** `<length>:<digests, separated by commas>` */
function writeValues (values: readonly unknown[]): string {
  return `${values.length}:${values.length > MAX_VALUES ? '' : values.map(digestOf).join(',')}`
}

/** Never equals a digest, so nothing is ever equal to a number that cannot be compared exactly. */
const UNEQUAL = 'inexact'

function digestOf (value: unknown): string {
  try {
    return jsonDigest(value)
  } catch (error) {
    if (error instanceof InexactNumber) return UNEQUAL
    throw error
  }
}

function readValues (text: string): Remembered {
  const end = text.indexOf(':')
  const length = Number(text.slice(0, end))
  const digests = text.slice(end + 1)
  return { length, digests: length > MAX_VALUES ? null : new Set(digests === '' ? [] : digests.split(',')) }
}
