/** Start, reload and stop of a gateway in an application. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { fastify } from 'fastify'
import { a2aGateway, a2aGatewayAdmin } from 'a2a-extension-gateway'
import { packageRoot } from '#config/paths.js'
import { call, open, rpc, rpcBody, JSON_TYPE, MESSAGE, until, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { ACME, keyFiles } from '../identity/kit.js'
import { application, configuration, listen } from './kit.js'

t.test('close ends open streams after the drain time, and leaves nothing behind', async t => {
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(
        'data: {"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}}\n\n'
      )
    }
  })
  const { app } = await application(t, configuration([{ name: 'a', path: '/a', upstream: { url: agent.url } }]))
  const url = await listen(app)
  let text = ''
  const request = open(`${url}/a/rpc`, { method: 'POST', headers: [...JSON_TYPE, ...V1, 'accept', 'text/event-stream'] })
  const ended = new Promise<void>(resolve =>
    request.on('response', response => {
      response
        .on('data', (chunk: Buffer) => {
          text += chunk.toString()
        })
        .on('close', resolve)
        .on('error', () => {})
    })
  )
  request.end(rpcBody('SendStreamingMessage', { message: MESSAGE }))
  await until(() => text !== '')
  await app.close()
  await ended
  t.match(text, /: the gateway is shutting down\n\n$/)
})

t.test('cards name the address of the application, or server.publicUrl', async t => {
  const agent = await fakeAgent(t)
  const agents = [{ name: 'a', path: '/a', upstream: { url: agent.url } }]
  const { app } = await application(t, configuration(agents))
  const url = await listen(app)
  t.match((await call(`${url}/a/.well-known/agent-card.json`, { headers: V1 })).json(), { supportedInterfaces: [{ url: `${url}/a/rpc` }] })
  const named = await application(t, configuration(agents, { server: { publicUrl: 'https://agents.example.com' } }))
  const other = await listen(named.app)
  t.match((await call(`${other}/a/.well-known/agent-card.json`, { headers: V1 })).json(), {
    supportedInterfaces: [{ url: 'https://agents.example.com/a/rpc' }]
  })
})

t.test('cards name no gRPC: the application has no listener for it', async t => {
  const grpc = { url: 'agent.test:50051', protocolBinding: 'GRPC', protocolVersion: '1.0' }
  const agent = await fakeAgent(t, { card: url => ({ ...plainCard(url), supportedInterfaces: [grpc, ...plainCard(url)['supportedInterfaces'] as object[]] }) })
  const server = { grpc: { listen: '127.0.0.1:1', publicAddress: 'gate.test:443' } }
  const { app, logs } = await application(t, configuration([{ name: 'a', path: '/a', upstream: { url: agent.url } }], { server }))
  const url = await listen(app)
  const card = await call(`${url}/a/.well-known/agent-card.json`, { headers: V1 })
  t.match(card.json(), { supportedInterfaces: [{ url: `${url}/a/rpc` }] })
  t.ok(logs().some(line => String(line['msg']).includes('server.grpc and grpc.listen of agents have no effect')))
})

t.test('an application with TLS: its cards and the headers for the agent say https', async t => {
  const agent = await fakeAgent(t)
  const file = (name: string): string => readFileSync(join(packageRoot(), 'test/fixtures/tls', name), 'utf8')
  const [key, cert, ca] = ['right.key.pem', 'right.pem', 'ca.pem'].map(file)
  const { app } = await application(t, configuration([{ name: 'a', path: '/a', upstream: { url: agent.url } }]), {
    options: { https: { key, cert } } as object
  })
  await app.register(a2aGatewayAdmin, { prefix: '/gateway' })
  const url = await listen(app)
  t.match(url, /^https:/)
  const { Agent, fetch } = await import('undici')
  const dispatcher = new Agent({ connect: { ca, servername: 'localhost' } })
  t.teardown(() => dispatcher.close())
  const card = await (await fetch(`${url}/a/.well-known/agent-card.json`, { dispatcher, headers: { 'a2a-version': '1.0' } })).json()
  t.match(card, { supportedInterfaces: [{ url: `${url}/a/rpc` }] })
  t.equal(
    (
      await fetch(`${url}/a/rpc`, {
        dispatcher,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
        body: rpcBody('SendMessage', { message: MESSAGE })
      })
    ).status,
    200
  )
  t.equal(agent.received[0]?.headers['x-forwarded-proto'], 'https')
})

t.test('changes of the file apply, and a new path is reported until the restart', async t => {
  const agent = await fakeAgent(t)
  const file = join(t.testdir(), 'gateway.yaml')
  const write = (agents: readonly object[], more = {}): void => { writeFileSync(file, JSON.stringify(configuration(agents, more))) }
  const a = { name: 'a', path: '/a', upstream: { url: agent.url } }
  write([a])
  const { app, logs } = await application(t, file)
  const url = await listen(app)
  t.equal((await rpc(`${url}/a/rpc`)).status, 200)
  write([{ ...a, card: { advertise: [{ uri: 'https://example.com/required/v1', required: true }] } }])
  await until(async () => (await rpc(`${url}/a/rpc`)).text.includes('-32008'))
  write([a, { name: 'b', path: '/b', upstream: { url: agent.url } }])
  await until(() =>
    logs().some(
      ({ msg }) => msg === 'agent b: the application has no route for /b until it restarts: Fastify adds no routes after its start'
    )
  )
  t.equal((await call(`${url}/b/rpc`)).status, 404)
  writeFileSync(file, 'version: 1\nagents: [')
  await until(() => logs().some(({ msg }) => /the last good one stays in use/.test(String(msg))))
  t.equal((await rpc(`${url}/a/rpc`)).status, 200)
})

t.test('mistakes end the start with a readable message', async t => {
  const agent = await fakeAgent(t)
  const config = configuration([{ name: 'a', path: '/a', upstream: { url: agent.url } }])
  const file = join(t.testdir({ 'bad.yaml': 'version: 1\nagents:\n  - name: a\n    upstrem: {url: "http://x"}\n' }), 'bad.yaml')
  const start = async (options: object, register: object): Promise<void> => {
    const app = fastify(options)
    t.teardown(() => app.close())
    app.register(a2aGateway, register as Parameters<typeof a2aGateway>[1])
    await app.ready()
  }
  await t.rejects(start({}, {}), { message: /^a2aGateway: the option config is missing; set it to the path/ })
  await t.rejects(start({}, { config, prefix: '/v1' }), { message: /remove the prefix \/v1; the configuration has the path of each agent/ })
  await t.rejects(start({}, { config: file }), { message: /bad\.yaml:4:5: .*upstrem.*/ })
  await t.rejects(start({}, { config: { ...config, agents: 1 } }), { message: /options\.config: agents must be/ })
  await t.rejects(start({ http2: true }, { config }), { message: /HTTP\/2/ })
  await t.rejects(start({ http: { insecureHTTPParser: true } }, { config }), { message: /insecureHTTPParser/ })
  const twice = fastify()
  t.teardown(() => twice.close())
  twice.register(a2aGateway, { config }).register(a2aGateway, { config })
  await t.rejects(async () => { await twice.ready() }, { message: /the application has a gateway already/ })
  const none = fastify()
  none.register(a2aGatewayAdmin)
  await t.rejects(async () => { await none.ready() }, { message: /register a2aGateway first/ })
})

t.test('probes, metrics, agents and console below a prefix, behind the hooks of the application', async t => {
  const agent = await fakeAgent(t)
  const { app } = await application(t, configuration([{ name: 'a', path: '/a', upstream: { url: agent.url } }]))
  await app.register(async scope => {
    scope.addHook('preHandler', async (request, reply) => {
      if (request.headers.authorization !== 'Bearer operator') return reply.code(401).send({ from: 'the application' })
    })
    await scope.register(a2aGatewayAdmin)
  }, { prefix: '/gateway' })
  const url = await listen(app)
  await rpc(`${url}/a/rpc`)
  const operator = ['authorization', 'Bearer operator']
  for (const path of ['/livez', '/readyz', '/metrics', '/agents', '/console', '/console/', '/console/api/overview']) {
    t.equal((await call(`${url}/gateway${path}`)).status, 401, path)
  }
  t.equal((await call(`${url}/gateway/console/api/try`, { method: 'POST', headers: JSON_TYPE, body: '{}' })).status, 401)
  const get = (path: string): ReturnType<typeof call> => call(`${url}/gateway${path}`, { headers: operator })
  t.equal((await get('/livez')).status, 200)
  t.equal((await get('/readyz')).status, 200)
  t.match((await get('/metrics')).bytes.toString(), /a2a_gateway_requests_total\{.*agent="a".*\} 1/)
  t.match((await get('/agents')).json(), [{ name: 'a' }])
  t.equal((await get('/console')).headers.location, '/gateway/console/')
  t.match((await get('/console/')).bytes.toString(), /Gateway console/)
  t.equal((await get('/console/main.js')).status, 200)
  t.match((await call(`${url}/gateway/console/api/overview`, { headers: [...operator, 'sec-fetch-site', 'same-origin'] })).json(), {
    agents: [{ name: 'a' }]
  })
  t.equal((await call(`${url}/gateway/metrics`, { method: 'POST', headers: operator, body: 'x' })).status, 405)
  t.equal((await call(`${url}/gateway/agents`, { headers: [...operator, 'host', 'evil.example'] })).status, 403, 'another host name')
  t.equal((await get('/nothing')).status, 404)
  t.equal((await call(`${url}/livez`)).status, 404)
})

t.test('the gateway does not listen on its own', async t => {
  const agent = await fakeAgent(t)
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await until(() => taken.listening)
  const at = taken.address() as { readonly port: number }
  const { app } = await application(
    t,
    configuration([{ name: 'a', path: '/a', upstream: { url: agent.url } }], { server: { listen: `127.0.0.1:${at.port}` } })
  )
  t.equal((await rpc(`${await listen(app)}/a/rpc`)).status, 200)
})

t.test('server.adminAccess protects agents and console of the application, also after a reload', async t => {
  const agent = await fakeAgent(t)
  const dir = keyFiles(t)
  const file = join(dir, 'gateway.json')
  const write = (adminAccess: object | null): void => {
    writeFileSync(file, JSON.stringify(configuration([{ name: 'a', path: '/a', upstream: { url: agent.url } }], {
      server: { drainTimeout: '300ms', adminAccess },
      identity: { sources: { partners: { apiKey: { header: 'x-api-key', keys: { file: 'partners.yaml' } } } } }
    })))
  }
  write({ sources: ['partners'] })
  const { app } = await application(t, file)
  await app.register(a2aGatewayAdmin, { prefix: '/gateway' })
  const url = await listen(app)
  const status = async (path: string, key: string | null = null): Promise<number> =>
    (await call(`${url}/gateway${path}`, { headers: key === null ? [] : ['x-api-key', key] })).status
  for (const path of ['/agents', '/console/api/status']) {
    t.equal(await status(path), 401)
    t.equal(await status(path, ACME), 200)
  }
  t.equal(await status('/readyz'), 200)
  write(null)
  await until(async () => await status('/agents') === 200)
  write({ sources: ['partners'] })
  await until(async () => await status('/agents') === 401)
})
