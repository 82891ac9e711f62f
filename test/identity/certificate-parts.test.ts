/** The parts of an authentication by certificate: names, SPIFFE IDs, the headers of proxies, and how certificates and tokens combine. */
import fc from 'fast-check'
import t from 'tap'
import type { CertificateConfig } from '#config/model/model.js'
import { ApiKeys, keyDigest } from '#identity/api-keys.js'
import type { Authentication } from '#identity/authentication.js'
import { Authenticator } from '#identity/authenticator.js'
import type { ClientCertificate } from '#identity/certificate/certificate.js'
import { certificateOf, readNames } from '#identity/certificate/certificate.js'
import { CertificateSource } from '#identity/certificate/certificate-source.js'
import { trustDomainOf } from '#identity/certificate/certificate-source.js'
import { readXfcc } from '#identity/certificate/xfcc.js'
import { withoutProxyHeaders } from '#identity/credentials.js'
import { LastCredential } from '#identity/last-credential.js'
import { check } from '../helpers/seed.js'
import { clientCertOf, hexOf, pemOf, thumbprintOf, x509Of } from './clients.js'
import type { Requirement } from '#identity/schemes.js'
import { readClientCert } from '#identity/certificate/certificates.js'

const ID = 'spiffe://prod.example.com/ns/jobs/sa/batch'
const HASH = hexOf('batch')
const NOW = Date.now()

t.test('names of a certificate', async t => {
  const rows: readonly [string, ReturnType<typeof readNames>][] = [
    ['', { uri: [], dns: [], email: [] }],
    ['URI:spiffe://a/b, DNS:a.example, IP Address:127.0.0.1, email:a@b, DNS:b', { uri: ['spiffe://a/b'], dns: ['a.example', 'b'], email: ['a@b'] }],
    ['DNS:"a\\u002c URI:spiffe://a/b"', { uri: [], dns: ['a, URI:spiffe://a/b'], email: [] }],
    ['DirName:"CN=a\\u002cURI:x", URI:b', { uri: ['b'], dns: [], email: [] }],
    ['constructor:a, __proto__:b', { uri: [], dns: [], email: [] }],
    ['URI:', { uri: [''], dns: [], email: [] }],
    ['DNS:a,URI:b', null],
    ['DNS:"a', null],
    ['DNS:"a"b', null],
    ['DNS:"\\x"', null],
    ['a', null],
    [Array.from({ length: 33 }, () => 'DNS:a').join(', '), null]
  ]
  for (const [text, expected] of rows) t.same(readNames(text), expected, text)
  t.same(readNames(x509Of('injected').subjectAltName ?? ''), { uri: [], dns: ['a.example.com, URI:spiffe://prod.example.com/admin'], email: [] }, 'CVE-2021-44532')
})

t.test('SPIFFE IDs', async t => {
  for (const [uri, domain] of [
    [ID, 'prod.example.com'], ['spiffe://a/b', 'a'], ['spiffe://a', null], ['spiffe://a/', null], ['spiffe://a/b/', null], ['spiffe://a//b', null],
    ['SPIFFE://a/b', null], ['spiffe://A/b', null], ['spiffe://a:1/b', null], ['spiffe://u@a/b', null], ['spiffe://a/b?c', null], ['spiffe://a/b#c', null],
    ['spiffe://a/../b', null], ['spiffe://a/./b', null], ['spiffe://a/%2e', null], ['spiffe:///b', null], ['spiffe:a/b', null], [`spiffe://a/${'b'.repeat(2_048)}`, null],
    ['https://a/b', null], [`${ID}\n`, null]
  ] as const) t.equal(trustDomainOf(uri), domain, uri)
})

t.test('x-forwarded-client-cert', async t => {
  const found = { thumbprint: thumbprintOf('batch'), names: { uri: [ID], dns: [], email: [] }, from: 0, until: Infinity }
  const accepted: readonly [string, string, object][] = [
    ['of Envoy', `By=spiffe://prod.example.com/ns/a/sa/b;Hash=${HASH};Subject="CN=a,O=\\"b\\"";URI=${ID}`, found],
    ['keys in any case, in any order', `uri=${ID};HASH=${HASH.toUpperCase()}`, found],
    ['a quoted value', `Hash=${HASH};URI="${ID}"`, found],
    ['a subject that looks like an element', `Hash=${HASH};Subject="CN=x\\",URI=spiffe://prod.example.com/admin,By=\\"";URI=${ID}`, found],
    ['a subject that ends with a backslash', `Hash=${HASH};Subject="CN=x\\\\";URI=${ID}`, found],
    ['By of two names', `By=a;By=b;Hash=${HASH};URI=${ID}`, found],
    ['no hash', `URI=${ID}`, { ...found, thumbprint: null }],
    ['DNS names', 'URI=;DNS=a.example;DNS=b.example', { thumbprint: null, names: { uri: [], dns: ['a.example', 'b.example'], email: [] } }],
    ['nothing but a hash', `Hash=${HASH}`, { ...found, names: { uri: [], dns: [], email: [] } }]
  ]
  for (const [name, header, expected] of accepted) t.match(readXfcc(header, 1), expected, name)
  const rejected: readonly [string, string][] = [
    ['empty', ''],
    ['two elements', `URI=${ID},URI=spiffe://prod.example.com/admin`],
    ['two lines', `URI=${ID}, URI=spiffe://prod.example.com/admin`],
    ['two URIs', `URI=${ID};URI=spiffe://prod.example.com/admin`],
    ['two URIs in two cases', `URI=${ID};uri=spiffe://prod.example.com/admin`],
    ['two URIs, one empty', `URI=;URI=${ID}`],
    ['two hashes', `Hash=${HASH};Hash=${hexOf('web')};URI=${ID}`],
    ['no hash of SHA-256', `Hash=abc;URI=${ID}`],
    ['a quote that does not end', `Subject="CN=x;URI=${ID}`],
    ['a quote that ends with an escape', `Subject="CN=x\\";URI=${ID}`],
    ['text behind a quote', `Subject="CN=x"y;URI=${ID}`],
    ['a quote in a bare value', `By=a"b;URI=${ID}`],
    ['an equals sign in a bare value', `By=a=b;URI=${ID}`],
    ['a blank in a bare value', `By=a b;URI=${ID}`],
    ['a blank before a key', `By=a; URI=${ID}`],
    ['a key without a value', `By;URI=${ID}`],
    ['an empty pair', `By=a;;URI=${ID}`],
    ['a final semicolon', `URI=${ID};`],
    ['a final comma', `URI=${ID},`],
    ['a first comma', `,URI=${ID}`],
    ['an escape in the URI', `URI="${ID}\\""`],
    ['a backslash in the URI', `URI=${ID}\\`],
    ['bytes beyond ASCII', `URI=${ID}\u00e9`],
    ['a control character', `Subject="a\u0000";URI=${ID}`]
  ]
  for (const [name, header] of rejected) t.equal(readXfcc(header, 1), null, name)
  const chain = `Hash=${HASH};URI=${ID}, By=x;URI=spiffe://prod.example.com/edge`
  t.match(readXfcc(chain, 2), { names: { uri: [ID] } }, 'the first of two is the caller')
  t.equal(readXfcc(chain, 1), null)
  t.equal(readXfcc(chain, 3), null)
})

t.test('a subject cannot name the caller, whatever its characters', t => {
  // As X509_NAME_print_ex escapes a subject: a backslash before each quote and backslash.
  const subject = fc.string({ unit: fc.constantFrom('"', '\\', ',', ';', '=', ' ', 'URI', ID, 'a', 'Hash'), maxLength: 12 })
  t.ok(check('identity/certificate-parts/subject', fc.property(subject, text => {
    const escaped = text.replaceAll(/["\\]/g, '\\$&')
    const read = readXfcc(`By=a;Subject="${escaped}";URI=spiffe://prod.example.com/me`, 1)
    if (read?.names.uri[0] !== 'spiffe://prod.example.com/me') throw new Error(`read ${JSON.stringify(read)}`)
  })) > 0, 'inputs')
  t.end()
})

t.test('Client-Cert', async t => {
  const header = clientCertOf('batch')
  // The last digit has bits that no byte uses.
  const other = header.replace(/[A-Za-z0-9+/](?==+:$)/, digit => String.fromCharCode(digit.charCodeAt(0) + 1))
  t.match(header, /=:$/, 'a certificate whose base64 has padding')
  t.match(readClientCert(header), { thumbprint: thumbprintOf('batch'), names: { uri: [ID], dns: ['batch.example.com'] }, until: Date.parse(x509Of('batch').validTo) })
  const pem = `:${pemOf('batch').toString('base64')}:`
  const trailing = `:${Buffer.concat([x509Of('batch').raw, Buffer.from([0])]).toString('base64')}:`
  for (const [name, text] of [
    ['empty', ''], ['no bytes', '::'], ['no certificate', ':AAAA:'], ['PEM', pem], ['bytes behind the certificate', trailing], ['a parameter', `${header};a=1`],
    ['two', `${header}, ${header}`], ['no colons', header.slice(1, -1)], ['a blank', `: ${header.slice(1)}`], ['another spelling of the same bytes', other], ['a padding too much', header.replace(/=*:$/, '===:')],
    ['base64url', header.replace(/[+/]/, '-')], ['a text', '"a"']
  ] as const) t.equal(readClientCert(text), null, name)
})

const config = (more: Partial<CertificateConfig> = {}): CertificateConfig => ({ from: 'tls', proxies: [], hops: 1, trustDomains: ['prod.example.com'], san: null, ...more })
const source = (name: string, more: Partial<CertificateConfig> = {}): CertificateSource => new CertificateSource(name, config(more))
const read = (name: string): ClientCertificate => certificateOf(x509Of(name)) as ClientCertificate

t.test('the caller that a certificate names', async t => {
  const rows: readonly [string, Partial<CertificateConfig>, string][] = [
    ['batch', {}, ID],
    ['batch', { san: 'dns' }, ID],
    ['batch', { trustDomains: [], san: 'dns' }, 'unknown_key'],
    ['dev', {}, 'unknown_key'],
    ['dev', { san: 'dns' }, 'unknown_key'],
    ['two-uris', { san: 'uri' }, 'malformed'],
    ['uri-and-spiffe', { san: 'uri' }, 'malformed'],
    ['dns', { san: 'dns' }, 'partner.example.com'],
    ['dns', {}, 'unknown_key'],
    ['dns', { san: 'email' }, 'unknown_key'],
    ['two-dns', { san: 'dns' }, 'malformed'],
    ['wildcard', { san: 'dns' }, 'unknown_key'],
    ['email', { san: 'email' }, 'ada@example.com'],
    ['none', { san: 'dns' }, 'unknown_key'],
    ['none', { san: 'uri' }, 'unknown_key'],
    ['injected', {}, 'unknown_key'],
    ['injected', { san: 'dns' }, 'unknown_key']
  ]
  for (const [name, more, expected] of rows) {
    const verdict = source('s', more).verify(read(name), NOW)
    t.equal('principal' in verdict ? verdict.principal.subject : verdict.problem, expected, `${name} ${JSON.stringify(more)}`)
  }
  const batch = read('batch')
  const verdict = source('s').verify(batch, NOW)
  t.match(verdict, { principal: { source: 's', sources: ['s'], kind: 'certificate', client: ID, spiffe: ID, scopes: [], groups: [], tenant: null, claims: { dns: ['batch.example.com'] } } })
  t.match(source('s', { san: 'dns' }).verify(read('dns'), NOW), { principal: { spiffe: null } })
  const same = source('s')
  t.equal(same.verify(batch, NOW), same.verify(batch, NOW), 'one principal for a connection')
  t.same(same.verify(batch, batch.until), { problem: 'expired' }, 'a connection outlives its certificate')
  t.same(same.verify(batch, batch.from - 1), { problem: 'expired' })
})

const CERTIFICATES = ['direct', 'mesh', 'front', 'near', 'far', 'prod', 'dev']
const ANY: Requirement = { alternatives: ['partners', ...CERTIFICATES].map(name => [name]), anonymous: false, certificates: new Set(CERTIFICATES), audiences: null }

t.test('certificates, tokens and keys together', async t => {
  const carrier = { in: 'header', name: 'x-key', scheme: null } as const
  const keys = new ApiKeys('partners', carrier, [{ id: 'acme', sha256: keyDigest('k'), client: null, expires: null, groups: [], scopes: [], tenant: null }])
  const xfcc = { from: 'xfcc', proxies: ['192.0.2.1'] } as const
  const both = new Authenticator([keys], [source('direct'), source('mesh', xfcc), source('front', { from: 'rfc9440', proxies: ['192.0.2.1', '192.0.2.2'] })])
  const ask = (authenticator: Authenticator, headers: Record<string, string>, peer = '192.0.2.9', certificate: string | null = null): Authentication =>
    authenticator.authenticate({ headers, query: '', connection: { peer, certificate: certificate === null ? null : read(certificate), last: new LastCredential() } }, ANY, NOW, () => false) as Authentication
  const header = { 'x-forwarded-client-cert': `Hash=${hexOf('web')};URI=spiffe://prod.example.com/ns/web/sa/web` }
  const shown = (found: Authentication): unknown => found.kind === 'caller' ? [...found.principal.sources, found.principal.spiffe] : found.kind === 'failed' ? found.problem : found.kind
  const WEB = 'spiffe://prod.example.com/ns/web/sa/web'
  for (const [name, found, expected] of [
    ['a connection', ask(both, {}, undefined, 'batch'), ['direct', ID]],
    ['a header of a proxy', ask(both, header, '192.0.2.1'), ['mesh', WEB]],
    ['a header of somebody else', ask(both, header), 'missing'],
    ['a header of a proxy of another source', ask(both, header, '192.0.2.2'), 'missing'],
    ['a header of somebody else with a certificate', ask(both, header, '192.0.2.9', 'batch'), ['direct', ID]],
    ['the certificate of a proxy', ask(both, {}, '192.0.2.1', 'batch'), 'missing'],
    ['the certificate of a proxy, and a header', ask(both, header, '192.0.2.1', 'batch'), ['mesh', WEB]],
    ['two headers', ask(both, { ...header, 'client-cert': clientCertOf('batch') }, '192.0.2.1'), 'several'],
    ['one header of two', ask(both, { ...header, 'client-cert': clientCertOf('batch') }, '192.0.2.2'), ['front', ID]],
    ['a header that cannot be read', ask(both, { 'x-forwarded-client-cert': 'x' }, '192.0.2.1'), 'malformed'],
    ['a header that cannot be read, and a key', ask(both, { 'x-forwarded-client-cert': 'x', 'x-key': 'k' }, '192.0.2.1'), 'malformed'],
    ['a key', ask(both, { 'x-key': 'k' }), ['partners', null]],
    ['a key and a certificate', ask(both, { 'x-key': 'k' }, undefined, 'batch'), ['partners', 'direct', ID]],
    ['a key and a certificate for another purpose', ask(both, { 'x-key': 'k' }, undefined, 'dev'), ['partners', null]],
    ['a wrong key and a certificate', ask(both, { 'x-key': 'wrong' }, undefined, 'batch'), 'unknown_key'],
    ['a certificate that no source accepts', ask(both, {}, undefined, 'dev'), 'unknown_key'],
    ['a certificate without a source', ask(new Authenticator([keys]), {}, undefined, 'batch'), 'missing'],
    ['a peer that is gone', ask(both, header, ''), 'missing']
  ] as const) t.same(shown(found), expected, name)
  const [one, two] = [ask(both, { 'x-key': 'k' }, '', 'batch'), ask(both, { 'x-key': 'k' }, '', 'batch')]
  t.match([one, two], [{ principal: { source: 'partners', kind: 'apiKey', subject: 'acme' }, carrier }, { kind: 'caller' }])
  t.same(both.carriers.map(({ in: place }) => place), ['header', 'connection', 'proxy', 'proxy'])
  const strict = (...alternatives: string[][]): Requirement => ({ ...ANY, alternatives })
  for (const [name, requirement, headers, certificate, expected] of [
    ['a key over mTLS', strict(['partners', 'direct']), { 'x-key': 'k' }, 'batch', ['partners', 'direct', ID]],
    ['a key alone', strict(['partners', 'direct']), { 'x-key': 'k' }, null, 'incomplete'],
    ['a key with a certificate for another purpose', strict(['partners', 'direct']), { 'x-key': 'k' }, 'dev', 'incomplete'],
    ['a certificate alone', strict(['partners', 'direct']), {}, 'batch', 'incomplete'],
    ['a certificate where only keys are accepted', strict(['partners']), {}, 'batch', 'source'],
    ['a key and a certificate where only certificates are accepted', strict(['direct']), { 'x-key': 'k' }, 'batch', 'source'],
    ['nothing', strict(['direct']), {}, null, 'missing']
  ] as const) {
    const presented = { headers, query: '', connection: { peer: '', certificate: certificate === null ? null : read(certificate), last: new LastCredential() } }
    t.same(shown(both.authenticate(presented, requirement, NOW, () => false) as Authentication), expected, name)
  }
  const hops = new Authenticator([], [source('near', xfcc), source('far', { from: 'xfcc', proxies: ['192.0.2.3'], hops: 2 })])
  const chain = { 'x-forwarded-client-cert': `${header['x-forwarded-client-cert']},URI=spiffe://prod.example.com/edge` }
  t.same(shown(ask(hops, chain, '192.0.2.3')), ['far', WEB])
  t.same(shown(ask(hops, chain, '192.0.2.1')), 'malformed')
  t.same(shown(ask(hops, header, '192.0.2.3')), 'malformed')
  const twins = new Authenticator([], [source('prod'), source('dev', { trustDomains: ['dev.example.com'] })])
  t.same([shown(ask(twins, {}, '', 'batch')), shown(ask(twins, {}, '', 'dev')), shown(ask(twins, {}, '', 'two-uris'))], [['prod', ID], ['dev', 'spiffe://dev.example.com/ns/jobs/sa/batch'], 'malformed'])
})

t.test('what the agent does not get', async t => {
  const { certificates } = new Authenticator([], [source('mesh', { from: 'xfcc', proxies: ['192.0.2.1'] }), source('front', { from: 'rfc9440', proxies: ['192.0.2.2'] })])
  const headers = ['x-forwarded-client-cert', '1', 'x_forwarded_client_cert', '2', 'X-Forwarded_client-cert'.toLowerCase(), '3', 'client-cert', '4', 'client_cert', '5', 'client-cert-chain', '6', 'x.forwarded.client.cert', '8', 'client.cert', '9', 'a', '7']
  const left = (peer: string): string[] =>
    withoutProxyHeaders(headers, certificates.proxyHeaders, certificates.writtenBy(peer)).filter((_, i) => i % 2 === 1)
  t.same(left('192.0.2.9'), ['7'])
  t.same(left('192.0.2.1'), ['1', '7'], 'a trusted proxy writes one spelling')
  t.same(left('192.0.2.2'), ['4', '6', '7'])
  t.equal(new Authenticator([], [source('direct')]).certificates.proxyHeaders.size, 0)
})
