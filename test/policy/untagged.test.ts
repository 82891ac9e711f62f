/** With `untaggedData: reject`, the gateway rejects data that no policy of the agent knows. */
import t from 'tap'
import type { PolicyConfig } from '#config/model/model.js'
import type { Decision } from '#policy/request/decision.js'
import type { Sent } from './fixtures.js'
import { declaring, message, OBJECT_SCHEMAS, objectSchemas, part03, part10, policyOf, send } from './fixtures.js'

const UCP = 'urn:ucp:v1'
const ucp: PolicyConfig = {
  uri: UCP,
  activation: { signals: ['header'] },
  owns: { dataKeys: ['ucp.*'], mediaTypes: ['application/vnd.ucp+json'] }
}
const card = { ...declaring(OBJECT_SCHEMAS, UCP), schemas: { fight: { type: 'object' }, order: true } }
const strict = policyOf(card, { 'object-schemas': objectSchemas, ucp }, { untaggedData: 'reject' })
const outcome = ({ rejection: refusal }: Decision): string | null =>
  refusal === null ? null : `${refusal.rule} ${refusal.reason}: ${refusal.message}`

const SIDES: readonly [name: string, sent: Sent, part: (data: unknown, type?: unknown) => object, path: string][] = [
  ['1.0 JSON-RPC', { version: '1.0', binding: 'JSONRPC' }, (data, type = '') => part10(data, type), 'params.message.'],
  ['1.0 HTTP+JSON', { version: '1.0', binding: 'HTTP+JSON' }, (data, type = '') => part10(data, type), 'message.'],
  ['0.3 JSON-RPC', { version: '0.3', binding: 'JSONRPC' }, (data, type = '') => part03(data, type), 'params.message.'],
  ['0.3 HTTP+JSON', { version: '0.3', binding: 'HTTP+JSON' }, (data, type = '') => part03(data, type), 'message.']
]

for (const [name, sent, part, path] of SIDES) {
  t.test(name, async t => {
    const ask = (...parts: readonly unknown[]): string | null => outcome(send(strict, message(...parts), sent))
    t.equal(ask({ text: 'hello', ...(sent.version === '0.3' ? { kind: 'text' } : {}) }), null, 'only data is meant')
    t.equal(ask(part({}, 'application/json;schema=fight')), null, 'a rule selects it')
    t.equal(ask(part({ 'ucp.cart': 1, other: 2 })), null, 'it holds a key that an extension owns, active or not')
    t.equal(ask(part([], 'application/vnd.ucp+json')), null, 'it has a media type that an extension owns')
    t.equal(
      ask(part({}, 'application/json;schema=fight'), part({}, 'application/json;schema=order')),
      null,
      'take: first claims the others too'
    )
    t.equal(
      ask(part({}, 'application/json;schema=fight'), part({ a: 1 }, 'application/json')),
      `gateway/untagged-data CONTENT_TYPE_NOT_SUPPORTED: ${path}parts[1].data belongs to none of this agent's extensions; tag it as one of these extensions requires: ` +
        `${OBJECT_SCHEMAS} (media type application/json;schema=*; schemas of the card fight, order), ${UCP} (media type application/vnd.ucp+json; key ucp.*).`
    )
    t.match(send(strict, message(part({ secret: 1 }), part('x')), sent).violations, [
      { path: `${path}parts[0].data` },
      { path: `${path}parts[1].data` }
    ])
    t.notMatch(
      JSON.stringify(send(strict, message(part({ secret: 1 })), sent).rejection),
      'secret',
      'values of the client are not repeated'
    )
  })
}

t.test('data of 0.3 HTTP+JSON, which SDKs write one level deeper', async t => {
  const sent: Sent = { version: '0.3', binding: 'HTTP+JSON' }
  const ask = (data: object): string | null => outcome(send(strict, { request: { content: [{ data: { data } }] } }, sent))
  t.equal(ask({ 'ucp.cart': 1 }), null)
  t.match(ask({ a: 1 }), 'gateway/untagged-data CONTENT_TYPE_NOT_SUPPORTED: request.content[0].data.data belongs to none')
})

t.test('every operation and method that carries a message', async t => {
  for (const method of ['SendMessage', 'SendStreamingMessage', 'x.run']) {
    t.match(
      outcome(send(policyOf({}, {}, { untaggedData: 'reject', unknownMethods: 'forward' }), message(part10(1, '')), { method })),
      /untagged-data .* extensions; none of them describes data\.$/,
      method
    )
  }
  t.equal(outcome(send(strict, { id: 't1' }, { method: 'GetTask' })), null)
})

t.test('a policy that is off, or whose extension is not declared, claims nothing', async t => {
  const data = message(part10({ 'ucp.cart': 1 }, ''))
  t.match(outcome(send(policyOf({}, { ucp }, { untaggedData: 'reject' }), data)), 'untagged-data')
  t.match(outcome(send(policyOf(declaring(UCP), { ucp: { ...ucp, mode: 'off' } }, { untaggedData: 'reject' }), data)), 'untagged-data')
  t.equal(outcome(send(policyOf(declaring(UCP), { ucp: { ...ucp, mode: 'observe' } }, { untaggedData: 'reject' }), data)), null)
})

t.test('allowed by default, observed and off by the agent\'s mode', async t => {
  const data = message(part10({ a: 1 }, ''))
  t.match(policyOf(card, { ucp }), { untagged: null })
  t.match(send(policyOf(card, { ucp }), data), { rejection: null, violations: [] })
  t.match(send(policyOf(card, { ucp }, { untaggedData: 'reject', mode: 'observe' }), data), {
    rejection: null,
    violations: [{ rule: 'untagged-data', mode: 'observe' }]
  })
  t.match(send(policyOf(card, { ucp }, { untaggedData: 'reject', mode: 'off' }), data), { rejection: null, violations: [] })
})

t.test('a message contains a limited part of the card', async t => {
  const schemas = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`s${i}`, true]))
  const policy = policyOf(
    { ...declaring(OBJECT_SCHEMAS), schemas: { ...schemas, [`\u202e${'x'.repeat(200)}`]: true } },
    { 'object-schemas': objectSchemas },
    { untaggedData: 'reject' }
  )
  t.match(outcome(send(policy, message(part10(1, '')))), /s19 and 11 more\)\.$/)
})
