/** Evaluates an agent's response by the policies of the request. */
import { viewResponse } from '#a2a/message/read-result.js'
import type { Payload } from '#a2a/payload.js'
import { JSON_PAYLOAD, payloadOf } from '#a2a/payload.js'
import type { ResponseView, ResultView, ValuePlace } from '#a2a/message/result.js'
import type { Bytes } from '#wire/chunked-buffer.js'
import { whole } from '#wire/chunked-buffer.js'
import type { InexactNumbers } from '#wire/json/number.js'
import type { AskedRule } from '../asked-rule.js'
import { activeUri, INACTIVE } from '../request/activation.js'
import { Activations } from './activation-report.js'
import { addAdvisory } from './advisory.js'
import type {
  ActivationReport, ResponseContext, ResponseEvaluator, Measure, ObservedAttribute, ResponseDecision, ResultSummary
} from './evaluator.js'
import { FORWARD } from './evaluator.js'
import { correlate } from '../task/correlate.js'
import { withBudget, spendBudget, unevaluated } from '#jsonschema/evaluation.js'
import { observe } from '../observe.js'
import { PastSubject } from './history-subject.js'
import { MethodResultSubject, ResultSubject } from './result-subject.js'
import { ResponseEdits } from './edits.js'
import { EventTemplates } from './event-templates.js'
import { redactHistory } from './redact.js'
import type { ListPlaces } from './list-places.js'
import { listPlaces } from './list-places.js'
import { responseRejection, noteFault } from './rejection.js'
import type { Findings, ResultPosition } from './rules.js'
import { runResponseRules } from './rules.js'
import type { Work } from './scope.js'
import { isResponseEvaluated, remembersOf, workOf } from './scope.js'
import { hasResults } from '#a2a/operations.js'
import type { Selected } from '../selectors/selection.js'
import { checkTaskState } from '../task/state.js'
import type { TaskMemory, TaskRecord } from '../task/memory.js'
import { FIELDS } from '../task/memory.js'
import type { Violation } from '../violation.js'

/** @returns null when nothing applies to this response: then no byte of it is read */
export function evaluatorOf (context: ResponseContext): ResponseEvaluator | null {
  const { policy, decision, operation, requested } = context
  const { owned = false, asks = null } = context
  const follows = owned || asks !== null || context.follows === true
  if (!hasResults(operation)) return null
  if (!follows && (!policy.reads || (!policy.evaluates && decision.outbound.length === 0))) return null
  const activations = new Activations(policy, decision, requested)
  const works = workOf(context, activations.sought)
  const says =
    owned ||
    asks !== null ||
    works.some(work => !work.idle) ||
    activations.sought ||
    policy.echoes.size > 0 ||
    (decision.memory !== null && remembersOf(operation))
  return says || follows ? new PolicyResponseEvaluator(context, works, activations, !says) : null
}

const NONE: readonly never[] = []

/** The field name, and the escape that JSON may use for any of its letters. */
const LIST = Buffer.from('extensions')
const ESCAPE = Buffer.from('\\u')

/** Steps for every result, independent of the rules. */
const RESULT_STEPS = 2

class PolicyResponseEvaluator implements ResponseEvaluator {
  private readonly context: ResponseContext
  private readonly payload: Payload
  private readonly works: readonly Work[]
  private readonly activations: Activations
  private readonly memory: TaskMemory | null
  readonly enforces: boolean
  private readonly annotates: boolean
  private readonly strips: boolean
  private readonly idle: boolean
  private readonly follows: boolean
  private readonly owned: boolean
  private readonly asks: boolean
  readonly quiet: boolean
  /** True when the evaluator looks only for the URIs that a response lists. */
  private readonly listsOnly: boolean
  /** True when a rule selects from the result of a method. */
  private readonly readsMethod: boolean
  private taskId: string | null
  /** The last result of the response so far. It is kept only when a rule needs it. */
  private readonly evaluatesLast: boolean
  private last: { readonly subject: ResultSubject; readonly evaluated: readonly Work[]; readonly inexact: InexactNumbers | null } | null =
    null

  private first = true
  /** True when decisions depend on nothing but the event, after the first one: neither on a task's memory nor on later events. */
  private readonly repeats: boolean
  private templates: EventTemplates | null = null
  /** True when the memory is bound to its task. */
  private recalls = false

  constructor (context: ResponseContext, works: readonly Work[], activations: Activations, quiet: boolean) {
    this.context = context
    this.payload = payloadOf(context.binding, context.version, context.operation, 'response')
    this.works = works
    this.activations = activations
    this.memory = remembersOf(context.operation) ? context.decision.memory : null
    this.owned = context.owned ?? false
    // A response that the gateway cannot read could name the task of another caller.
    this.enforces = this.owned || context.asks === 'enforce' || works.some(work => work.enforces)
    this.annotates = works.some(work => work.annotates)
    this.strips = works.some(work => work.strips)
    this.evaluatesLast = works.some(work => work.evaluatesLast)
    this.readsMethod = context.method !== null && works.some(work => work.responses.rules.some(rule => rule.ofMethod))
    this.idle = works.every(work => work.idle)
    this.quiet = quiet
    this.asks = (context.asks ?? null) !== null
    this.follows = this.owned || this.asks || (context.follows ?? false)
    this.listsOnly = works.length === 0 && this.memory === null && !activations.buffersHead && !this.follows
    this.repeats = !this.asks && this.memory === null && context.tracer === null && !this.evaluatesLast && !this.readsMethod
    this.taskId = context.taskId
  }

  get buffersBody (): boolean {
    return this.enforces || this.asks || this.annotates || this.memory !== null || this.buffersHead
  }

  get buffersHead (): boolean {
    return this.activations.buffersHead
  }

  get readsBody (): boolean {
    return !this.idle || this.memory !== null || this.activations.sought || this.follows
  }

  echoed (uris: readonly string[]): void {
    this.activations.echoed(uris)
  }

  shown (): readonly string[] {
    return this.activations.shown()
  }

  activationReport (): ActivationReport {
    return this.activations.truth()
  }

  evaluate (bytes: Bytes, stream: boolean): ResponseDecision {
    if (!this.readsBody) return FORWARD
    const { payload } = this
    // The response to a notification, or an event that keeps a connection open, is empty: there is nothing to evaluate. A protobuf message
    // without bytes is a message without fields.
    if (bytes.length === 0 && payload === JSON_PAYLOAD) return FORWARD
    if (!stream) return this.evaluateBytes(bytes, false)
    const event = whole(bytes)
    if (payload === JSON_PAYLOAD && this.showsNothing(event)) return FORWARD
    if (!this.repeats) return this.evaluateBytes(event, true)
    const responseDecision = this.templates?.find(event) ?? null
    if (responseDecision !== null) return responseDecision
    // The first result has rules of its own.
    const { first } = this
    const decision = this.evaluateBytes(event, true)
    if (!first) {
      this.templates ??= new EventTemplates(payload, this.context.limits)
      this.templates.learn(event, decision, value => this.evaluateAgain(value))
    }
    return decision
  }

  private evaluateBytes (bytes: Bytes, stream: boolean): ResponseDecision {
    const outcome = new EvaluationOutcome(new ResponseEdits())
    const { payload } = this
    const parsed = payload.parse(bytes, this.context.limits, this.context.policy.validator)
    if (!parsed.ok) {
      const mode = this.enforces ? 'enforce' : 'observe'
      const message = `is not acceptable ${payload.format}: ${parsed.problem.message}`
      noteFault(payload === JSON_PAYLOAD ? 'answer-json' : 'answer-protobuf', mode, { path: '', message }, outcome.violations)
      return this.quiet ? FORWARD : outcome.decision(null)
    }
    if (parsed.unknown !== undefined && parsed.unknown.length > 0) {
      const message = `has fields that A2A does not define: ${parsed.unknown.join(', ')}`
      noteFault('answer-unknown', 'observe', { path: '', message }, outcome.violations)
    }
    if (parsed.backslashName === true) {
      const message = 'has a member name with a backslash that can hide members of later responses from a client on Node 24'
      noteFault('answer-backslash-name', 'observe', { path: '', message }, outcome.violations)
    }
    const decision = this.evaluateValue(parsed.value, parsed.inexact ?? null, stream, this.context.clock?.() ?? null, outcome)
    return parsed.nulls === undefined ? decision : { ...decision, nulls: parsed.nulls }
  }

  /** Evaluates an event without effects. A rule about the age of a value has no time, and its fault appears in the decision. */
  private evaluateAgain (value: unknown): ResponseDecision | null {
    try {
      return this.evaluateValue(value, null, true, null, new EvaluationOutcome(new ResponseEdits()))
    } catch {
      return null
    }
  }

  private evaluateValue (
    value: unknown,
    inexact: InexactNumbers | null,
    stream: boolean,
    now: number | null,
    outcome: EvaluationOutcome
  ): ResponseDecision {
    const view = this.read(value, stream, outcome.violations)
    if (this.quiet) return view === null ? FORWARD : { ...FORWARD, results: view.results }
    if (view === null) return outcome.decision(null)
    const { results, methodResult } = view
    outcome.results = results
    if (this.owned && this.context.operation === 'ListTasks') outcome.list = listPlaces(value, this.context.binding, results)
    const done = this.withinSteps(inexact, outcome, now, () => {
      for (let i = 0; i < results.length; i++) {
        this.result(results[i] as ResultView, !stream && i === results.length - 1 ? 'last' : 'within', inexact, outcome)
      }
      if (this.readsMethod && methodResult !== undefined) this.methodResult(methodResult, outcome)
    })
    return outcome.decision(done ? this.memory : null)
  }

  /**
   * True for an event without a list of extensions, when only that list is relevant. Most events have no list (reading all of them costs
   * four times as much as forwarding them).
   */
  private showsNothing (bytes: Buffer): boolean {
    return this.listsOnly && !bytes.includes(LIST) && !bytes.includes(ESCAPE)
  }

  end (): ResponseDecision | null {
    if (this.last === null) return null
    const { subject, evaluated, inexact } = this.last
    this.last = null
    const outcome = new EvaluationOutcome(null)
    this.withinSteps(inexact, outcome, this.context.clock?.() ?? null, () => {
      for (const work of evaluated) runResponseRules(work, subject, 'afterwards', outcome, this.context.tracer)
    })
    return outcome.decision(null)
  }

  /** @returns true when everything was evaluated */
  private withinSteps (inexact: InexactNumbers | null, outcome: EvaluationOutcome, now: number | null, run: () => void): boolean {
    try {
      withBudget(inexact, run, now)
      return true
    } catch (error) {
      const message = unevaluated(error)
      if (message === null) throw error
      noteFault('answer-steps', this.enforces ? 'enforce' : 'observe', { path: '', message }, outcome.violations)
      return false
    }
  }

  /** @returns null when there is nothing to evaluate: the value is not a response, or the response is an error */
  private read (value: unknown, stream: boolean, violations: Violation[]): ResponseView | null {
    const { binding, version, operation, id } = this.context
    const mode = this.enforces ? 'enforce' : 'observe'
    const view = viewResponse(value, { binding, version, operation, id, stream })
    if (view.fault !== null) noteFault('answer-envelope', mode, view.fault, violations)
    for (const problem of view.problems) noteFault('answer-fields', mode, problem, violations)
    if (view.unwrapped !== null) noteFault('answer-unwrapped', 'observe', view.unwrapped, violations)
    return view.isError && view.fault === null ? null : view
  }

  /** Evaluates the rules on the result of a method. */
  private methodResult (place: ValuePlace, outcome: EvaluationOutcome): void {
    const { decision, tracer } = this.context
    const subject = new MethodResultSubject(place, decision)
    spendBudget(RESULT_STEPS)
    for (const work of this.works) {
      if (!work.idle) runResponseRules(work, subject, 'within', outcome, tracer)
    }
    outcome.edits?.settle([], outcome.violations)
  }

  private result (view: ResultView, position: ResultPosition, inexact: InexactNumbers | null, outcome: EvaluationOutcome): void {
    const { operation, decision, tracer } = this.context
    const subject = new ResultSubject(view, operation, decision, this.first)
    this.first = false
    const { listed } = subject
    spendBudget(RESULT_STEPS + listed.length)
    for (const uri of listed) this.activations.see(uri)
    for (const problem of view.unknown) noteFault('answer-unknown', 'observe', problem, outcome.violations)
    const past = this.strips && view.kind === 'task' ? new PastSubject(view, operation, decision, false) : null
    const memory = this.memoryOf(view)
    const evaluated: Work[] = []
    for (const work of this.works) {
      const { policy } = work.state
      const owned = ownedIn(work, subject)
      const evidence = owned[0]?.typePath ?? owned[0]?.path ?? null
      if (evidence !== null) this.activations.see(activeUri(policy, decision.outbound, decision.listed))
      if (work.idle) continue
      if (work.strips) {
        this.strip(work, past === null ? owned : [...owned, ...ownedIn(work, past)], past === null ? [subject] : [subject, past], outcome)
      }
      if (work.responses.redact.length > 0) redactHistory(policy, work.responses, subject, outcome)
      const isEvaluated = isResponseEvaluated(work, evidence)
      tracer?.responsePolicy?.(policy, view, evidence, isEvaluated)
      if (!isEvaluated) continue
      evaluated.push(work)
      runResponseRules(work, subject, position, outcome, tracer)
      evaluateTask(work, subject, memory, outcome)
    }
    // An ambiguous history is a fault: the wrong part of it could be removed.
    for (const problem of view.pastProblems) noteFault('answer-fields', this.enforces ? 'enforce' : 'observe', problem, outcome.violations)
    if (memory !== null) {
      if (view.state !== null) memory.set(FIELDS.state, view.state)
      outcome.taskId = this.taskId
    }
    outcome.edits?.settle(past === null ? [subject] : [subject, past], outcome.violations)
    if (this.evaluatesLast && position === 'within') this.last = { subject, evaluated, inexact }
  }

  /**
   * Removes the data of an inactive extension. Several extensions may own the same data, for example versions of one extension. Data that
   * an active extension also owns stays, because it belongs to the client.
   */
  private strip (work: Work, matches: readonly Selected[], subjects: readonly ResultSubject[], outcome: EvaluationOutcome): void {
    if (matches.length === 0) return
    const owned = this.works.filter(other => other.state.active && !other.strips).flatMap(({ responses }) => responses.owned)
    const paths = new Set(owned.flatMap(selector => subjects.flatMap(subject => selector.select(subject).map(({ path }) => path))))
    const removed = matches.filter(({ path }) => !paths.has(path))
    spendBudget(removed.length)
    if (removed.length > 0) stripInactive(work, removed, outcome)
  }

  /**
   * Memory of the request's task. When the request names no task, the first task of the response counts. Other tasks are not remembered.
   */
  private memoryOf (view: ResultView): TaskMemory | null {
    if (this.memory === null || view.taskId === null) return null
    if (!this.recalls) {
      this.recalls = true
      const { recall } = this.context
      const taskId = (this.taskId ??= view.taskId)
      if (recall !== undefined) this.memory.recallBy(() => recall(taskId))
    }
    return view.taskId === this.taskId ? this.memory : null
  }
}

/** All owned data when it is to be removed; otherwise the first is enough. */
function ownedIn ({ responses, strips }: Work, subject: ResultSubject): readonly Selected[] {
  if (strips) return responses.owned.flatMap(selector => selector.select(subject))
  for (const selector of responses.owned) {
    const selected = selector.select(subject)
    if (selected.length > 0) return selected
  }
  return NONE
}

function stripInactive ({ state: { policy }, responses }: Work, matches: readonly Selected[], { violations, edits }: Findings): void {
  const path = matches[0]?.path
  if (path === undefined) return
  const fate = responses.acts ? 'removed' : 'to be removed'
  addAdvisory(
    violations, policy, INACTIVE, path, `belongs to the extension ${policy.uri}, which the client did not activate, and is ${fate}`
  )
  if (responses.acts) for (const { at } of matches) edits?.remove(at, policy, INACTIVE)
}

/** Checks and observes what a policy follows through the task. */
function evaluateTask (
  { state: { policy }, responses }: Work,
  subject: ResultSubject,
  memory: TaskMemory | null,
  outcome: EvaluationOutcome
): void {
  if (memory !== null) {
    if (policy.state !== null) checkTaskState(policy, subject, 'response', memory, outcome.violations)
    if (policy.correlations.length > 0) correlate(policy, subject, 'response', memory, outcome.violations)
  }
  if (responses.metrics.length === 0 && responses.attributes.length === 0) return
  const { attributes, measures } = observe(policy, subject, memory)
  outcome.attributes.push(...attributes)
  outcome.measures.push(...measures)
}

/** Findings for one response, or for one event. */
class EvaluationOutcome implements Findings {
  readonly violations: Violation[] = []
  readonly edits: ResponseEdits | null
  readonly annotations = new Set<string>()
  readonly attributes: ObservedAttribute[] = []
  readonly measures: Measure[] = []
  readonly asked: AskedRule[] = []
  /** The request's task, when this response contains it. */
  taskId: string | null = null
  results: readonly ResultSummary[] = NONE
  list: ListPlaces | null = null

  constructor (edits: ResponseEdits | null) {
    this.edits = edits
  }

  /**
   * @param memory supplies the new fields to remember with the response. Nothing is remembered of a rejected response, which nobody sees
   */
  decision (memory: TaskMemory | null): ResponseDecision {
    const { violations, edits, attributes, measures, results, taskId } = this
    const rejection = responseRejection(violations)
    if (rejection !== null) return { ...FORWARD, rejection, violations, attributes, results }
    const fields: TaskRecord | null = taskId === null ? null : memory?.take() ?? null
    return {
      rejection: null,
      violations,
      edits: edits?.all ?? NONE,
      edited: edits?.edited ?? NONE,
      annotations: this.annotations.size === 0 ? NONE : [...this.annotations],
      attributes,
      measures,
      results,
      ...(this.asked.length === 0 ? {} : { asked: this.asked }),
      ...(this.list === null ? {} : { list: this.list }),
      remember: taskId === null || fields === null ? null : { taskId, fields }
    }
  }
}
