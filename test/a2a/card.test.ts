import t from 'tap'
import { readCard } from '#a2a/card/card.js'
import type { AgentCard } from '#a2a/card/card.js'

const good = (value: unknown): AgentCard => {
  const read = readCard(value)
  if (!read.ok) throw new Error(read.problem)
  return read.card
}
const bad = (value: unknown): string => {
  const read = readCard(value)
  if (read.ok) throw new Error('the card was accepted')
  return read.problem
}
const shape = (card: AgentCard): string[] =>
  card.interfaces.map(({ binding, version, text, tenant }) => `${binding} ${version} ${text}${tenant === null ? '' : ` ${tenant}`}`)
const url = 'http://agent.test/rpc'
const v03 = { protocolVersion: '0.3.0', name: 'a', url }
const withExtensions = (extensions: unknown, more = {}): unknown => ({ ...v03, capabilities: { extensions }, ...more })

t.test('0.3 card', async (t) => {
  const card = good({
    ...v03,
    preferredTransport: 'HTTP+JSON',
    additionalInterfaces: [
      { url, transport: 'JSONRPC' },
      { url, transport: 'HTTP+JSON' },
      { url: 'agent.test:50051', transport: 'GRPC' }
    ],
    capabilities: { streaming: true, pushNotifications: true },
    supportsAuthenticatedExtendedCard: true
  })
  t.same(shape(card), [`HTTP+JSON 0.3 ${url}`, `JSONRPC 0.3 ${url}`], 'main first, repetition dropped')
  t.match(card.grpc, [{ version: '0.3', port: 50051, text: 'agent.test:50051', problem: null }])
  t.same(card.uncarried, [])
  t.match(card, { name: 'a', streaming: true, pushNotifications: true, extendedCard: true, legacyExtendedCard: false, warnings: [] })
})

t.test('0.2 cards', async (t) => {
  t.same(shape(good({ url })), [`JSONRPC 0.3 ${url}`], 'nothing but a URL')
  t.same(shape(good({ url, protocolVersion: '0.2.6' })), [`JSONRPC 0.3 ${url}`])
  for (const protocolVersion of [undefined, '', '0.2.5', '0.2']) {
    t.equal(good({ url, protocolVersion, supportsAuthenticatedExtendedCard: true }).legacyExtendedCard, true, String(protocolVersion))
  }
  t.equal(good({ url, protocolVersion: '0.3.0', supportsAuthenticatedExtendedCard: true }).legacyExtendedCard, false)
  t.match(bad({ url, protocolVersion: '0.1.0' }), 'does not support protocol version "0.1.0"')
})

t.test('1.0 card', async (t) => {
  const card = good({
    name: 'b',
    supportedInterfaces: [
      { url, protocolBinding: 'GRPC', protocolVersion: '1.0' },
      { url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: 'acme' },
      { url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: '' },
      { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      { url, protocolBinding: 'JSONRPC' },
      { url, protocolBinding: 'https://example.com/bindings/soap', protocolVersion: '1.0' },
      { url, protocolBinding: 'JSONRPC', protocolVersion: '2.0' }
    ],
    capabilities: { extendedAgentCard: true }
  })
  t.same(shape(card), [`HTTP+JSON 1.0 ${url} acme`, `HTTP+JSON 1.0 ${url}`, `JSONRPC 0.3 ${url}`, `JSONRPC 1.0 ${url}`])
  t.match(card.uncarried.map((one) => one.why), [/soap/, /version "2.0"/])
  t.match(card.grpc, [{ port: null, problem: 'its URL has a path, and gRPC clients need host:port' }])
  t.match(card, { extendedCard: true, legacyExtendedCard: false, streaming: false })
})

t.test('hybrid card: union, 1.0 first, a missing version in the list of 1.0 is 1.0', async (t) => {
  const card = good({
    ...v03,
    additionalInterfaces: [{ url: `${url}2`, transport: 'HTTP+JSON' }],
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }, { url: `${url}3`, protocolBinding: 'JSONRPC' }]
  })
  t.same(shape(card), [`JSONRPC 1.0 ${url}`, `JSONRPC 1.0 ${url}3`, `JSONRPC 0.3 ${url}`, `HTTP+JSON 0.3 ${url}2`])
  t.same(card.warnings, [`supportedInterfaces names no protocolVersion for JSONRPC ${url}3, which is read as 1.0`])
  for (const protocolVersion of [undefined, '', '0.2.6', '0.3', '0.3.0', 0.3, '1.0', '7.0']) {
    for (const none of [undefined, null, '', ' ']) {
      const { interfaces } = good({ protocolVersion, supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: none }] })
      t.equal(interfaces[0]?.version, '1.0', `root ${protocolVersion}, interface ${none}`)
    }
  }
})

/** Served by agent-framework-a2a 1.0.0b261022 with a2a-sdk 1.3.0; the agent speaks 1.0 only, as its clients do. */
const AGENT_FRAMEWORK = {
  name: 'Echo',
  description: 'Echoes.',
  supportedInterfaces: [{ url: 'http://127.0.0.1:24031/', protocolBinding: 'JSONRPC' }],
  version: '1.0.0',
  capabilities: { streaming: true },
  defaultInputModes: ['text'],
  defaultOutputModes: ['text'],
  skills: [],
  preferredTransport: 'JSONRPC',
  protocolVersion: '0.3',
  url: 'http://127.0.0.1:24031/'
}

t.test('the card of Microsoft agent-framework', async (t) => {
  const card = good(AGENT_FRAMEWORK)
  t.same(shape(card), ['JSONRPC 1.0 http://127.0.0.1:24031/', 'JSONRPC 0.3 http://127.0.0.1:24031/'])
  t.same(card.warnings, ['supportedInterfaces names no protocolVersion for JSONRPC http://127.0.0.1:24031/, which is read as 1.0'])
})

t.test('ProtoJSON spelling and other liberties', async (t) => {
  const card = good({
    supported_interfaces: [
      { url, protocol_binding: 'JSONRPC', protocol_version: '1.0' },
      { url: `${url}2`, transport: 'http+json', protocolVersion: 1.0 },
      'nonsense'
    ],
    additional_interfaces: [{ url: `${url}3`, protocolBinding: 'JSONRPC' }],
    capabilities: { push_notifications: true, extended_agent_card: true }
  })
  t.same(shape(card), [`JSONRPC 1.0 ${url}`, `HTTP+JSON 1.0 ${url}2`, `JSONRPC 0.3 ${url}3`])
  t.match(card.warnings, ['binding "http+json" is read as HTTP+JSON'])
  t.match(card, { name: '', pushNotifications: true, extendedCard: true, uncarried: [{ why: 'it is not an object' }] })
  t.match(good({ ...v03, supportedInterfaces: {} }).warnings, ['"supportedInterfaces" is not an array; the gateway ignores it'])
  t.same(good({ ...v03, capabilities: [], skills: [], description: null, extensions: null }).warnings, [])
})

t.test('the card is kept unchanged', async (t) => {
  const raw = { ...v03, schemas: { order: { type: 'object' } }, 'x-own': [1] }
  t.equal(good(raw).raw, raw)
})

t.test('unsupported interfaces', async (t) => {
  for (const odd of [
    '/rpc',
    'rpc',
    'agent.test:80',
    'ws://agent.test/',
    'http:agent',
    'http:///rpc',
    'http://a b/',
    'http://a/\trpc',
    'http:\\\\a/',
    'http://[/',
    7,
    {},
    '//agent.test/rpc'
  ]) {
    const card = good({ ...v03, additionalInterfaces: [{ url: odd, transport: 'JSONRPC' }] })
    t.equal(card.interfaces.length, 1, String(odd))
    t.equal(card.uncarried.length, 1)
  }
  t.match(good({ ...v03, additionalInterfaces: [{ url }] }).uncarried, [{ why: 'it names no binding' }])
  const secret = good({ ...v03, additionalInterfaces: [{ url: 'http://user:secret@a/', transport: 'SOAP' }, { url: 'http://user:secret@a/', transport: 'GRPC' }] })
  t.same(secret.grpc.map(one => one.shown), ['http://a/'])
  t.notOk(JSON.stringify(secret.uncarried).includes('secret'), 'credentials stay out of logs')
})

t.test('problems', async (t) => {
  t.match(bad(null), 'not a JSON object but null')
  t.match(bad([]), 'not a JSON object but an array')
  t.match(bad('x'), 'not a JSON object but a string')
  t.match(bad({}), 'names no interface: it has neither')
  t.match(bad({ url: '', supportedInterfaces: [] }), 'names no interface')
  const text = bad({ supportedInterfaces: [{ url: 'grpc.test:443', protocolBinding: 'SOAP', protocolVersion: '1.0' }, null] })
  t.match(text, 'SOAP 1.0 grpc.test:443 (the gateway does not support the binding "SOAP"), it is not an object')
  const many = bad({ supportedInterfaces: Array.from({ length: 900 }, () => ({ url: 'x\n'.repeat(500), protocolBinding: 'SOAP' })) })
  t.match(many, 'and 895 more')
  t.ok(many.length < 2000, 'bounded')
  t.notOk(many.includes('\n'), 'one line')
})

t.test('extensions', async (t) => {
  const card = good(withExtensions([
    { uri: 'urn:a', required: true, params: { a: 1 } },
    { uri: 'urn:b' },
    { uri: 'urn:a', params: 'ignored' },
    { uri: 'urn:b', required: true },
    { uri: 'https://e.test/ext/v1?x=(1);y#z', required: false }
  ]))
  t.same(card.extensions, [
    { uri: 'urn:a', required: true, index: 0, pointer: '/capabilities/extensions/0', params: { a: 1 } },
    { uri: 'urn:b', required: true, index: 1, pointer: '/capabilities/extensions/1', params: undefined },
    { uri: 'https://e.test/ext/v1?x=(1);y#z', required: false, index: 4, pointer: '/capabilities/extensions/4', params: undefined }
  ], 'one entry per URI, required if any entry is')
  t.equal(card.warnings.length, 2)
})

t.test('extensions: warnings', async (t) => {
  const one = (entry: unknown): AgentCard => good(withExtensions([entry]))
  for (const entry of [null, 'urn:a', {}, { uri: '' }, { uri: 7 }, []]) {
    t.match(one(entry), { extensions: [], warnings: ['capabilities.extensions[0] has no URI; the gateway ignores the entry'] })
  }
  for (const required of ['true', 'false', 1, 0, {}, []]) {
    t.match(one({ uri: 'urn:a', required }), { extensions: [{ required: true }], warnings: [/"required" is not a boolean/] })
  }
  t.match(one({ uri: 'urn:a', required: null }), { extensions: [{ required: false }], warnings: [] })
  for (const uri of ['urn:a,b', 'urn:a b', ' urn:a', 'urn:a\r\nx: y', 'urn:\u0000', 'urn:ü']) {
    t.match(one({ uri, required: true }), { extensions: [], warnings: [/cannot enforce this required extension/] }, JSON.stringify(uri))
    t.match(one({ uri }), { extensions: [], warnings: [/the gateway ignores it/] })
    t.notOk(one({ uri }).warnings.join('').includes('\n'), 'one line')
  }
  t.match(good(withExtensions({ a: 1 })).warnings, ['"capabilities.extensions" is not an array; the gateway ignores it'])
})

t.test('extensions at the root of the card', async (t) => {
  const card = good(withExtensions([{ uri: 'urn:a' }], { extensions: [{ uri: 'urn:a', required: true }, { uri: 'urn:c' }] }))
  t.match(card.extensions, [
    { uri: 'urn:a', required: true, index: 0 },
    { uri: 'urn:c', required: false, index: -1, pointer: '/extensions/1' }
  ])
  t.match(card.warnings[0], 'declared at the root')
})

t.test('at most 64 extensions', async (t) => {
  const list = Array.from({ length: 64 }, (_, i) => ({ uri: `urn:${i}` }))
  t.equal(good(withExtensions(list)).extensions.length, 64)
  t.match(bad(withExtensions(list, { extensions: [{ uri: 'urn:x' }] })), 'more than 64 extensions')
})
