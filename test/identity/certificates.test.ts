/** Client certificates through a real gateway: over TLS, in headers of proxies, with tokens, and in an application of another team. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { configOf } from '../helpers/gateway.js'
import { rpc, MESSAGE, call, until } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { inTests } from '../helpers/paths.js'
import { fakeAgent } from '../helpers/raw.js'
import { application, configuration, listen } from '../plugin/kit.js'
import { askTls, clientCertOf, CLIENTS, hexOf, LISTENER_CA, pairOf, pemOf, thumbprintOf, tlsServer } from './clients.js'
import { issuerFor, jwtSource, keyOf } from './issuer.js'
import { ACME, guarded, PARTNERS, yamlOf } from './kit.js'

const ID = 'spiffe://prod.example.com/ns/jobs/sa/batch'
const WEB = 'spiffe://prod.example.com/ns/web/sa/web'
const DIRECT = 'direct: {certificate: {from: tls, trustDomains: [prod.example.com], san: dns}}'
const SHOWN = 'telemetry: {logs: {level: silent}, audit: {forwarded: true}}'

const problemOf = (answer: Answer): string | undefined =>
  (answer.json() as { error?: { data?: { metadata?: { problem?: string } }[] } }).error?.data?.[0]?.metadata?.problem

t.test('certificates of the connection', async t => {
  const { gateway, agent } = await guarded(t, { sources: [PARTNERS, DIRECT], root: [tlsServer(), SHOWN], identity: ', audit: subject' })
  const rows: readonly [string, string][] = [['batch', ID], ['web', WEB], ['dns', 'partner.example.com']]
  for (const [name, subject] of rows) {
    const before = gateway.audits().length
    t.equal((await askTls(gateway.url, pairOf(name))).status, 200, name)
    await until(() => gateway.audits().length > before, 'an audit line')
    t.match(gateway.audits().at(-1), { credential: 'certificate', caller: { source: 'direct', id: subject } }, name)
  }
  for (const [name, problem] of [['dev', 'unknown_key'], ['two-uris', 'malformed'], ['two-dns', 'malformed'], ['none', 'unknown_key'], ['wildcard', 'unknown_key'], ['injected', 'unknown_key']] as const) {
    const answer = await askTls(gateway.url, pairOf(name))
    t.same([answer.status, problemOf(answer)], [401, problem], name)
    t.notMatch(answer.text, /access token|prod\.example/, name)
  }
  for (const name of ['stranger', 'server']) await t.rejects(askTls(gateway.url, pairOf(name)), { code: /ECONNRESET|EPIPE|ERR_SSL/ }, `${name}: the listener ends the connection`)
  const nobody = await askTls(gateway.url)
  t.same([nobody.status, problemOf(nobody)], [401, 'missing'])
  t.equal(nobody.headers['www-authenticate'], 'ApiKey realm="agent", header="x-api-key", ClientCertificate realm="agent"')
  t.match(nobody.text, 'or a client certificate with the TLS connection')
  const reached = agent.received.length
  t.equal(reached, rows.length)

  t.equal((await askTls(gateway.url, pairOf('batch'), ['x-api-key', ACME])).status, 200)
  await until(() => gateway.audits().at(-1)?.credential === 'apiKey', 'an audit line')
  t.match(gateway.audits().at(-1), { caller: { source: 'partners', sources: ['partners', 'direct'], id: 'acme' } }, 'the key names the caller')
  t.equal((await askTls(gateway.url, pairOf('dev'), ['x-api-key', ACME])).status, 200, 'a certificate for another purpose')
  t.equal((await askTls(gateway.url, pairOf('batch'), ['x-api-key', 'wrong'])).status, 401, 'a wrong key is never ignored')
  t.equal(await gateway.metric('a2a_gateway_authentications_total{agent="agent",source="direct",outcome="ok"}'), rows.length + 1)
  t.equal(await gateway.metric('a2a_gateway_authentication_duration_seconds_count{source="direct",cache="none"}') > rows.length, true)
})

t.test('the public card, for a certificate that no source accepts', async t => {
  const { gateway } = await guarded(t, { sources: [DIRECT], root: [tlsServer()], extra: ['card: {public: minimal}'] })
  const cards = await Promise.all(['dev', 'batch'].map(async name => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(gateway.url).port), ca: LISTENER_CA, servername: 'localhost', ...pairOf(name) })
    let text = ''
    socket.on('data', (chunk: Buffer) => { text += chunk.toString() })
    socket.write('GET /.well-known/agent-card.json HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
    await new Promise(resolve => socket.once('close', resolve))
    return text
  }))
  t.match(cards[0], /^HTTP\/1\.1 200 .*\r\ncache-control: public/s)
  t.match(cards[1], /^HTTP\/1\.1 200 .*\r\ncache-control: private/s, 'a caller gets a card of its own')
})

t.test('access.require: a key over mTLS', async t => {
  const { gateway, agent } = await guarded(t, { sources: [PARTNERS, DIRECT], root: [tlsServer()], extra: ['access: {require: [[partners, direct]]}'] })
  const key = ['x-api-key', ACME]
  t.equal((await askTls(gateway.url, pairOf('batch'), key)).status, 200)
  for (const [name, client, headers, problem] of [
    ['a key alone', {}, key, 'incomplete'],
    ['a key with a certificate that no source accepts', pairOf('dev'), key, 'incomplete'],
    ['a certificate alone', pairOf('batch'), [], 'incomplete'],
    ['a wrong key', pairOf('batch'), ['x-api-key', 'wrong'], 'unknown_key'],
    ['nothing', {}, [], 'missing']
  ] as const) {
    const answer = await askTls(gateway.url, client, headers)
    t.same([answer.status, problemOf(answer)], [401, problem], name)
  }
  t.equal(agent.received.length, 1)
})

t.test('a resumed session', async t => {
  const open = async (url: string, options: object): Promise<{ session: Buffer | null; answer: string }> => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), ca: LISTENER_CA, servername: 'localhost', ...options })
    let session: Buffer | null = null
    let answer = ''
    socket.on('session', (one: Buffer) => { session = one })
    socket.on('data', (chunk: Buffer) => { answer += chunk.toString() })
    socket.on('error', () => {})
    socket.write('GET /rest/tasks HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\nconnection: close\r\n\r\n')
    await Promise.race([new Promise(resolve => socket.once('close', resolve)), sleep(3_000)])
    socket.destroy()
    return { session, answer }
  }
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
    const { gateway } = await guarded(t, { sources: [DIRECT], root: [tlsServer()] })
    const known = await open(gateway.url, { ...pairOf('batch'), maxVersion })
    t.match(known.answer, /^HTTP\/1\.1 200/, maxVersion)
    t.not(known.session, null, maxVersion)
    t.match((await open(gateway.url, { ...pairOf('batch'), maxVersion, session: known.session })).answer, /^HTTP\/1\.1 200/, `${maxVersion}: resumed`)
    const stranger = await open(gateway.url, { maxVersion })
    t.match(stranger.answer, /^HTTP\/1\.1 401/, maxVersion)
    t.match((await open(gateway.url, { maxVersion, session: stranger.session })).answer, /^HTTP\/1\.1 401/, `${maxVersion}: resumed without a certificate`)

    const strict = await guarded(t, { sources: [DIRECT], root: [tlsServer('require')] })
    const first = await open(strict.gateway.url, { maxVersion })
    t.equal(first.answer, '', `${maxVersion}: no certificate`)
    if (first.session === null) continue
    t.equal((await open(strict.gateway.url, { maxVersion, session: first.session })).answer, '', `${maxVersion}: a session is no way around clientCertificate: require`)
  }
})

const MESH = 'mesh: {certificate: {from: xfcc, proxies: [127.0.0.1/32], trustDomains: [prod.example.com]}}'
const FRONT = 'front: {certificate: {from: rfc9440, proxies: [127.0.0.1/32], trustDomains: [prod.example.com], san: dns}}'
const elsewhere = (source: string): string => source.replace('127.0.0.1/32', '192.0.2.0/24')
const XFCC = `By=spiffe://prod.example.com/ns/a/sa/gateway;Hash=${hexOf('batch')};Subject="CN=x";URI=${ID}`

t.test('certificates in headers of proxies', async t => {
  const send = async (url: string, headers: readonly string[]): Promise<Answer> => await rpc(`${url}/rpc`, 'SendMessage', { message: MESSAGE }, headers)
  const { gateway, agent } = await guarded(t, { sources: [MESH, PARTNERS], root: [SHOWN], identity: ', audit: subject' })
  const names = (): string[] => (agent.received.at(-1)?.rawHeaders ?? []).filter((_, i) => i % 2 === 0).map(name => name.toLowerCase())
  const hidden = (): string[] => names().filter(name => /client.cert/.test(name))

  t.equal((await send(gateway.url, ['x-forwarded-client-cert', XFCC])).status, 200)
  t.same(hidden(), [])
  await until(() => gateway.audits().length === 1, 'an audit line')
  t.match(gateway.audits()[0], { credential: 'certificate', caller: { source: 'mesh', id: ID } })
  t.equal((await send(gateway.url, ['x-forwarded-client-cert', XFCC, 'connection', 'x-forwarded-client-cert'])).status, 200, 'Connection takes no certificate away')
  for (const [name, headers, status] of [
    ['two elements', ['x-forwarded-client-cert', `${XFCC},${XFCC}`], 401],
    ['two lines', ['x-forwarded-client-cert', XFCC, 'X-Forwarded-Client-Cert', XFCC], 401],
    ['two URIs', ['x-forwarded-client-cert', `${XFCC};URI=${WEB}`], 401],
    ['a quote that swallows', ['x-forwarded-client-cert', `Subject="CN=x\\";URI=${ID}`], 401],
    ['only By', ['x-forwarded-client-cert', `By=${ID}`], 401],
    ['another trust domain', ['x-forwarded-client-cert', 'URI=spiffe://dev.example.com/a'], 401],
    ['another spelling', ['x_forwarded_client_cert', XFCC], 401],
    ['another header', ['client-cert', clientCertOf('batch')], 401],
    ['a key, and a header that cannot be read', ['x-forwarded-client-cert', 'x', 'x-api-key', ACME], 401]
  ] as const) t.equal((await send(gateway.url, headers)).status, status, name)
  t.equal(agent.received.length, 2)
  t.match((await send(gateway.url, [])).text, 'a client certificate with the TLS connection')

  t.test('of somebody else', async t => {
    const { gateway, agent } = await guarded(t, {
      sources: [elsewhere(MESH), elsewhere(FRONT), PARTNERS],
      root: ['server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", trustedProxies: [127.0.0.1/32]}'],
      extra: ['passthrough: [/docs]']
    })
    t.equal((await send(gateway.url, ['x-forwarded-client-cert', XFCC])).status, 401)
    t.equal((await send(gateway.url, ['client-cert', clientCertOf('batch')])).status, 401)
    const forged = ['x-forwarded-client-cert', XFCC, 'x-forwarded-client_cert', XFCC, 'X_Forwarded_Client_Cert', XFCC, 'Client-Cert', ':AA==:', 'client_cert', ':AA==:', 'Client-Cert-Chain', ':AA==:']
    for (const more of [[], ['connection', 'x-forwarded-client-cert, client-cert']]) {
      t.equal((await send(gateway.url, [...forged, ...more, 'x-api-key', ACME])).status, 200)
      t.equal((await call(`${gateway.url}/docs/a`, { headers: [...forged, ...more, 'x-api-key', ACME] })).status, 200)
      t.equal((await call(`${gateway.url}/rpc`, { method: 'OPTIONS', headers: [...forged, ...more, 'origin', 'https://a', 'access-control-request-method', 'POST'] })).status, 200)
    }
    t.equal(agent.received.length, 6)
    const seen = agent.received.flatMap(one => one.rawHeaders.filter(text => /client.cert/i.test(text)))
    t.same(seen, [], 'no forged header reaches the agent, although the load balancer is trusted')
  })

  t.test('two headers of one proxy', async t => {
    const { gateway, agent } = await guarded(t, { sources: [MESH, FRONT] })
    const both = await send(gateway.url, ['x-forwarded-client-cert', XFCC, 'client-cert', clientCertOf('batch')])
    t.match([both.status, both.text], [400, /two client certificates/])
    t.equal(agent.received.length, 0)
    t.equal((await send(gateway.url, ['client-cert', clientCertOf('batch')])).status, 200)
  })

  t.test('forwarded to an agent that reads them', async t => {
    const { gateway, agent, dir } = await guarded(t, { sources: [FRONT] })
    const headers = ['client-cert', clientCertOf('dns'), 'client_cert', 'forged']
    t.equal((await send(gateway.url, headers)).status, 200)
    t.equal(agent.received[0]?.headers['client-cert'], undefined, 'not by default')
    const yaml = yamlOf(agent.url, { sources: [FRONT] }).replace('upstream: {', 'upstream: {credentials: {client: forward}, ')
    t.match(await gateway.reload(configOf({ yaml, baseDir: dir })), { ok: true })
    t.equal((await send(gateway.url, headers)).status, 200)
    t.match(agent.received[1]?.headers, { 'client-cert': clientCertOf('dns'), client_cert: undefined }, 'as the proxy wrote it')
    const from = yaml.replace('127.0.0.1/32', '192.0.2.0/24').replace('sources: {', `sources: {${PARTNERS}, `)
    t.match(await gateway.reload(configOf({ yaml: from, baseDir: dir })), { ok: true })
    t.equal((await send(gateway.url, [...headers, 'x-api-key', ACME])).status, 200)
    t.match(agent.received[2]?.headers, { 'client-cert': undefined, client_cert: undefined, 'x-api-key': ACME }, 'never of a stranger')
  })

  t.test('RFC 9440', async t => {
    const { gateway, agent } = await guarded(t, { sources: [FRONT], root: [SHOWN], identity: ', audit: subject' })
    for (const [name, header, status] of [
      ['SPIFFE', clientCertOf('batch'), 200], ['a name', clientCertOf('dns'), 200], ['of another trust domain', clientCertOf('dev'), 401], ['PEM', `:${pemOf('batch').toString('base64')}:`, 401],
      ['two', `${clientCertOf('batch')}, ${clientCertOf('batch')}`, 401], ['not a byte sequence', clientCertOf('batch').slice(1), 401], ['nothing', '', 401]
    ] as const) t.equal((await send(gateway.url, ['client-cert', header])).status, status, name)
    await until(() => gateway.audits().filter(line => line.credential === 'certificate').length === 2, 'audit lines')
    t.same(agent.received.map(one => one.headers['client-cert']), [undefined, undefined])
  })
})

t.test('tokens that are bound to a certificate', async t => {
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  const corp = jwtSource('corp', issuer.url)
  const bound = (name: string): Promise<string> => issuer.token(key, { cnf: { 'x5t#S256': thumbprintOf(name) } })
  const bearer = (token: string): string[] => ['authorization', `Bearer ${token}`]

  t.test('over TLS', async t => {
    for (const sources of [[corp], [corp, DIRECT]]) {
      const { gateway, agent } = await guarded(t, { sources, root: [tlsServer(), SHOWN], identity: ', audit: subject' })
      const token = await bound('batch')
      for (let i = 0; i < 2; i++) {
        t.equal((await askTls(gateway.url, pairOf('batch'), bearer(token))).status, 200, 'its own certificate')
        for (const client of [{}, pairOf('web')]) {
          const answer = await askTls(gateway.url, client, bearer(token))
          t.same([answer.status, problemOf(answer)], [401, 'malformed'], 'a stolen token is worth nothing, also while it is remembered')
        }
      }
      t.equal(agent.received.length, 2)
      for (const [name, cnf] of [
        ['jkt', { jkt: 'x' }], ['both', { 'x5t#S256': thumbprintOf('batch'), jkt: 'x' }], ['SHA-1', { x5t: 'x' }], ['empty', {}], ['text', thumbprintOf('batch')], ['null', null],
        ['hex', { 'x5t#S256': hexOf('batch') }], ['a list', { 'x5t#S256': [thumbprintOf('batch')] }]
      ] as const) t.equal((await askTls(gateway.url, pairOf('batch'), bearer(await issuer.token(key, { cnf })))).status, 401, name)
      const many = await bound('web')
      const answers = await Promise.all(['web', 'batch', 'web', 'batch'].map(name => askTls(gateway.url, pairOf(name), bearer(many))))
      t.same(answers.map(({ status }) => status), [200, 401, 200, 401], 'calls that wait for one verification')
      if (sources.length === 1) continue
      await until(() => gateway.audits().some(line => line.credential === 'jwt'), 'an audit line')
      t.match(gateway.audits().find(line => line.credential === 'jwt'), { caller: { source: 'corp', sources: ['corp', 'direct'], id: 'ada' } })
    }
  })

  t.test('behind a proxy', async t => {
    const { gateway } = await guarded(t, { sources: [corp, MESH] })
    const token = await bound('batch')
    const send = async (headers: readonly string[]): Promise<number> => (await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, [...bearer(token), ...headers])).status
    t.equal(await send(['x-forwarded-client-cert', XFCC]), 200)
    t.equal(await send(['x-forwarded-client-cert', XFCC.replace(hexOf('batch'), hexOf('web'))]), 401)
    t.equal(await send(['x-forwarded-client-cert', `URI=${ID}`]), 401, 'no hash')
    t.equal(await send(['x-forwarded-client-cert', `Hash=${hexOf('batch')};URI=spiffe://dev.example.com/a`]), 200, 'bound, whatever the name')
    t.equal(await send([]), 401)
    const other = await guarded(t, { sources: [corp, elsewhere(MESH)] })
    t.equal((await rpc(`${other.gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, [...bearer(token), 'x-forwarded-client-cert', XFCC])).status, 401, 'a header of a stranger')
  })
})

t.test('a Fastify application with a listener of its own', async t => {
  const agent = await fakeAgent(t)
  const config = configuration([{ name: 'agent', upstream: { url: agent.url } }], {
    identity: { sources: { direct: { certificate: { from: 'tls', trustDomains: ['prod.example.com'] } } } }
  })
  const files = inTests('fixtures/tls')
  const https = {
    cert: readFileSync(join(files, 'right.pem')), key: readFileSync(join(files, 'right.key.pem')), ca: readFileSync(join(CLIENTS, 'ca.pem')), requestCert: true, rejectUnauthorized: false
  }
  const { app, logs } = await application(t, config, { options: { https } as object })
  const url = (await listen(app)).replace('127.0.0.1', 'localhost')
  await until(async () => (await askTls(url, pairOf('batch'))).status === 200, 'the card')
  t.equal((await askTls(url, pairOf('stranger'))).status, 401, 'the application accepts the connection, the gateway does not')
  t.equal((await askTls(url, pairOf('dev'))).status, 401)
  t.equal((await askTls(url)).status, 401)
  t.ok(logs().some(line => String(line.msg).includes('in a Fastify application, its listener must ask for certificates')), 'the warning says what holds')
})
