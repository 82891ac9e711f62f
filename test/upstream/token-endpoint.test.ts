/** Requests to token endpoints: what the gateway sends, and every response that it does not accept. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import type { TokenRequest } from '#agents/credentials/token-endpoint.js'
import { TokenConnections } from '#agents/credentials/token-endpoint.js'
import { sendJson, tokenEndpoint } from '../identity/token-endpoint.js'

const connections = new TokenConnections({ cert: null, key: null })
t.teardown(() => connections.close())

const GOOD = { access_token: 'abc', token_type: 'Bearer', expires_in: 300 }
const CANARY = 'words-of-the-endpoint'

const requestTo = (url: string, more: Partial<TokenRequest> = {}): TokenRequest => ({
  endpoint: new URL(url),
  client: { id: 'gate way:1', secret: 'a&b=c:%' },
  auth: 'basic',
  form: [['grant_type', 'client_credentials'], ['scope', 'a b']],
  scopes: ['a', 'b'],
  ...more
})

t.test('what is sent', async t => {
  const endpoint = await tokenEndpoint(t)
  t.same(await connections.request(requestTo(`${endpoint.url}?tenant=1`)), { kind: 'token', token: 'token-1', lifetime: 300_000, status: 200 })
  const [basic] = endpoint.calls
  t.same([...basic?.form ?? []], [['grant_type', 'client_credentials'], ['scope', 'a b']])
  t.equal(Buffer.from((basic?.headers.authorization ?? '').slice(6), 'base64').toString(), 'gate+way%3A1:a%26b%3Dc%3A%25', 'RFC 6749 section 2.3.1')
  t.match(basic?.headers, { 'accept-encoding': 'identity', accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' })
  await connections.request(requestTo(endpoint.url, { auth: 'post' }))
  const [, post] = endpoint.calls
  t.equal(post?.headers.authorization, undefined)
  t.same([post?.form.get('client_id'), post?.form.get('client_secret')], ['gate way:1', 'a&b=c:%'])
})

t.test('responses', async t => {
  const endpoint = await tokenEndpoint(t)
  const good = (more: object): unknown => ({ ...GOOD, ...more })
  const accepted: readonly [string, unknown, number][] = [
    ['all members', good({ scope: 'b a', issued_token_type: 'urn:ietf:params:oauth:token-type:access_token', refresh_token: 'x' }), 300_000],
    ['fewer scopes', good({ scope: 'a' }), 300_000],
    ['no expires_in', { access_token: 'abc', token_type: 'bearer' }, 300_000],
    ['expires_in as text', good({ expires_in: '60' }), 60_000],
    ['a long life', good({ expires_in: 1e300 }), 86_400_000]
  ]
  for (const [name, body, lifetime] of accepted) {
    endpoint.answer = (_call, response) => { sendJson(response, body) }
    t.same(await connections.request(requestTo(endpoint.url)), { kind: 'token', token: 'abc', lifetime, status: 200 }, name)
  }

  const json = (body: unknown, status = 200) => (response: ServerResponse): void => { sendJson(response, body, status) }
  const raw = (headers: Record<string, string>, body: string | Buffer, status = 200) => (response: ServerResponse): void => {
    response.writeHead(status, headers).end(body)
  }
  const wrong: readonly [string, (response: ServerResponse) => void, string][] = [
    ['HTML', raw({ 'content-type': 'text/html' }, `<html>${CANARY}`), 'responded with 200 and no JSON'],
    ['HTML of an error', raw({ 'content-type': 'text/html' }, `<html>${CANARY}`, 400), 'responded with 400 and no JSON'],
    ['no content type', raw({}, JSON.stringify(GOOD)), 'responded with 200 and no JSON'],
    ['a redirect', raw({ location: 'http://169.254.169.254/', 'content-type': 'application/json' }, JSON.stringify(GOOD), 302), 'responded with 302; the gateway follows no redirect'],
    ['a redirect that keeps the method', raw({ location: '/other' }, '', 307), 'responded with 307; the gateway follows no redirect'],
    [
      'gzip',
      raw({ 'content-type': 'application/json', 'content-encoding': 'gzip' }, gzipSync(JSON.stringify(GOOD))),
      'responded with a content-encoding, although the request accepted none'
    ],
    ['another status', raw({ 'content-type': 'application/json' }, JSON.stringify(GOOD), 201), 'responded with 201'],
    ['no object', json([GOOD]), 'responded with 200 and JSON that cannot be read'],
    ['two tokens', raw({ 'content-type': 'application/json' }, '{"access_token":"a","access_token":"b","token_type":"bearer"}'), 'responded with 200 and JSON that cannot be read'],
    ['too large', json(good({ filler: 'x'.repeat(70_000) })), 'responded with more than 64 KiB'],
    ['endless', endless, 'responded with more than 64 KiB'],
    ['no token', json({ token_type: 'bearer' }), 'responded with a token that a header cannot contain'],
    ['an empty token', json(good({ access_token: '' })), 'responded with a token that a header cannot contain'],
    ['a token with a line break', json(good({ access_token: 'a\r\nx-admin: 1' })), 'responded with a token that a header cannot contain'],
    ['a token with a blank', json(good({ access_token: 'a b' })), 'responded with a token that a header cannot contain'],
    ['a token beyond ASCII', json(good({ access_token: 'é' })), 'responded with a token that a header cannot contain'],
    ['a token that is too long', json(good({ access_token: 'x'.repeat(17_000) })), 'responded with a token that a header cannot contain'],
    ['a bound token', json(good({ token_type: 'DPoP' })), 'responded with a token that is not a bearer token'],
    ['no type', json(good({ token_type: undefined })), 'responded with a token that is not a bearer token'],
    ['an ID token', json(good({ issued_token_type: 'urn:ietf:params:oauth:token-type:id_token' })), 'responded with a token that is not an access token'],
    ['a wider scope', json(good({ scope: 'a b admin' })), 'responded with a token that has other scopes than the requested ones'],
    ['a scope that is no text', json(good({ scope: ['a'] })), 'responded with a token that has other scopes than the requested ones'],
    ['a life that is no number', json(good({ expires_in: 'soon' })), 'responded with an expires_in that is not a number of seconds'],
    ['a negative life', json(good({ expires_in: -1 })), 'responded with an expires_in that is not a number of seconds'],
    ['a known error', json({ error: 'invalid_client', error_description: CANARY }, 401), 'responded with 401 invalid_client'],
    ['an error of its own', json({ error: CANARY, error_description: CANARY }, 400), 'responded with 400']
  ]
  for (const [name, answer, problem] of wrong) {
    endpoint.answer = (_call, response) => { answer(response) }
    const found = await connections.request(requestTo(endpoint.url))
    t.match(found, { kind: 'failed', problem: `${endpoint.url} ${problem}`, down: false }, name)
    t.notMatch(JSON.stringify(found), CANARY, name)
  }
  for (const status of [429, 500, 503]) {
    endpoint.answer = (_call, response) => { response.writeHead(status).end(CANARY) }
    t.same(await connections.request(requestTo(endpoint.url)), { kind: 'failed', problem: `${endpoint.url} responded with ${status}`, status, down: true })
  }
  endpoint.answer = (_call, response) => { sendJson(response, { error: 'invalid_grant', error_description: CANARY }, 400) }
  t.same(await connections.request(requestTo(endpoint.url)), { kind: 'rejected', status: 400 })
  const before = endpoint.calls.length
  endpoint.answer = (_call, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'set-cookie': `session=${CANARY}` }).end(JSON.stringify(GOOD))
  }
  for (let i = 0; i < 2; i++) t.match(await connections.request(requestTo(endpoint.url)), { kind: 'token' })
  t.equal(endpoint.calls.length, before + 2)
  t.equal(endpoint.calls.at(-1)?.headers.cookie, undefined, 'the gateway keeps no cookies')
})

function endless (response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  const more = (): void => {
    while (!response.destroyed && response.write(' '.repeat(16_384)));
  }
  response.on('drain', more)
  more()
}

t.test('endpoints that do not respond', async t => {
  const endpoint = await tokenEndpoint(t)
  endpoint.answer = (_call, response) => { response.socket?.destroy() }
  t.match(await connections.request(requestTo(endpoint.url)), { kind: 'failed', problem: `${endpoint.url} cannot be reached: UND_ERR_SOCKET`, status: null, down: true })
  await endpoint.stop()
  t.match(await connections.request(requestTo(endpoint.url)), { problem: `${endpoint.url} cannot be reached: ECONNREFUSED`, down: true })
  const noise = createServer(socket => {
    socket.on('error', () => {})
    socket.write('SSH-2.0-x\r\n')
  })
  noise.listen(0, '127.0.0.1')
  await once(noise, 'listening')
  t.teardown(() => noise.close())
  const { port } = noise.address() as { port: number }
  t.match(await connections.request(requestTo(`http://127.0.0.1:${port}/t`)), { kind: 'failed', down: true })

  const slow = await tokenEndpoint(t)
  slow.answer = (_call, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const timer = setInterval(() => response.write(' '), 100)
    response.on('close', () => { clearInterval(timer) })
  }
  const begin = performance.now()
  t.match(await connections.request(requestTo(slow.url)), { problem: `${slow.url} did not respond within 5000 ms`, down: true })
  t.ok(performance.now() - begin < 8_000)
})
