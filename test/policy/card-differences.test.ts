/** What a new card does to enforcement, compared with the agreed card. */
import t from 'tap'
import { readCard } from '#a2a/card/card.js'
import type { AgentCard } from '#a2a/card/card.js'
import { compareSchemas } from '#jsonschema/compare.js'
import { cardDifferences } from '#policy/card/differences.js'
import { configOf, oneAgent } from '../helpers/gateway.js'
import { plainCard } from '../helpers/raw.js'

const EXT = 'https://example.com/ext/consent/v1'

function read (more: Record<string, unknown> = {}): AgentCard {
  const found = readCard(plainCard('http://a.test', more))
  if (!found.ok) throw new Error(found.problem)
  return found.card
}

const withExtension = (extension: object): Record<string, unknown> =>
  ({ capabilities: { streaming: true, extensions: [{ uri: EXT, ...extension }] } })
const agentOf = (...extra: string[]) => configOf({ yaml: oneAgent('http://a.test', extra, ['extensions:', `  consent: {uri: "${EXT}"}`]) }).agents[0] ?? null
const schema = (properties: object, more: object = {}): object => ({ type: 'object', properties, additionalProperties: false, ...more })
const AMOUNT = { amount: { type: 'integer', maximum: 100 } }

type Members = Record<string, unknown>

/** Old and new members of the card, and the differences as "effect kind path". */
const ROWS: readonly (readonly [what: string, old: Members, now: Members, expected: readonly string[]])[] = [
  ['nothing', {}, {}, []],
  ['a requirement that became optional', withExtension({ required: true }), withExtension({}), ['lowers requirement-lost /capabilities/extensions/0']],
  ['a required extension that is gone', withExtension({ required: true }), { capabilities: { streaming: true } }, ['lowers requirement-lost /capabilities/extensions/0']],
  ['an optional extension that is gone', withExtension({}), { capabilities: { streaming: true } }, ['neutral extension-removed /capabilities/extensions/0']],
  ['a new requirement', withExtension({}), withExtension({ required: true }), ['raises requirement-added /capabilities/extensions/0']],
  ['a new extension', { capabilities: { streaming: true } }, withExtension({}), ['opens extension-added /capabilities/extensions/0']],
  ['other parameters', withExtension({ params: { a: 1 } }), withExtension({ params: { a: 2 } }), ['neutral params-changed /capabilities/extensions/0/params']],
  ['a looser schema', { schemas: { pay: schema(AMOUNT) } }, { schemas: { pay: schema({ amount: { type: 'integer', maximum: 1_000_000 } }) } }, ['lowers schema-loosened /schemas/pay']],
  ['a tighter schema', { schemas: { pay: schema(AMOUNT) } }, { schemas: { pay: schema(AMOUNT, { required: ['amount'] }) } }, ['raises schema-tightened /schemas/pay']],
  ['texts of a schema', { schemas: { pay: schema(AMOUNT) } }, { schemas: { pay: schema(AMOUNT, { title: 'Pay' }) } }, ['neutral schema-text /schemas/pay']],
  ['a new and a removed schema', { schemas: { a: true } }, { schemas: { b: true } }, ['opens schema-added /schemas/b', 'raises schema-removed /schemas/a']],
  ['a new skill', {}, { skills: [{ id: 'pay', name: 'Pay' }] }, ['opens skill-added /skills/0']],
  ['a removed skill', { skills: [{ id: 'pay' }] }, {}, ['neutral skill-removed /skills/0']],
  ['a skill with other texts', { skills: [{ id: 'pay', name: 'Pay' }] }, { skills: [{ id: 'pay', name: 'Pays' }] }, ['neutral skill-changed /skills/0']],
  ['a skill with other modes', { skills: [{ id: 'pay', inputModes: ['a/b'] }] }, { skills: [{ id: 'pay', inputModes: ['a/b', 'c/d'] }] }, ['opens skill-changed /skills/0']],
  ['another address', {}, { supportedInterfaces: [{ url: 'http://b.test/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] },
    ['opens address-added /supportedInterfaces/0', ...[0, 1, 2, 3].map(i => `neutral address-removed /supportedInterfaces/${i}`)]],
  ['a lost security requirement', { securityRequirements: [{ schemes: { key: { list: [] } } }] }, {}, ['neutral security-lost /securityRequirements']],
  ['another capability', {}, { capabilities: { streaming: true, pushNotifications: true } }, ['opens capability /capabilities/pushNotifications']],
  ['another description, and a member that A2A does not define', {}, { description: 'b', extra: 1 }, ['neutral member /description', 'neutral member /extra']],
  ['freshness', {}, { signatures: [{}], updatedAt: '2026-11-28T10:00:00Z' }, []]
]

t.test('each difference has a kind, an effect and a place', async t => {
  for (const [what, old, now, expected] of ROWS) {
    const found = cardDifferences(read(old), read(now), agentOf('extensions: []'))
    t.same(found.map(({ effect, kind, path }) => `${effect} ${kind} ${path}`), expected, what)
  }
})

t.test('policies decide what a lost requirement means', async t => {
  const [old, now] = [read(withExtension({ required: true })), read(withExtension({}))]
  const effect = (...extra: string[]): string | undefined => cardDifferences(old, now, agentOf(...extra))[0]?.effect
  t.equal(effect('extensions: [consent]'), 'lowers')
  t.equal(effect('extensions: [{consent: {activation: {required: always}}}]'), 'neutral', 'the policy requires the extension itself')
  t.equal(effect('extensions: [{consent: {mode: observe, activation: {required: always}}}]'), 'lowers', 'but does not enforce the requirement')
  t.equal(effect('extensions: [{consent: {activation: {required: never}}}]'), 'neutral', 'nothing required it before')
  t.equal(cardDifferences(old, now, null)[0]?.effect, 'lowers', 'without a configuration')
  const [was, gone] = [read(withExtension({})), read()]
  t.equal(cardDifferences(was, gone, agentOf('extensions: [consent]'))[0]?.effect, 'lowers', 'the rules of the policy no longer run')
})

t.test('security of the card counts where the gateway enforces it', async t => {
  const key = { securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'x-key' } } } }
  const [old, now] = [read({ ...key, securityRequirements: [{ schemes: { key: { list: [] } } }] }), read()]
  const agent = agentOf()
  t.same(cardDifferences(old, now, agent).map(one => one.effect), ['neutral', 'neutral'])
  const enforcing = agent === null ? null : { ...agent, access: { ...agent.access, require: 'card' as const } }
  t.same(cardDifferences(old, now, enforcing).map(({ effect, kind }) => `${effect} ${kind}`), ['lowers security-removed', 'lowers security-lost'])
})

t.test('texts of the card are escaped and clipped', async t => {
  const [one] = cardDifferences(read(), read({ skills: [{ id: `\u202E${'x'.repeat(5_000)}` }] }), null)
  t.match(one?.message, /\\u202e/)
  t.ok((one?.message.length ?? 0) < 400)
})

/** Old schema, new schema, and the kinds of the differences. */
const SCHEMAS: readonly (readonly [old: unknown, now: unknown, expected: readonly string[]])[] = [
  [{ type: 'string' }, { type: 'string', title: 'a' }, []],
  [true, {}, []],
  [{ type: 'string' }, {}, ['loosened']], [{}, { type: 'string' }, ['tightened']], [{ type: 'string' }, false, ['tightened']], [false, { type: 'string' }, ['loosened']],
  [{ type: 'string' }, { type: ['string', 'null'] }, ['loosened']], [{ type: 'integer' }, { type: 'number' }, ['loosened']], [{ type: 'string' }, { type: 'object' }, ['loosened', 'tightened']],
  [{ enum: [1, 2] }, { enum: [1] }, ['tightened']], [{ enum: [1] }, { enum: [1, 2] }, ['loosened']], [{ const: 1 }, { const: 2 }, ['changed']],
  [{ maxLength: 5 }, { maxLength: 6 }, ['loosened']], [{ minLength: 5 }, { minLength: 6 }, ['tightened']], [{ minimum: 5 }, { minimum: 1 }, ['loosened']],
  [{ pattern: 'a' }, { type: 'string' }, ['loosened', 'tightened']], [{ pattern: 'a' }, { pattern: 'b' }, ['changed']],
  [{ required: ['a'] }, { required: [] }, ['loosened']], [{ required: ['a'] }, { required: ['a', 'b'] }, ['tightened']],
  [{ additionalProperties: false, type: 'object' }, { type: 'object' }, ['loosened']],
  [{ properties: { a: { type: 'string' } } }, { properties: { b: true } }, ['loosened']],
  [{ properties: {}, additionalProperties: false }, { properties: { a: true }, additionalProperties: false }, ['loosened']],
  [{ properties: { a: true }, additionalProperties: false }, { properties: {}, additionalProperties: false }, ['tightened']],
  [{ anyOf: [{ type: 'string' }] }, { anyOf: [{ type: 'string' }, { type: 'null' }] }, ['loosened']], [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, { allOf: [{ minimum: 1 }] }, ['loosened']],
  [{ not: { type: 'string' } }, { not: { type: ['string', 'null'] } }, ['tightened']], [{ items: { maximum: 1 } }, { items: { maximum: 2 } }, ['loosened']],
  [{ $ref: '#/$defs/a', $defs: { a: { maximum: 1 } } }, { $ref: '#/$defs/a', $defs: { a: { maximum: 2 } } }, ['loosened']],
  [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }, ['changed']], [{ 'x-own': 1 }, { 'x-own': 2 }, ['changed']]
]

t.test('schemas: looser, tighter, or not known', async t => {
  for (const [old, now, expected] of SCHEMAS) {
    t.same(compareSchemas(old, now).map(({ kind }) => kind).sort(), [...expected].sort(), JSON.stringify([old, now]))
  }
  const wide = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`p${i}`, { maximum: i }]))
  t.equal(compareSchemas({ properties: wide }, { properties: {} }).length, 100, 'at most 100')
})
