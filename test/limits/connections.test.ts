/** Client connections: the accepted bytes, the maximum number, and the maximum duration of each phase. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { clientErrors, holdingAgent, rawClient, refusals, sending } from './kit.js'

/** Bytes that Node counts of this head: the target, names and values, and nothing between them. */
const HEAD = 'GET /rest/tasks/1 HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\nconnection: close\r\nx-fill: '
const COUNTED = '/rest/tasks/1hostxa2a-version1.0connectionclosex-fill'.length
const sized = (counted: number): string => `${HEAD}${'f'.repeat(counted - COUNTED)}\r\n\r\n`

t.test('headers below the limit pass, headers of the limit do not; a reload changes it', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], ['limits: {headers: 4KiB}']) })
  const answer = async (bytes: string): Promise<string> => {
    const client = await rawClient(t, gateway.url, bytes)
    await until(() => client.socket.destroyed || client.socket.readableEnded, 'the end')
    return client.text()
  }
  t.match(await answer(sized(4_095)), /^HTTP\/1\.1 200 /)
  const refused = await answer(sized(4_096))
  t.match(refused, /^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/)
  t.match(
    refused,
    /\r\nGateway-Decision: reject;rule="gateway\/header-size"\r\nConnection: close\r\n\r\n\{"error":\{"code":431,"message":"[^"]+"\}\}$/
  )
  t.equal(await clientErrors(gateway, 'header_overflow'), 1)
  t.match(await gateway.reload(configOf({ yaml: oneAgent(agent.url, [], ['limits: {headers: 8KiB}']) })), {
    ok: true,
    settings: ['limits.headers'],
    needsRestart: []
  })
  t.match(await answer(sized(4_096)), /^HTTP\/1\.1 200 /)
  t.match(await answer(sized(8_192)), /^HTTP\/1\.1 431 /)
})

t.test('no header is dropped because there are many', async t => {
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { extensions: [{ uri: 'urn:needed', required: true }] } })
  })
  const { server } = agent
  server.maxHeadersCount = 0
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const many = Array.from({ length: 2_500 }, () => ['x', 'y']).flat()
  const got = await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, [...many, 'a2a-extensions', 'urn:needed'])
  t.equal(got.json().error, undefined)
  t.equal(agent.received[0]?.headers['a2a-extensions'], 'urn:needed')
  const twice = await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, [...many, 'a2a-version', '0.3'])
  t.equal(twice.headers['gateway-decision'], 'reject;rule="gateway/duplicate-header"', 'one that decides is seen wherever it stands')
})

t.test('bytes that are not HTTP get an error, are counted, and the connection closes; a disconnected client is not an error', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const client = await rawClient(t, gateway.url, 'hello there\r\n\r\n')
  await until(() => client.text().includes('}}'))
  t.match(client.text(), /^HTTP\/1\.1 400 Bad Request\r\n[^]*\r\nGateway-Decision: reject;rule="gateway\/malformed"\r\n/)
  client.socket.write('more of it\r\n')
  await until(() => client.socket.destroyed || client.socket.readableEnded)
  t.equal(await clientErrors(gateway, 'malformed'), 1, 'once for each connection')
  const { path, headers } = sending(['JSONRPC', '1.0'])
  const chunk = await rawClient(
    t,
    gateway.url,
    `POST ${path} HTTP/1.1\r\nhost: x\r\n${headers[0]}: ${headers[1]}\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n`
  )
  await until(() => chunk.text().startsWith('HTTP/1.1 400 '))
  t.equal(await clientErrors(gateway, 'malformed'), 2, 'within a body')
  const extension = await rawClient(
    t,
    gateway.url,
    `POST ${path} HTTP/1.1\r\nhost: x\r\n${headers[0]}: ${headers[1]}\r\ntransfer-encoding: chunked\r\n\r\n1;${'e'.repeat(20_000)}\r\n`
  )
  await until(() => extension.text().startsWith('HTTP/1.1 413 '))
  t.equal(await clientErrors(gateway, 'other'), 1)
  for (let i = 0; i < 50; i++) {
    (await rawClient(t, gateway.url, i % 2 === 0 ? 'hello there\r\n\r\n' : 'GET / HTTP/1.1\r\n')).socket.resetAndDestroy()
  }
  t.equal((await rpc(`${gateway.url}/rpc`)).status, 200)
})

t.test('garbage after a request gets no response within the response to that request', async t => {
  const agent = await holdingAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  for (const stream of [true, false]) {
    const before = await clientErrors(gateway, 'malformed')
    const { path, body } = sending(['JSONRPC', '1.0'], stream)
    const client = await rawClient(
      t,
      gateway.url,
      `POST ${path} HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    )
    await until(() => agent.held.length === 1 && (!stream || client.text().includes('data: {}')))
    client.socket.write('hello there\r\n\r\n')
    await until(() => client.socket.destroyed || client.socket.readableEnded)
    t.notMatch(client.text(), /400|malformed/, stream ? 'a stream that has begun' : 'an answer that is owed')
    await until(() => agent.held.length === 0, 'the agent to be told')
    t.equal(await clientErrors(gateway, 'malformed'), before + 1)
  }
})

t.test('connections up to the limit are accepted, one more is dropped', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], ['limits: {connections: 2}']) })
  const get = 'GET /rest/tasks/1 HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\n\r\n'
  const [one, two] = [await rawClient(t, gateway.url, get), await rawClient(t, gateway.url, get)]
  await until(() => one.text().includes('200 OK') && two.text().includes('200 OK'))
  const three = await rawClient(t, gateway.url, get)
  await until(() => three.socket.destroyed || three.socket.readableEnded)
  t.equal(three.text(), '')
  await until(async () => await clientErrors(gateway, 'dropped') === 1)
  one.socket.destroy()
  await until(async () => {
    const next = await rawClient(t, gateway.url, get)
    await until(() => next.socket.destroyed || next.socket.readableEnded || next.text() !== '')
    return next.text().includes('200 OK')
  }, 'room again')
  t.equal((await fetch(`${gateway.adminUrl}/livez`)).status, 200, 'the admin listener has its own')
  t.match(await gateway.reload(configOf({ yaml: oneAgent(agent.url) })), { settings: ['limits.connections'], needsRestart: [] })
  t.equal((await rpc(`${gateway.url}/rpc`)).status, 200)
})

t.test('headers have a timeout, and so has a connection without a request', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], ['limits: {headersTimeout: 1s, idleTimeout: 2s}']) })
  const get = 'GET /rest/tasks/1 HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\n\r\n'
  const slow = await rawClient(t, gateway.url, 'GET /rest')
  const idle = await rawClient(t, gateway.url, get)
  await until(() => idle.text().includes('200 OK'))
  idle.socket.write(get)
  await until(() => idle.text().split('200 OK').length === 3, 'a second request in time')
  await until(() => slow.text() !== '', 'the slow one to be told', 20_000)
  t.match(slow.text(), /^HTTP\/1\.1 408 Request Timeout\r\n[^]*rule="gateway\/request-timeout"/)
  t.equal(await clientErrors(gateway, 'timeout'), 1)
  await until(() => idle.socket.destroyed || idle.socket.readableEnded, 'the idle one to be closed', 20_000)
  t.equal(await clientErrors(gateway, 'timeout'), 1, 'which is no error')
  t.equal(agent.received.length, 2)
  const body = rpcBody('SendMessage', { message: MESSAGE })
  const upload = await rawClient(
    t,
    gateway.url,
    `POST /rpc HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
  )
  await sleep(2_500)
  upload.socket.write(body)
  await until(() => upload.text().includes('200 OK'), 'the body has the time of the request')
})

t.test('every rejection is counted by its rule', async t => {
  const agent = await fakeAgent(t, {
    card: url =>
      plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: 'urn:needed', required: true }, { uri: 'urn:p' }] } }),
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('not JSON')
    }
  })
  const gateway = await gatewayFor(t, {
    yaml: oneAgent(
      agent.url,
      ['responses: enforce', 'extensions: [p]'],
      [
        'limits: {body: 1KiB, extensions: 2, jsonDepth: 8, jsonMembers: 50}',
        'extensions: {p: {uri: "urn:p", mode: enforce, response: [{id: r, select: {metadata: {key: k}}, count: {max: 1}, verdict: reject}]}}'
      ]
    )
  })
  const post = (body: string, more: readonly string[] = []): Promise<unknown> =>
    call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1, ...more], body })
  await post('x'.repeat(1_025))
  await post('['.repeat(9))
  await post(`[${'1,'.repeat(51)}1]`)
  await post(rpcBody('SendMessage', { message: MESSAGE }))
  await post(rpcBody('SendMessage', { message: MESSAGE }), ['a2a-extensions', 'urn:needed, urn:p, urn:other'])
  await post(rpcBody('SendMessage', { message: MESSAGE }), ['a2a-extensions', 'urn:needed, urn:p'])
  await call(`${gateway.url}/nowhere`)
  for (const [rule, count] of Object.entries({
    'gateway/body-size': 1,
    'gateway/json': 2,
    'urn:needed/required': 1,
    'gateway/too-many-extensions': 1,
    'gateway/answer-json': 1,
    'gateway/no-route': 1
  })) { t.equal(await refusals(gateway, rule), count, rule) }
  t.equal(await gateway.metric('a2a_gateway_refusals_total'), 7)
})
