/** Extracts the values that a policy reports about the extension's data in responses: attributes for the span, numbers for the metrics. */
import type { ObserveConfig } from '#config/model/model.js'
import type { Measure, ObservedAttribute } from './response/evaluator.js'
import type { CompiledResponses, CompiledMetric, CompiledPolicy } from './compile/compiled.js'
import { spendBudget } from '#jsonschema/evaluation.js'
import type { ResultSubject } from './response/result-subject.js'
import { compileResponseSelector } from './selectors/response.js'
import type { SelectContext } from './selectors/selection.js'
import type { TaskMemory } from './task/memory.js'
import { FIELDS } from './task/memory.js'

/** Maximum characters of a text for the span. Longer texts are dropped. */
const MAX_TEXT = 256

/** Value of the label `by` for values that the policy does not list. */
const OTHER = 'other'

export interface Observed { readonly attributes: readonly ObservedAttribute[], readonly measures: readonly Measure[] }

export function compileObserve (
  config: ObserveConfig | undefined,
  context: SelectContext
): Pick<CompiledResponses, 'attributes' | 'metrics'> {
  return {
    attributes: Object.entries(config?.spanAttributes ?? {}).map(([name, from]) => ({
      name,
      from: compileResponseSelector(from, context)
    })),
    metrics: (config?.metrics ?? []).map(({ name, type, from, by }) => ({
      name,
      type,
      from: compileResponseSelector(from, context),
      by: by === undefined ? null : { from: compileResponseSelector(by.from, context), values: new Set(by.values) }
    }))
  }
}

/**
 * Extracts attributes and measures from one result.
 * @param memory of the task of the result. Null when nothing is remembered of the task, for example for the tasks of a list: counters then
 *   ignore results of a task. An amount that was counted for the task before is not counted again. When the earlier amount is unknown, the
 *   whole amount is counted
 */
export function observe (policy: CompiledPolicy, subject: ResultSubject, memory: TaskMemory | null): Observed {
  const { responses } = policy
  if (responses === null || (responses.attributes.length === 0 && responses.metrics.length === 0)) return NO_OBSERVATIONS
  const attributes: ObservedAttribute[] = []
  for (const { name, from } of responses.attributes) {
    const value = from.select(subject).map(match => match.ambiguous === null ? match.value : null).find(isShown)
    if (value !== undefined) attributes.push({ name, value })
  }
  const measures: Measure[] = []
  for (const metric of responses.metrics) {
    if (metric.type === 'counter' && memory === null && subject.taskId === 'present') continue
    const numbers = numbersOf(metric, subject)
    if (numbers.length === 0) continue
    const value =
      metric.type === 'gauge' ? (numbers.at(-1) ?? 0) : increase(policy, metric, numbers, subject.taskId === 'absent' ? null : memory)
    if (metric.type === 'gauge' || value > 0) {
      measures.push({ extension: policy.name, metric: metric.name, type: metric.type, by: labelOf(metric, subject), value })
    }
  }
  return { attributes, measures }
}

const NO_OBSERVATIONS: Observed = { attributes: [], measures: [] }

function isShown (value: unknown): value is string | number | boolean {
  return typeof value === 'string'
    ? value.length <= MAX_TEXT
    : typeof value === 'number'
      ? Number.isFinite(value)
      : typeof value === 'boolean'
}

/**
 * Returns the numbers that a metric can use, and omits other values. A number beyond the safe integers would make a counter useless
 * permanently.
 */
function numbersOf ({ from, type }: CompiledMetric, subject: ResultSubject): number[] {
  const amounts: number[] = []
  const selected = from.select(subject)
  spendBudget(selected.length / 10)
  for (const { value, ambiguous } of selected) {
    if (ambiguous !== null || typeof value !== 'number' || !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) continue
    if (type === 'gauge' || value >= 0) amounts.push(value)
  }
  return amounts
}

/** Adds up the values of one result. A later total of a task includes the earlier one, so only the increase counts. */
function increase (policy: CompiledPolicy, metric: CompiledMetric, numbers: readonly number[], memory: TaskMemory | null): number {
  const total = numbers.reduce((sum, value) => sum + value, 0)
  if (memory === null) return total
  const field = FIELDS.counted(policy.name, metric.name)
  const counted = Math.max(Number(memory.get(field) ?? 0), Number(memory.elsewhere(field) ?? 0))
  if (total <= counted) return 0
  memory.set(field, String(total))
  return total - counted
}

function labelOf ({ by }: CompiledMetric, subject: ResultSubject): string {
  if (by === null) return ''
  const [first] = by.from.select(subject)
  const text = first === undefined || first.ambiguous !== null || typeof first.value === 'object' ? null : String(first.value)
  return text !== null && by.values.has(text) ? text : OTHER
}
