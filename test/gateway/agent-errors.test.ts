/** An agent's own errors have the outcome `agent_error`, in every place that reports outcomes. */
import t from 'tap'
import type { Test } from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import type { TestGateway } from '../helpers/gateway.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { connect } from '../helpers/sdk-clients.js'

quietSdk()

const URI = 'https://example.com/ext/v1'

async function outcomesOf (gateway: TestGateway): Promise<Record<string, number>> {
  const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  const found: Record<string, number> = {}
  for (const [, operation, binding, outcome, value] of text.matchAll(
    /^a2a_gateway_requests_total\{agent="agent",operation="(\w+)",binding="([^"]+)",version="[^"]+",outcome="(\w+)",front="http"\} (\d+)/gm
  )) {
    if (operation !== 'AgentCard') found[`${operation} ${binding} ${outcome}`] = Number(value)
  }
  return found
}

t.test('errors of an official agent, through its official clients', async t => {
  const agent = await startAgent({ kind: 'dual' })
  t.teardown(() => agent.close())
  for (const responses of ['off', 'observe', 'enforce']) {
    const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [`responses: ${responses}`]) })
    for (const transport of ['JSONRPC', 'HTTP+JSON'] as const) {
      const client = await connect({ client: 'v1', transport, cardUrl: `${gateway.url}/.well-known/agent-card.json` })
      await t.rejects(client.getTask('unknown'), transport)
      await client.send('message')
      await t.rejects(async () => {
        for await (const event of client.subscribe('unknown')) t.ok(event)
      }, transport)
    }
    const expected = ['JSONRPC', 'HTTP+JSON'].flatMap(binding => [
      [`GetTask ${binding} agent_error`, 1],
      [`SendMessage ${binding} forwarded`, 1],
      [`SubscribeToTask ${binding} agent_error`, 1]
    ])
    await until(async () => Object.keys(await outcomesOf(gateway)).length >= expected.length, 'all calls')
    t.same(await outcomesOf(gateway), Object.fromEntries(expected), responses)
  }
})

/** Responds as the message or the path says. */
async function erring (t: Test): Promise<string> {
  const { url } = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: URI }] } }),
    answer: (request, response) => {
      const wish = /wish-([a-z]+)/.exec(request.body.toString() + request.url)?.[1]
      const error = '{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"SECRET of the agent"}}'
      const result = '{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"\\"error\\":{"}]}}}'
      switch (wish) {
        case 'http': response.writeHead(503, { 'content-type': 'application/json' }).end('{}'); return
        case 'missing': response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"code":404}}'); return
        case 'stream':
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.write(`data: ${result}\n\n`)
          response.end(`data: ${error}\n\n`)
          return
        case 'waiting':
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.write(`data: ${error}\n\n`)
          return
        case 'good': response.setHeader('content-type', 'application/json').end(result); return
        default: response.setHeader('content-type', 'application/json').end(error)
      }
    }
  })
  return url
}

const wishing = (wish: string): object => ({ message: { ...MESSAGE, messageId: `wish-${wish}` } })

t.test('log lines, spans, audit lines and the console name the error, never its text', async t => {
  const agent = await erring(t)
  const gateway = await gatewayFor(t, {
    yaml: `${oneAgent(agent, ['passthrough: [/docs]'])}\ntelemetry: {logs: {level: debug}, audit: {forwarded: true}}`,
    env: { OTEL_TRACES_EXPORTER: 'console' }
  })
  const direct = await call(`${agent}/rpc`, { headers: [...JSON_TYPE, ...V1], body: rpcBody('SendMessage', wishing('error')) })
  const through = await rpc(`${gateway.url}/rpc`, 'SendMessage', wishing('error'))
  t.same([through.status, through.text], [direct.status, direct.text], 'the error is forwarded unchanged')
  await rpc(`${gateway.url}/rpc`, 'SendMessage', wishing('good'))
  await rpc(`${gateway.url}/rpc`, 'SendStreamingMessage', wishing('stream'))
  await rpc(`${gateway.url}/rpc`, 'SendMessage', wishing('http'))
  await call(`${gateway.url}/rest/tasks/wish-missing`, { headers: V1 })
  await call(`${gateway.url}/docs/wish-missing`)
  const rows: [operation: string, outcome: string, status: number, level: string, server: unknown[], client: unknown[]][] = [
    ['SendMessage', 'agent_error', 200, 'info', ['ERROR', '-32001', '-32001'], ['ERROR', '-32001', '-32001']],
    ['SendMessage', 'forwarded', 200, 'debug', ['UNSET', undefined, undefined], ['UNSET', undefined, undefined]],
    ['SendStreamingMessage', 'agent_error', 200, 'info', ['ERROR', '-32001', '-32001'], ['ERROR', '-32001', '-32001']],
    ['SendMessage', 'agent_error', 503, 'info', ['ERROR', '503', undefined], ['ERROR', '503', undefined]],
    ['GetTask', 'agent_error', 404, 'info', ['UNSET', undefined, undefined], ['ERROR', '404', undefined]],
    ['Passthrough', 'agent_error', 404, 'info', ['UNSET', undefined, undefined], ['ERROR', '404', undefined]]
  ]
  await until(() => gateway.spans().length >= 2 * rows.length, 'all spans')
  const logs = gateway.logs().filter(line => line.msg === 'request')
  t.same(logs.map(line => [line.operation, line.outcome, line.status, line.level]), rows.map(row => row.slice(0, 4)))
  const facts = (kind: string): unknown[] =>
    gateway.spans().filter(span => span.kind === kind).map(({ status, attributes }) => {
      const { 'error.type': type, 'rpc.response.status_code': code } = attributes as Record<string, unknown>
      return [status, type, code]
    })
  t.same(facts('SERVER'), rows.map(row => row[4]))
  t.same(facts('CLIENT'), rows.map(row => row[5]))
  t.same(gateway.audits().map(line => [line.operation, line.outcome, line.status]), rows.map(row => row.slice(0, 3)))
  const overview = await (await fetch(`${gateway.adminUrl}/console/api/overview`)).json() as { agents: { counts: object }[], totals: object }
  const counts = { errors: 5, forwarded: 1, agentFailed: 0, gatewayFailed: 0, rejected: 0 }
  t.match(overview, { totals: { agent_error: 5 }, agents: [{ counts }] })
  t.notMatch(JSON.stringify([gateway.logs(), gateway.spans(), gateway.audits()]), /SECRET/)
})

t.test('rejections and failures take precedence; a client may disconnect after an error', async t => {
  const agent = await erring(t)
  const gateway = await gatewayFor(t, {
    yaml: `${oneAgent(agent, ['responses: enforce', 'extensions: [mine]'])}\nextensions: {mine: {uri: "${URI}", mode: enforce, response: [{id: x, select: {part: {data: true}}, count: {max: 9}, verdict: reject}]}}`
  })
  const on = ['a2a-extensions', URI]
  t.match((await rpc(`${gateway.url}/rpc`, 'SendMessage', wishing('error'), on, '2')).json(), { error: { code: -32006 } })
  const leaving = new AbortController()
  const response = await fetch(`${gateway.url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: rpcBody('SendStreamingMessage', wishing('waiting')),
    signal: leaving.signal
  })
  await response.body?.getReader().read()
  leaving.abort()
  await until(async () => Object.keys(await outcomesOf(gateway)).length >= 2, 'both calls')
  t.same(await outcomesOf(gateway), { 'SendMessage JSONRPC rejected': 1, 'SendStreamingMessage JSONRPC agent_error': 1 })
})
