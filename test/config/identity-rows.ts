/** Every sentence about `identity`, as printed: file:line:col: message (hint). */
import { readFileSync } from 'node:fs'
import { inTests } from '../helpers/paths.js'
import type { Row } from './rows.js'
import { AGENT, lines } from './rows.js'

const tlsFile = (name: string): Buffer => readFileSync(inTests(`fixtures/tls/${name}.pem`))
const DIGEST = 'a'.repeat(64)

/** What the texts name, beside the file. */
export const IDENTITY_FILES = {
  'keys.yaml': `- {id: a, sha256: ${DIGEST}, client: c, expires: 2027-01-01, groups: [g], scopes: [s], tenant: t}\n- {id: b, sha256: ${'b'.repeat(64)}, expires: "2027-01-01T10:00:00+02:00"}\n`,
  'keys.json': JSON.stringify([{ id: 'a', sha256: DIGEST }]),
  'map.yaml': 'id: a\n',
  'text.yaml': 'a: [\n',
  'latin1.yaml': Buffer.from([0xe9]),
  'big.yaml': `# ${'x'.repeat(4 * 1024 * 1024)}`,
  'wrong.yaml': [
    '- a',
    '- {id: "", sha256: x}',
    `- {id: a, sha256: ${DIGEST}, client: " ", groups: g, expires: soon}`,
    `- {id: a, sha256: ${DIGEST}, expire: 2027-01-01, expires: 2027-02-31}`
  ].join('\n'),
  'deep.yaml': `- {id: a, sha256: ${DIGEST}, other: 1}`,
  'ca.pem': tlsFile('ca'),
  'cert.pem': tlsFile('right'),
  'key.pem': tlsFile('right.key'),
  folder: {}
}

export const identityLines = (text: string, directory: string): string[] => lines(text, {}, directory)

export const withSource = (source: string): string => `${AGENT}identity:\n  sources:\n    s: ${source}\n`
const withKeys = (file: string): string => withSource(`{basic: {keys: {file: ${file}}}}`)
const withJwt = (keys: string): string => withSource(`{jwt: {issuer: "https://idp.example.com", audience: ["aud"], ${keys}}}`)
const withCertificate = (keys: string): string => withSource(`{certificate: {${keys}}}`)
const AT = 'g.yaml:7:30: identity.sources.s.basic.keys.file'

const MESH = 'server: {mesh: {listen: "127.0.0.1:0"}}\n'
const ENVOY = 'issuer: "https://idp.example.com", audience: [aud]'
const withEnvoy = (keys = '', more = ''): string => `${MESH}${withSource(`{envoyJwt: {${ENVOY}${keys}}}`)}${more}`

export const IDENTITY_ROWS: readonly Row[] = [
  ['right', withKeys('keys.yaml')],
  ['right, JSON', withKeys('keys.json')],
  ['right, a header', withSource('{apiKey: {header: X-Key, keys: {file: keys.yaml}}}')],
  ['right, a query', withSource('{apiKey: {query: key, allowQuery: true, keys: {file: keys.yaml}}}')],
  [
    'of Envoy, without a mesh',
    withSource(`{envoyJwt: {${ENVOY}}}`),
    'g.yaml:7:9: identity.sources.s.envoyJwt needs server.mesh: only Envoy sends what it has verified (set server.mesh.listen, or use jwt)'
  ],
  [
    'of Envoy, a header with a meaning',
    withEnvoy(', header: Cookie'),
    'g.yaml:8:80: identity.sources.s.envoyJwt.header cannot be "Cookie" (choose another header, such as x-api-key)'
  ],
  [
    'of Envoy, no audience',
    `${MESH}${withSource('{envoyJwt: {issuer: "https://idp.example.com"}}')}`,
    'g.yaml:8:19: identity.sources.s.envoyJwt.audience is required'
  ],
  [
    'of Envoy, keys',
    withEnvoy(', keys: discover'),
    'g.yaml:8:72: unknown key "keys" in identity.sources.s.envoyJwt (known keys: metadata, issuer, audience, header, leeway, maxLifetime, claims)'
  ],
  [
    'of Envoy, one issuer twice',
    withEnvoy('', `    t: {envoyJwt: {${ENVOY}}}\n`),
    'g.yaml:9:28: identity.sources.t.envoyJwt.issuer is the issuer of the source "s" too (list all audiences in one source, and set access.audience of the agents)'
  ],
  [
    'of Envoy, one metadata for two headers',
    withEnvoy('', '    t: {envoyJwt: {issuer: "https://other.example.com", audience: [aud], header: x-token}}\n'),
    'g.yaml:9:9: identity.sources.t.envoyJwt has the metadata of the source "s" and another header (give them the same header, or other metadata)'
  ],
  [
    'of Envoy, for the console',
    withEnvoy().replace('}}\n', '}, adminAccess: {sources: [s]}}\n'),
    'g.yaml:1:65: server.adminAccess.sources[0]: the source "s" has callers on server.mesh only (name a source of another kind)'
  ],
  ['null', `${AGENT}identity: null\n`],
  ['no sources', `${AGENT}identity: {}\n`, 'g.yaml:5:11: identity.sources is required'],
  ['no source', `${AGENT}identity: {sources: {}}\n`, 'g.yaml:5:21: identity.sources must have at least 1 key'],
  ['no kind', withSource('{}'), 'g.yaml:7:8: identity.sources.s must have at least 1 key (known keys: apiKey, basic, jwt, envoyJwt, certificate)'],
  [
    'two kinds',
    withSource('{basic: {keys: {file: keys.yaml}}, apiKey: {header: x-key, keys: {file: keys.yaml}}}'),
    'g.yaml:7:8: identity.sources.s must have at most 1 key'
  ],
  [
    'no carrier',
    withSource('{apiKey: {keys: {file: keys.yaml}}}'),
    'g.yaml:7:9: identity.sources.s.apiKey needs one of header, cookie and query (such as "header: x-api-key")'
  ],
  [
    'two carriers',
    withSource('{apiKey: {header: x-key, cookie: key, keys: {file: keys.yaml}}}'),
    'g.yaml:7:33: identity.sources.s.apiKey has both header and cookie (give each a separate source)'
  ],
  [
    'a query without consent',
    withSource('{apiKey: {query: key, keys: {file: keys.yaml}}}'),
    'g.yaml:7:25: identity.sources.s.apiKey.query also needs allowQuery (proxies log URLs; prefer a header)'
  ],
  [
    'a header with a meaning',
    withSource('{apiKey: {header: Authorization, keys: {file: keys.yaml}}}'),
    'g.yaml:7:26: identity.sources.s.apiKey.header cannot be "Authorization" (choose another header, such as x-api-key)'
  ],
  [
    'a header with a meaning, in another spelling',
    withSource('{apiKey: {header: x_forwarded.user, keys: {file: keys.yaml}}}'),
    'g.yaml:7:26: identity.sources.s.apiKey.header cannot be "x_forwarded.user" (choose another header, such as x-api-key)'
  ],
  ['right, tokens', withJwt('keys: discover')],
  ['right, tokens with keys of a file', withJwt('keys: {file: keys.json}, claims: {client: /azp}, types: [at+jwt], header: x-token')],
  ['right, an issuer on this machine', withJwt('keys: {url: "http://127.0.0.1:1/jwks"}').replace('https://idp.example.com', 'http://localhost:1')],
  [
    'no audience',
    withSource('{jwt: {issuer: "https://idp.example.com", keys: discover}}'),
    'g.yaml:7:14: identity.sources.s.jwt.audience is required'
  ],
  [
    'every audience',
    withJwt('keys: discover').replace('"aud"', '"*"'),
    'g.yaml:7:60: identity.sources.s.jwt.audience accepts every token of the issuer, also those for other services and ID tokens (name the audience of the agents)'
  ],
  [
    'an issuer without TLS',
    withJwt('keys: discover').replace('https://idp', 'http://idp'),
    'g.yaml:7:23: identity.sources.s.jwt.issuer must be an https URL (http is for issuers on this machine only: a changed response could make tokens valid)'
  ],
  [
    'another word',
    withJwt('keys: jwks'),
    'g.yaml:7:75: identity.sources.s.jwt.keys must be "discover", or a mapping with url or file'
  ],
  [
    'no place of keys',
    withJwt('keys: {maxStale: 1h}'),
    'g.yaml:7:75: identity.sources.s.jwt.keys needs url or file (or write "keys: discover")'
  ],
  [
    'two places of keys',
    withJwt('keys: {url: "https://idp.example.com/jwks", file: keys.json}'),
    'g.yaml:7:113: identity.sources.s.jwt.keys has both url and file (keep one)'
  ],
  [
    'one issuer twice',
    withJwt('keys: discover') + withJwt('keys: discover').split('\n').slice(-2).join('\n').replace('s:', 'other:'),
    'g.yaml:8:27: identity.sources.other.jwt.issuer is the issuer of the source "s" too (list all audiences in one source, and set access.audience of the agents)'
  ],
  ['right, an authority', withJwt('keys: discover, tls: {ca: ca.pem}')],
  [
    'an authority that is no certificate',
    withJwt('keys: discover, tls: {ca: keys.yaml}'),
    'g.yaml:7:95: identity.sources.s.jwt.tls.ca cannot be used: error:0480006C:PEM routines::no start line (a PEM file of certificates)'
  ],
  [
    'no authority',
    withJwt('keys: discover, tls: {ca: none.pem}'),
    'g.yaml:7:95: identity.sources.s.jwt.tls.ca: cannot read "none.pem": no such file (paths are relative to the configuration file)'
  ],
  [
    'an authority for nothing',
    withJwt('keys: {file: keys.json}, tls: {ca: ca.pem}'),
    'g.yaml:7:104: identity.sources.s.jwt.tls.ca has no effect with keys.file (remove one of the two)'
  ],
  ['right, certificates', `${withCertificate('from: tls, trustDomains: [prod.example.com]')}server: {tls: {cert: cert.pem, key: key.pem, clientCa: ca.pem, clientCertificate: request}}\n`],
  ['right, certificates in a header', withCertificate('from: xfcc, proxies: [127.0.0.1/32, "::1"], hops: 2, trustDomains: [a], san: dns')],
  ['no place of certificates', withSource('{certificate: {trustDomains: [a]}}'), 'g.yaml:7:22: identity.sources.s.certificate.from is required'],
  [
    'certificates that nobody asks for',
    withCertificate('from: tls, trustDomains: [a]'),
    'g.yaml:7:29: identity.sources.s.certificate.from is tls, but server.tls.clientCertificate is none (set it to request or require; in a Fastify application, its listener must ask for certificates)'
  ],
  [
    'no proxies',
    withCertificate('from: xfcc, trustDomains: [a]'),
    'g.yaml:7:9: identity.sources.s.certificate needs proxies (the addresses of the proxies that write the header, such as [127.0.0.1/32])'
  ],
  [
    'every peer as a proxy',
    withCertificate('from: rfc9440, proxies: [0.0.0.0/0], trustDomains: [a]'),
    'g.yaml:7:48: identity.sources.s.certificate.proxies trusts every address ("0.0.0.0/0"): any client could write the header (list the proxies only)'
  ],
  [
    'proxies of nobody',
    withCertificate('from: tls, proxies: [127.0.0.1], trustDomains: [a]'),
    'g.yaml:7:43: identity.sources.s.certificate.proxies has no effect with from: tls (set from to xfcc or rfc9440, or remove this line)'
  ],
  [
    'hops of one certificate',
    withCertificate('from: rfc9440, proxies: [127.0.0.1], hops: 2, trustDomains: [a]'),
    'g.yaml:7:66: identity.sources.s.certificate.hops is for from: xfcc only (remove this line)'
  ],
  [
    'no names',
    withCertificate('from: xfcc, proxies: [127.0.0.1]'),
    'g.yaml:7:9: identity.sources.s.certificate needs trustDomains or san (without them no certificate names a caller)'
  ],
  [
    'a name that the header does not have',
    withCertificate('from: xfcc, proxies: [127.0.0.1], san: email'),
    'g.yaml:7:62: identity.sources.s.certificate.san cannot be email with from: xfcc (the header has names of the kinds uri and dns only)'
  ],
  [
    'a trust domain as a URI',
    withCertificate('from: xfcc, proxies: [127.0.0.1], trustDomains: ["spiffe://a"]'),
    'g.yaml:7:72: identity.sources.s.certificate.trustDomains[0] must be a SPIFFE trust domain (such as "prod.example.com": lower case, without "spiffe://" and without a path)'
  ],
  ['no file', withKeys('none.yaml'), `${AT}: "none.yaml": no such file`],
  ['a folder', withKeys('folder'), `${AT}: "folder": not a file`],
  ['too large', withKeys('big.yaml'), `${AT}: "big.yaml": larger than 4 MiB`],
  ['not UTF-8', withKeys('latin1.yaml'), `${AT}: "latin1.yaml": not UTF-8`],
  ['no YAML', withKeys('text.yaml'), `${AT}: "text.yaml": 2:1: the "[" is not closed, or a line before its "]" is not indented`],
  ['no list', withKeys('map.yaml'), `${AT}: "map.yaml": must be a list of keys, as "a2a-gateway key" prints them`],
  [
    'wrong entries',
    withKeys('wrong.yaml'),
    ...[
      '1:3: must be a mapping with id and sha256',
      '2:8: id must have from 1 to 256 visible ASCII characters',
      '2:20: sha256 must be the SHA-256 of the key, 64 hex digits',
      '3:93: client must have from 1 to 256 visible ASCII characters',
      '3:106: groups must be a list of at most 32 names',
      '3:118: expires must be a date or time, such as 2027-01-01 or 2027-01-01T12:00:00Z',
      '4:85: unknown key "expire", did you mean "expires"?',
      '4:8: two keys have the id "a"',
      '4:19: two entries have the same key',
      '4:114: expires must be a date or time, such as 2027-01-01 or 2027-01-01T12:00:00Z'
    ].map(text => `${AT}: "wrong.yaml": ${text}`)
  ],
  [
    'an unknown key',
    withKeys('deep.yaml'),
    `${AT}: "deep.yaml": 1:85: unknown key "other", known keys: id, sha256, client, expires, groups, scopes, tenant`
  ],
  ['admin access', `${withSource('{basic: {keys: {file: keys.yaml}}}')}server: {adminAccess: {sources: [s], allow: [{source: [s], groups: [g]}]}}\n`],
  [
    'admin access without identity',
    `${AGENT}server: {adminAccess: {sources: [staff]}}\n`,
    'g.yaml:5:34: server.adminAccess.sources[0]: identity has no source "staff" (define it in identity.sources)'
  ],
  [
    'admin access with a wrong name',
    `${withSource('{basic: {keys: {file: keys.yaml}}}').replace('    s:', '    staff:')}server: {adminAccess: {sources: [staf], allow: [{source: [staf]}]}}\n`,
    'g.yaml:8:34: server.adminAccess.sources[0]: identity has no source "staf" (did you mean "staff"?)',
    'g.yaml:8:59: server.adminAccess.allow[0].source[0]: identity has no source "staf" (did you mean "staff"?)'
  ],
  [
    'admin access that contradicts itself',
    `${withSource('{basic: {keys: {file: keys.yaml}}}')}server: {adminAccess: {sources: [s], allow: [{anonymous: true, groups: [g]}]}}\n`,
    'g.yaml:8:47: server.adminAccess.allow[0].anonymous contradicts groups: a request without a caller has none of them (keep one of the two)'
  ],
  [
    'admin access for nobody',
    `${withSource('{basic: {keys: {file: keys.yaml}}}')}server: {adminAccess: {sources: [], allow: [{}], session: 1s}}\n`,
    'g.yaml:8:33: server.adminAccess.sources must have at least 1 entry',
    'g.yaml:8:45: server.adminAccess.allow[0] must have at least 1 key (known keys: source, subject, client, spiffe, scopes, groups, tenant, claims, anonymous)',
    'g.yaml:8:59: server.adminAccess.session must be from 1m to 168h, not 1s'
  ]
]
