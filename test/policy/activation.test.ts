import t from 'tap'
import { writeRejection } from '#a2a/errors.js'
import type { PolicyConfig } from '#config/model/model.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import type { Decision } from '#policy/request/decision.js'
import type { Sent } from './fixtures.js'
import { declaring, policyOf, send } from './fixtures.js'

const U = 'https://x.test/one'
const V = 'https://x.test/two'
const W = 'https://x.test/three'
const SIDES: readonly Sent[] = [
  { version: '1.0' },
  { version: '0.3' },
  { version: '1.0', binding: 'HTTP+JSON' },
  { version: '0.3', binding: 'HTTP+JSON' }
]
const outcome = ({ rejection: refusal }: Decision): string | null => refusal?.rule ?? null
const hello = { message: { parts: [] } }
const withData = { message: { parts: [], metadata: { m: 1 } } }
const never = { id: 'never', select: { metadata: { key: 'm' } }, count: { max: 0 } } as const
const needed = { id: 'needed', select: { metadata: { key: 'm' } }, count: { min: 1 } } as const
const one = (more: Partial<PolicyConfig>): AgentPolicy => policyOf(declaring(U), { one: { uri: U, ...more } })

t.test('signals decide what is active', async t => {
  const owns = { metadata: ['m'] }
  const rows: readonly (readonly [PolicyConfig['activation'], object, readonly string[], boolean])[] = [
    [{ signals: ['header'] }, hello, [U], true],
    [{ signals: ['header'] }, withData, [], false],
    [{ signals: ['listed'] }, { message: { parts: [], extensions: [U] } }, [], true],
    [{ signals: ['listed'] }, hello, [U], false],
    [{ signals: ['evidence'] }, withData, [], true],
    [{ signals: ['evidence'] }, hello, [U], false],
    [{ signals: ['always'] }, hello, [], true],
    [{ signals: ['header', 'listed'] }, { message: { parts: [], extensions: [U] } }, [], true],
    [{ signals: ['header'], default: 'inject' }, hello, [], true],
    [{}, hello, [U], true],
    [{}, withData, [], false]
  ]
  for (const [activation, body, requested, active] of rows) {
    for (const side of SIDES) {
      const decision = send(one({ owns, ...(activation === undefined ? {} : { activation }) }), body, { ...side, requested })
      t.same(decision.active, active ? [U] : [], JSON.stringify([activation, body, requested, side]))
    }
  }
  const decision = send(one({ owns, activation: { signals: ['header'] } }), {
    message: { parts: [], extensions: [U, 'urn:z'], metadata: { m: 1 } }
  })
  t.match(decision, { declared: [U], listed: [U], evidenced: [U], active: [] })
  t.same(decision.listed, [U], 'only what the card declares')
})

t.test('rules run if the extension is active or its data is present', async t => {
  const policy = one({ owns: { metadata: ['m', 'n'] }, activation: { signals: ['header'] }, request: [needed] })
  for (const side of SIDES) {
    t.equal(outcome(send(policy, hello, side)), null)
    t.equal(outcome(send(policy, hello, { ...side, requested: [U] })), 'one/needed')
    t.equal(
      outcome(send(policy, { message: { parts: [], metadata: { n: 1 } } }, side)),
      'one/needed',
      'leaving out the header is no way around them'
    )
    t.equal(outcome(send(policy, withData, { ...side, requested: [U] })), null)
    t.equal(outcome(send(one({ request: [needed] }), hello, side)), 'one/needed', 'without signals, in any case')
  }
})

t.test('every kind of evidence', async t => {
  const rows: readonly (readonly [PolicyConfig['owns'], object, Sent])[] = [
    [{ metadata: ['$uri'] }, { message: { parts: [], metadata: { [U]: 1 } } }, {}],
    [{ metadata: ['a.*'] }, { message: { parts: [] }, metadata: { 'a.b': 1 } }, {}],
    [{ metadata: ['a.*'] }, { message: { parts: [{ kind: 'text', text: 'x', metadata: { 'a.b': 1 } }] } }, { version: '0.3' }],
    [{ dataKeys: ['k'] }, { message: { parts: [{ data: { k: 1 } }] } }, {}],
    [{ dataKeys: ['k'] }, { message: { parts: [{ kind: 'data', data: { k: 1 } }] } }, { version: '0.3' }],
    [
      { mediaTypes: ['application/x+json;v=*'] },
      { message: { parts: [{ data: 1, mediaType: 'application/x+json;v=1' }] } },
      { binding: 'HTTP+JSON' }
    ],
    [{ mediaTypes: ['application/x+json'] }, { message: { parts: [{ data: 1, mediaType: 'application/x+json;;=' }] } }, {}],
    [{ headers: ['Signature'] }, { message: { parts: [] } }, { headers: ['signature', 'x'] }]
  ]
  for (const [owns, body, sent] of rows) {
    const policy = one({ ...(owns === undefined ? {} : { owns }), activation: { signals: ['evidence'] } })
    t.same(send(policy, body, sent).evidenced, [U], JSON.stringify(owns))
    t.same(send(policy, hello, { ...sent, headers: [] }).evidenced, [], JSON.stringify(owns))
  }
})

t.test('inactive.request: reject', async t => {
  const policy = one({ owns: { metadata: ['m'] }, inactive: { request: 'reject' }, activation: { signals: ['header'] } })
  t.equal(
    send(policy, withData).rejection?.message,
    `params.message.metadata.m belongs to the extension ${U}, which the request does not activate; send the header "A2A-Extensions: ${U}", or leave it out.`
  )
  t.match(send(policy, withData, { version: '0.3' }).rejection, {
    reason: 'EXTENSION_SUPPORT_REQUIRED',
    rule: 'one/inactive',
    message: `send the header "X-A2A-Extensions: ${U}"`,
    fields: [{ field: 'params.message.metadata.m' }]
  })
  for (const side of SIDES) {
    t.equal(outcome(send(policy, withData, side)), 'one/inactive')
    t.equal(outcome(send(policy, withData, { ...side, requested: [U] })), null)
    t.equal(outcome(send(policy, hello, side)), null)
    t.equal(outcome(send(one({ owns: { metadata: ['m'] }, inactive: { request: 'forward' } }), withData, side)), null)
  }
  const listed = one({ owns: { metadata: ['m'] }, inactive: { request: 'reject' }, activation: { signals: ['listed'] } })
  t.match(send(listed, withData).rejection?.message, `; list ${U} in the message's extensions, or leave it out.`)
  t.equal(
    send(policyOf(declaring(U), { one: { uri: U, mode: 'observe', owns: { metadata: ['m'] }, inactive: { request: 'reject' } } }), withData)
      .violations.length,
    1
  )
})

t.test('scope overrides enforceOn', async t => {
  const required = declaring({ uri: U, required: true })
  const all = policyOf(required, { one: { uri: U, activation: { scope: 'all' } } })
  const messages = policyOf(required, { one: { uri: U, activation: { scope: 'messages' } } }, { enforceOn: 'all' })
  t.equal(outcome(send(all, {}, { method: 'GetTask' })), 'one/required')
  t.equal(outcome(send(messages, {}, { method: 'GetTask' })), null)
  for (const policy of [all, messages]) t.equal(outcome(send(policy, hello)), 'one/required')
})

t.test('requires: rejected, or added', async t => {
  const of = (onMissing: 'reject' | 'add', more: Partial<PolicyConfig> = {}): AgentPolicy => policyOf(declaring(U, V, W), {
    one: { uri: U, activation: { requires: ['two'], onMissing } },
    two: { uri: V, aliases: [{ uri: 'urn:v0', relation: 'satisfies' }], activation: { requires: ['three'], onMissing }, ...more },
    three: { uri: W, activation: { expose: true } }
  })
  for (const side of SIDES) {
    t.match(send(of('reject'), hello, { ...side, requested: [U] }).rejection, {
      reason: 'EXTENSION_DEPENDENCY_MISSING',
      rule: 'one/requires',
      metadata: { extension: U }
    })
    t.equal(outcome(send(of('reject'), hello, { ...side, requested: [U, V] })), 'two/requires')
    for (const requested of [[U, V, W], [], [W], [U, 'urn:v0', W]]) {
      t.equal(outcome(send(of('reject'), hello, { ...side, requested })), null, requested.join())
    }
    t.match(
      send(of('add'), hello, { ...side, requested: [U] }),
      { rejection: null, outbound: [U, V, W], injected: [V, W] },
      'and what is added has its own added'
    )
    t.match(send(of('add'), hello, { ...side, requested: [W] }), { outbound: [W], injected: [] })
  }
  t.equal(
    send(of('reject'), hello, { requested: [U] }).rejection?.message,
    `header A2A-Extensions must also name ${V}, which the extension ${U} requires; ${W}, which the extension ${V} requires.`
  )
  t.same([...of('add').hidden], [V], 'what expose shows is not hidden')
  const refusal = send(of('reject'), hello, { requested: [U] }).rejection
  if (refusal === null) throw new Error('not refused')
  for (const [binding, expected] of [
    ['JSONRPC', { error: { code: -32602, data: [{ reason: 'INVALID_PARAMS' }, { reason: 'EXTENSION_DEPENDENCY_MISSING', domain: 'a2a-extension-gateway' }] } }],
    ['HTTP+JSON', { error: { code: 400, status: 'INVALID_ARGUMENT' } }]
  ] as const) {
    t.match(
      JSON.parse(
        writeRejection(refusal, {
          binding,
          version: '1.0',
          id: '1',
          eventStream: false,
          statedVersion: true,
          mediaType: null
        }).body.toString()
      ),
      expected
    )
  }
  t.equal(outcome(send(of('reject'), {}, { method: 'GetTask', requested: [U] })), null, 'as required: on messages')
  const present = of('reject', { owns: { metadata: ['m'] }, activation: { signals: ['evidence'] } })
  t.equal(outcome(send(present, withData, { requested: [U] })), null, 'active is enough')
})

t.test('rules of another policy do not run for an added extension that the card does not declare', async t => {
  const policy = policyOf(declaring(U), {
    one: { uri: U, activation: { requires: ['two'], onMissing: 'add' } },
    two: { uri: V, request: [never] }
  })
  t.match(send(policy, withData, { requested: [U] }), { rejection: null, outbound: [U, V], injected: [V] })
})
