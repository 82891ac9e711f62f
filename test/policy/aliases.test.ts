import t from 'tap'
import { loadCatalogue } from '#config/load.js'
import type { PolicyConfig } from '#config/model/model.js'
import type { Decision } from '#policy/request/decision.js'
import type { Sent } from './fixtures.js'
import { declaring, policyOf, send } from './fixtures.js'

const NEW = 'https://x.test/ext/v1'
const OLD = 'https://old.test/ext/v1'
const OLDER = 'https://x.test/ext/v0'
const ext: PolicyConfig = {
  uri: NEW,
  aliases: [
    { uri: OLD, relation: 'same' },
    { uri: OLDER, relation: 'satisfies' }
  ],
  request: [
    { id: 'r', select: { metadata: { key: '$uri' } }, count: { max: 0 } },
    { id: 'listed', select: { metadata: { key: 'x' } }, when: { listed: true }, count: { max: 0 } }
  ]
}
const hello = { message: { parts: [] } }
const SIDES: readonly Sent[] = [
  { version: '1.0' },
  { version: '0.3' },
  { version: '1.0', binding: 'HTTP+JSON' },
  { version: '0.3', binding: 'HTTP+JSON' }
]
const declares = (uri: string, required = true): object => declaring({ uri, required })
const outcome = ({ rejection: refusal }: Decision): string | null => refusal?.rule ?? null

t.test('same and satisfies fulfil a requirement; only same is respelled', async t => {
  for (const side of SIDES) {
    const ask = (card: string, requested: string[]): Decision => send(policyOf(declares(card), { ext }), hello, { ...side, requested })
    t.match(ask(NEW, [OLD]), { rejection: null, outbound: [NEW], missing: [] })
    t.match(ask(OLD, [NEW]), { rejection: null, outbound: [OLD] })
    t.match(ask(OLD, [OLD]), { rejection: null, outbound: [OLD] })
    t.match(ask(NEW, [OLDER]), { rejection: null, outbound: [OLDER] })
    t.same(ask(NEW, [OLD, 'urn:z', NEW]).outbound, [NEW, 'urn:z'], 'each once')
    t.match(
      ask(OLD, []),
      { rejection: { rule: 'ext/required', metadata: { missingExtensions: OLD } }, missing: [OLD] },
      'named as the card does'
    )
  }
  t.same(send(policyOf({}, { ext }), hello, { requested: [OLD] }).outbound, [OLD], 'the card spells nothing')
  t.same(send(policyOf(declaring(NEW, OLD), { ext }), hello, { requested: [OLD] }).outbound, [OLD], 'the card spells both')
  t.equal(outcome(send(policyOf(declares(OLDER), { ext }), hello, { requested: [NEW] })), 'ext/required', 'satisfies is one-way')
})

t.test('rules run under every spelling', async t => {
  for (const card of [NEW, OLD]) {
    const policy = policyOf(declares(card, false), { ext })
    for (const side of SIDES) {
      for (const key of [NEW, OLD]) t.equal(outcome(send(policy, { message: { parts: [], metadata: { [key]: 1 } } }, side)), 'ext/r')
      t.equal(outcome(send(policy, { message: { parts: [], metadata: { [OLDER]: 1 } } }, side)), null)
      for (const uri of [NEW, OLD]) {
        t.equal(outcome(send(policy, { message: { parts: [], extensions: [uri], metadata: { x: 1 } } }, side)), 'ext/listed')
      }
      t.equal(outcome(send(policy, { message: { parts: [], extensions: [OLDER], metadata: { x: 1 } } }, side)), null)
    }
  }
})

t.test('an alias is not unlisted, and counts under the policy\'s name', async t => {
  const policy = policyOf(declares(NEW, false), { ext }, { unlistedExtensions: 'reject' })
  for (const uri of [NEW, OLD, OLDER]) {
    t.equal(send(policy, hello, { requested: [uri] }).rejection, null)
    t.equal(policy.labels.get(uri), 'ext')
  }
})

t.test('nothing is injected in addition to an alias', async t => {
  const policy = policyOf(declares(OLD), { ext: { ...ext, activation: { default: 'inject' } } })
  t.match(send(policy, hello), { outbound: [OLD], injected: [OLD] })
  for (const uri of [NEW, OLD, OLDER]) t.same(send(policy, hello, { requested: [uri] }).injected, [])
})

t.test('the echo has the requested spelling', async t => {
  const { names } = policyOf(declares(NEW), { ext })
  t.equal(names.asAsked(NEW, [OLD]), OLD)
  t.equal(names.asAsked(NEW, [OLD, NEW]), NEW)
  t.equal(names.asAsked('urn:z', [OLD]), 'urn:z')
})

t.test('schemas of the card are found under its spelling', async t => {
  const policy = policyOf(declaring({ uri: 'urn:z' }, { uri: OLD, params: { schema: { type: 'string' } } }), {
    ext: {
      ...ext,
      request: [{ id: 'r', select: { metadata: { key: '$uri' } }, schema: { fromCard: ['/capabilities/extensions/{self}/params/schema'] } }]
    }
  })
  t.equal(outcome(send(policy, { message: { parts: [], metadata: { [NEW]: 1 } } })), 'ext/r')
  t.equal(outcome(send(policy, { message: { parts: [], metadata: { [NEW]: 'a' } } })), null)
})

t.test('uriPattern: a policy for each extension of the card that matches', async t => {
  const dated: PolicyConfig = {
    uriPattern: 'https://ucp.test/*/spec',
    request: [{ id: 'r', select: { metadata: { key: '$uri' } }, count: { max: 0 } }]
  }
  const [one, two, other] = ['https://ucp.test/2026-01/spec', 'https://ucp.test/2026-02/spec', 'https://ucp.test/2026-02/other']
  const policy = policyOf(declaring({ uri: one, required: true }, two, other), { dated })
  for (const side of SIDES) {
    for (const uri of [one, two]) {
      t.equal(outcome(send(policy, { message: { parts: [], metadata: { [uri]: 1 } } }, { ...side, requested: [one] })), 'dated/r')
    }
    t.equal(outcome(send(policy, { message: { parts: [], metadata: { [other]: 1 } } }, { ...side, requested: [one] })), null)
    t.equal(outcome(send(policy, hello, side)), 'dated/required')
  }
  t.match(policyOf(declaring(other), { dated }).warnings, [
    'policy "dated": the card declares no extension that matches https://ucp.test/*/spec, so its rules do not run'
  ])
})

t.test('the rules run for an alias that the card declares, whatever its relation', async t => {
  const alone = policyOf(declares(OLDER), { ext })
  for (const side of SIDES) {
    const breaks = { message: { parts: [], metadata: { [OLDER]: 1 } } }
    t.equal(outcome(send(alone, breaks, { ...side, requested: [OLDER] })), 'ext/r')
    t.match(send(alone, hello, { ...side, requested: [OLDER] }), { rejection: null, outbound: [OLDER], active: [OLDER] })
    t.match(send(alone, hello, { ...side, requested: [NEW] }), { rejection: { metadata: { missingExtensions: OLDER } } }, 'no fall-back')
    t.equal(outcome(send(alone, { message: { parts: [], metadata: { [NEW]: 1 } } }, { ...side, requested: [OLDER] })), null)
  }
  t.same(alone.warnings, [])
  t.equal(alone.labels.get(NEW), 'ext', 'a URI that the policy names is not unlisted')
})

t.test('a card that declares the extension and an alias that satisfies it', async t => {
  const signalled: PolicyConfig = {
    ...ext,
    activation: { signals: ['header', 'listed'], required: 'always' },
    owns: { metadata: ['data'] },
    request: [{ id: 'r', select: { metadata: { key: 'data' } }, count: { max: 1 }, schema: { type: 'string' } }],
    inject: [{ metadata: 'stamp', value: 1 }],
    echo: 'verify'
  }
  const both = policyOf(declaring(NEW, OLDER), { ext: signalled }, { responses: 'enforce' })
  t.same(both.required.map(one => one.uri), [NEW], 'always requires the extension, which the alias satisfies')
  t.equal(both.policies.length, 1)
  for (const side of SIDES) {
    for (const uri of [NEW, OLD, OLDER]) {
      const asked = uri === OLDER ? OLDER : NEW
      const sent = send(both, { message: { parts: [], metadata: { data: 'x' } } }, { ...side, requested: [uri] })
      t.match(sent, { rejection: null, active: [asked], outbound: [asked] }, uri)
      t.equal(sent.edits.length, 1, 'data is injected once')
      t.equal(outcome(send(both, { message: { parts: [], metadata: { data: 1 } } }, { ...side, requested: [uri] })), 'ext/r')
    }
    t.same(send(both, { message: { parts: [], extensions: [OLDER] } }, { ...side, requested: [NEW] }).active, [NEW, OLDER])
  }
  const older = (required: NonNullable<PolicyConfig['activation']>): readonly string[] =>
    policyOf(declaring(NEW, { uri: OLDER, required: true }), { ext: { ...ext, activation: required } }).required.map(one => one.uri)
  t.same(older({}), [OLDER])
  t.same(older({ required: 'never' }), [])
  t.same(policyOf(declaring(NEW, { uri: OLDER, required: true }), { ext: { ...ext, mode: 'off' } }).required, [])
})

t.test('an alias that another policy is for belongs to that policy', async t => {
  const other: PolicyConfig = { uri: OLDER, request: [{ id: 'o', select: { metadata: { key: '$uri' } }, count: { max: 0 } }] }
  const alone = policyOf(declares(OLDER), { ext, other })
  t.equal(outcome(send(alone, { message: { parts: [], metadata: { [OLDER]: 1 } } }, { requested: [OLDER] })), 'other/o')
  t.same(alone.policies.map(one => one.name), ['other'])
  const both = policyOf(declaring(NEW, OLDER), { ext, other })
  t.equal(outcome(send(both, { message: { parts: [], metadata: { [OLDER]: 1 } } }, { requested: [OLDER] })), 'other/o')
})

t.test('x402: the policy of the catalogue runs for the URI that A2X and the library declare', async t => {
  const x402 = loadCatalogue().x402 as PolicyConfig
  const V01 = 'https://github.com/google-a2a/a2a-x402/v0.1'
  const V02 = x402.uri ?? ''
  const unlinked = { message: { parts: [], metadata: { 'x402.payment.status': 'payment-submitted' } } }
  for (const [card, requested] of [[declares(V01), V01], [declaring(V01, V02), V01], [declaring(V01, V02), V02]] as const) {
    const policy = policyOf(card, { x402: { ...x402, mode: 'enforce' } })
    t.equal(outcome(send(policy, unlinked, { requested: [requested] })), 'x402/submission-needs-task')
    t.ok(policy.remembers, 'and the states of its tasks are followed')
  }
})
