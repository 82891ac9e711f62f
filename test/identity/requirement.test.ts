/** Requirements of agents: sources that fit, and the alternatives of cards. */
import t from 'tap'
import { readSecurity } from '#a2a/card/security.js'
import type { IdentityConfig, JwtConfig } from '#config/model/model.js'
import { fitOf, requirementOf, requirementOfCards, uncoveredSchemes } from '#identity/requirement.js'
import type { CallerSource } from '#identity/schemes.js'
import { callerSources, covers, offeredFor } from '#identity/schemes.js'

const keys = { file: '/k' }
const jwt = (issuer: string, more: Partial<JwtConfig> = {}): JwtConfig => ({
  issuer,
  audience: ['a'],
  keys: { url: null, file: null, maxStale: 0 },
  tls: { ca: null },
  header: null,
  algorithms: [],
  types: [],
  leeway: 0,
  maxLifetime: 0,
  claims: { subject: '/sub', client: null, scopes: null, groups: '/groups', tenant: null },
  ...more
})
const apiKey = { header: null, cookie: null, query: null, allowQuery: true, keys }

const IDENTITY: IdentityConfig = {
  audit: 'digest',
  sources: {
    corp: { jwt: jwt('https://idp.test/') },
    other: { jwt: jwt('https://other.test/x', { keys: { url: 'https://other.test/k', file: null, maxStale: 0 } }) },
    inner: { jwt: jwt('https://inner.test', { header: 'x-token' }) },
    partners: { apiKey: { ...apiKey, header: 'x-api-key' } },
    page: { apiKey: { ...apiKey, cookie: 'session' } },
    hook: { apiKey: { ...apiKey, query: 'key' } },
    people: { basic: { keys } },
    // A kind without a key of its own here is a client certificate.
    mesh: {}
  }
}
const SOURCES = callerSources(IDENTITY)
const named = (...names: string[]): CallerSource[] => SOURCES.filter(({ name }) => names.includes(name))

t.test('the schemes that a source covers', async t => {
  const rows: readonly [object, readonly string[]][] = [
    [{ type: 'http', scheme: 'Bearer' }, ['corp', 'other']],
    [{ type: 'http', scheme: 'basic' }, ['people']],
    [{ type: 'http', scheme: 'digest' }, []],
    [{ type: 'apiKey', in: 'header', name: 'X-API-Key' }, ['partners']],
    [{ type: 'apiKey', in: 'header', name: 'X-Token' }, ['inner']],
    [{ type: 'apiKey', in: 'header', name: 'session' }, []],
    [{ type: 'apiKey', in: 'cookie', name: 'session' }, ['page']],
    [{ type: 'apiKey', in: 'cookie', name: 'Session' }, []],
    [{ type: 'apiKey', in: 'query', name: 'key' }, ['hook']],
    [{ type: 'oauth2', flows: { password: { tokenUrl: 'https://nowhere.test/t' } } }, ['corp', 'other']],
    [{ oauth2SecurityScheme: { oauth2MetadataUrl: 'https://idp.test/.well-known/oauth-authorization-server' } }, ['corp']],
    [{ oauth2SecurityScheme: { oauth2MetadataUrl: 'https://other.test/.well-known/oauth-authorization-server/x' } }, ['other']],
    [{ oauth2SecurityScheme: { oauth2MetadataUrl: 'https://evil.test/m' } }, []],
    [{ type: 'openIdConnect', openIdConnectUrl: 'https://idp.test/.well-known/openid-configuration' }, ['corp']],
    [{ type: 'openIdConnect', openIdConnectUrl: 'https://evil.test/.well-known/openid-configuration' }, []],
    [{ type: 'mutualTLS' }, ['mesh']]
  ]
  for (const [written, expected] of rows) {
    const scheme = readSecurity({ securitySchemes: { s: written } }).schemes.get('s') ?? null
    const covering = scheme === null ? null : SOURCES.filter(source => covers(source, scheme))
    t.same(covering?.map(({ name }) => name), expected, JSON.stringify(written))
  }
})

t.test('what verified the request, and what the agent requires', async t => {
  const requirement = requirementOf([['corp', 'mesh'], ['partners'], ['corp', 'partners', 'page'], ['anonymous']], SOURCES)
  t.ok(requirement.anonymous)
  t.same(requirement.alternatives.length, 3)
  const rows: readonly [readonly string[], object][] = [
    [['partners'], { kind: 'met', sources: ['partners'] }],
    [['mesh', 'corp'], { kind: 'met', sources: ['corp', 'mesh'] }],
    [['partners', 'mesh'], { kind: 'met', sources: ['partners', 'mesh'] }],
    [['corp'], { kind: 'incomplete', missing: [['mesh'], ['partners', 'page']] }],
    [['mesh'], { kind: 'incomplete', missing: [['corp']] }],
    [['corp', 'partners'], { kind: 'incomplete', missing: [['page']] }],
    [['people'], { kind: 'unfit' }],
    [['partners', 'people'], { kind: 'unfit' }],
    [['people', 'mesh'], { kind: 'unfit' }]
  ]
  for (const [verified, expected] of rows) t.same(fitOf(requirement, verified), expected, verified.join())
  const any = requirementOf(null, SOURCES)
  t.match(fitOf(any, ['corp', 'mesh']), { kind: 'met', sources: ['corp', 'mesh'] }, 'a certificate may come with a token')
  t.match(fitOf(any, ['corp', 'people']), { kind: 'unfit' })
  t.notOk(any.anonymous)
})

const SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer' },
  key: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
  mtls: { type: 'mutualTLS' },
  basic: { type: 'http', scheme: 'basic' },
  google: { type: 'openIdConnect', openIdConnectUrl: 'https://accounts.google.com/.well-known/openid-configuration' },
  oidc: { type: 'openIdConnect', openIdConnectUrl: 'https://idp.test/.well-known/openid-configuration' },
  odd: { type: 'magic' }
}

t.test('the alternatives of a card', async t => {
  const rows: readonly [object, readonly (readonly string[])[], boolean, readonly string[]][] = [
    [{ security: [{ bearer: [] }] }, [['corp'], ['other']], false, []],
    [{ security: [{ bearer: [], mtls: [] }, { key: [] }] }, [['corp', 'mesh'], ['other', 'mesh'], ['partners']], false, []],
    [{ security: [{ oidc: [], bearer: [] }] }, [['corp']], false, []],
    [{ security: [{ bearer: [] }, { oidc: [] }] }, [['corp'], ['other']], false, []],
    [{ security: [{}, { key: [] }] }, [['partners']], true, []],
    [{ security: [{ google: [] }, { key: [], odd: [] }, { none: [] }] }, [], false, [
      'no source of identity covers "google" (openIdConnect)',
      'no source of identity covers "odd" (which cannot be read)',
      'no source of identity covers "none" (which the card does not define)'
    ]],
    [{ security: [{ bearer: [], basic: [] }] }, [], false, ['no request can have the credentials of "bearer" and "basic" together']],
    [{}, [], false, ['the card has no security requirement']],
    [{ security: 'bearer' }, [], false, ['security of the card is not an array']],
    [{ security: [] }, [], false, []]
  ]
  for (const [card, alternatives, anonymous, unmet] of rows) {
    const requirement = requirementOfCards([readSecurity({ securitySchemes: SCHEMES, ...card })], SOURCES)
    t.same({ ...requirement, certificates: [...requirement.certificates] }, { alternatives, anonymous, certificates: ['mesh'], audiences: null, unmet }, JSON.stringify(card))
  }
})

t.test('cards of the two versions count together', async t => {
  const of = (...security: object[]): ReturnType<typeof readSecurity> => readSecurity({ securitySchemes: SCHEMES, security })
  const requirement = requirementOfCards([of({ bearer: [] }, { key: [] }, {}), of({ key: [] }, { mtls: [] })], SOURCES)
  t.same(requirement.alternatives, [['partners']])
  t.notOk(requirement.anonymous, 'a client cannot choose the version whose card asks for less')
  t.match(requirement.unmet.at(-1), 'the two versions')
})

t.test('a hostile card costs little', async t => {
  const many = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`s${i}`, i % 2 === 0 ? SCHEMES.bearer : { type: 'apiKey', in: 'header', name: 'x-api-key' }]))
  const security = Array.from({ length: 64 }, (_, i) => Object.fromEntries(Array.from({ length: 10 }, (_, j) => [`s${(i + j) % 64}`, []])))
  const crowd = Array.from({ length: 100 }, (_, i): CallerSource => ({ ...(SOURCES[i % 2 === 0 ? 0 : 3] as CallerSource), name: `source-${i}` }))
  const startedAt = performance.now()
  const { alternatives } = requirementOfCards([readSecurity({ securitySchemes: many, security })], crowd)
  t.ok(alternatives.length <= 256)
  t.ok(performance.now() - startedAt < 2_000)
})

t.test('what the card offers', async t => {
  const offered = offeredFor(requirementOf(null, SOURCES), SOURCES)
  t.same(offered.schemes, [
    ['corp', { kind: 'http', scheme: 'bearer', bearerFormat: 'JWT' }],
    ['other', { kind: 'http', scheme: 'bearer', bearerFormat: 'JWT' }],
    ['inner', { kind: 'apiKey', in: 'header', name: 'x-token' }],
    ['partners', { kind: 'apiKey', in: 'header', name: 'x-api-key' }],
    ['page', { kind: 'apiKey', in: 'cookie', name: 'session' }],
    ['hook', { kind: 'apiKey', in: 'query', name: 'key' }],
    ['people', { kind: 'http', scheme: 'basic' }],
    ['mesh', { kind: 'mutualTLS' }],
    ['corp-oidc', { kind: 'openIdConnect', url: 'https://idp.test/.well-known/openid-configuration' }]
  ])
  t.same(offered.alternatives, [...SOURCES.map(({ name }) => [name]), ['corp-oidc']])
  const two = offeredFor(requirementOf([['corp', 'mesh'], ['partners'], ['anonymous']], SOURCES), SOURCES)
  t.same(two.schemes.map(([name]) => name), ['corp', 'partners', 'mesh', 'corp-oidc'])
  t.same(two.alternatives, [['corp', 'mesh'], ['partners'], ['corp-oidc', 'mesh'], []])
  t.same(offeredFor(requirementOf([['anonymous']], SOURCES), SOURCES), { schemes: [], alternatives: [] })
  const taken = callerSources({ audit: 'digest', sources: { corp: { jwt: jwt('https://idp.test') }, 'corp-oidc': { basic: { keys } } } })
  t.same(offeredFor(requirementOf(null, taken), taken).schemes.map(([name]) => name), ['corp', 'corp-oidc', 'corp-oidc-2'])
})

t.test('schemes that no source covers', async t => {
  t.same(uncoveredSchemes([readSecurity({ securitySchemes: SCHEMES })], named('corp', 'people')), [
    '"key" (apiKey in header "X-Api-Key")', '"mtls" (mutualTLS)', '"google" (openIdConnect)', '"odd" (which cannot be read)'
  ])
})
