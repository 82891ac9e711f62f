/**
 * Decisions on events that repeat an earlier event of the same stream, except for strings that no rule read. The events of a stream are
 * often such: each has the next piece of a text. An event of 300 B takes 0.5 µs instead of 8 (docs/contributing/benchmarks.md).
 *
 * Nothing that a rule could see is left unseen. A decision depends only on the values that were read: those of the protocol, which the
 * gateway reads itself, and those that selectors, schemas, conditions and metrics read. To learn an event, the gateway evaluates it once
 * more, and each of its strings notes whether it is read. Strings that stay unread are free. Another event that equals the learned one in
 * every other byte would be evaluated step by step in the same way. So every other value is compared, whether a rule reads it or not.
 */
import type { Payload, Template } from '#a2a/payload.js'
import { unreadStrings } from '#wire/json/lazy-string.js'
import type { ResponseDecision } from './evaluator.js'
import type { JsonLimits } from '#wire/json/json-result.js'

/** Maximum number of learned events. A usual stream has a status update, and an update for each artifact. */
const TEMPLATES = 4
/** Maximum bytes of a learned event, because each open stream keeps its own. */
const LEARNED = 1_024
/** Maximum bytes of a compared event: the parser does not decode long strings, so that parsing costs little more per byte. */
const COMPARED = 4_096
/** Events that are evaluated before the first one is learned: learning takes twice the time of an evaluation. */
const SHORT_STREAM = 3
/** After as many learned events as a stream may keep, one of so many unknown events is learned, in the place of another. */
const RARELY = 64

interface Learned { readonly template: Template, readonly decision: ResponseDecision }

export class EventTemplates {
  private readonly payload: Payload
  private readonly limits: JsonLimits
  private readonly learned: Learned[] = []
  /** Index in `learned` of the last event that was found: the next event is probably like it. */
  private last = 0
  /** Number of events that were not found. */
  private unknown = 0

  constructor (payload: Payload, limits: JsonLimits) {
    this.payload = payload
    this.limits = limits
  }

  /** @returns null for an event that must be evaluated */
  find (event: Buffer): ResponseDecision | null {
    const { learned, last } = this
    if (event.length > COMPARED) return null
    for (let i = last; i < learned.length; i++) if (this.isLike(event, i)) return (learned[i] as Learned).decision
    for (let i = 0; i < last; i++) if (this.isLike(event, i)) return (learned[i] as Learned).decision
    return null
  }

  /**
   * Takes an event that was not found, and learns it if its decision has no effect but its results and measures.
   * @param evaluate evaluates the event's value once more, without effects. @returns null when the decision depends on more than the value
   */
  learn (event: Buffer, decision: ResponseDecision, evaluate: (value: unknown) => ResponseDecision | null): void {
    const { learned, payload } = this
    const turn = this.unknown++ - SHORT_STREAM
    if (turn < 0 || (turn >= TEMPLATES && turn % RARELY !== 0) || event.length > LEARNED || !isPlain(decision)) return
    // The copy has a buffer of its own: a chunk may be much larger than its events.
    const text = Buffer.allocUnsafeSlow(event.length)
    event.copy(text)
    const parsed = payload.parseUnread(text, this.limits)
    if (!parsed.ok || parsed.inexact !== undefined) return
    const again = evaluate(parsed.value)
    if (again === null || !isPlain(again)) return
    const entry = { template: payload.template(text, unreadStrings(parsed.value)), decision: keep(decision) }
    this.last = learned.length < TEMPLATES ? learned.length : (turn / RARELY) % TEMPLATES
    learned[this.last] = entry
  }

  private isLike (event: Buffer, index: number): boolean {
    if (this.learned[index]?.template.matches(event) !== true) return false
    this.last = index
    return true
  }
}

/** Keeps no values of the event: with them, an open stream took 9.8 kB more. */
function keep (decision: ResponseDecision): ResponseDecision {
  return {
    ...decision,
    results: decision.results.map(({ kind, taskId, contextId, state }) => ({ kind, taskId, contextId, state }))
  }
}

function isPlain ({ rejection, violations, edits, nulls, annotations, remember }: ResponseDecision): boolean {
  return rejection === null && violations.length === 0 && edits.length === 0 && nulls === undefined && annotations.length === 0 &&
    remember === null
}
