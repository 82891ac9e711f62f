/** The memory of a connection for its last credential: it saves work, and no check. */
import { createHash } from 'node:crypto'
import { Agent, request } from 'node:http'
import t from 'tap'
import type { Test } from 'tap'
import { JwtSource } from '#identity/jwt-source.js'
import { readJwkSet } from '#identity/jwk-set.js'
import type { VerificationKey } from '#identity/jwk-set.js'
import { isOfScheme, LastCredential } from '#identity/last-credential.js'
import { configOf } from '../helpers/gateway.js'
import { MESSAGE, readAnswer, rpcBody } from '../helpers/http.js'
import { rawExchange } from '../helpers/raw.js'
import { AUDIENCE, issuerFor, jwtSource, keyOf } from './issuer.js'
import { guarded, yamlOf } from './kit.js'

const BODY = rpcBody('SendMessage', { message: MESSAGE })
const SHOWN = 'telemetry: {logs: {level: silent}, audit: {forwarded: true}}'

/** Sends calls on one connection, one after another. */
function oneConnection (t: Test, url: string): (token: string) => Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => { agent.destroy() })
  let calls = 0
  return async token => await new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0', authorization: `Bearer ${token}` }
    const outgoing = request(`${url}/rpc`, { method: 'POST', agent, headers }, incoming => {
      t.equal(outgoing.reusedSocket, calls++ > 0, 'the same connection')
      readAnswer(incoming).then(({ status }) => { resolve(status) }, reject)
    })
    outgoing.on('error', reject).end(BODY)
  })
}

t.test('texts', async t => {
  const last = new LastCredential()
  const headers = [
    'Bearer a.b.c', 'bearer a.b.c', 'BEARER   a.b.c', 'Basic abc', 'Bearer', 'Bearer ', 'Bearer  ', 'Bearer\ta', 'Bearer \ta', ' Bearer a', 'Bearer \u00a0a', 'Bearer é',
    'Bearera', 'Bearer, a', 'Bearer a b', 'basic a', '', `Bearer ${'x'.repeat(9_000)}`
  ]
  const pattern = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) +(\S.*)$/
  for (const scheme of ['bearer', 'basic']) {
    for (const header of [...headers, ...headers.flatMap(one => [one, one, 'Bearer a.b.c', one])]) {
      const found = pattern.exec(header)
      const expected = found?.[1]?.toLowerCase() === scheme ? found[2] : null
      t.equal(last.credentialIn(header, scheme), expected, header.slice(0, 20))
      t.equal(isOfScheme(header, scheme), expected !== null, header.slice(0, 20))
    }
  }
  for (const text of ['', 'a', 'a', 'b', 'a', 'x'.repeat(9_000), 'a', '']) {
    t.equal(last.digestOf(text), createHash('sha256').update(text).digest('base64'))
  }
})

t.test('a source asks about expiry, key and binding each time', async t => {
  const [key, other] = [await keyOf('a'), await keyOf('b')]
  const issuer = await issuerFor(t, [key])
  const keysOf = (jwk: object): readonly VerificationKey[] => {
    const read = readJwkSet(Buffer.from(JSON.stringify({ keys: [jwk] })))
    return 'keys' in read ? read.keys : []
  }
  const keys = { current: keysOf(key.jwk), failing: false, refresh: async () => {} }
  const config = configOf({ yaml: yamlOf('http://127.0.0.1:1', { sources: [jwtSource('corp', issuer.url)] }) })
  const jwt = config.identity?.sources['corp']?.jwt
  if (jwt === undefined) return t.fail('no source')
  const source = new JwtSource('corp', jwt, keys)
  const last = new LastCredential()
  const now = Date.now()
  const ask = async (token: string, more: { readonly now?: number; readonly thumbprint?: string } = {}): Promise<unknown> =>
    await source.verify(token, { now, thumbprint: null, audiences: null, ...more, isThrottled: () => false, last })
  const thumbprint = 'A'.repeat(43)
  const [plain, bound] = [await issuer.token(key, { aud: AUDIENCE }), await issuer.token(key, { cnf: { 'x5t#S256': thumbprint } })]
  for (let i = 0; i < 2; i++) {
    t.match(await ask(plain), { principal: { subject: 'ada' } })
    t.match(await ask(plain, { now: now + 3_600_000 }), { problem: 'expired' })
    t.match(await ask(bound, { thumbprint }), { principal: { subject: 'ada' } })
    t.match(await ask(bound), { problem: 'malformed' }, 'without the certificate')
    t.match(await ask(bound, { thumbprint: 'B'.repeat(43) }), { problem: 'malformed' }, 'with another certificate')
  }
  t.match(await ask(plain), { principal: { subject: 'ada' } })
  keys.current = keysOf(other.jwk)
  t.match(await ask(plain), { problem: 'unknown_key' }, 'the key is revoked')
})

t.test('one connection, many callers', async t => {
  const [key, stranger] = [await keyOf('a'), await keyOf('a')]
  const issuer = await issuerFor(t, [key])
  const { gateway, agent, dir } = await guarded(t, { sources: [jwtSource('corp', issuer.url)], root: [SHOWN], identity: ', audit: subject' })
  const send = oneConnection(t, gateway.url)
  const [ada, bob, forged] = [await issuer.token(key), await issuer.token(key, { sub: 'bob' }), await issuer.token(stranger)]
  t.equal(ada.length, forged.length)
  const statuses: number[] = []
  for (const token of [ada, bob, ada, forged, ada, ada, bob, forged, bob]) statuses.push(await send(token))
  t.same(statuses, [200, 200, 200, 401, 200, 200, 200, 401, 200])
  t.same(
    gateway.audits().flatMap(({ caller }) => (caller === undefined || caller === null ? [] : [(caller as unknown as { id: string }).id])),
    ['ada', 'bob', 'ada', 'ada', 'ada', 'bob', 'bob']
  )
  t.ok(agent.received.every(({ headers }) => headers['authorization'] === undefined), 'the agent gets no token')

  const text = (token: string | null, last = false): string => [
    'POST /rpc HTTP/1.1', 'host: localhost', 'content-type: application/json', 'a2a-version: 1.0', `content-length: ${BODY.length}`,
    ...(token === null ? [] : [`authorization: Bearer ${token}`]), ...(last ? ['connection: close'] : []), '', BODY
  ].join('\r\n')
  const requests = [ada, forged, null, bob].map(token => text(token)).join('') + text(ada, true)
  const pipelined = await rawExchange(gateway.url, requests, { responses: 5 })
  t.same(pipelined.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 401', 'HTTP/1.1 401', 'HTTP/1.1 200', 'HTTP/1.1 200'])

  const elsewhere = jwtSource('corp', issuer.url).replace(AUDIENCE, 'https://elsewhere.example.com')
  const yaml = yamlOf(agent.url, { sources: [elsewhere], root: [SHOWN], identity: ', audit: subject' })
  const report = await gateway.reload(configOf({ yaml, baseDir: dir }))
  t.match(report, { ok: true })
  t.equal(await send(bob), 401, 'a reload counts on connections that are open')
})
