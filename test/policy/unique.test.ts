/** `unique`: the values that a decision claims, and the decision once their outcome is known. */
import t from 'tap'
import type { RuleConfig } from '#config/model/model.js'
import type { Claimed } from '#policy/request/claims.js'
import { settleClaims } from '#policy/request/claims.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import type { Decision } from '#policy/request/decision.js'
import { declaring, message, policyOf, send } from './fixtures.js'

const uri = 'urn:x'

const once = (more: Partial<RuleConfig> = {}): RuleConfig =>
  ({ id: 'once', select: { part: { data: true, path: '/nonce' } }, unique: { window: '10m' }, ...more })

function withRules (rules: readonly RuleConfig[], mode: 'enforce' | 'observe' = 'enforce'): AgentPolicy {
  return policyOf(declaring(uri), { x: { uri, mode, activation: { signals: ['always'] }, request: rules } })
}

const ask = (policy: AgentPolicy, ...nonces: readonly unknown[]): Decision =>
  send(policy, message(...nonces.map(nonce => ({ data: { nonce } }))))

t.test('equal values have the same key, in every binding; other values, rules and policies have another', async t => {
  const policy = withRules([once()])
  const key = (nonce: unknown): string | undefined => ask(policy, nonce).claims[0]?.key
  t.match(key('a'), /^[\w-]{43}$/)
  t.equal(key({ a: 1, b: [-0] }), key({ b: [0], a: 1 }))
  const rest = send(policy, message({ data: { nonce: 'a' } }), { binding: 'HTTP+JSON' })
  t.equal(rest.claims[0]?.key, key('a'))
  t.equal(rest.claims[0]?.window, 600_000)
  const others = ['a', 'b', 1, '1', null, {}, [], true, ''].map(key)
  others.push(ask(withRules([once({ id: 'other' })]), 'a').claims[0]?.key)
  others.push(ask(policyOf(declaring(uri), { y: { uri, activation: { signals: ['always'] }, request: [once()] } }), 'a').claims[0]?.key)
  t.equal(new Set(others).size, others.length)
})

t.test('values of one request: each claims, none may occur twice, and they are limited', async t => {
  const policy = withRules([once()])
  t.equal(ask(policy, 'a', 'b', 'c').claims.length, 3)
  t.match(ask(policy, 'a', 'b', 'a'), {
    rejection: { rule: 'x/once', reason: 'EXTENSION_DATA_INVALID', message: 'params.message.parts[2].data.nonce occurs twice; send each value once.' },
    claims: []
  })
  const numbers = Array.from({ length: 65 }, (_, i) => i)
  t.equal(ask(policy, ...numbers.slice(1)).claims.length, 64)
  t.match(ask(policy, ...numbers).rejection, { message: /parts\[64\]\.data\.nonce is one too many: at most 64/ })
  const inexact = send(policy, '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"parts":[{"data":{"nonce":12345678901234567890}}]}}}')
  t.match(inexact, { rejection: { message: /cannot be compared exactly/ }, claims: [] })
})

t.test('a policy for two extensions of the card claims a value once', async t => {
  const policy = policyOf(declaring('urn:x:1', 'urn:x:2'), {
    x: { uriPattern: 'urn:x:*', activation: { signals: ['always'] }, request: [once()] }
  })
  t.equal(policy.policies.length, 2)
  t.match(ask(policy, 'a'), { rejection: null, claims: { length: 1 } })
})

t.test('a request that breaks another rule claims nothing', async t => {
  const policy = withRules([once(), { id: 'text', select: { part: { data: true, path: '/nonce' } }, schema: { type: 'string' } }])
  t.equal(ask(policy, 'a').claims.length, 1)
  t.match(ask(policy, 1), { rejection: { rule: 'x/text' }, claims: { length: 0 } })
  const own = withRules([once({ schema: { type: 'string' } })], 'observe')
  t.match(ask(own, 1), { rejection: null, violations: { length: 1 }, claims: { length: 0 } }, 'the rule itself, observed')
})

t.test('the outcome of the claims', async t => {
  const reject = withRules([once()])
  const allow = withRules([once({ unique: { window: '10m', onUnknown: 'allow' } })])
  const observe = withRules([once()], 'observe')
  const warn = withRules([once({ verdict: 'warn' })])
  const rows: [AgentPolicy, Claimed, boolean, number][] = [
    [reject, 'new', false, 0],
    [reject, 'seen', true, 1],
    [reject, 'unavailable', true, 1],
    [allow, 'new', false, 0],
    [allow, 'seen', true, 1],
    [allow, 'unavailable', false, 0],
    [observe, 'seen', false, 1],
    [observe, 'unavailable', false, 1],
    [warn, 'seen', false, 1]
  ]
  for (const [i, [policy, outcome, rejected, violations]] of rows.entries()) {
    const decision = settleClaims(ask(policy, 'a'), [outcome])
    t.equal(decision.rejection !== null, rejected, `row ${i}`)
    t.equal(decision.violations.length, violations, `row ${i}`)
  }
  t.match(settleClaims(ask(reject, 'a', 'b'), ['new', 'seen']).rejection, {
    rule: 'x/once',
    message: 'params.message.parts[1].data.nonce was accepted before; send a new value.'
  })
  const own = withRules([once({ error: { class: 'conflict', message: 'The nonce was used.', reason: 'NONCE_REUSED' } })])
  t.match(settleClaims(ask(own, 'a'), ['seen']).rejection, { reason: 'EXTENSION_CONFLICT', customReason: 'NONCE_REUSED', message: /The nonce was used/ })
  t.match(settleClaims(ask(own, 'a'), ['unavailable']).rejection, { message: /does not know whether it has accepted the value before/ })
})
