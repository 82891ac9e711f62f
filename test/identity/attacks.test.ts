/** Attacks on tokens, keys and headers, as a table: what does not reach the agent, and what the gateway says. */
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { call, JSON_TYPE, MESSAGE, open, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { configOf, gatewayFor } from '../helpers/gateway.js'
import { RawGrpc } from '../helpers/grpc-raw.js'
import { fakeAgent, rawExchange } from '../helpers/raw.js'
import { grpcAgent, HELLO } from '../front/grpc-kit.js'
import { AUDIENCE, issuerFor, jwtSource, keyOf } from './issuer.js'
import { ACME, guarded, PARTNERS } from './kit.js'

const bearer = (token: string): string[] => ['authorization', `Bearer ${token}`]
const send = (url: string, headers: readonly string[] = []): Promise<Answer> => rpc(`${url}/rpc`, 'SendMessage', { message: MESSAGE }, headers)
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

t.test('tokens', async t => {
  const [key, attacker] = [await keyOf('a'), await keyOf('b', 'RS256')]
  const issuer = await issuerFor(t, [key])
  const contacted: string[] = []
  const trap = createServer((request, response) => {
    contacted.push(request.url ?? '')
    response.end(JSON.stringify({ keys: [attacker.jwk] }))
  })
  await new Promise<void>(resolve => { trap.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => trap.close())
  const { port } = trap.address() as { port: number }
  const evil = `http://127.0.0.1:${port}`
  const billing = jwtSource('billing', issuer.url)
  const { gateway, agent } = await guarded(t, {
    sources: [billing, PARTNERS],
    root: ['server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", trustedProxies: [127.0.0.1/32]}']
  })
  const good = await issuer.token(key)
  const [head = '', claims = '', signature = ''] = good.split('.')
  const inner = await issuer.token(key)
  const rows: readonly [string, readonly string[], number][] = [
    ['x5c with the key of an attacker', bearer(await issuer.token({ ...attacker, kid: 'b' }, {}, { x5c: [Buffer.from('x').toString('base64')] })), 401],
    ['x5u and jku of an attacker', bearer(await issuer.token({ ...attacker, kid: 'b' }, {}, { jku: `${evil}/jwks`, x5u: `${evil}/x5u` })), 401],
    ['jwk of an attacker under a known kid', bearer(await issuer.token({ ...attacker, kid: 'a' }, {}, { jwk: attacker.jwk })), 401],
    ['a kid that is a URL', bearer(await issuer.token({ ...attacker, kid: `${evil}/key` })), 401],
    ['a kid of 8 KiB', bearer(await issuer.token(key, {}, { kid: 'k'.repeat(8_192) })), 401],
    ['a kid named as a property of objects', bearer(await issuer.token({ ...key, kid: '__proto__' })), 401],
    ['a token in a token', bearer(await issuer.token(attacker, { token: inner }, { cty: 'JWT', kid: 'b' })), 401],
    ['alg in another case', bearer(`${encoded({ alg: 'es256', kid: 'a' })}.${claims}.${signature}`), 401],
    ['alg none in another case', bearer(`${encoded({ alg: 'nOnE' })}.${claims}.`), 401],
    ['no alg', bearer(`${encoded({ kid: 'a' })}.${claims}.${signature}`), 401],
    ['a list of algorithms', bearer(`${encoded({ alg: ['ES256'], kid: 'a' })}.${claims}.${signature}`), 401],
    ['an empty signature', bearer(`${head}.${claims}.AA`), 401],
    ['a signature in DER form', bearer(`${head}.${claims}.${Buffer.from('3006020101020101', 'hex').toString('base64url')}`), 401],
    ['a signature of zeros', bearer(`${head}.${claims}.${Buffer.alloc(64).toString('base64url')}`), 401],
    ['claims of another token', bearer(`${head}.${(await issuer.token(key, { sub: 'root' })).split('.')[1] ?? ''}.${signature}`), 401],
    ['claims that are a list', bearer(`${head}.${encoded([])}.${signature}`), 401],
    ['base64 with padding', bearer(`${head}=.${claims}.${signature}`), 401],
    ['blanks in the token', bearer(`${head}. ${claims}.${signature}`), 401],
    ['text behind the token', bearer(`${good}, ${good}`), 401],
    ['aud as an object', bearer(await issuer.token(key, { aud: { 0: AUDIENCE } as unknown as string })), 401],
    ['aud in another case', bearer(await issuer.token(key, { aud: AUDIENCE.toUpperCase() })), 401],
    ['iss in another case', bearer(await issuer.token(key, { iss: issuer.url.toUpperCase() })), 401],
    ['iss as a list', bearer(await issuer.token(key, { iss: [issuer.url] })), 401],
    ['sub as a number', bearer(await issuer.token(key, { sub: 7 })), 401],
    ['an empty sub', bearer(await issuer.token(key, { sub: '' })), 401],
    ['a negative exp', bearer(await issuer.token(key, { exp: -1 })), 401],
    ['nbf as text', bearer(await issuer.token(key, { nbf: 'now' as unknown as number }).catch(() => `${head}.${encoded({ nbf: 'now' })}.${signature}`)), 401],
    ['a token and an API key', [...bearer(good), 'x-api-key', ACME], 400],
    ['two Authorization lines', [...bearer(good), ...bearer(good)], 400],
    ['two Authorization lines, one Basic', [...bearer(good), 'authorization', 'Basic YTpi'], 400],
    ['Proxy-Authorization', ['proxy-authorization', `Bearer ${good}`], 401],
    ['a token in X-Forwarded-Authorization', ['x-forwarded-authorization', `Bearer ${good}`], 401],
    ['X-Forwarded-Uri and X-Original-Url of a public path', ['x-forwarded-uri', '/.well-known/agent-card.json', 'x-original-url', '/.well-known/agent-card.json'], 401],
    ['X-Forwarded-User, X-Auth-Request-User and Remote-User', ['x-forwarded-user', 'root', 'x-auth-request-user', 'root', 'remote-user', 'root'], 401],
    ['an API key that Connection names', ['x-api-key', 'wrong', 'connection', 'x-api-key'], 401],
    ['a token of 1 MiB', bearer('a'.repeat(1_048_576)), 431]
  ]
  for (const [i, [name, headers, status]] of rows.entries()) {
    const answer = await send(gateway.url, [...headers, 'x-forwarded-for', `198.51.100.${i}`]).catch((error: unknown) => ({ status: String(error), text: '' }))
    t.equal(answer.status, status, `${name}: ${answer.text}`)
  }
  t.equal(agent.received.length, 0)
  t.same(contacted, [], 'nothing that a token names is contacted')

  t.equal((await send(gateway.url, ['x-api-key', ACME, 'connection', 'x-api-key'])).status, 200)
  t.equal(agent.received[0]?.headers['x-api-key'], undefined, 'Connection: x-api-key changes nothing')
  const twice = await rawExchange(gateway.url, `POST /rpc HTTP/1.1\r\nhost: a\r\nAuthorization: Bearer ${good}\r\n authorization: x\r\ncontent-length: 0\r\n\r\n`, { until: 'close' })
  t.match(twice, /^HTTP\/1\.1 400/, 'a folded line')
})

t.test('two agents, two audiences, one issuer', async t => {
  const NAMES = ['billing', 'payroll'] as const
  const audienceOf = (name: string): string => `https://agents.example.com/${name}`
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  const identity = `identity: {sources: {corp: {jwt: {issuer: "${issuer.url}", audience: ${JSON.stringify(NAMES.map(audienceOf))}, keys: discover}}}}`
  const tokenFor = async (...names: readonly string[]): Promise<string> => await issuer.token(key, { aud: names.length === 1 ? audienceOf(names[0] ?? '') : names.map(audienceOf) })
  const [billing, payroll, both] = [await tokenFor('billing'), await tokenFor('payroll'), await tokenFor('billing', 'payroll')]
  /** Twice: the second time, the gateway remembers the token. */
  const ROWS = [['billing', billing, true], ['payroll', billing, false], ['billing', payroll, false], ['payroll', payroll, true], ['billing', both, true], ['payroll', both, true]] as const

  t.test('over HTTP', async t => {
    const agents = { billing: await fakeAgent(t), payroll: await fakeAgent(t) }
    const yaml = (audience: (name: string) => string): string => [
      'agents:',
      ...NAMES.map(name => `  - {name: ${name}, path: /${name}, upstream: {url: "${agents[name].url}"}, passthrough: [/docs], access: {${audience(name)}}}`),
      identity
    ].join('\n')
    const gateway = await gatewayFor(t, { yaml: yaml(name => `audience: ["${audienceOf(name)}"]`) })
    for (const [name, token, accepted] of [...ROWS, ...ROWS]) {
      const base = `${gateway.url}/${name}`
      const before = agents[name].received.length
      const answers = [
        await send(base, bearer(token)),
        await call(`${base}/rest/tasks/1`, { headers: [...V1, ...bearer(token)] }),
        await call(`${base}/docs/a`, { headers: bearer(token) })
      ]
      t.same(answers.map(({ status }) => status), accepted ? [200, 200, 200] : [401, 401, 401], name)
      t.equal(agents[name].received.length - before, accepted ? 3 : 0)
      if (accepted) continue
      const [rejected] = answers
      t.match(rejected?.text, /"problem":"audience"/)
      t.notMatch(rejected?.text, audienceOf(name), 'the rejection does not say which audience counts')
      const challenge = String(rejected?.headers['www-authenticate'])
      t.match(challenge, /error="invalid_token", error_description="The access token is for another audience; request one for this agent."/)
      const metadata = /resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? ''
      t.match(await (await fetch(metadata)).json(), { resource: base, authorization_servers: [issuer.url] }, 'the metadata are of this agent')
    }
    t.equal(await gateway.metric('a2a_gateway_authentications_total{agent="payroll",source="corp",outcome="audience"}'), 6)
    const reloaded = await gateway.reload(configOf({ yaml: yaml(() => 'audience: null') }))
    t.ok(reloaded.ok)
    t.equal((await send(`${gateway.url}/payroll`, bearer(billing))).status, 200, 'without the key, every audience of the source counts')
    t.ok((await gateway.reload(configOf({ yaml: yaml(name => (name === 'billing' ? 'audience: null' : '')) + `\naccessDefaults: {audience: ["${audienceOf('payroll')}"]}` }))).ok)
    t.same([(await send(`${gateway.url}/payroll`, bearer(billing))).status, (await send(`${gateway.url}/billing`, bearer(billing))).status], [401, 200], 'accessDefaults')
  })

  t.test('over gRPC', async t => {
    const agents = { billing: await grpcAgent(t), payroll: await grpcAgent(t) }
    const gateway = await gatewayFor(t, {
      yaml: [
        'server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", grpc: {listen: "127.0.0.1:0", publicAddress: "agent.test:443"}}',
        'agents:',
        ...NAMES.map(name => `  - {name: ${name}, host: ${name}.test, upstream: {url: "${agents[name].url}"}, grpc: {upstream: "grpc://127.0.0.1:${agents[name].port}"}, access: {audience: ["${audienceOf(name)}"]}}`),
        identity
      ].join('\n')
    })
    const client = await RawGrpc.to(gateway.grpc[0] as string)
    t.teardown(() => { client.close() })
    for (const [name, token, accepted] of [...ROWS, ...ROWS]) {
      const before = agents[name].calls.length
      const { status, message } = await client.call({ body: HELLO, headers: { ':authority': `${name}.test`, authorization: `Bearer ${token}` } })
      t.equal(status, accepted ? 0 : 16, `${name}: ${message}`)
      t.equal(agents[name].calls.length - before, accepted ? 1 : 0)
    }
  })

  t.test('a token together with another credential', async t => {
    const { gateway, agent } = await guarded(t, {
      sources: [identity.slice('identity: {sources: {'.length, -2), PARTNERS],
      extra: [`access: {audience: ["${audienceOf('billing')}"], require: [[partners, corp], [partners]]}`]
    })
    t.equal((await send(gateway.url, ['x-api-key', ACME, ...bearer(billing)])).status, 200)
    t.equal((await send(gateway.url, ['x-api-key', ACME, ...bearer(payroll)])).status, 401, 'whichever source names the caller')
    t.equal((await send(gateway.url, ['x-api-key', ACME])).status, 200, 'callers without a token need none')
    t.equal(agent.received.length, 2)
  })
})

t.test('a token that expires on an open stream', async t => {
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  let stream: ServerResponse | null = null
  const event = '{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"ok"}]}}}'
  const { gateway } = await guarded(t, {
    sources: [jwtSource('corp', issuer.url, ', leeway: 0s')],
    agent: {
      answer: (_request, response) => {
        response.setHeader('content-type', 'text/event-stream')
        response.write(`data: ${event}\n\n`)
        stream = response
      }
    }
  })
  const now = Math.floor(Date.now() / 1_000)
  const token = await issuer.token(key, { iat: now - 10, exp: now + 2 })
  const ask = (): ReturnType<typeof open> => open(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1, 'accept', 'text/event-stream', ...bearer(token)], body: rpcBody('SendStreamingMessage', { message: MESSAGE }) })
  const request = ask()
  request.end(rpcBody('SendStreamingMessage', { message: MESSAGE }))
  const text = await new Promise<string>((resolve, reject) => {
    request.once('error', reject)
    request.once('response', response => {
      let all = ''
      response.on('data', (chunk: Buffer) => { all += chunk.toString() })
      response.once('end', () => { resolve(all) })
      sleep(Math.max(0, (now + 3) * 1_000 - Date.now())).then(async () => {
        t.equal((await send(gateway.url, bearer(token))).status, 401, 'a new call is rejected, although the token was remembered')
        stream?.end(`data: ${event}\n\n`)
      }).catch(reject)
    })
  })
  t.equal(text.split('data: ').length - 1, 2, 'the stream goes on')
})

t.test('keys', async t => {
  const [first, second] = [await keyOf('first'), await keyOf('second')]

  t.test('rotation under load', async t => {
    const issuer = await issuerFor(t, [first])
    const { gateway } = await guarded(t, { sources: [jwtSource('corp', issuer.url)] })
    t.equal((await send(gateway.url, bearer(await issuer.token(first)))).status, 200)
    issuer.keys = [first.jwk, second.jwk]
    const tokens = await Promise.all(Array.from({ length: 60 }, (_, i) => issuer.token(i % 2 === 0 ? first : second, { sub: `s${i}` })))
    const statuses = await Promise.all(tokens.map(async token => (await send(gateway.url, bearer(token))).status))
    t.same(statuses.filter(status => status !== 200), [], 'no caller notices')
    t.equal(issuer.asked.filter(path => path === '/jwks').length, 2, 'one fetch for all')
  })

  t.test('an endpoint that does not end', async t => {
    const issuer = await issuerFor(t, [first])
    let timer: NodeJS.Timeout | undefined
    issuer.misbehave = response => {
      response.writeHead(200, { 'content-type': 'application/json' })
      timer = setInterval(() => { response.write(' ') }, 100)
      response.on('close', () => { clearInterval(timer) })
    }
    t.teardown(() => { clearInterval(timer) })
    const { gateway } = await guarded(t, { sources: [`corp: {jwt: {issuer: "${issuer.url}", audience: ["${AUDIENCE}"], keys: {url: "${issuer.url}/jwks"}}}`, PARTNERS], waitReady: false })
    t.equal((await send(gateway.url, bearer(await issuer.token(first)))).status, 503)
    t.equal((await send(gateway.url, ['x-api-key', ACME])).status, 200, 'other sources do not wait')
    await until(async () => /did not respond within 5000 ms/.test(await (await fetch(`${gateway.adminUrl}/readyz`)).text()), 'the fetch to end', 20_000)
  })

  t.test('10,000 keys, in a set that is small enough', async t => {
    const issuer = await issuerFor(t, [first])
    issuer.misbehave = response => { response.end(JSON.stringify({ keys: Array(10_000).fill({ kty: 'x' }) })) }
    const { gateway } = await guarded(t, { sources: [`corp: {jwt: {issuer: "${issuer.url}", audience: ["${AUDIENCE}"], keys: {url: "${issuer.url}/jwks"}}}`], waitReady: false })
    await until(async () => /identity source corp/.test(await (await fetch(`${gateway.adminUrl}/readyz`)).text()), 'the problem')
    t.equal((await send(gateway.url, bearer(await issuer.token(first)))).status, 503)
  })

  t.test('metadata of another issuer, and of keys elsewhere', async t => {
    const issuer = await issuerFor(t, [first])
    for (const [path, body, problem] of [
      ['/.well-known/openid-configuration', { issuer: 'https://other.example', jwks_uri: `${issuer.url}/jwks` }, /names another issuer/],
      ['/.well-known/openid-configuration', { issuer: 'SELF', jwks_uri: 'http://169.254.169.254/jwks' }, /names no https URL of keys/],
      ['/.well-known/openid-configuration', { issuer: 'SELF', jwks_uri: 'file:///etc/passwd' }, /names no https URL of keys/]
    ] as const) {
      const server = createServer((request, response) => { response.writeHead(request.url === path ? 200 : 404).end(JSON.stringify({ ...body, issuer: body.issuer === 'SELF' ? self : body.issuer })) })
      await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
      t.teardown(() => server.close())
      const self: string = `http://127.0.0.1:${(server.address() as { port: number }).port}`
      const { gateway } = await guarded(t, { sources: [jwtSource('corp', self)], waitReady: false })
      const ready = async (): Promise<string> => await (await fetch(`${gateway.adminUrl}/readyz`)).text()
      await until(async () => problem.test(await ready()), String(problem))
      t.match(await ready(), problem)
      await gateway.close()
    }
  })
})

t.test('the headers of other gateways make nobody a caller', async t => {
  const { gateway, agent } = await guarded(t)
  for (const [name, value] of [
    ['x-forwarded-client-cert', 'URI=spiffe://a/b'], ['client-cert', ':AA==:'], ['ssl-client-verify', 'SUCCESS'], ['x-ssl-client-s-dn', 'CN=admin'], ['x-client-cert', 'a'],
    ['gateway-identity', 'a.b.c'], ['gateway_identity', 'a.b.c'], ['x-amzn-oidc-data', 'a.b.c'], ['x-goog-iap-jwt-assertion', 'a.b.c'], ['x-ms-client-principal', 'YQ==']
  ] as const) t.equal((await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1, name, value], body: rpcBody('GetTask', { id: '1' }) })).status, 401, name)
  t.equal(agent.received.length, 0)
})
