/**
 * Everything that reads text or bytes of others, by name: the targets of the fuzzer, and readers that rest on the engine, such as its
 * regular expressions, URLs, dates, Unicode tables and zlib. `npm run test:runtimes` gives each reader the same inputs with every version
 * of Node, and compares the outcomes.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants, deflateRawSync, gzipSync } from 'node:zlib'
import { readVersion, requestedVersion, unknownMinor } from '#a2a/versions.js'
import { visible } from '#a2a/fields.js'
import { matchRest, plainRest } from '#a2a/operations.js'
import { canonicalize } from '#a2a/card/signing/canonical.js'
import { slug } from '#cli/init/extension-name.js'
import { formatDiagnostic } from '#config/load.js'
import { timeOf } from '#config/key-file.js'
import { readDuration, readSize } from '#config/model/units.js'
import type { JwtConfig } from '#config/model/model.js'
import { FORMATS } from '#config/schema/formats.js'
import { credentialOf, queryWithoutCredentials } from '#identity/credentials.js'
import { readXfcc } from '#identity/certificate/xfcc.js'
import { readJwkSet } from '#identity/jwk-set.js'
import { readToken } from '#identity/jwt.js'
import { LastCredential } from '#identity/last-credential.js'
import { compilePattern, isRegex } from '#jsonschema/regexp.js'
import { patternSize } from '#jsonschema/pattern-size.js'
import { readHttpFile } from '#offline/recording/http-file.js'
import { readPushUrl } from '#policy/push/url.js'
import { readCheck } from '#wire/envoy/check.js'
import { readProcessing } from '#wire/envoy/processing.js'
import { matchesEtag } from '#wire/etag.js'
import { clientAddress } from '#wire/forwarded.js'
import { compileGlob } from '#wire/glob.js'
import { GrpcDeframer } from '#wire/grpc/deframer.js'
import { encodeGrpcMessage } from '#wire/grpc/status-text.js'
import { readGrpcTimeout } from '#wire/grpc/timeout.js'
import { gunzipSync, readGzip } from '#wire/gzip.js'
import { networkOf, parseAddress, parseNetwork, plainAddress } from '#wire/ip.js'
import { editJson } from '#wire/json/edit.js'
import { parseStrict } from '#wire/json/json.js'
import { parseJson } from '#wire/json/parse-json.js'
import { isExact } from '#wire/json/number.js'
import { readTimestamp, timestampText } from '#wire/protobuf/timestamp.js'
import { isLocalName } from '#wire/reserved-address.js'
import { commentBytes } from '#wire/sse/write.js'
import { loosePath } from '#wire/target.js'
import { addressOf, compileUrlPattern } from '#wire/url-pattern.js'
import { parseUrl } from '#wire/url.js'
import type { Inputs, Reader } from '../fuzz/engine/target.js'
import { TARGETS } from '../fuzz/targets/index.js'
import { inTests } from '../helpers/paths.js'
import { outcomeOf } from './exact.js'
import { frames } from './frames.js'
import { listener } from './listener.js'
import { readClientCert } from '#identity/certificate/certificates.js'

export type { Reader } from '../fuzz/engine/target.js'

const require = createRequire(import.meta.url)
const text = (bytes: Buffer): string => bytes.toString()
const latin1 = (bytes: Buffer): string => bytes.toString('latin1')

/** A reader of text whose inputs are lines. */
function of (inputs: Omit<Inputs, 'maxBytes'> & { readonly maxBytes?: number }, read: (bytes: Buffer) => unknown): Reader {
  return { maxBytes: 512, ...inputs, read }
}

/** Names that V8 13.6 reads as another name after a document with a literal name that begins with a backslash. */
const names = of({
  name: 'names',
  maxBytes: 400,
  seeds: [
    '[{"x":1,"\\\\u00":1},{"x":1,"\\\\u00":1}]',
    '{"x":1,"\\u0064ata":2}',
    '{"metadata":{"z":1,"\\\\u0":{}}}',
    '{"metadata":{"z":1,"\\u006fwn":{}}}',
    '{"\\\\":1,"\\u0061":2}',
    '{"a":1,"\\u0062":2,"\\/":3}',
    '{"parts":[{"\\u0064ata":{"a":1}},{"\\\\u00":{"a":1}}]}'
  ],
  dictionary: ['{"x":1,', '"\\\\":', '"\\\\u":', '"\\\\u0":', '"\\\\u00":', '"\\\\u006":', '"\\\\u0064":', '"\\u0061":', '"\\u0064ata":',
    '"\\n":', '"\\"":', '1', ',', '}', '{', '"a"']
}, bytes => {
  const limits = { depth: 20, members: 1000 }
  const read = parseStrict(bytes, limits)
  return [read, parseStrict(bytes, limits, 0), outcomeOf(() => parseJson(bytes)), outcomeOf(() => editJson(bytes, [{ path: ['data'], value: null }, {
    path: ['x'],
    value: null
  }]))]
})

/** What the engine itself makes of these inputs. The comparison must find the fault of Node 24, or it finds nothing (compare.mjs). */
const control = of({ ...names, name: 'control' }, bytes => outcomeOf((): unknown => JSON.parse(text(bytes))))

const regexp = of({
  name: 'regexp',
  maxBytes: 200,
  seeds: [
    '^[a-z]+$', '(?i:a)b', '(?-i:a)', '(?ims-:a)', '(?<n>a)|(?<n>b)', '(?<n>a)(?<m>b)', '\\p{L}+', '\\p{Script=Greek}', '\\p{sc=Kawi}',
    '[\\w-.]', 'a{2,3}?',
    '\\u{1F600}', '[^\\p{Lu}]', '(?:a|b)*c', '\\cA\\x41\\0', '[[:alpha:]]', '(?=a)', '(?<=a)b', '\\k<n>', '\\1', '[\\q{a}]', '[a--b]',
    '(?#c)', '(?P<n>a)', 'a++', '\\N', '\\e',
    '\\p{RGI_Emoji}', '\\p{Script_Extensions=Latn}', '\\P{ASCII}', '(?<$>a)', '(?<\\u{61}>a)', '{', 'a{,3}', 'x{1', ']', '\\-', '\\@'
  ],
  dictionary: ['(?', '(?i:', '(?-m:', '(?<n>', '(?<m>', '|', '(', ')', '[', ']', '{', '}', '^', '$', '.', '*', '+', '?', '\\d', '\\w',
    '\\s', '\\b', '\\p{', 'L}', 'Lu}', 'Script=', 'Greek}', 'scx=Latn}', '\\u', '\\u{', '\\x', '\\c', '\\k<n>', '\\0', '\\-', '-', '&&',
    '--', '\\q{', 'é', '😀', 'ſ', 'K']
}, bytes => outcomeOf(() => {
  const pattern = text(bytes)
  const compiled = compilePattern(pattern)
  return [patternSize(pattern), compiled.size, ...SAMPLES.map(one => compiled.test(one))]
}))
const SAMPLES = ['', 'a', 'ab', 'B', 'aaa', 'é', 'É', 'ß', 'K', 'ſ', 'Ω', '1', '_', ' ', '\u00a0', '\u2028', '😀', '\ud800', 'ά',
  '\u{11f00}', '\u{10940}', 'a\nb', '-', '@', '{', 'x{1']

const urls = of({
  name: 'urls',
  maxBytes: 256,
  seeds: [
    'https://example.com/a?b#c', 'http://127.0.0.1:8080', 'HTTPS://EXAMPLE.COM:443/', 'https://user:pw@h/',
    'https://xn--bcher-kva.example/', 'https://bücher.example/ß', 'https://faß.de/',
    'https://h\u00ad.example/', 'https://１２７.0.0.1/', 'https://0x7f.1/', 'https://127.1/', 'https://[::ffff:1.2.3.4]/',
    'https://[::1%25lo]/', 'https://a..b/', 'https://a_b/',
    'https://h/%2e%2e/', 'https://h/\\x', 'https:h', 'https:///h', '//h/a', 'grpc://h:50051', 'dns:///h:1', 'redis://h:6379/0',
    'spiffe://td/a', 'http://h:99999', 'http://h:0080/', 'https://%68/', 'https://h\t/',
    'https://xn--a/', 'https://xn--0ca24w/', 'https://ı.example', 'https://\u1e9e.example', 'https://\u{1f600}.example',
    'https://a\u200db.example', 'https://مثال.example', 'https://*.example.com', '10.0.0.0/8', 'fd00::/8'
  ],
  dictionary: ['http://', 'https://', 'grpcs://', 'h', '.example', ':80', ':443', '/', '\\', '?', '#', '@', '%', '%2e', '%00', '[', ']',
    '::1', '127.0.0.1', '0x', '.', '..', 'xn--', 'ß', 'ẞ', 'ı', 'İ', 'ſ', 'K', '。', '．', '\u00ad', '\u200d', '\u200c', '\u0660', 'é',
    'é', '\t', '\n', ' ', '|', '^', '`', '{', '}', '<', '*', '{traceId}']
}, bytes => {
  const one = text(bytes)
  // Node 24 accepts labels that are no Punycode, such as xn--a: such a name exists nowhere, and patterns compare its text.
  if (/xn--(?!bcher-kva\.)/i.test(one)) return null
  // Unicode changes the mapping of host names: the host of https://\u1e9e.example is ss.example for Node 20, and xn--zca.example for Node 24.
  // Hosts of clients and of patterns must be ASCII. Those of a card have no effect, and those of a configuration are its author's.
  if (/[^\0-\xff]/.test(one)) return [outcomeOf(() => readPushUrl(one)), outcomeOf(() => compileUrlPattern(one))]
  return [
    outcomeOf(() => readPushUrl(one)), outcomeOf(() => compileUrlPattern(one)),
    Object.values(FORMATS).map(check => outcomeOf(() => check(one))),
    isLocalName(one), outcomeOf(() => addressOf(one)), partsOf(parseUrl(one))
  ]
})
const PARTS = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'pathname', 'search', 'hash'] as const
const partsOf = (url: URL | null): unknown => url === null ? null : PARTS.map(part => url[part])

const addresses = of({
  name: 'addresses',
  maxBytes: 80,
  seeds: ['127.0.0.1', '::1', '::ffff:192.0.2.1', '10.0.0.0/8', 'fd00::/8', '0127.0.0.1', '1.2.3', 'fe80::1%lo', '[::1]:80',
    '1.2.3.4:80', '::', '1:2:3:4:5:6:7:8', '1::2::3', '0x7f.0.0.1', '::1.2.3.4', '١.2.3.4'],
  dictionary: ['.', ':', '::', '/', '%', '0', '1', '255', '256', 'ffff', 'g', '[', ']', ' ', '%25', '00', '-1', '8', '33', '128']
}, bytes => {
  const one = text(bytes)
  const hop = { peer: one, trusted: true, scheme: 'http', host: one } as const
  return [parseAddress(one), parseNetwork(one), networkOf(one), outcomeOf(() => plainAddress(one)),
    clientAddress({ 'x-forwarded-host': one, 'x-forwarded-proto': one, 'x-forwarded-for': one }, hop)]
})

const times = of({
  name: 'times',
  maxBytes: 64,
  seeds: [
    '2026-11-28', '2026-11-28T07:23:14Z', '2026-02-31T00:00:00Z', '2026-02-30', '2024-02-29T24:00:00Z', '2026-11-28T07:23:60Z',
    '2026-11-28t07:23:14.123456789+01:00', '9999-12-31T23:59:59Z',
    '0000-01-01T00:00:00Z', '0001-01-01T00:00:00Z', '2026-11-28T07:23:14.5+23:59', '2026-11-28T07:23:14-24:00',
    '2026-11-28T07:23:14+00:60', '2026-13-01T00:00:00Z', '2026-11-28T07:23Z', '2026-11-28T25:00:00Z', '1e9', '1795850594', '30s',
    '1h30m', '4MiB', '1.5GiB', '-1s', '1m', '30S'
  ],
  dictionary: ['-', ':', 'T', 't', 'Z', 'z', '+00:00', '-23:59', '.', '.5', '.999999999', '0', '9', '60', '24', '31', '02', '12', '2026',
    '9999', '0000', ' ', 's', 'ms', 'h', 'MiB', 'kB', 'e', '\u0660', '\u2212']
}, bytes => {
  const one = text(bytes)
  const seconds = Number(one)
  return [timeOf(one), readTimestamp(one), readDuration(one), readSize(one), readGrpcTimeout(one),
    RFC_3339.test(one) ? Date.parse(one.toUpperCase()) : null,
    Math.abs(seconds) < 1e11 ? outcomeOf(() => timestampText(Math.floor(seconds), 5)) : null]
})
/** As in src/policy/freshness.ts: the gateway gives `Date.parse` only such texts. */
const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,12})?(?:[Zz]|[+-]\d\d:\d\d)$/

const queries = of({
  name: 'queries',
  maxBytes: 256,
  seeds: ['?A2A-Version=1.0', '?a2a-version=1.0&A2A-Version=0.3', '?%61pi_key=x&b', '?key=a+b%20c', '?key=%ff', '?key=%',
    '?tenant=t&tenant=%74', '?a=1;key=2', '?=x&key', '?key=%C3%A9', '?key=é', '?k\0ey=1', '?A2A%2DVersion=1.0', '?key=%ED%A0%80'],
  dictionary: ['&', '=', '?', ';', '+', '%', '%20', '%00', '%26', '%3d', '%c3%a9', '%ff', '%ed%a0%80', '%e2%82', 'key', 'KEY',
    'A2A-Version', 'a2a%2dversion', '1.0', '0.3', '1.1', 'tenant', 'é', '\ud7ff', '\0']
}, bytes => [text(bytes), latin1(bytes)].map(query => [
  requestedVersion(undefined, query), readVersion(query), unknownMinor(query), [...new URLSearchParams(query)],
  queryWithoutCredentials(query, [KEY]),
  credentialOf({
    headers: { cookie: query, key: query },
    query,
    connection: {
      peer: '::1',
      certificate: null,
      last: new LastCredential()
    }
  }, KEY),
  credentialOf({ headers: { cookie: query }, query, connection: { peer: '::1', certificate: null, last: new LastCredential() } },
    { ...KEY, in: 'cookie' }),
  outcomeOf(() => decodeURIComponent(query)), matchesEtag(query, '"a"'), outcomeOf(() => compileGlob(query)),
  outcomeOf(() => matchRest('GET', query, '1.0', '')), outcomeOf(() => plainRest('GET', query))
]))
const KEY = { in: 'query', name: 'key', scheme: null } as const

/** Texts that go to logs, terminals, events and headers. */
const texts = of({
  name: 'texts',
  maxBytes: 128,
  seeds: ['Straße', 'ﬁle ①', 'İstanbul', 'ΌΣΟΣ', '\u202e\u2066', '\u{e0001}', 'a\u0301', '\u0085\u2028', '\u{10ffff}', '\ufeff',
    '\u{16d40}\u{10d50}', '\u1c89', '\ud800', '/Ａ／ｂ', '/％２ｅ'],
  dictionary: ['ß', 'ẞ', 'İ', 'ı', 'ſ', 'K', 'Σ', 'ﬁ', '①', '．', '／', '\u00ad', '\u200b', '\u2028', '\u0085', '\x1b', '\x7f', '\u0301',
    '\u202e', '\u{e0020}', '\u1c89', '\ua7cb', '\u{10d50}', '\u{16d40}', '\u{1fae9}', '😀']
}, bytes => [text(bytes), latin1(bytes)].map(one => [
  slug(one), loosePath(one), visible(one, 100), formatDiagnostic({
    file: one,
    line: 1,
    col: 1,
    message: one,
    hint: one
  } as Parameters<typeof formatDiagnostic>[0]),
  commentBytes(one), encodeGrpcMessage(one), one.toLowerCase(), one.toUpperCase(), outcomeOf(() => canonicalize({ [one]: one })),
  JSON.stringify(one),
  outcomeOf(() => new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes))
]))

/** Every code point, 1,024 for each input: Unicode tables. The seeds count them; mutations are other numbers. */
const codePoints = of({
  name: 'code-points',
  maxBytes: 8,
  seeds: Array.from({ length: 0x110000 / 1024 }, (_, i) => String(i)),
  dictionary: []
}, bytes => {
  const first = (Number(latin1(bytes).replace(/\D/g, '')) % 1088) * 1024
  return Array.from({ length: 1024 }, (_, i) => {
    const one = String.fromCodePoint(first + i)
    return [loosePath(one), visible(one, 10), slug(one), commentBytes(one), isLocalName(one), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(one),
      one.trim()]
  })
})

const numbers = of({
  name: 'numbers',
  maxBytes: 48,
  seeds: ['0', '-0', '1e21', '1e-7', '123456789012345680000', '0.1', '5e-324', '1.7976931348623157e308', '1e309', '9007199254740993',
    '4.35', '0.000001', '2.5e-8', '100000000000000000000000'],
  dictionary: ['0', '1', '9', '.', 'e', 'E', '+', '-', '00', '5', '17976931348623157', 'e308', 'e-324', '2']
}, bytes => {
  const one = latin1(bytes)
  const value = Number(one)
  return [value, String(value), isExact(one), parseStrict(bytes, { depth: 2, members: 2 }), outcomeOf(() => canonicalize(value)),
    value.toFixed(3), JSON.stringify([value])]
})

const CONTENT = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"text":"${'lorem ipsum '.repeat(20)}"}}`)
const gzip = of({
  name: 'gzip',
  maxBytes: 512,
  seeds: [
    gzipSync(CONTENT), gzipSync(CONTENT, { level: 0 }), gzipSync(CONTENT, { strategy: constants.Z_FIXED }), gzipSync(Buffer.alloc(0)),
    gzipSync(Buffer.alloc(9_000, 'a')),
    Buffer.concat([gzipSync('a'), gzipSync('b')]), gzipSync(CONTENT).subarray(0, 40), deflateRawSync(CONTENT), Buffer.from('1f8b0800',
      'hex')
  ].map(one => Buffer.from(one)),
  dictionary: ['\x1f', '\0\0\0\0', '\x03\0', '\x04', '\x08', '\x10', '\x02', '\x01\0\0\u00ff']
}, bytes => {
  const found = readGzip(bytes)
  return found === null || found.size > 1 << 20 ? found : [found, gunzipSync(found)]
})

const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const HEADER = { alg: 'RS256', kid: 'k', typ: 'at+jwt' }
const CLAIMS = { iss: 'https://issuer.test/', sub: 'u', aud: 'gateway', exp: 2_000_000_600, iat: 2_000_000_000 }
const JWT = {
  issuer: 'https://issuer.test/',
  audience: ['gateway'],
  header: null,
  leeway: 30_000,
  maxLifetime: 3_600_000,
  algorithms: ['RS256',
    'ES256'],
  types: ['jwt', 'at+jwt'],
  claims: { subject: '/sub', client: null, scopes: null, groups: '/groups', tenant: null },
  keys: { url: null, file: null, maxStale: 0 },
  tls: { ca: null }
} satisfies JwtConfig
const tokens = of({
  name: 'tokens',
  maxBytes: 700,
  seeds: [
    `${base64url(HEADER)}.${base64url(CLAIMS)}.c2ln`,
    `${base64url({ ...HEADER, typ: 'JWT' })}.${base64url({ ...CLAIMS, aud: ['x', 'gateway'], cnf: { 'x5t#S256': 'A'.repeat(43) } })}.c2ln`,
    `${Buffer.from('{"alg":"RS256","\\u006bid":"k"}').toString('base64url')}.${Buffer.from('{"\\u0069ss":"https://issuer.test/","\\\\u00":1}').toString('base64url')}.c2ln`,
    'a.b.c', 'opaque', `${base64url(HEADER)}==.${base64url(CLAIMS)}.`
  ],
  dictionary: ['.', '-', '_', '=', '+', '/', 'eyJ', 'AA', base64url(HEADER), base64url({ alg: 'none' }), '\0', 'é', '\xff']
}, bytes => {
  const one = latin1(bytes)
  return [readToken(one, JWT, 2_000_000_100_000), Buffer.from(one, 'base64url'), Buffer.from(one, 'base64'), Buffer.from(one, 'hex')]
})

const keySets = of({
  name: 'key-sets',
  maxBytes: 900,
  seeds: [
    JSON.stringify({ keys: [{ kty: 'RSA', kid: 'a', n: Buffer.alloc(256, 0xf1).toString('base64url'), e: 'AQAB', use: 'sig' }] }),
    '{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","\\u006bid":"e"},{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}',
    '{"keys":[]}', '{"keys":[{"kty":"oct","k":"AA"}]}'
  ],
  dictionary: ['"kty":"RSA"', '"kty":"EC"', '"crv":"P-384"', '"use":"enc"', '"alg":"RS256"', '"key_ops":["sign"]', '"d":"AA"',
    '"\\\\u00":1', '"\\u0064":1', ',', '{', '}', 'AQAB', 'Aw', '=']
}, bytes => readJwkSet(bytes))

const PEM = '-----BEGIN CERTIFICATE-----'
const certificates = of({
  name: 'certificates',
  maxBytes: 900,
  seeds: [
    'By=spiffe://td/gw;Hash=468ed33be74eee6556d90c0149c1309e9ba61d6425303443c0748a02dd8de688;Subject="CN=a,O=b";URI=spiffe://td/sa/a;DNS=a.test',
    'Hash=1;URI=a;URI=b', 'Subject="/CN=a\\"b";Hash=00', 'a=b,c=d', ':AAAA:', ':MIIB:',
    `Cert="${encodeURIComponent(`${PEM}\nAAAA\n`)}"`, `:${certificate()}:`
  ],
  dictionary: ['By=', 'Hash=', 'URI=', 'DNS=', 'Subject=', 'Cert=', '"', '\\', ';', ',', '=', ':', 'spiffe://td/', '%0A', 'AA', '\xff']
}, bytes => {
  const one = latin1(bytes)
  return [readXfcc(one, 1), readXfcc(one, 2), outcomeOf(() => readClientCert(one))]
})

/** A certificate in base64. */
function certificate (): string {
  return readFileSync(inTests('fixtures/tls/right.pem'), 'utf8').replace(/-----[^-]*-----|\n/g, '')
}

const proxies = of({
  name: 'proxies',
  maxBytes: 400,
  seeds: [
    Buffer.from('0a2a12280a0a0a0812060a013112017812200a1e1204504f53541a0f0a053a7061746812062f6d73672220612d2a', 'hex'),
    Buffer.from('12120a100a0e0a0a3a6d6574686f641a00', 'hex'), Buffer.from('1a060a0268691001', 'hex'), Buffer.from('2200', 'hex'),
    Buffer.alloc(0),
    Buffer.from('000000000361626301000000021f8b', 'hex')
  ],
  dictionary: ['\x0a\x02', '\x12\x02', '\x1a\x01a', ':path', ':method', 'POST', '/a', '\0\0\0\0\x01', '\x10\x01', '\xff\x01', '\xc3\xa9']
}, bytes => {
  const deframer = new GrpcDeframer(64)
  return [outcomeOf(() => readCheck(bytes)), outcomeOf(() => readProcessing(bytes)), deframer.feed(bytes), deframer.fault, deframer.rest]
})

/** What `format` in a schema accepts. The validators of the gateway use the same functions. */
const formats = of({
  name: 'formats',
  maxBytes: 120,
  seeds: ['2026-02-29', '23:59:60Z', '2026-11-28T07:23:14Z', 'P1Y2M3DT4H', 'a@b.c', 'h.example', '1.2.3.4', '::1', 'https://h/a', '/a/b',
    '{a}', 'b3f1c2d4-0000-4000-8000-000000000000', '/a~1b', '1/a', '^a$', 'aGk=', '(?i:a)', 'é@é.é', 'urn:a:b'],
  dictionary: ['-', ':', 'T', 'Z', '+', '.', '@', '/', '{', '}', '%', '[', ']', '(', '(?', '\\', 'P', '0', '29', 'xn--', 'é', 'ß', '\u2028']
}, bytes => {
  const { fullFormats } = require('ajv-formats/dist/formats.js') as { readonly fullFormats: Readonly<Record<string, unknown>> }
  const one = text(bytes)
  const all: Readonly<Record<string, unknown>> = { ...fullFormats, regex: isRegex }
  return Object.entries(all).map(([name, format]) => {
    const test: unknown = typeof format === 'object' && format !== null && 'validate' in format ? format.validate : format
    return [name, test instanceof RegExp ? test.test(one) : typeof test === 'function' ? outcomeOf((): unknown => test(one)) : null]
  })
})

const recordings = of({
  name: 'recordings',
  maxBytes: 700,
  seeds: [
    'POST http://h/a HTTP/1.1\nContent-Type: application/json\nA2A-Version: 1.0\n\n{"a":1}\n\n###\nGET /b\n',
    '@x = 1\n# @name one\nGET http://h/{{x}}\n  ?a=b\n  &c=d\n\n> {% s %}\n',
    'POST /a\n\n{"\\u0064ata":"{{$guid}}","\\\\u00":1}\n'
  ],
  dictionary: ['###\n', '\n', '\r\n', 'GET ', 'POST ', 'HTTP/1.1', '{{x}}', '{{', '}}', '@x=', '< ./f', '# @name n', ':', '{"a":',
    '\u2028', '\ufeff', 'é']
}, bytes => outcomeOf(() => readHttpFile(text(bytes), 'a.http', () => { throw new Error('no file') })))

const OWN: readonly Reader[] = [
  names, control, regexp, urls, addresses, times, queries, texts, codePoints, numbers,
  gzip, tokens, keySets, certificates, proxies, formats,
  recordings
]

/** @returns the readers by name; each may take time to load */
export const READERS: Readonly<Record<string, () => Promise<Reader>>> = {
  ...TARGETS,
  ...Object.fromEntries(OWN.map(reader => [reader.name, async () => reader])),
  listener,
  frames
}

/** Cost of one input in comparison with an input of most other readers. */
export const COSTS: Readonly<Record<string, number>> = {
  'json-edit': 5,
  message: 5,
  protobuf: 2,
  response: 5,
  policy: 50,
  config: 50,
  card: 20,
  regexp: 5,
  'code-points': 3,
  listener: 10,
  frames: 10
}
