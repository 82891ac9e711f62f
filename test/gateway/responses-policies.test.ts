/** Responses under real policies, through a whole gateway: modes, bindings, streams, memory of tasks, echo, and a reload of the store. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import type { TestGateway } from '../helpers/gateway.js'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, open, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import type { FakeAgent, RawRequest } from '../helpers/raw.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'

const URI = 'https://x.test/ext/v1'
const EXTENSIONS = ['a2a-extensions', URI]
const POLICY = [
  'extensions:',
  '  ext:',
  `    uri: ${URI}`,
  '    owns: {metadata: [x]}',
  '    echo: verify',
  '    request:',
  '      - {id: closed, select: {metadata: {key: x}}, when: {taskState: [completed]}, count: {max: 0}}',
  '    response:',
  '      - {id: number, select: {metadata: {in: [task, event], key: x}}, schema: {type: number}, verdict: reject}',
  '      - {id: secret, select: {metadata: {in: [task, event], key: y}}, count: {max: 0}, verdict: strip}',
  '      - {id: odd, select: {metadata: {in: [task, event], key: z}}, count: {max: 0}, verdict: annotate}',
  '    observe:',
  '      metrics: [{name: x, type: gauge, from: {metadata: {in: [task, event], key: x}}}]'
]
const TASK = (metadata: unknown, state = 'TASK_STATE_WORKING'): string =>
  `{"id":"t1","contextId":"c1","status":{"state":"${state}"}, "metadata":${JSON.stringify(metadata)}}`
const violations = (rule: string, mode: string): string =>
  `a2a_gateway_violations_total{agent="agent",extension="ext",rule="${rule}",phase="response",mode="${mode}"}`

async function behind (
  t: Test,
  responses: string,
  answer: (request: RawRequest, response: ServerResponse) => void,
  root: readonly string[] = []
): Promise<{ agent: FakeAgent; gateway: TestGateway }> {
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: URI }] } }),
    answer
  })
  return {
    agent,
    gateway: await gatewayFor(t, { yaml: oneAgent(agent.url, ['extensions: [ext]', `responses: ${responses}`], [...POLICY, ...root]) })
  }
}

const json = (response: ServerResponse, text: string, headers: Record<string, string> = {}): void => {
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(text)
}

t.test('a rule is enforced, only recorded, or its response not read, by the agent\'s `responses`', async t => {
  const body = `{"jsonrpc":"2.0", "id":1,"result":{"task":${TASK({ x: 'no number', y: 'hush', z: 1 })}}}\n`
  for (const responses of ['enforce', 'observe', 'off']) {
    const { agent, gateway } = await behind(t, responses, (_request, response) => { json(response, body) })
    const got = await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, [...EXTENSIONS, 'accept-encoding', 'gzip'])
    t.equal(got.status, 200)
    if (responses === 'enforce') {
      t.match(got.json(), { id: 1, error: { code: -32006 } })
      t.equal(got.headers['gateway-decision'], 'reject;rule="ext/number"')
      t.match(gateway.audits(), [{ phase: 'response', operation: 'SendMessage', decision: 'rejected', rule: 'number', extension: 'ext' }])
      t.notMatch(JSON.stringify(gateway.audits()), /hush|no number/)
    } else t.equal(got.text, body)
    t.equal(
      await gateway.metric(violations('number', responses === 'enforce' ? 'enforce' : 'observe')),
      responses === 'off' ? 0 : 1,
      responses
    )
    t.equal(agent.received[0]?.headers['accept-encoding'], responses === 'enforce' ? 'identity' : 'gzip')
  }
})

t.test('strip and annotate, in whole responses and in streams of both bindings', async t => {
  const task = TASK({ x: 1, y: 'hush', z: 2 })
  const kept = task.replace('"y":"hush",', '')
  const { gateway } = await behind(t, 'enforce', (request, response) => {
    const wrapped = request.url === '/rpc' ? `{"jsonrpc":"2.0","id":1,"result":{"task":${task}}}` : `{"task":${task}}`
    if (!request.url.includes('stream') && !request.body.includes('Streaming')) return json(response, wrapped)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`: hello\n\ndata: ${wrapped}\n\n`)
  })
  const whole = await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, EXTENSIONS)
  t.equal(whole.text, `{"jsonrpc":"2.0","id":1,"result":{"task":${kept}}}`)
  t.equal(whole.headers['gateway-decision'], 'warn;rule="ext/odd"')
  const streamed = await rpc(`${gateway.url}/rpc`, 'SendStreamingMessage', { message: MESSAGE }, EXTENSIONS)
  t.equal(streamed.text, `: hello\n\n: gateway-decision: warn;rule="ext/odd"\ndata: {"jsonrpc":"2.0","id":1,"result":{"task":${kept}}}\n\n`)
  const rest = await call(`${gateway.url}/rest/message:stream`, {
    headers: [...JSON_TYPE, ...V1, ...EXTENSIONS],
    body: JSON.stringify({ message: MESSAGE })
  })
  t.equal(rest.text, `: hello\n\n: gateway-decision: warn;rule="ext/odd"\ndata: {"task":${kept}}\n\n`)
  t.equal(await gateway.metric('a2a_gateway_observed_value{agent="agent",extension="ext",metric="x",by=""}'), 1)
  t.equal(await gateway.metric('a2a_gateway_stream_events_total{agent="agent"}'), 2)
})

t.test('a stream that violates a rule ends with an error of its request; an unreadable one is rejected and counted', async t => {
  let data = ''
  const { gateway } = await behind(t, 'enforce', (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(data)
  })
  const event = (x: unknown): string => `data: {"jsonrpc":"2.0","id":"\\u0061","result":{"task":${TASK({ x })}}}\n\n`
  data = event(1) + event('x') + event(2)
  const ask = async (): Promise<string> =>
    (
      await call(`${gateway.url}/rpc`, {
        headers: [...JSON_TYPE, ...V1, ...EXTENSIONS, 'accept', 'text/event-stream'],
        body: rpcBody('SendStreamingMessage', { message: MESSAGE }, '"\\u0061"')
      })
    ).text
  const text = await ask()
  t.ok(text.startsWith(`${event(1)}data: {"jsonrpc":"2.0","id":"\\u0061","error":{"code":-32006,`), 'the id as it was written')
  t.equal(text.split('\n\n').length, 3)
  await until(
    async () =>
      (await gateway.metric(
        'a2a_gateway_requests_total{agent="agent",operation="SendStreamingMessage",binding="JSONRPC",version="1.0",outcome="rejected"}'
      )) === 1
  )
  data = 'data: {"a":1,}\n\n'
  t.match(await ask(), /^data: .*-32006/)
  t.equal(await gateway.metric('a2a_gateway_answers_unread_total{agent="agent",reason="malformed"}'), 1)
})

t.test('the state of a task is known to the next request of that task, and of no other; a reload with the same store keeps it', async t => {
  const { gateway, agent } = await behind(t, 'observe', (request, response) => {
    json(
      response,
      `{"jsonrpc":"2.0","id":1,"result":{"task":${TASK({}, request.body.includes('finish') ? 'TASK_STATE_COMPLETED' : 'TASK_STATE_WORKING')}}}`
    )
  })
  const send = async (more: Record<string, unknown>): Promise<boolean> =>
    'error' in (await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: { ...MESSAGE, ...more } }, EXTENSIONS)).json()
  const x = { metadata: { x: 1 } }
  t.notOk(await send({ ...x, taskId: 't1' }), 'nothing is known yet')
  t.equal(await gateway.metric('a2a_gateway_task_lookups_total{agent="agent",outcome="unknown"}'), 1)
  t.notOk(await send({ ...x, taskId: 't1', messageId: 'finish' }))
  t.ok(await send({ ...x, taskId: 't1' }), 'completed')
  t.equal(await gateway.metric('a2a_gateway_task_lookups_total{agent="agent",outcome="known"}'), 2)
  t.equal(await gateway.metric('a2a_gateway_task_writes_total{agent="agent",outcome="kept"}'), 2)
  t.notOk(await send({ taskId: 't1' }), 'what the rule does not speak of')
  t.notOk(await send({ ...x, taskId: 't2' }))
  t.notOk('error' in (await rpc(`${gateway.url}/rpc`, 'GetTask', { id: 't1' })).json())

  const yaml = (root: readonly string[]): string =>
    oneAgent(agent.url, ['extensions: [ext]', 'responses: observe', 'enforceOn: all'], [...POLICY, ...root])
  await gateway.reload(configOf({ yaml: yaml([]) }))
  await send({ taskId: 't1', messageId: 'finish' })
  t.ok(await send({ ...x, taskId: 't1' }), 'still known')
  const report = await gateway.reload(configOf({ yaml: yaml(['state: {maxTasks: 7}']) }))
  t.match(report, { ok: true, settings: ['state.maxTasks'] })
  t.notOk(await send({ ...x, taskId: 't1' }), 'another store knows nothing')
})

t.test('echo: verify shows an extension only to clients that requested it; activations are counted by proof', async t => {
  let echo = 'urn:other'
  const { gateway } = await behind(t, 'enforce', (_request, response) => {
    json(response, `{"jsonrpc":"2.0","id":1,"result":{"task":${TASK({ x: 1 })}}}`, { 'A2A-Extensions': echo })
  })
  const ask = async (headers: readonly string[]): Promise<unknown> =>
    (await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, headers)).headers['a2a-extensions']
  const activations = (extension: string, kind: string): string =>
    `a2a_gateway_activations_total{agent="agent",extension="${extension}",source="client",echo="${kind}"}`
  t.equal(await ask(EXTENSIONS), 'urn:other')
  await until(async () => await gateway.metric(activations('ext', 'confirmed')) === 1, 'the data to prove it')
  t.equal(await gateway.metric(activations('other', 'unexpected')), 1)
  echo = URI
  t.equal(await ask([]), undefined)
  await until(async () => await gateway.metric(activations('ext', 'unexpected')) === 1)
  t.equal(await ask(EXTENSIONS), URI)
})

/** Speaks just enough RESP2: nothing is known, everything is kept, and each answer comes so much later. */
async function slowRedis (t: Test): Promise<{ port: number, delay: number, commands: string[] }> {
  const sockets = new Set<Socket>()
  const found = { port: 0, delay: 0, commands: [] as string[] }
  const server = createServer(socket => {
    sockets.add(socket.on('error', () => {}))
    socket.on('data', (chunk: Buffer) => {
      for (const [, name = ''] of chunk.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)) {
        found.commands.push(name)
        setTimeout(() => {
          socket.write(name === 'HGETALL' ? '*0\r\n' : name === 'HSET' || name === 'PEXPIRE' || name === 'DEL' ? ':1\r\n' : '+OK\r\n')
        }, found.delay)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return Object.assign(found, { port: (server.address() as AddressInfo).port })
}

t.test(
  'a slow store: the request waits for the task record, the response until the record is written, and a client may disconnect meanwhile',
  async t => {
    const redis = await slowRedis(t)
    const { gateway, agent } = await behind(
      t,
      'observe',
      (_request, response) => {
        json(response, `{"jsonrpc":"2.0","id":1,"result":{"task":${TASK({})}}}`)
      },
      [`state: {store: "redis://127.0.0.1:${redis.port}", timeout: 5s}`]
    )
    const body = rpcBody('SendMessage', { message: { ...MESSAGE, taskId: 't1' } })
    const lookups = 'a2a_gateway_task_lookups_total{agent="agent",outcome="unknown"}'
    await until(async () => {
      await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body })
      return (await gateway.metric(lookups)) > 0
    }, 'a connection to the store')
    await until(async () => (await gateway.metric('a2a_gateway_task_writes_total{agent="agent",outcome="kept"}')) > 0)

    redis.delay = 150
    const startedAt = performance.now()
    t.match((await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body })).json(), { result: { task: { id: 't1' } } })
    t.ok(performance.now() - startedAt >= 290, 'one look-up and one write')

    const before = { lookups: await gateway.metric(lookups), calls: agent.received.length, commands: redis.commands.length }
    const outgoing = open(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body })
    outgoing.on('error', () => {})
    outgoing.end(body)
    await until(() => redis.commands.length > before.commands)
    outgoing.destroy()
    await until(async () => (await gateway.metric(lookups)) === before.lookups + 1)
    await sleep(50)
    t.equal(agent.received.length, before.calls, 'the agent is not asked for nobody')
  }
)

t.test('responses of agents without rules for responses are not read, and pass unchanged', async t => {
  const agent = await fakeAgent(t, { answer: (_request, response) => { json(response, '{"not": even JSON') } })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['responses: enforce']) })
  t.equal((await rpc(`${gateway.url}/rpc`)).text, '{"not": even JSON')
})
