/**
 * Events that repeat an earlier one, except for strings that no rule read, get the decision of the earlier one. For any rules and any
 * stream, the decisions are those of an evaluator that evaluates each event. Such is the evaluator with a tracer.
 */
import fc from 'fast-check'
import { deepStrictEqual as same } from 'node:assert'
import t from 'tap'
import { payloadOf } from '#a2a/payload.js'
import type { AgentConfig, PolicyConfig, ResponseRuleConfig } from '#config/model/model.js'
import type { ResponseDecision, ResponseEvaluator } from '#policy/response/evaluator.js'
import type { Tracer } from '#policy/trace.js'
import type { Random } from '../fuzz/engine/random.js'
import { check, random } from '../helpers/seed.js'
import { ask, EVERY_STYLE, policyFor, rule, STYLES, URI, V1 } from './responses.js'
import type { Style } from './responses.js'

const TRACER: Tracer = { policy: () => {}, skipped: () => {}, evaluated: () => {} }
const NOW = Date.parse('2026-01-15T12:00:00Z')

interface Pair { readonly fast: ResponseEvaluator, readonly plain: ResponseEvaluator }

function pairOf (config: Partial<PolicyConfig>, style: Style, more: Partial<AgentConfig> = {}, clock: () => number = () => NOW): Pair {
  const policy = policyFor(config, more)
  const asking = { style, operation: 'SendStreamingMessage', requested: [URI], clock } as const
  return {
    fast: ask(policy, asking).review as ResponseEvaluator,
    plain: ask(policy, { ...asking, tracer: TRACER }).review as ResponseEvaluator
  }
}

/** All of a decision that has an effect. */
function effects (decision: ResponseDecision | null): unknown {
  if (decision === null) return null
  return { ...decision, results: decision.results.map(({ kind, taskId, contextId, state }) => ({ kind, taskId, contextId, state })) }
}

/** @returns the number of events that got the decision of an earlier one. A learned decision is a copy: its first use does not count */
function compare ({ fast, plain }: Pair, events: readonly Buffer[]): number {
  const decisions = new Set<ResponseDecision>()
  let repeated = 0
  for (const [i, event] of events.entries()) {
    const decision = fast.evaluate(event, true)
    same(effects(decision), effects(plain.evaluate(event, true)), `event ${i}: ${event.toString()}`)
    if (decision.results.length > 0 && decisions.has(decision)) repeated++
    decisions.add(decision)
  }
  same(effects(fast.end()), effects(plain.end()))
  same(fast.activationReport(), plain.activationReport())
  same(fast.shown(), plain.shown())
  return repeated
}

const deltas = (style: Style, texts: readonly string[]): Buffer[] => texts.map(text => style.artifact([style.text(text)], { append: true }))
const TEXTS = Array.from({ length: 20 }, (_none, i) => `piece ${i} `.repeat(i % 4))

t.test('pieces of a text repeat the first ones, in both versions and bindings', async t => {
  for (const style of STYLES) t.equal(compare(pairOf({ response: [rule()] }, style), deltas(style, TEXTS)), 20 - 5 - 1, style.name)
  const full = TEXTS.map(text => text === '' ? 'x' : text)
  for (const style of EVERY_STYLE) t.equal(compare(pairOf({ response: [rule()] }, style), deltas(style, full)), 20 - 5 - 1, style.name)
})

t.test('status updates and artifact updates in turns', async t => {
  const events = TEXTS.flatMap((text, i) => [
    V1.status('working', { message: V1.message([V1.text(text)], { messageId: `m-${i}` }), timestamp: `2026-01-15T12:00:${10 + i}Z` }),
    ...deltas(V1, [text])
  ])
  t.equal(compare(pairOf({ response: [rule()] }, V1), events), 40 - 6 - 2)
})

t.test('a string that a rule reads is compared', async t => {
  const long = { type: 'object', properties: { artifacts: { items: { properties: { parts: { items: { properties: { text: { maxLength: 20 } } } } } } } } }
  const pair = pairOf({ response: [{ id: 'r', select: { event: 'last' }, schema: long, verdict: 'warn' }] }, V1)
  t.equal(compare(pair, deltas(V1, TEXTS)), 0, 'the last event decides: each is evaluated')
  const parts = pairOf({ response: [{ id: 'r', select: { part: { match: { properties: { text: { maxLength: 20 } } } } }, schema: false }] }, V1)
  const found = deltas(V1, TEXTS).map(event => parts.fast.evaluate(event, true).violations.length)
  t.same(found, TEXTS.map(text => text.length <= 20 ? 1 : 0))
})

t.test('a rule that reads another member of a part does not read its text', async t => {
  const match = { properties: { filename: { maxLength: 20 } }, required: ['filename'] }
  const response: ResponseRuleConfig[] = [{ id: 'r', select: { part: { match } }, schema: false }]
  for (const style of STYLES) t.equal(compare(pairOf({ response }, style), deltas(style, TEXTS)), 20 - 5 - 1, style.name)
  const full = TEXTS.map(text => text === '' ? 'x' : text)
  for (const style of EVERY_STYLE) t.equal(compare(pairOf({ response }, style), deltas(style, full)), 20 - 5 - 1, style.name)
})

t.test('an id, a state, a member or a type that changes is seen', async t => {
  const seen = (event: Buffer): ResponseDecision => {
    const { fast, plain } = pairOf({ response: [rule()] }, V1)
    for (const one of deltas(V1, TEXTS)) fast.evaluate(one, true)
    plain.evaluate(deltas(V1, TEXTS)[0] as Buffer, true)
    const decision = fast.evaluate(event, true)
    same(effects(decision), effects(plain.evaluate(event, true)))
    return decision
  }
  const event = (deltas(V1, ['x'])[0] as Buffer).toString()
  t.same(seen(Buffer.from(event)).violations, [])
  t.equal(seen(Buffer.from(event.replace('"t1"', '"t2"'))).results[0]?.taskId, 't2')
  t.equal(seen(Buffer.from(event.replace('"id":1', '"id":2'))).violations.length, 1, 'the id of another call')
  t.equal(seen(Buffer.from(event.replace('"text":"x"', '"text":7'))).violations.length, 1)
  t.equal(seen(Buffer.from(event.replace('"text":"x"', '"text":"x","text":"x"'))).violations.length, 1, 'a member twice')
  t.equal(seen(Buffer.from(event.replace('"text":"x"', '"text":"\\x"'))).violations.length, 1, 'no JSON')
  t.equal(seen(Buffer.from(event.replace('"text":"x"', '"Text":"x"'))).violations.length, 1)
  t.equal(seen(V1.artifact([V1.part({ total: 'x' })], { append: true })).violations.length, 1)
  t.equal(seen(V1.status('completed')).results[0]?.state, 'completed')
})

t.test('a rule about the age of a value is evaluated at each event', async t => {
  let now = NOW
  const fresh: ResponseRuleConfig = { id: 'r', select: { metadata: { in: ['event'], key: 'at' } }, notOlderThan: { age: '60s', skew: '0s' } }
  const { fast } = pairOf({ response: [fresh] }, V1, {}, () => now)
  const event = V1.artifact([V1.text('x')], { metadata: { at: '2026-01-15T12:00:00Z' } })
  for (let i = 0; i < 10; i++) t.same(fast.evaluate(event, true).violations, [])
  now += 61_000
  t.equal(fast.evaluate(event, true).violations.length, 1)
})

t.test('large events, and events that never repeat, are evaluated', async t => {
  const pair = pairOf({ response: [rule()] }, V1)
  t.equal(compare(pair, deltas(V1, TEXTS.map(text => text + 'x'.repeat(5_000)))), 0)
  const numbered = Array.from({ length: 300 }, (_none, i) => V1.artifact([V1.text('x')], { metadata: { i } }))
  t.equal(compare(pairOf({ response: [rule()] }, V1), numbered), 0)
})

t.test('a stream that begins with events that never repeat learns later ones', async t => {
  const numbered = Array.from({ length: 100 }, (_none, i) => V1.artifact([V1.text('x')], { metadata: { i } }))
  const repeated = compare(pairOf({ response: [rule()] }, V1), [...numbered, ...Array.from({ length: 10 }, () => deltas(V1, TEXTS)).flat()])
  t.ok(repeated > 100, `${repeated} of 200`)
})

const select: fc.Arbitrary<ResponseRuleConfig['select']> = fc.constantFrom<ResponseRuleConfig['select'][]>(
  { part: { data: true } },
  { part: { mediaType: 'application/x' } },
  { part: {} },
  { part: { dataKey: 'a' } },
  { part: { data: true, where: { path: '/a', equals: 'x' } } },
  { part: { match: { properties: { text: { maxLength: 3 } } } } },
  { part: { data: true, path: '/a' } },
  { metadata: { in: ['message', 'status', 'artifact', 'part', 'task', 'event'], key: 'a' } },
  { metadata: { in: ['event'], key: 'at' } },
  { event: 'first' },
  { event: 'terminal' },
  { event: 'last' }
)
const text = { type: 'object', properties: { a: { maxLength: 2 }, text: { pattern: '^[a-z ]*$' } } }
const what = fc.constantFrom<Partial<ResponseRuleConfig>[]>(
  { schema: false },
  { schema: { type: 'object' } },
  { schema: text },
  { schema: { enum: ['x', 'xy', 1] } },
  { schema: { properties: { artifacts: { items: { properties: { parts: { items: text } } } } } } },
  { count: { max: 0 } },
  { count: { min: 1 } },
  { notOlderThan: { age: '60s' } }
)
const verdict = fc.constantFrom('strip', 'annotate', 'warn', 'reject')
const rules = fc.array(fc.tuple(select, what, verdict), { maxLength: 3 })
const policy = fc.tuple(rules, fc.subarray(['a', 'b.*']), fc.boolean(), fc.boolean(), fc.boolean()).map(
  ([rules, owned, strips, redacts, observes]): Partial<PolicyConfig> => ({
    ...(owned.length === 0 ? {} : { owns: { metadata: owned, dataKeys: owned, mediaTypes: ['application/x'] } }),
    ...(strips ? { inactive: { response: 'strip' } } : {}),
    ...(redacts ? { redact: ['a'] } : {}),
    ...(observes
      ? { observe: { spanAttributes: { 'x.a': { part: { path: '/a' } } }, metrics: [{ name: 'n', type: 'gauge', from: { part: { path: '/n' } } }] } }
      : {}),
    response: rules.map(([select, what, verdict], i) => ({ id: `r${i}`, select, verdict: verdict as 'strip', ...what }))
  })
)

/** A stream of events of few kinds, with values that change here and there, wherever they are. */
function streamOf (style: Style, numbers: Random): Buffer[] {
  const string = (): string => numbers.pick(['x', 'xy', 'x y', 'é', '"', 'X\n', '', '2026-01-15T11:59:30Z', 'long '.repeat(9)])
  const value = (): unknown => numbers.pick<unknown>([string(), string(), 1, 7, null, true, { a: string() }, [string()]])
  const metadata = (): object => ({
    ...(numbers.chance(2) ? { a: value() } : {}),
    ...(numbers.chance(3) ? { at: string() } : {}),
    ...(numbers.chance(3) ? { 'b.1': value() } : {})
  })
  const part = (): object =>
    numbers.chance(3) ? style.part({ a: value(), n: numbers.below(3) }, numbers.pick(['a/b', 'application/x', 'broken']), metadata()) : style.text(string())
  const kinds = Array.from({ length: 3 }, () => {
    const parts = Array.from({ length: 1 + numbers.below(2) }, part)
    const listed = numbers.chance(3) ? { extensions: [numbers.pick([URI, 'urn:other', 'urn:third'])] } : {}
    // An enum of protobuf has no other names.
    const odd = style.binding === 'GRPC' ? 'failed' : 'odd'
    if (numbers.chance(2)) return style.status(numbers.pick(['working', 'working', odd, 'completed']), { message: style.message(parts, { ...listed, metadata: metadata() }) })
    return style.artifact(parts, { append: numbers.chance(2), ...(numbers.chance(2) ? { metadata: metadata() } : {}) })
  })
  return Array.from({ length: 24 }, () => {
    const bytes = changed(style, numbers.pick(kinds), event => {
      const changes = numbers.below(3)
      for (let i = 0; i < changes; i++) change(event, numbers, value)
    })
    if (numbers.chance(30)) bytes[numbers.below(bytes.length)] = numbers.pick([0x22, 0x5c, 0x30, 0x7d, 0xff, 0x09])
    return bytes
  })
}

/** A copy of an event after the changes, or without them when a protobuf message has no place for them. */
function changed (style: Style, event: Buffer, change: (value: object) => void): Buffer {
  if (style.binding !== 'GRPC') {
    const value = JSON.parse(event.toString()) as object
    change(value)
    return Buffer.from(JSON.stringify(value))
  }
  const parsed = payloadOf('GRPC', style.version, 'SendStreamingMessage', 'response').parse(event, { depth: 64, members: 1_000 })
  if (!parsed.ok) throw new Error(parsed.problem.message)
  try {
    change(parsed.value as object)
    return style.raw(parsed.value)
  } catch (error) {
    if (error instanceof TypeError) return Buffer.from(event)
    throw error
  }
}

/** Changes one value: most often a string to another string. */
function change (root: object, numbers: Random, value: () => unknown): void {
  const places: [Record<string, unknown>, string][] = []
  const walk = (node: object): void => {
    for (const [key, inner] of Object.entries(node)) {
      if (typeof inner === 'object' && inner !== null) walk(inner as object)
      if (typeof inner !== 'object' || numbers.chance(8)) places.push([node as Record<string, unknown>, key])
    }
  }
  walk(root)
  if (places.length === 0) return
  const [holder, key] = numbers.pick(places)
  holder[key] = typeof holder[key] === 'string' && !numbers.chance(6) ? `${holder[key] as string}x`.slice(-9) : value()
}

t.test('for any rules and any stream, decisions are those without templates', async t => {
  let repeated = 0
  let broken = 0
  check('policy/event-templates/any', fc.property(
    policy, fc.constantFrom(...EVERY_STYLE), fc.constantFrom('enforce' as const, 'observe' as const), fc.nat(),
    (config, style, responses, seed) => {
      const pair = pairOf(config, style, { responses })
      if (pair.fast === null) return
      const events = streamOf(style, random(`policy/event-templates ${seed}`))
      repeated += compare(pair, events)
      const { plain } = pairOf(config, style, { responses })
      if (events.some(event => plain.evaluate(event, true).violations.some(({ rule }) => /^r\d/.test(rule)))) broken++
    }
  ), { numRuns: 300 })
  t.ok(repeated > 200, `${repeated} events repeated another one`)
  t.ok(broken > 80, `${broken} streams broke a rule`)
})
