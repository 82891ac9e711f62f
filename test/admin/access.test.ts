/** `server.adminAccess`: who may read `/agents` and the console, with a credential or with a browser's session. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { keyDigest } from '#identity/api-keys.js'
import type { GatewayOptions, TestGateway } from '../helpers/gateway.js'
import { configOf, gatewayFor } from '../helpers/gateway.js'
import { call, open, rpc } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { AUDIENCE } from '../identity/issuer.js'
import { ACME, GONE, keyFiles, PARTNERS, PEOPLE, USER } from '../identity/kit.js'
import { privateKey, provider } from '../identity/provider.js'
import { escapedNames, poisonEngine } from '../wire/fixtures/escaped-names.js'

const PROTECTED = ['/agents', '/console/api/status', '/console/api/overview', '/console/api/decisions', '/console/api/try', '/console/api/unknown', '/docs/', '/docs/style.css', '/docs/reasons/RATE_LIMITED']
const OPEN = ['/livez', '/readyz', '/metrics', '/console/', '/console/main.js', '/console/sign-in.html', '/console/sign-in.js', '/console/console.css']

interface Protected {
  readonly gateway: TestGateway
  readonly dir: string
  /** Loads the configuration again, with other settings of `server.adminAccess` or the same. */
  reload (changed?: string): Promise<unknown>
}

/** @param more further sources, as YAML flow mappings */
async function protectedGateway (t: Test, access: string, more: readonly string[] = []): Promise<Protected> {
  const agent = await fakeAgent(t)
  const dir = keyFiles(t)
  const optionsOf = (adminAccess: string): GatewayOptions => ({
    baseDir: dir,
    yaml: `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, adminAccess: ${adminAccess}}
identity: {sources: {${[PARTNERS, PEOPLE, ...more].join(', ')}}}
agents: [{name: agent, upstream: {url: "${agent.url}"}}]`
  })
  const gateway = await gatewayFor(t, optionsOf(access))
  return { gateway, dir, reload: async (changed = access) => await gateway.reload(configOf(optionsOf(changed))) }
}

const flat = (headers: Readonly<Record<string, string>>): string[] => Object.entries(headers).flat()
const basic = (user: string, key: string): { authorization: string } => ({ authorization: `Basic ${Buffer.from(`${user}:${key}`).toString('base64')}` })

t.test('nobody reads data without a credential; probes, metrics and files stay open', async t => {
  const { gateway } = await protectedGateway(t, '{sources: [people]}')
  for (const path of PROTECTED) {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'OPTIONS']) {
      const { status } = await call(`${gateway.adminUrl}${path}`, { method })
      t.ok([401, 403, 405].includes(status), `${method} ${path}: ${status}`)
      if (path.startsWith('/console/')) t.equal(status, 401, `${method} ${path}`)
    }
  }
  for (const path of OPEN) t.equal((await call(`${gateway.adminUrl}${path}`)).status, 200, path)
  const { headers } = await call(`${gateway.adminUrl}/agents`)
  t.match(headers['www-authenticate'], /Basic realm="admin"/)
})

t.test('a credential with each request', async t => {
  const { gateway } = await protectedGateway(t, '{sources: [people, partners], allow: [{source: [people]}, {groups: [finance]}]}')
  const rows: readonly (readonly [Record<string, string>, number, RegExp])[] = [
    [basic('ada', USER), 200, /"agent"/],
    [{ 'x-api-key': ACME }, 200, /"agent"/],
    [{ 'x-api-key': GONE }, 401, /the credential is not valid \(expired\)/],
    [{ 'x-api-key': 'guess' }, 401, /the credential is not valid \(unknown_key\)/],
    [{ ...basic('ada', USER), 'x-api-key': ACME }, 401, /two sources/]
  ]
  for (const [headers, status, body] of rows) {
    const response = await call(`${gateway.adminUrl}/agents`, { headers: flat(headers) })
    t.equal(response.status, status)
    t.match(response.text, body)
    t.equal((await call(`${gateway.adminUrl}/console/api/status`, { headers: flat(headers) })).status, status)
  }
})

t.test('callers of other sources, and callers that no condition allows', async t => {
  const { gateway } = await protectedGateway(t, '{sources: [partners], allow: [{groups: [admins]}]}')
  const rows: readonly (readonly [Record<string, string>, number])[] = [[basic('ada', USER), 401], [{ 'x-api-key': ACME }, 403]]
  for (const [headers, status] of rows) {
    const response = await call(`${gateway.adminUrl}/agents`, { headers: flat(headers) })
    t.equal(response.status, status)
    t.notMatch(response.text, /admins|partners/)
  }
})

t.test('a browser signs in, reads, and signs out', async t => {
  const { gateway, dir, reload } = await protectedGateway(t, '{sources: [people, partners], session: 1h}')
  const session = `${gateway.adminUrl}/console/api/session`
  const page = { origin: gateway.adminUrl, 'content-type': 'application/json' }
  const signIn = (body: unknown, headers: Record<string, string> = page): ReturnType<typeof call> =>
    call(session, { method: 'POST', headers: flat(headers), body: JSON.stringify(body) })

  t.equal((await signIn({ user: 'ada', credential: USER }, { 'content-type': 'application/json' })).status, 403, 'not a page of the console')
  t.equal((await signIn({ user: 'ada', credential: USER }, { ...page, origin: 'https://evil.example' })).status, 403, 'a foreign page')
  for (const wrong of [null, 1, [], {}, { credential: '' }, { credential: 'a\nb' }, { user: 1, credential: 'a' }]) {
    t.equal((await signIn(wrong)).status, 400, JSON.stringify(wrong))
  }
  t.equal((await signIn({ credential: 'x'.repeat(20_000) })).status, 413)
  const text = JSON.stringify({ user: 'ada', credential: USER })
  for (const name of escapedNames(text)) {
    poisonEngine(name)
    const { status } = await call(session, { method: 'POST', headers: flat(page), body: name.text })
    t.equal(status, 204, `an escaped name is the same name: ${name.label}`)
  }
  const denied = await signIn({ credential: 'guess' })
  t.equal(denied.status, 401)
  t.equal(denied.headers['www-authenticate'], undefined, "the browser's own dialog stays closed")
  t.equal(denied.headers['set-cookie'], undefined)
  t.equal((await call(session)).status, 405)

  for (const given of [{ user: 'ada', credential: USER }, { credential: ACME }]) {
    const response = await signIn(given)
    t.equal(response.status, 204)
    const [cookie = ''] = [response.headers['set-cookie']].flat()
    t.match(cookie, /^a2a_gateway_session=[\w-]{43}; Path=\/; Max-Age=3600; HttpOnly; SameSite=Strict$/)
    const headers = { cookie: cookie.split(';')[0] ?? '' }
    const status = async (more: Record<string, string> = {}): Promise<number> =>
      (await call(`${gateway.adminUrl}/agents`, { headers: flat({ ...headers, ...more }) })).status
    t.equal(await status(), 200)
    t.equal(await status({ cookie: `${headers.cookie}; ${headers.cookie}` }), 401, 'two cookies are none')
    t.equal(await status({ cookie: `${headers.cookie}x` }), 401)
    t.equal(await status({ 'x-api-key': 'guess' }), 401, 'a session does not hide a wrong credential')
    t.match((await call(`${gateway.adminUrl}/console/api/status`, { headers: flat(headers) })).text, /"signOut":true/)
    t.equal((await call(session, { method: 'DELETE', headers: flat(headers) })).status, 403, 'a foreign page cannot sign out')
    if (!('user' in given)) {
      writeFileSync(join(dir, 'partners.yaml'), `- {id: other, sha256: ${keyDigest('another-key')}}\n`)
      await reload()
      t.equal(await status(), 401, 'a revoked key ends the session')
    } else {
      t.equal((await call(session, { method: 'DELETE', headers: flat({ ...page, ...headers }) })).status, 204)
      t.equal(await status(), 401)
    }
  }
})

t.test('guesses are slowed down', async t => {
  const { gateway } = await protectedGateway(t, '{sources: [people]}')
  const statuses = new Set<number>()
  for (let i = 0; i < 60; i++) statuses.add((await call(`${gateway.adminUrl}/agents`, { headers: flat(basic('ada', `guess-${i}`)) })).status)
  t.same([...statuses], [401, 429])
  t.equal((await call(`${gateway.adminUrl}/agents`, { headers: flat(basic('ada', USER)) })).status, 200, 'the right credential still works')
})

t.test('without the setting everybody who reaches the listener reads', async t => {
  const { gateway } = await protectedGateway(t, 'null')
  for (const path of ['/agents', '/console/api/status']) t.equal((await call(`${gateway.adminUrl}${path}`)).status, 200)
  t.equal((await call(`${gateway.adminUrl}/console/api/session`)).status, 404)
})

/** A stream of decisions. @returns when the gateway has ended it */
async function stream (gateway: TestGateway, headers: readonly string[] = []): Promise<{ readonly ended: Promise<unknown> }> {
  const request = open(`${gateway.adminUrl}/console/api/decisions`, { headers })
  request.on('error', () => {})
  request.end()
  const [response] = await once(request, 'response') as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`)
  response.on('error', () => {})
  response.resume()
  // `once` of events would reject: a stream that ends early is an error for the client.
  return { ended: new Promise(resolve => { response.once('close', resolve) }) }
}

t.test('a reload protects the listener, changes who may use it, and opens it again', async t => {
  const { gateway, reload } = await protectedGateway(t, 'null')
  const agents = async (headers: Record<string, string> = {}): Promise<number> =>
    (await call(`${gateway.adminUrl}/agents`, { headers: flat(headers) })).status
  const { ended } = await stream(gateway)
  t.match(await reload('{sources: [people]}'), { ok: true, settings: ['server.adminAccess'], needsRestart: [] })
  t.equal(await agents(), 401)
  t.equal(await agents(basic('ada', USER)), 200)
  t.equal((await call(`${gateway.adminUrl}/console/api/status`)).status, 401)
  await t.resolves(ended, 'an open stream without a credential ends')
  await reload('{sources: [partners]}')
  t.equal(await agents(basic('ada', USER)), 401)
  t.equal(await agents({ 'x-api-key': ACME }), 200)
  await reload('null')
  t.equal(await agents(), 200)
})

t.test('a stream ends with the credential that opened it', async t => {
  const { gateway, dir, reload } = await protectedGateway(t, '{sources: [partners]}')
  const { ended } = await stream(gateway, flat({ 'x-api-key': ACME }))
  writeFileSync(join(dir, 'partners.yaml'), `- {id: other, sha256: ${keyDigest('another-key')}}\n`)
  await reload()
  await t.resolves(ended, 'by the gateway')
})

t.test('two audiences, one issuer: a token for an agent does not open the admin listener', async t => {
  const ADMIN = 'https://agents.example.com/admin'
  const issuer = await provider(t, [await privateKey('key', 'ES256')])
  const source = `corp: {jwt: {issuer: "${issuer.url}", audience: ["${AUDIENCE}", "${ADMIN}"], keys: discover}}`
  const { gateway, reload } = await protectedGateway(t, `{sources: [corp, partners], audience: ["${ADMIN}"]}`, [source])
  const bearer = async (audience: string): Promise<Record<string, string>> => ({ authorization: `Bearer ${await issuer.token(undefined, audience)}` })
  const [agents, admin] = [await bearer(AUDIENCE), await bearer(ADMIN)]
  t.equal((await rpc(`${gateway.url}/rpc`, 'SendMessage', undefined, flat(agents))).status, 200, 'the gateway remembers the token')
  const statuses = async (headers: Record<string, string>): Promise<number[]> => {
    const found: number[] = []
    for (const path of ['/agents', '/console/api/status']) found.push((await call(`${gateway.adminUrl}${path}`, { headers: flat(headers) })).status)
    return found
  }
  const unseen = await bearer(AUDIENCE)
  for (const token of [agents, unseen, unseen]) t.same(await statuses(token), [401, 401])
  for (let i = 0; i < 2; i++) t.same(await statuses(admin), [200, 200])
  t.same(await statuses({ 'x-api-key': ACME }), [200, 200], 'callers without a token have no audience')
  const rejected = await call(`${gateway.adminUrl}/agents`, { headers: flat(agents) })
  t.match(rejected.text, /the credential is not valid \(audience\)/)
  t.notMatch(rejected.text + JSON.stringify(rejected.headers), /agents\.example\.com/, 'the rejection does not say which audience counts')

  const signIn = async (token: Record<string, string>): ReturnType<typeof call> => await call(`${gateway.adminUrl}/console/api/session`, {
    method: 'POST',
    headers: flat({ origin: gateway.adminUrl, 'content-type': 'application/json' }),
    body: JSON.stringify({ credential: token['authorization']?.slice('Bearer '.length) })
  })
  t.equal((await signIn(agents)).status, 401)
  const signedIn = await signIn(admin)
  t.equal(signedIn.status, 204)
  const session = { cookie: [signedIn.headers['set-cookie']].flat()[0]?.split(';')[0] ?? '' }
  t.same(await statuses(session), [200, 200])

  const { ended } = await stream(gateway, flat(admin))
  t.match(await reload(`{sources: [corp], audience: ["${AUDIENCE}"]}`), { ok: true, settings: ['server.adminAccess'], needsRestart: [] })
  await ended
  t.same([await statuses(agents), await statuses(admin), await statuses(session)], [[200, 200], [401, 401], [401, 401]], 'another audience')
  await reload('{sources: [corp]}')
  t.same([await statuses(agents), await statuses(admin)], [[200, 200], [200, 200]], 'without the key, every audience of the source counts')
})

t.test('the brake counts by the address of the client behind a trusted proxy', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, {
    baseDir: keyFiles(t),
    yaml: `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, trustedProxies: [127.0.0.1/32], adminAccess: {sources: [partners]}}
identity: {sources: {${PARTNERS}}}
agents: [{name: agent, upstream: {url: "${agent.url}"}}]`
  })
  const statusOf = async (from: string): Promise<number> =>
    (await call(`${gateway.adminUrl}/agents`, { headers: ['x-api-key', 'guess', 'x-forwarded-for', from] })).status
  const statuses: number[] = []
  for (let i = 0; i < 60; i++) statuses.push(await statusOf('192.0.2.66'))
  t.equal(statuses.at(-1), 429, 'the guesses of one address are braked')
  t.equal(await statusOf('192.0.2.7'), 401, 'another client behind the same proxy is not')
})
