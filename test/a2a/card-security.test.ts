/** Security schemes and requirements of cards, read and written in the shapes of both generations. */
import t from 'tap'
import { withSecurity } from '#a2a/card/offered-security.js'
import type { OfferedSecurity } from '#a2a/card/offered-security.js'
import { readSecurity } from '#a2a/card/security.js'
import type { SecurityScheme } from '#a2a/card/security.js'

const V1 = { supportedInterfaces: [{ url: 'https://a.test/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] }
const V03 = { url: 'https://a.test/rpc', protocolVersion: '0.3.0' }

t.test('schemes of both generations', async t => {
  const rows: readonly [object, SecurityScheme | null][] = [
    [{ type: 'apiKey', in: 'header', name: 'X-Key' }, { kind: 'apiKey', in: 'header', name: 'X-Key' }],
    [{ apiKeySecurityScheme: { location: 'cookie', name: 'k' } }, { kind: 'apiKey', in: 'cookie', name: 'k' }],
    [{ api_key_security_scheme: { location: 'query', name: 'k' } }, { kind: 'apiKey', in: 'query', name: 'k' }],
    [{ type: 'http', scheme: 'Bearer', bearerFormat: 'JWT' }, { kind: 'http', scheme: 'bearer' }],
    [{ httpAuthSecurityScheme: { scheme: 'Basic' } }, { kind: 'http', scheme: 'basic' }],
    [{ type: 'openIdConnect', openIdConnectUrl: 'https://i.test/c' }, { kind: 'openIdConnect', url: 'https://i.test/c' }],
    [{ openIdConnectSecurityScheme: { openIdConnectUrl: 'https://i.test/c' } }, { kind: 'openIdConnect', url: 'https://i.test/c' }],
    [{ type: 'mutualTLS' }, { kind: 'mutualTLS' }],
    [{ mtlsSecurityScheme: {} }, { kind: 'mutualTLS' }],
    [
      { type: 'oauth2', flows: { clientCredentials: { tokenUrl: 'https://i.test/token', scopes: {} } } },
      { kind: 'oauth2', metadataUrl: null, tokenUrl: 'https://i.test/token' }
    ],
    [
      { oauth2SecurityScheme: { flows: { deviceCode: { token_url: 'https://i.test/token' } }, oauth2MetadataUrl: 'https://i.test/m' } },
      { kind: 'oauth2', metadataUrl: 'https://i.test/m', tokenUrl: 'https://i.test/token' }
    ],
    // Both shapes in one object, as the Python SDK serves them.
    [{ type: 'http', scheme: 'bearer', httpAuthSecurityScheme: { scheme: 'Bearer' } }, { kind: 'http', scheme: 'bearer' }],
    [{ type: 'http', scheme: 'bearer', httpAuthSecurityScheme: { scheme: 'basic' } }, null],
    [{ type: 'http' }, null],
    [{ type: 'apiKey', in: 'body', name: 'k' }, null],
    [{ type: 'apiKey', in: 'header', name: 7 }, null],
    [{ type: 'magic' }, null],
    [{ httpAuthSecurityScheme: 'bearer' }, null],
    [{}, null]
  ]
  for (const [written, expected] of rows) {
    for (const key of ['securitySchemes', 'security_schemes']) t.same(readSecurity({ [key]: { s: written } }).schemes.get('s'), expected, JSON.stringify(written))
  }
  t.same(readSecurity({ securitySchemes: { s: 'x' }, security_schemes: [] }).schemes.get('s'), null)
  t.same(readSecurity({ securitySchemes: { s: { type: 'mutualTLS' } }, security_schemes: { s: { type: 'http', scheme: 'x' } } }).schemes.get('s'), null)
  t.same([...readSecurity({ securitySchemes: JSON.parse('{"__proto__": {"type": "mutualTLS"}}') }).schemes.keys()], ['__proto__'])
})

t.test('requirements of both generations', async t => {
  const rows: readonly [object, readonly (readonly string[])[] | null, number][] = [
    [{}, null, 0],
    [{ security: null }, null, 0],
    [{ security: [] }, [], 0],
    [{ security: [{ a: [] }, { b: ['x'], c: [] }] }, [['a'], ['b', 'c']], 0],
    [{ securityRequirements: [{ schemes: { a: { list: ['x'] }, b: {} } }, { schemes: {} }] }, [['a', 'b'], []], 0],
    [{ security: [{ schemes: { a: { list: [] } } }] }, [['a']], 0],
    [{ security_requirements: [{ schemes: { a: [] } }] }, [['a']], 0],
    [{ security: [{ schemes: [] }, {}] }, [['schemes'], []], 0],
    [{ security: [{ a: [] }], securityRequirements: [{ schemes: { a: { list: [] } } }] }, [['a']], 0],
    [{ security: [{ a: [] }, {}], securityRequirements: [{ schemes: { a: { list: [] } } }] }, [['a']], 1],
    [{ security: { a: [] } }, [], 1],
    [{ security: ['a', { a: 'x' }, null, { a: [] }] }, [['a']], 3],
    [{ security: Array.from({ length: 70 }, () => ({ a: [] })) }, Array.from({ length: 64 }, () => ['a']), 1],
    [{ security: [Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`s${i}`, []]))] }, [], 1]
  ]
  for (const [card, expected, problems] of rows) {
    const read = readSecurity(card as Record<string, unknown>)
    t.same(read.alternatives, expected, JSON.stringify(card).slice(0, 200))
    t.equal(read.problems.length, problems, `${JSON.stringify(card).slice(0, 200)}: ${read.problems.join('; ')}`)
  }
  t.ok(readSecurity({ security: [{ a: ['x'] }] }).scopes)
  t.notOk(readSecurity({ security: [{ a: [] }] }).scopes)
  t.same(readSecurity({ skills: [{ id: 'one' }, { id: 'two', security: [] }, { security_requirements: [{}] }, 'x'] }).skills, ['two', ''])
})

const OFFERED: OfferedSecurity = {
  schemes: [
    ['corp', { kind: 'http', scheme: 'bearer', bearerFormat: 'JWT' }],
    ['key', { kind: 'apiKey', in: 'header', name: 'x-key' }],
    ['mesh', { kind: 'mutualTLS' }],
    ['corp-oidc', { kind: 'openIdConnect', url: 'https://i.test/c' }]
  ],
  alternatives: [['corp', 'mesh'], ['key'], ['corp-oidc', 'mesh'], []]
}

t.test('the schemes of the gateway', async t => {
  const own = {
    name: 'a',
    securitySchemes: { mine: { type: 'mutualTLS' } },
    security: [{ mine: [] }],
    security_requirements: [],
    authentication: { schemes: ['Bearer'] },
    skills: [{ id: 's', security: [{ mine: [] }], tags: [] }, 7]
  }
  const v03 = withSecurity({ ...own, ...V03 }, OFFERED)
  t.same(v03, {
    name: 'a',
    ...V03,
    skills: [{ id: 's', tags: [] }, 7],
    securitySchemes: {
      corp: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      key: { type: 'apiKey', in: 'header', name: 'x-key' },
      mesh: { type: 'mutualTLS' },
      'corp-oidc': { type: 'openIdConnect', openIdConnectUrl: 'https://i.test/c' }
    },
    security: [{ corp: [], mesh: [] }, { key: [] }, { 'corp-oidc': [], mesh: [] }, {}]
  })
  const v1 = withSecurity({ ...own, ...V1 }, OFFERED)
  t.same(v1, {
    name: 'a',
    ...V1,
    skills: [{ id: 's', tags: [] }, 7],
    securitySchemes: {
      corp: { httpAuthSecurityScheme: { scheme: 'bearer', bearerFormat: 'JWT' } },
      key: { apiKeySecurityScheme: { location: 'header', name: 'x-key' } },
      mesh: { mtlsSecurityScheme: {} },
      'corp-oidc': { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://i.test/c' } }
    },
    securityRequirements: [
      { schemes: { corp: [], mesh: [] } }, { schemes: { key: [] } }, { schemes: { 'corp-oidc': [], mesh: [] } }, { schemes: {} }
    ]
  })
  const both = withSecurity({ ...V1, ...V03 }, OFFERED)
  t.match(both.securitySchemes, { corp: { type: 'http', httpAuthSecurityScheme: { scheme: 'bearer' } } })
  t.ok('security' in both && 'securityRequirements' in both)
  for (const card of [v03, v1, both]) {
    const read = readSecurity(card)
    t.same(read.problems, [])
    t.same(read.alternatives, OFFERED.alternatives, 'the reader reads what the writer writes')
    t.same([...read.schemes.keys()], OFFERED.schemes.map(([name]) => name))
    t.ok([...read.schemes.values()].every(scheme => scheme !== null))
  }
  const requirementsOf = (card: object, form?: 'list' | 'plain'): unknown =>
    withSecurity({ ...V1, ...card }, { schemes: OFFERED.schemes, alternatives: [['key'], []], ...(form === undefined ? {} : { form }) })['securityRequirements']
  const [list, plain] = [[{ schemes: { key: { list: [] } } }, { schemes: {} }], [{ schemes: { key: [] } }, { schemes: {} }]]
  const ofGo = { securityRequirements: [{ schemes: { mine: ['scope'] } }] }
  t.same(requirementsOf(ofGo), plain, 'a card of the Go SDK keeps its form')
  const ofPython = { securityRequirements: [{ schemes: { a: { list: ['x'] }, b: { list: [] } } }] }
  t.same(requirementsOf(ofPython), list, 'a card with lists keeps its form')
  t.same([requirementsOf(ofGo, 'list'), requirementsOf(ofPython, 'plain'), requirementsOf({}, 'list'), requirementsOf({})], [list, plain, list, plain])
  t.same(requirementsOf({ securityRequirements: [{ schemes: {} }] }), plain, 'a card without scopes has no form')
  t.same(withSecurity({ ...own, ...V1 }, { schemes: [], alternatives: [] }), { name: 'a', ...V1, skills: [{ id: 's', tags: [] }, 7] })
})
