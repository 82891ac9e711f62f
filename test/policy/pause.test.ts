/** `pause` in the decision: when a request waits, and which message lets it pass. */
import fc from 'fast-check'
import t from 'tap'
import type { RuleConfig } from '#config/model/model.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import type { Decision } from '#policy/request/decision.js'
import { pausedRecord } from '#policy/task/paused.js'
import { check } from '../helpers/seed.js'
import { declaring, message, policyOf, send } from './fixtures.js'

const uri = 'urn:x'

const ask = (more: Partial<RuleConfig> = {}): RuleConfig => ({
  id: 'ask',
  select: { part: { data: true, path: '/amount' } },
  schema: { type: 'number', maximum: 10 },
  pause: {
    state: 'input-required',
    text: 'May I?',
    evidence: { select: { metadata: { key: '$uri' } }, schema: { type: 'object', required: ['ok'], properties: { ok: { const: true } } } },
    declined: { type: 'object', required: ['ok'], properties: { ok: { const: false } } }
  },
  ...more
})

function withRules (rules: readonly RuleConfig[], mode: 'enforce' | 'observe' = 'enforce'): AgentPolicy {
  return policyOf(declaring(uri), { x: { uri, mode, request: rules } })
}

const record = pausedRecord(
  { state: 'waiting', rules: ['x/ask'], form: 'JSONRPC 1.0', contextId: 'c', at: '2026-11-28T00:00:00Z' },
  'input-required',
  Buffer.from('{}')
)

function decision (policy: AgentPolicy, metadata: unknown): Decision {
  const body = { messageId: 'm', role: 'ROLE_USER', taskId: 'T', parts: [{ text: 'x' }], ...(metadata === undefined ? {} : { metadata }) }
  return send(policy, JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: body } }), { record })
}

t.test('a request waits when only rules with pause reject it', async t => {
  const policy = withRules([ask(), { id: 'text', select: { part: { data: true, path: '/note' } }, schema: { type: 'string' } }])
  t.match(send(policy, message({ data: { amount: 11 } })), { rejection: { rule: 'x/ask' }, pause: { rules: ['x/ask'], uri, question: { text: 'May I?' } } })
  t.match(send(policy, message({ data: { amount: 10 } })), { rejection: null, pause: null })
  t.match(send(policy, message({ data: { amount: 11, note: 1 } })), { rejection: { rule: 'x/ask' }, pause: null }, 'another rule rejects the request too')
  t.match(send(withRules([ask()], 'observe'), message({ data: { amount: 11 } })), { rejection: null, pause: null })
})

t.test('several rules wait together', async t => {
  const policy = withRules([ask(), ask({ id: 'also', schema: { type: 'number', maximum: 5 } })])
  t.match(send(policy, message({ data: { amount: 7 } })).pause, { rules: ['x/also'] })
  t.same(send(policy, message({ data: { amount: 11 } })).pause?.rules, ['x/ask', 'x/also'])
})

t.test('the evidence', async t => {
  const policy = withRules([ask()])
  t.match(decision(policy, { [uri]: { ok: true } }), { evidence: 'given', rejection: null })
  t.match(decision(policy, { [uri]: { ok: false } }), { evidence: 'declined' })
  t.match(decision(policy, undefined), { evidence: 'given', rejection: { rule: 'x/ask', message: /is required/ }, pause: { rules: ['x/ask'] } })
  t.match(decision(policy, { [uri]: { ok: 1 } }), { rejection: { message: /ok must be equal to true|must be true/ }, pause: { rules: ['x/ask'] } })
  t.match(decision(withRules([]), { [uri]: { ok: true } }), { evidence: 'none' }, 'no rule waits any more')
  t.match(send(policy, message({ text: 'x' })), { evidence: 'none' }, 'a message that names no task')
})

t.test('no message passes without a value that the schema accepts', async t => {
  const policy = withRules([ask()])
  t.ok(check('policy/pause/evidence', fc.property(fc.dictionary(fc.constantFrom(uri, 'urn:y', 'URN:X', `${uri}/`, '$uri'), fc.oneof(
    fc.jsonValue(),
    fc.record({ ok: fc.oneof(fc.boolean(), fc.jsonValue()) })
  )), metadata => {
    const { rejection, evidence } = decision(policy, metadata)
    const value = metadata[uri] as { ok?: unknown } | null | undefined
    const isGiven = typeof value === 'object' && value !== null && !Array.isArray(value) && value.ok === true
    return (rejection === null && evidence === 'given') === isGiven
  })) > 0)
  t.end()
})

t.test('a person has agreed: the rule is left out, and no other', async t => {
  const policy = withRules([ask(), ask({ id: 'also' })])
  const again = (approved: readonly string[]): Decision => send(policy, message({ data: { amount: 11 } }), { approved: new Set(approved) })
  t.match(again(['x/ask', 'x/also']), { rejection: null, violations: [] })
  t.same(again(['x/ask']).pause?.rules, ['x/also'])
})
