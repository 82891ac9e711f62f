/** `caller` in conditions of rules for requests, responses and tasks, in `match`, and in injections; `fromCaller`. */
import t from 'tap'
import type { ConditionConfig, InjectionConfig, PolicyConfig } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import { bodyOf } from '#pipeline/request.js'
import type { Decision } from '#policy/request/decision.js'
import { ADA, BOB } from './callers-kit.js'
import { ask, judge, outcome as said, policyFor, rule, EVERY_STYLE, URI, V1 } from './responses.js'
import type { Sent } from './fixtures.js'
import { declaring, policyOf, send } from './fixtures.js'

const SIDES: readonly Sent[] = [
  { version: '1.0' },
  { version: '0.3' },
  { version: '1.0', binding: 'HTTP+JSON' },
  { version: '0.3', binding: 'HTTP+JSON' }
]
const finance = { groups: ['finance'] }
const amount = (value: number): object => ({ message: { parts: [], metadata: { amount: value } } })
const by = (caller: Principal | null): { caller?: Principal } => (caller === null ? {} : { caller })

t.test('a rule for some callers', async t => {
  type Condition = ConditionConfig | undefined
  type Row = readonly [name: string, when: Condition, unless: Condition, broken: readonly (Principal | null)[]]
  const rows: readonly Row[] = [
    ['when', { caller: finance }, undefined, [ADA]],
    ['unless', undefined, { caller: finance }, [BOB, null]],
    ['when, nobody', { caller: { anonymous: true } }, undefined, [null]],
    ['when, anybody', { caller: { anonymous: false } }, undefined, [ADA, BOB]],
    ['with another key', { caller: finance, contextId: 'present' }, undefined, []],
    ['exception with another key', undefined, { caller: finance, contextId: 'present' }, [ADA, BOB, null]],
    ['match of the caller', { caller: { match: { properties: { claims: { required: ['email'] } }, required: ['claims'] } } }, undefined, [ADA]],
    ['match', { match: { required: ['caller'], properties: { caller: { properties: { source: { const: 'partners' } } } } } }, undefined, [BOB]],
    ['match without a caller', { match: { not: { required: ['caller'] } } }, undefined, [null]],
    ['match of absent members', { match: { required: ['caller'], properties: { caller: { required: ['tenant', 'client'] } } } }, undefined, [ADA]],
    ['undecidable', { caller: { match: { $ref: 'urn:x' } } }, undefined, [ADA, BOB]],
    ['undecidable exception', undefined, { caller: { match: { $ref: 'urn:x' } } }, [ADA, BOB, null]]
  ]
  for (const [name, when, unless, broken] of rows) {
    const limit = { id: 'limit', select: { metadata: { key: 'amount' } }, schema: { maximum: 10 }, ...(when === undefined ? {} : { when }), ...(unless === undefined ? {} : { unless }) }
    const policy = policyOf(declaring(URI), { pay: { uri: URI, request: [limit] } })
    for (const side of SIDES) {
      for (const caller of [ADA, BOB, null]) {
        const { rejection } = send(policy, amount(11), { ...side, ...by(caller) })
        t.equal(rejection?.rule ?? null, broken.includes(caller) ? 'pay/limit' : null, `${name}: ${caller?.subject ?? 'nobody'}`)
        t.equal(send(policy, amount(10), { ...side, ...by(caller) }).rejection, null)
      }
    }
  }
})

t.test('rules for responses see the caller of the request', async t => {
  for (const style of EVERY_STYLE) {
    const part = style.part({ total: 'x' })
    const answer = style.task_('completed', { artifacts: [[part]] })
    const conditions: readonly ConditionConfig[] = [
      { caller: finance },
      { match: { required: ['caller'], properties: { caller: { properties: { tenant: { const: 'north' } }, required: ['tenant'] } } } }
    ]
    for (const when of conditions) {
      const policy = policyFor({ response: [rule({ when })] })
      t.match(said(judge(policy, answer, { style, caller: ADA })), /^refused/, style.name)
      t.equal(said(judge(policy, answer, { style, caller: BOB })), '')
      t.equal(said(judge(policy, answer, { style })), '')
    }
    const whole = policyFor({ response: [rule({ select: { event: 'last' }, schema: { not: { required: ['caller'] } } })] })
    t.equal(said(judge(whole, answer, { style, caller: ADA })), '', 'the result itself has no caller')
  }
})

t.test('rules for tasks see the caller', async t => {
  const policy = policyFor({
    correlate: [{
      id: 'same',
      remember: { on: 'request', select: { metadata: { key: 'a' } } },
      check: { on: 'response', select: { metadata: { in: ['task'], key: 'a' } }, relation: 'member' },
      unless: { caller: finance }
    }]
  })
  const answer = V1.task_('completed', { metadata: { a: 2 } })
  const message = { metadata: { a: 1 } }
  t.match(said(judge(policy, answer, { message, caller: BOB })), /^refused: .*"ext\/same"/)
  t.equal(said(judge(policy, answer, { message, caller: ADA })), '')
})

t.test('an agent that activates a forbidden extension by itself', async t => {
  for (const style of EVERY_STYLE) {
    const answer = style.task_('completed', { metadata: { pay: 1, x: 1 } })
    const config = (response: 'strip' | 'forward', more: Partial<PolicyConfig> = {}): PolicyConfig =>
      ({ uri: URI, owns: { metadata: ['pay'] }, inactive: { response }, activation: { callers: finance, onForbidden: 'strip' }, ...more })
    for (const echo of ['passthrough', 'verify', 'synthesize'] as const) {
      const strict = policyFor(config('strip', { echo }))
      const { review, decision } = ask(strict, { style, caller: BOB, requested: [URI] })
      // As the pipeline does: what was removed from the request was not requested.
      const again = ask(strict, { style, caller: BOB })
      t.same(decision.outbound, [])
      for (const one of [review, again.review]) {
        one?.echoed([URI])
        const verdict = one?.evaluate(answer, false)
        t.same(verdict?.edited, ['ext/inactive'], `${style.name} ${echo}`)
        t.same(one?.shown(), [], `${style.name} ${echo}`)
        t.same(one?.activationReport().unexpected, [URI], 'metrics count it')
      }
      const lenient = ask(policyFor(config('forward', { echo: 'passthrough', response: [rule()] })), { style, caller: BOB }).review
      lenient?.echoed([URI])
      t.same(lenient?.evaluate(answer, false).edits, [])
      t.same(lenient?.shown(), [URI], 'inactive.response: forward')
    }
  }
})

function injected (
  config: Omit<InjectionConfig, 'metadata'>,
  caller: Principal | null,
  metadata: object = {},
  more: Partial<PolicyConfig> = {},
  side: Sent = {}
): { decision: Decision, got: Record<string, unknown> } {
  const policy = policyOf(declaring(URI), { ext: { uri: URI, activation: { default: 'inject' }, inject: [{ metadata: '$uri/by', ...config }], ...more } })
  const { version = '1.0', binding = 'JSONRPC' } = side
  const body = { message: { parts: [{ text: 'x' }], metadata } }
  const bytes = Buffer.from(JSON.stringify(binding === 'JSONRPC' ? { jsonrpc: '2.0', id: 1, method: version === '1.0' ? 'SendMessage' : 'message/send', params: body } : body))
  const decision = send(policy, bytes.toString(), { ...side, ...by(caller) })
  const value = JSON.parse(bodyOf({ decision }, bytes).toString()) as { params: typeof body } & typeof body
  const { message } = binding === 'JSONRPC' ? value.params : value
  return { decision, got: message.metadata as Record<string, unknown> }
}
const BY = `${URI}/by`

t.test('fromCaller', async t => {
  const rows: readonly (readonly [from: string, ada: unknown, bob: unknown])[] = [
    ['subject', 'ada', 'bob'],
    ['source', 'corp', 'partners'],
    ['client', 'billing-ui', undefined],
    ['tenant', 'north', undefined],
    ['/email', 'ada@example.com', undefined],
    ['/roles', ['a', 'b'], undefined],
    ['/deep/x~1y', 7, undefined],
    ['/none', undefined, undefined],
    ['/absent/deeper', undefined, undefined],
    ['/constructor', undefined, undefined]
  ]
  for (const [fromCaller, ada, bob] of rows) {
    for (const side of SIDES) {
      for (const [caller, expected] of [[ADA, ada], [BOB, bob], [null, undefined]] as const) {
        const where = `${fromCaller} of ${caller?.subject ?? 'nobody'}`
        const whole = expected === undefined ? { a: 1 } : { a: 1, [BY]: expected }
        t.same(injected({ fromCaller }, caller, { a: 1 }, {}, side).got, whole, where)
        const forged = injected({ fromCaller }, caller, { [BY]: 'root', a: 1 }, {}, side)
        t.same(forged.got, whole, `${where}: a client cannot forge it`)
        t.same(forged.decision.edited, ['ext/inject'])
        t.same(injected({ fromCaller, existing: 'keep' }, caller, { [BY]: 'x' }, {}, side).got, { [BY]: 'x' })
        t.equal(injected({ fromCaller, existing: 'reject' }, caller, { [BY]: 'x' }, {}, side).decision.rejection?.rule, 'ext/inject')
        const { rejection } = injected({ fromCaller, required: true }, caller, {}, {}, side).decision
        t.equal(rejection?.reason, expected === undefined ? 'EXTENSION_NOT_ALLOWED' : undefined, where)
      }
    }
  }
  t.match(injected({ fromCaller: 'tenant', required: true }, BOB).decision.rejection?.message, 'is supplied by the platform from tenant of the caller, and the caller has none')
  const observed = injected({ fromCaller: 'tenant' }, BOB, { [BY]: 'root' }, { mode: 'observe' })
  t.same(observed.got, { [BY]: 'root' })
  t.match(observed.decision.violations, [{ mode: 'observe', rule: 'inject', message: 'would be removed: the caller has no such value' }])
  t.same(injected({ value: 1, when: { caller: finance } }, ADA).got, { [BY]: 1 })
  t.same(injected({ value: 1, when: { caller: finance } }, BOB).got, {})
})

t.test('a rule that requires the value', async t => {
  const more: Partial<PolicyConfig> = { request: [{ id: 'named', select: { metadata: { in: ['message'], key: '$uri/by' } }, required: true }] }
  t.equal(injected({ fromCaller: 'tenant' }, ADA, {}, more).decision.rejection, null)
  t.equal(injected({ fromCaller: 'tenant' }, BOB, {}, more).decision.rejection?.rule, 'ext/named', 'what the caller does not have is not supplied')
})
