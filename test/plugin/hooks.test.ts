/** Hooks, routes and error handlers of the application around the gateway. */
import cors from '@fastify/cors'
import rateLimit from '@fastify/rate-limit'
import t from 'tap'
import { call, JSON_TYPE, MESSAGE, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { application, configuration, listen } from './kit.js'

const REQUIRED = 'https://example.com/required/v1'
const required = (url: string): Record<string, unknown> =>
  plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: REQUIRED, required: true }] } })

for (const hook of ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const) {
  t.test(`the hook ${hook} of the application rejects before the gateway`, async t => {
    const agent = await fakeAgent(t)
    const { app } = await application(
      t,
      configuration([{ name: 'a', path: '/agents/a', upstream: { url: agent.url }, passthrough: ['/files'] }]),
      {
        before: app => {
          app.addHook(
            hook,
            async (
              request: { readonly headers: Record<string, unknown> },
              reply: { code(status: number): { send(body: unknown): unknown } }
            ) => {
              if (request.headers.authorization !== 'Bearer good') return reply.code(401).send({ from: 'the application' })
            }
          )
        }
      }
    )
    const url = await listen(app)
    const base = `${url}/agents/a`
    for (const [path, type] of [
      ['/rpc', 'application/json'],
      ['/rest/message:send', 'application/a2a+json'],
      ['/rest/message:stream', 'application/json'],
      ['/files/x', 'text/plain'],
      ['/rpc', 'application json'],
      ['/rpc', '']
    ] as const) {
      const got = await call(base + path, {
        method: 'POST',
        headers: [...(type === '' ? [] : ['content-type', type]), ...V1],
        body: rpcBody('SendMessage', { message: MESSAGE })
      })
      if (got.status !== 401) {
        t.equal(
          got.headers['gateway-decision'],
          type === 'application json' ? 'reject;rule="gateway/content-type"' : 'none',
          `${path} ${type}`
        )
      }
    }
    t.equal((await call(`${base}/.well-known/agent-card.json`)).status, 401)
    t.equal(agent.received.length, 0, 'nothing reached the agent')
    t.equal((await rpc(`${base}/rpc`, 'SendMessage', { message: MESSAGE }, ['authorization', 'Bearer good'])).status, 200)
    t.equal(
      (
        await call(`${base}/files/x`, {
          method: 'POST',
          headers: ['authorization', 'Bearer good', 'content-type', 'text/plain'],
          body: 'hello'
        })
      ).status,
      200
    )
    t.equal(agent.received.length, 2)
    t.equal(agent.received[1]?.body.toString(), 'hello')
  })
}

t.test('the gateway still rejects behind hooks that let a request pass', async t => {
  const agent = await fakeAgent(t, { card: required })
  const { app } = await application(t, configuration([{ name: 'a', path: '/a', upstream: { url: agent.url } }]), {
    before: app => {
      app.addHook('preHandler', async () => {})
    }
  })
  const url = await listen(app)
  t.match((await rpc(`${url}/a/rpc`)).json(), { error: { code: -32008 } })
  t.equal((await rpc(`${url}/a/rpc`, 'SendMessage', { message: MESSAGE }, ['a2a-extensions', REQUIRED])).status, 200)
  t.equal(agent.received.length, 1)
})

t.test('a Content-Type that Fastify cannot read is rejected in the caller\'s binding, and never forwarded', async t => {
  const agent = await fakeAgent(t)
  const { app } = await application(t, configuration([{ name: 'a', path: '/a', upstream: { url: agent.url }, passthrough: ['/files'] }]))
  const url = await listen(app)
  for (const type of ['application json', 'x', '/', 'application/', ';']) {
    for (const path of ['/a/rpc', '/a/rest/message:send', '/a/files/x']) {
      const got = await call(url + path, {
        method: 'POST',
        headers: ['content-type', type, ...V1],
        body: rpcBody('SendMessage', { message: MESSAGE })
      })
      t.equal(got.headers['gateway-decision'], 'reject;rule="gateway/content-type"', `${path} ${type}`)
    }
  }
  t.equal(agent.received.length, 0)
})

t.test('CORS and rate limits of the application are on every response of the gateway', async t => {
  const agent = await fakeAgent(t, { card: required })
  const { app } = await application(t, configuration([{ name: 'a', path: '/a', upstream: { url: agent.url }, passthrough: ['/files'] }]), {
    before: async app => {
      await app.register(cors, { origin: ['https://app.example.com'], exposedHeaders: ['A2A-Extensions'] })
      await app.register(rateLimit, { max: 8, timeWindow: 60_000 })
      app.setErrorHandler((error: { readonly statusCode?: number }, _request, reply) =>
        reply.code(error.statusCode ?? 500).send({ from: 'the application' })
      )
    }
  })
  const url = await listen(app)
  const origin = ['origin', 'https://app.example.com']
  const responses = [
    await rpc(`${url}/a/rpc`, 'SendMessage', { message: MESSAGE }, [...origin, 'a2a-extensions', REQUIRED]),
    await rpc(`${url}/a/rpc`, 'SendMessage', { message: MESSAGE }, origin),
    await call(`${url}/a/.well-known/agent-card.json`, { headers: origin }),
    await call(`${url}/a/files/x`, { method: 'POST', headers: [...origin, 'content-type', 'text/plain'], body: 'hello' }),
    await call(`${url}/a/files/x`, { method: 'POST', headers: [...origin, 'content-type', 'text plain'], body: 'hello' })
  ]
  for (const [i, got] of responses.entries()) {
    t.equal(got.headers['access-control-allow-origin'], 'https://app.example.com', `response ${i}`)
    t.equal(got.headers['x-ratelimit-remaining'], String(7 - i))
    t.match(got.headers.vary, /Origin/)
    t.match(got.headers['content-type'], /json/)
  }
  t.match(responses[2]?.headers.vary, /A2A-Version/i, 'the gateway\'s own Vary is still there')
  const preflight = await call(`${url}/a/rpc`, { method: 'OPTIONS', headers: [...origin, 'access-control-request-method', 'POST'] })
  t.equal(preflight.status, 204, 'the application responds to the preflight')
  for (let i = 0; i < 3; i++) await rpc(`${url}/a/rpc`, 'SendMessage', { message: MESSAGE }, origin)
  const limited = await rpc(`${url}/a/rpc`, 'SendMessage', { message: MESSAGE }, origin)
  t.equal(limited.status, 429)
  t.same(limited.json(), { from: 'the application' }, 'the application\'s error handler has the errors of its hooks')
})

t.test('routes, parsers and the 404 of the application stay its own', async t => {
  const agent = await fakeAgent(t)
  const { app } = await application(
    t,
    configuration([
      { name: 'a', path: '/agents/a', upstream: { url: agent.url } },
      { name: 'h', path: '/agents/h', host: 'other.example', upstream: { url: agent.url } }
    ]),
    {
      before: app => {
        app.post('/orders', async request => ({ got: request.body }))
        app.get('/agents/a/rest/status', async () => ({ from: 'the application' }))
        app.setNotFoundHandler((_request, reply) => reply.code(404).send({ from: 'the application' }))
      }
    }
  )
  const url = await listen(app)
  t.same((await call(`${url}/orders`, { method: 'POST', headers: JSON_TYPE, body: '{"n":1}' })).json(), { got: { n: 1 } })
  t.same((await call(`${url}/agents/a/rest/status`)).json(), { from: 'the application' }, 'a literal route of the application wins')
  for (const path of ['/nothing', '/agents', '/agents/ax/rpc', '/agents/h/rpc']) {
    t.same((await call(url + path)).json(), { from: 'the application' }, path)
  }
  t.match((await call(`${url}/agents/a/nothing`, { headers: V1 })).json(), { error: { details: [{ reason: 'ROUTE_NOT_FOUND' }] } })
  t.equal((await rpc(`${url}/agents/h/rpc`, 'SendMessage', { message: MESSAGE }, ['host', 'other.example'])).status, 200)
  t.equal((await rpc(`${url}/agents/a/rpc`)).status, 200)
  t.equal(app.hasContentTypeParser('application/json'), true)
  t.equal(app.hasDecorator('from'), false, 'the library of passthrough stays in an application of its own')
})

t.test('hooks of the application see the end of each response', async t => {
  const agent = await fakeAgent(t)
  const seen: string[] = []
  const { app } = await application(t, configuration([{ name: 'a', path: '/a', upstream: { url: agent.url } }]), {
    before: app => { app.addHook('onResponse', async (request, reply) => { seen.push(`${request.method} ${reply.raw.statusCode}`) }) }
  })
  const url = await listen(app)
  await rpc(`${url}/a/rpc`)
  await call(`${url}/a/nothing`)
  await until(() => seen.length === 2)
  t.same(seen, ['POST 200', 'GET 404'])
})

t.test('fastify.inject reaches the gateway', async t => {
  const agent = await fakeAgent(t)
  const { app } = await application(
    t,
    configuration([{ name: 'a', path: '/a', upstream: { url: agent.url } }], {
      server: { publicUrl: 'https://agents.example.com', drainTimeout: '300ms' }
    })
  )
  const card = await app.inject({ method: 'GET', url: '/a/.well-known/agent-card.json', headers: { 'a2a-version': '1.0' } })
  t.equal(card.statusCode, 200)
  t.match(card.body, 'https://agents.example.com/a/')
  const sent = await app.inject({
    method: 'POST',
    url: '/a/rpc',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    payload: rpcBody('SendMessage', { message: MESSAGE })
  })
  t.equal(sent.statusCode, 200)
})
