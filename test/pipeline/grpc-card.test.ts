/** Extended cards over gRPC: rewritten, and written back as messages, in both versions. */
import t from 'tap'
import { protoCard } from '#a2a/grpc/proto-card.js'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { Version } from '#a2a/versions.js'
import { VERSIONS } from '#a2a/versions.js'
import type { OfferedSecurity } from '#a2a/card/offered-security.js'
import type { RewriteOptions } from '#a2a/card/rewrite.js'
import type { ExtendedCardPlan } from '#pipeline/card/extended-card.js'
import type { MessageTable } from '#wire/protobuf/table.js'
import { writeProtobuf } from '#wire/protobuf/write.js'
import type { JsonObject } from '#wire/json/object.js'
import type { Recorded } from '../helpers/grpc-machine.js'
import { drive, HEAD, OK } from '../helpers/grpc-machine.js'
import { PathScope } from '#a2a/card/path-scope.js'

function tableOf (version: Version): MessageTable {
  const method = grpcMethodFor('GetExtendedAgentCard', version)
  if (method === null) throw new Error(version)
  return method.response
}

const SCOPES = { schemes: { own: { list: ['read'] } } }
const CARDS: Readonly<Record<Version, JsonObject>> = {
  '1.0': {
    name: 'Billing',
    description: 'Bills.',
    version: '1',
    supportedInterfaces: [
      { url: 'https://agent.internal/base/rest', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      { url: 'https://agent.internal/elsewhere', protocolBinding: 'CUSTOM', protocolVersion: '1.0' }
    ],
    capabilities: { streaming: false, extensions: [{ uri: 'https://example.com/a', params: { deep: { list: [1, 'b', null] } } }] },
    securitySchemes: { own: { httpAuthSecurityScheme: { scheme: 'basic' } } },
    securityRequirements: [SCOPES],
    skills: [{ id: 's', name: 'S', description: 'S', tags: ['t'], securityRequirements: [SCOPES] }],
    signatures: [{ protected: 'e30', signature: 'c2ln' }]
  },
  0.3: {
    name: 'Billing',
    description: 'Bills.',
    version: '1',
    protocolVersion: '0.3.0',
    url: 'https://agent.internal/base/rest',
    preferredTransport: 'HTTP+JSON',
    additionalInterfaces: [{ url: 'https://agent.internal/elsewhere', transport: 'CUSTOM' }],
    capabilities: { streaming: true, extensions: [{ uri: 'https://example.com/a', params: { deep: { list: [1, 'b', null] } } }] },
    securitySchemes: { own: { httpAuthSecurityScheme: { scheme: 'basic' } } },
    security: [SCOPES],
    skills: [{ id: 's', name: 'S', description: 'S', tags: ['t'], security: [SCOPES] }],
    signatures: [{ protected: 'e30', signature: 'c2ln' }]
  }
}

const SECURITY: OfferedSecurity = {
  schemes: [
    ['key', { kind: 'apiKey', in: 'header', name: 'x-key' }],
    ['token', { kind: 'http', scheme: 'bearer', bearerFormat: 'JWT' }],
    ['login', { kind: 'openIdConnect', url: 'https://login.example.com' }],
    ['certificate', { kind: 'mutualTLS' }]
  ],
  alternatives: [['token', 'certificate'], ['key']]
}
const OFFERED = {
  key: { apiKeySecurityScheme: { location: 'header', name: 'x-key' } },
  token: { httpAuthSecurityScheme: { scheme: 'bearer', bearerFormat: 'JWT' } },
  login: { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://login.example.com' } },
  certificate: { mtlsSecurityScheme: {} }
}
const REQUIRED = [{ schemes: { token: {}, certificate: {} } }, { schemes: { key: {} } }]

function plan (more: Partial<RewriteOptions> = {}, own: Partial<ExtendedCardPlan> = {}): ExtendedCardPlan {
  return {
    rewrite: { scope: new PathScope({ upstreamUrl: new URL('https://agent.internal/base') }), signature: 'strip', publicBase: 'https://gateway.example.com/billing', ...more },
    select: null,
    binding: 'GRPC',
    seen: null,
    size: 100_000,
    json: { depth: 100, members: 10_000 },
    ...own
  }
}

function run (version: Version, card: ExtendedCardPlan, message?: Buffer, trailers: readonly string[] = OK): Recorded {
  const driven = drive({ operation: 'GetExtendedAgentCard', version, plan: { echo: null, card } })
  driven.machine.onHead(HEAD, false)
  driven.machine.onChunk(message ?? driven.frame(CARDS[version]))
  driven.machine.onTrailers(trailers)
  return driven
}

for (const version of VERSIONS) {
  const is1 = version === '1.0'
  const url = 'https://gateway.example.com/billing/rest'
  t.test(`a card of A2A ${version}: the addresses are the gateway's, and the signatures go`, async t => {
    const driven = run(version, plan())
    const { signatures: _, ...kept } = CARDS[version]
    t.same(driven.done, ['begin 200', 'trailers 0'])
    t.same(driven.messages, [is1
      ? { ...kept, supportedInterfaces: [{ url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }] }
      : (({ additionalInterfaces: _, ...card }) => ({ ...card, url }))(kept)])
  })

  t.test(`a card of A2A ${version} with additions and the gateway's security`, async t => {
    const additions = { advertise: [{ uri: 'https://example.com/b', required: true, params: { a: [1] } }], schemas: { s: { type: 'object' } } }
    const [card] = run(version, plan({ security: SECURITY, additions })).messages as JsonObject[]
    t.same(card?.['securitySchemes'], OFFERED)
    t.same(card?.[is1 ? 'securityRequirements' : 'security'], REQUIRED)
    t.same((card?.['skills'] as JsonObject[])[0], { id: 's', name: 'S', description: 'S', tags: ['t'] })
    t.same((card?.['capabilities'] as JsonObject)['extensions'], [
      { uri: 'https://example.com/a', params: { deep: { list: [1, 'b', null] } } },
      { uri: 'https://example.com/b', required: true, params: { a: [1] } }
    ])
  })

  t.test(`a card of A2A ${version} that is served verbatim keeps its bytes`, async t => {
    const { frame } = drive({ operation: 'GetExtendedAgentCard', version })
    const unknown = Buffer.from([0xfa, 0x07, 1, 0x41])
    const message = frame(CARDS[version])
    const bytes = Buffer.concat([Buffer.from([0, 0, 0, 0, 0]), message.subarray(5), unknown])
    bytes.writeUInt32BE(bytes.length - 5, 1)
    t.same(run(version, plan({ signature: 'verbatim' }), bytes).sent, bytes)
  })
}

t.test('what is no card, or cannot be read', async t => {
  const { frame } = drive({ operation: 'GetExtendedAgentCard' })
  const card = frame({ name: 'x' })
  const compressed = Buffer.concat([Buffer.from([1]), card.subarray(1)])
  t.same(run('1.0', plan(), Buffer.from([0, 0, 0, 0, 1, 0])).done, ['protocol 200'])
  t.same(run('1.0', plan(), Buffer.concat([card, card])).done, ['protocol 200'])
  t.same(run('1.0', plan(), card.subarray(0, -1)).done, ['protocol 200'])
  t.same(run('1.0', plan(), compressed).done, ['protocol 200'])
  t.same(run('1.0', plan({}, { size: 2 }), card).done, ['too_large 200'])
  t.same(run('1.0', plan({}, { select: () => ({ name: 7 }) }), card).done, ['fault TypeError', 'reject gateway/internal'])
  t.same(run('1.0', plan(), Buffer.alloc(0), ['grpc-status', '9', 'grpc-message', 'none']).trailers, ['grpc-status', '9', 'grpc-message', 'none'])
  const driven = drive({ operation: 'GetExtendedAgentCard', plan: { echo: null, card: plan() }, driver: { reserveMemory: () => false } })
  driven.machine.onHead(HEAD, false)
  driven.machine.onChunk(card)
  t.same(driven.done, ['reject gateway/memory'])
})

t.test('JSON cards of either generation become messages', async t => {
  const flows = {
    clientCredentials: { tokenUrl: 'https://t.example.com', scopes: { read: 'Reads' } },
    implicit: { authorizationUrl: 'https://a.example.com', scopes: {} }
  }
  const card = {
    name: 'Both',
    url: 'https://gateway.example.com/billing',
    schemas: { s: {} },
    supportedInterfaces: [{ url: 'https://gateway.example.com/billing', protocolBinding: 'JSONRPC', protocolVersion: '1.0', unknown: 1 }],
    capabilities: { stateTransitionHistory: true, streaming: true },
    securitySchemes: {
      key: { type: 'apiKey', in: 'header', name: 'x-key', description: 'A key' },
      both: { type: 'http', scheme: 'bearer', httpAuthSecurityScheme: { scheme: 'bearer' } },
      flow: { type: 'oauth2', flows },
      login: { type: 'openIdConnect', openIdConnectUrl: 'https://login.example.com' },
      certificate: { type: 'mutualTLS' }
    },
    security: [{ key: [] }, { flow: ['read'], both: [] }],
    securityRequirements: [{ schemes: { key: [] } }, { schemes: { flow: { list: ['read'] } } }]
  }
  const securitySchemes = {
    key: { apiKeySecurityScheme: { location: 'header', name: 'x-key', description: 'A key' } },
    both: { httpAuthSecurityScheme: { scheme: 'bearer' } },
    flow: { oauth2SecurityScheme: { flows: { clientCredentials: flows.clientCredentials } } },
    login: { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://login.example.com' } },
    certificate: { mtlsSecurityScheme: {} }
  }
  const current = protoCard(card, tableOf('1.0'))
  const old = protoCard(card, tableOf('0.3'))
  t.same(current, {
    name: 'Both',
    supportedInterfaces: [{ url: 'https://gateway.example.com/billing', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    securitySchemes,
    securityRequirements: [{ schemes: { key: { list: [] } } }, { schemes: { flow: { list: ['read'] } } }]
  })
  t.same(old, {
    name: 'Both',
    url: 'https://gateway.example.com/billing',
    capabilities: { streaming: true },
    securitySchemes,
    security: [{ schemes: { key: { list: [] } } }, { schemes: { flow: { list: ['read'] }, both: { list: [] } } }]
  })
  for (const version of VERSIONS) t.ok(writeProtobuf(protoCard(card, tableOf(version)), tableOf(version)).length > 0)
})
