import fc from 'fast-check'
import t from 'tap'
import { readCard } from '#a2a/card/card.js'
import { rewriteCard } from '#a2a/card/rewrite.js'
import type { RewriteOptions } from '#a2a/card/rewrite.js'
import { ServedCard } from '#a2a/card/served-card.js'
import { check } from '../helpers/seed.js'
import { PathScope } from '#a2a/card/path-scope.js'

const options: RewriteOptions = {
  publicBase: 'https://gate.test/agents/a',
  scope: new PathScope({ upstreamUrl: new URL('http://up.test:9/base') }),
  signature: 'strip'
}
const up = 'http://up.test:9/base'
const gate = 'https://gate.test/agents/a'

t.test('0.3', async (t) => {
  const raw = {
    protocolVersion: '0.3.0',
    url: `${up}/`,
    name: 'a',
    preferredTransport: 'JSONRPC',
    schemas: { order: { $id: `${up}/schema`, type: 'object' } },
    additionalInterfaces: [
      { url: `${up}/v1`, transport: 'HTTP+JSON', 'x-note': up },
      { url: 'up.test:50051', transport: 'GRPC' }
    ],
    iconUrl: `${up}/icon.png`,
    signatures: [{ protected: 'x', signature: 'y' }],
    securitySchemes: { o: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: `${up}/token` } } } }
  }
  const before = structuredClone(raw)
  const served = rewriteCard(raw, options)
  t.same(raw, before, 'the agent\'s card is not touched')
  const { signatures, ...rest } = before
  t.same(served, { ...rest, url: `${gate}/`, additionalInterfaces: [{ url: `${gate}/v1`, transport: 'HTTP+JSON', 'x-note': up }] })
  t.same(Object.keys(served), Object.keys(before).filter((key) => key !== 'signatures'), 'order of keys')
})

t.test('1.0', async (t) => {
  const card = {
    supportedInterfaces: [
      { protocolBinding: 'GRPC', url: 'up.test:1', protocolVersion: '1.0' },
      { protocolBinding: 'HTTP+JSON', url: 'http://elsewhere/base/rest', protocolVersion: '1.0', tenant: 'acme' },
      { protocolBinding: 'JSONRPC', url: 'http://elsewhere/rpc/', protocolVersion: '0.3' },
      { protocolBinding: 'JSONRPC', url: 'http://elsewhere/base/rpc', protocolVersion: '1.0' }
    ],
    signatures: []
  }
  const rest = { protocolBinding: 'HTTP+JSON', url: `${gate}/rest`, protocolVersion: '1.0', tenant: 'acme' }
  t.same(
    rewriteCard(card, options),
    { supportedInterfaces: [rest, { protocolBinding: 'JSONRPC', url: `${gate}/rpc`, protocolVersion: '1.0' }] },
    'without the one outside upstream.url'
  )
  const all = new PathScope({ upstreamUrl: new URL(up), allowed: ['/'] })
  t.same(rewriteCard(card, { ...options, scope: all }), {
    supportedInterfaces: [
      rest,
      { protocolBinding: 'JSONRPC', url: `${gate}/rpc/`, protocolVersion: '0.3' }
    ]
  }, 'also without the one whose public path is taken')
})

t.test('hybrid and both spellings', async (t) => {
  const served = rewriteCard({
    url: up,
    protocolVersion: '0.3.0',
    supported_interfaces: [{ protocol_binding: 'JSONRPC', url: up, protocol_version: '1.0' }],
    additional_interfaces: [{ transport: 'GRPC', url: up }],
    supportedInterfaces: null
  }, options)
  t.same(served, {
    url: gate,
    protocolVersion: '0.3.0',
    supported_interfaces: [{ protocol_binding: 'JSONRPC', url: gate, protocol_version: '1.0' }],
    additional_interfaces: [],
    supportedInterfaces: null
  })
})

t.test('main interface not served: the first additional one replaces it', async (t) => {
  const additionalInterfaces = [
    { url: up, transport: 'GRPC' },
    { url: `${up}/rest`, transport: 'HTTP+JSON' },
    { url: `${up}/rpc`, transport: 'JSONRPC' }
  ]
  const kept = [{ url: `${gate}/rest`, transport: 'HTTP+JSON' }, { url: `${gate}/rpc`, transport: 'JSONRPC' }]
  t.same(rewriteCard({ url: up, preferredTransport: 'GRPC', additionalInterfaces }, options),
    { url: `${gate}/rest`, preferredTransport: 'HTTP+JSON', additionalInterfaces: kept })
  t.same(rewriteCard({ url: 'relative', name: 'a', additionalInterfaces }, options),
    { url: `${gate}/rest`, preferredTransport: 'HTTP+JSON', name: 'a', additionalInterfaces: kept }, 'the default JSONRPC would be wrong')
  t.same(rewriteCard({ preferred_transport: 'GRPC', url: up, additional_interfaces: additionalInterfaces }, options),
    { preferred_transport: 'HTTP+JSON', url: `${gate}/rest`, additional_interfaces: kept })
})

t.test('hybrid in which one half has no served interface', async (t) => {
  const one = [{ url: up, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
  t.same(
    rewriteCard(
      {
        url: up,
        protocolVersion: '0.3.0',
        preferredTransport: 'GRPC',
        additionalInterfaces: [{ url: up, transport: 'GRPC' }],
        supportedInterfaces: one
      },
      options
    ),
    { protocolVersion: '0.3.0', supportedInterfaces: [{ ...one[0], url: gate }] }
  )
  t.same(rewriteCard({ url: up, supportedInterfaces: [{ url: up, protocolBinding: 'GRPC' }] }, options), { url: gate })
  t.same(rewriteCard({ supportedInterfaces: [{ url: up, protocolBinding: 'GRPC' }] }, options), { supportedInterfaces: [] })
  t.same(rewriteCard({ url: up, supportedInterfaces: { 0: { url: up } }, additionalInterfaces: up }, options), {
    url: gate,
    additionalInterfaces: []
  })
})

t.test('only routed interfaces', async (t) => {
  const served = rewriteCard({ url: up, additionalInterfaces: [{ url: `${up}/admin`, transport: 'JSONRPC' }] },
    { ...options, routed: ({ publicPath }) => publicPath === '' })
  t.same(served, { url: gate, additionalInterfaces: [] })
})

t.test('verbatim', async (t) => {
  const bytes = Buffer.from('{ "url": "http://up.test:9/base", "n": 1.0, "signatures": [1] }')
  const raw = JSON.parse(bytes.toString())
  t.equal(rewriteCard(raw, { ...options, signature: 'verbatim' }), raw)
  const served = new ServedCard({ bytes, raw }, { ...options, signature: 'verbatim' })
  t.equal(served.at(gate).bytes, bytes, 'the agent\'s own bytes')
  t.same(served.at('http://x'), served.at(gate), 'at any address')
})

t.test('ETag', async (t) => {
  const card = (name: string, base = gate) => new ServedCard({ bytes: Buffer.alloc(0), raw: { name, url: up } }, options).at(base)
  t.match(card('a').etag, /^"[\w-]{27}"$/)
  t.equal(card('a').etag, card('a').etag)
  t.not(card('a').etag, card('b').etag)
  t.same(JSON.parse(card('a').bytes.toString()), { name: 'a', url: gate })
  t.not(card('a', 'http://x').etag, card('a').etag, 'of each address')
  t.same(JSON.parse(card('a', 'http://x').bytes.toString()), { name: 'a', url: 'http://x' })
})

t.test('__proto__ is a key like any other', async (t) => {
  const raw = JSON.parse(
    `{"__proto__": {"x": 1}, "url": "${up}", "additionalInterfaces": [{"__proto__": 1, "url": "${up}", "transport": "JSONRPC"}]}`
  )
  t.equal(JSON.stringify(rewriteCard(raw, options)),
    `{"__proto__":{"x":1},"url":"${gate}","additionalInterfaces":[{"__proto__":1,"url":"${gate}","transport":"JSONRPC"}]}`)
})

// ---- random cards ----

const MANAGED = [
  'url',
  'preferredTransport',
  'preferred_transport',
  'supportedInterfaces',
  'supported_interfaces',
  'additionalInterfaces',
  'additional_interfaces',
  'signatures'
]
const LISTS = MANAGED.filter((key) => key.includes('nterfaces'))

const anUrl = fc.oneof(
  fc.constantFrom(
    up,
    `${up}/`,
    `${up}/rpc`,
    'http://up.test:9',
    'http://up.test:9/',
    'http://up.test:9/rpc?x',
    'http://up.test:9/base//x',
    'http://up.test:9/a/../b',
    'up.test:9',
    ''
  ),
  fc.webUrl(),
  fc.jsonValue()
)
const aBinding = fc.constantFrom('JSONRPC', 'HTTP+JSON', 'GRPC', 'jsonrpc', 'urn:own', 7)
const aVersion = fc.constantFrom('1.0', '0.3', '0.3.0', '0.2.6', '2.0', '', 1)
const anInterface = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record(
      {
        url: anUrl,
        protocolBinding: aBinding,
        protocol_binding: aBinding,
        transport: aBinding,
        protocolVersion: aVersion,
        tenant: fc.string(),
        note: fc.jsonValue()
      },
      { requiredKeys: ['url'] }
    )
  },
  { weight: 1, arbitrary: fc.jsonValue() }
)
const aList = fc.oneof({ weight: 9, arbitrary: fc.array(anInterface, { maxLength: 5 }) }, { weight: 1, arbitrary: fc.jsonValue() })
const aCard = fc.tuple(
  fc.record({
    url: anUrl,
    preferredTransport: aBinding,
    preferred_transport: aBinding,
    protocolVersion: aVersion,
    supportedInterfaces: aList,
    supported_interfaces: aList,
    additionalInterfaces: aList,
    additional_interfaces: aList,
    signatures: fc.jsonValue(),
    name: fc.string(),
    schemas: fc.jsonValue(),
    capabilities: fc.jsonValue()
  }, { requiredKeys: [] }),
  fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 })
).map(([known, other]): Record<string, unknown> => ({ ...other, ...known }))

t.test('nothing else changes, and no interface URL points to the agent', async (t) => {
  let loaded = 0
  check('a2a/card-rewrite/no-agent-url', fc.property(aCard, (raw) => {
    const text = JSON.stringify(raw)
    const served = rewriteCard(raw, options)
    if (JSON.stringify(raw) !== text) return false
    const others = (card: object) => JSON.stringify(Object.entries(card).filter(([key]) => !MANAGED.includes(key)))
    if (others(raw) !== others(served)) return false
    if ('signatures' in served) return false
    const ours = (url: unknown) => typeof url === 'string' && url.startsWith(gate)
    if (served['url'] !== undefined && served['url'] !== null && served['url'] !== '' && !ours(served['url'])) return false
    for (const key of LISTS) {
      const list = served[key]
      if (list === undefined || list === null) continue
      if (!Array.isArray(list)) return false
      for (const one of list) if (!ours(one.url)) return false
    }
    // Served cards load again, with the interfaces of the original that can be mapped.
    const before = readCard(raw)
    const after = readCard(served)
    if (before.ok) loaded++
    return !after.ok || after.card.uncarried.length === 0
  }), { numRuns: 1_200 })
  t.ok(loaded > 300, `${loaded} of the cards load`)
})
