/** Minor versions of A2A 1 after 1.0, pre-releases, and the names of bindings that SDKs write. */
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, MESSAGE, rpcBody } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'

const EXT = 'https://example.com/ext/consent/v1'
const POLICY = ['extensions:', `  consent: {uri: "${EXT}", request: [{id: flag, select: {metadata: {key: consent}}, schema: {type: boolean}}]}`]

const card = (url: string, ...interfaces: string[][]): object => plainCard(url, {
  capabilities: { streaming: true, extensions: [{ uri: EXT, required: true }] },
  supportedInterfaces: interfaces.map(([path = '', protocolBinding, protocolVersion]) => ({ url: url + path, protocolBinding, protocolVersion }))
})

type Response = Awaited<ReturnType<typeof call>>
const send = (gateway: TestGateway, version: string, method: string, params: object, more: string[] = ['a2a-extensions', EXT]): Promise<Response> =>
  call(`${gateway.url}/rpc`, {
    method: 'POST',
    headers: ['content-type', 'application/json', 'a2a-version', version, ...more],
    body: rpcBody(method, params, '1')
  })
const warnings = async (gateway: TestGateway): Promise<string[]> =>
  ((await (await fetch(`${gateway.adminUrl}/agents`)).json()) as [{ card: { warnings: string[] } }])[0].card.warnings
const logged = (gateway: TestGateway, text: RegExp): number => gateway.logs().filter(({ msg }) => text.test(String(msg))).length

t.test('a card and requests of 1.1 are carried with the rules of 1.0', async t => {
  let hold: (response: ServerResponse) => void = () => {}
  const held = new Promise<ServerResponse>(resolve => { hold = resolve })
  const agent = await fakeAgent(t, {
    card: url => card(url, ['/rpc', 'JSONRPC', '1.1'], ['/rest', 'HTTP+JSON', '1.1.0-rc.1']),
    answer: (request, response) => {
      response.setHeader('content-type', 'application/json')
      if (request.body.includes('"GetTask"')) hold(response)
      else response.end(request.body.includes('"id":1') ? TASK : '{"task":{"id":"t","contextId":"c","generation":3,"status":{"state":"TASK_STATE_WORKING"}}}')
    }
  })
  const TASK = '{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","contextId":"c","generation":3,"status":{"state":"TASK_STATE_WORKING"}}}}'
  const gateway = await gatewayFor(t, {
    yaml: oneAgent(agent.url, ['responses: enforce', 'extensions: [consent]'], [...POLICY, 'telemetry: {logs: {level: warn}}'])
  })
  const served = (await call(`${gateway.url}/.well-known/agent-card.json`, { headers: ['a2a-version', '1.1'] })).json()
  t.same(served['supportedInterfaces'], [
    { url: `${gateway.url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.1' },
    { url: `${gateway.url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.1.0-rc.1' }
  ])
  t.same(await warnings(gateway), [
    `JSONRPC 1.1 ${agent.url}/rpc: the rules of A2A 1.0 apply to this minor version`,
    `HTTP+JSON 1.1.0-rc.1 ${agent.url}/rest: the rules of A2A 1.0 apply to this minor version`
  ])

  const params = { message: { ...MESSAGE, taskId: 't' }, configuration: { ifGenerationMatch: 2 } }
  for (const version of ['1.1', '1.1.0-rc.1', '1.0', '1.0-rc']) {
    const { status, text } = await send(gateway, version, 'SendMessage', params)
    t.same([status, text], [200, TASK], version)
    const request = agent.received.at(-1)
    t.same(JSON.parse(String(request?.body)), { jsonrpc: '2.0', id: 1, method: 'SendMessage', params }, 'new members arrive')
    t.equal(request?.headers['a2a-version'], version.startsWith('1.1') ? version : '1.0', 'the agent gets the minor version')
  }
  const rest = await call(`${gateway.url}/rest/message:send?A2A-Version=1.1`, {
    method: 'POST', headers: ['content-type', 'application/json', 'a2a-extensions', EXT], body: JSON.stringify(params)
  })
  t.equal(rest.status, 200)
  t.match((await send(gateway, '1.1', 'SendMessage', params, [])).json(), { error: { code: -32008 } }, 'the rules apply')
  t.match((await send(gateway, '1.1', 'SendMessage', { message: { ...MESSAGE, metadata: { consent: 1 } } })).json(), { error: { code: -32602 } })

  const poll = send(gateway, '1.1', 'GetTask', { id: 't', ifGenerationMatch: 3 })
  const response = await held
  t.equal((await send(gateway, '1.1', 'SendMessage', params)).status, 200, 'other calls pass during a long poll')
  response.end(TASK)
  t.equal((await poll).text, TASK)
  t.equal(logged(gateway, /clients request A2A 1\.1, which the gateway does not know; the gateway carries them/), 1, 'logged once')

  t.match((await send(gateway, '2.0', 'SendMessage', params)).json(), { error: { code: -32009 } })
  t.match((await call(`${gateway.url}/rpc?A2A-Version=1.2`, {
    method: 'POST', headers: ['content-type', 'application/json', 'a2a-version', '1.1', 'a2a-extensions', EXT], body: rpcBody('SendMessage', params, '1')
  })).json(), { error: { data: [{ metadata: { rule: 'version-conflict' } }] } })
})

t.test('protocol.unknownMinor: reject', async t => {
  const agent = await fakeAgent(t, { card: url => card(url, ['/rpc', 'JSONRPC', '1.1'], ['/rpc', 'JSONRPC', '1.0'], ['/rest', 'HTTP+JSON', '1.1']) })
  const gateway = await gatewayFor(t, {
    yaml: oneAgent(agent.url, ['protocol: {unknownMinor: reject}', 'extensions: []'], ['telemetry: {logs: {level: warn}}'])
  })
  const served = (await call(`${gateway.url}/.well-known/agent-card.json`)).json()
  t.same(served['supportedInterfaces'], [{ url: `${gateway.url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }])
  t.match((await warnings(gateway)).join('\n'), `HTTP+JSON 1.1 ${agent.url}/rest is not served: protocol.unknownMinor is reject`)
  t.match((await send(gateway, '1.1', 'SendMessage', { message: MESSAGE })).json(), { error: { code: -32009 } })
  t.equal((await send(gateway, '1.0', 'SendMessage', { message: MESSAGE })).json()['error'], undefined)
  t.equal(agent.received.length, 1)
  t.equal(logged(gateway, /the gateway rejects them/), 1)
})

t.test('names of bindings that SDKs write', async t => {
  const names = [
    ['/a', 'JSON-RPC'], ['/b', 'json_rpc'], ['/c', 'JSONRPC/2.0'], ['/d', 'REST'], ['/e', 'HTTP_JSON'], ['/f', 'http+json'], ['/g', 'HTTP'], ['/h', 'GRPC']
  ]
  const agent = await fakeAgent(t, { card: url => card(url, ...names.map(one => [...one, '1.0'])) })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const [{ interfaces }] = (await (await fetch(`${gateway.adminUrl}/agents`)).json()) as [{ interfaces: { path: string, binding: string }[] }]
  t.same(interfaces.map(({ path, binding }) => [path, binding]), [
    ['/a', 'JSONRPC'], ['/b', 'JSONRPC'], ['/c', 'JSONRPC'], ['/d', 'HTTP+JSON'], ['/e', 'HTTP+JSON'], ['/f', 'HTTP+JSON']
  ])
  t.match(await warnings(gateway), [/binding "JSON-RPC" is read as JSONRPC/])
})
