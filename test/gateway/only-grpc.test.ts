/** An agent whose card names only gRPC interfaces, with and without a gRPC listener of the gateway. */
import t from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, freePorts, JSON_TYPE, MESSAGE, rpc, rpcBody, V1 } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'

const CARD = '/.well-known/agent-card.json'
const ONLY_GRPC = {
  name: 'only',
  supportedInterfaces: [{ url: 'agent.test:50051', protocolBinding: 'GRPC', protocolVersion: '1.0' }],
  capabilities: {}
}
const MESSAGES = /^The agent "agent" offers only gRPC, and the gateway does not serve this agent by gRPC; a retry does not help/

t.test('without a gRPC listener: 501 over every HTTP binding, not to be retried, with a reason for operators', async t => {
  const agent = await fakeAgent(t, { card: () => ONLY_GRPC })
  const gateway = await gatewayFor(t, { yaml: `${oneAgent(agent.url)}\ntelemetry: {logs: {level: warn}}` }, false)
  const json = await call(`${gateway.url}/`, { method: 'POST', headers: [...JSON_TYPE, ...V1], body: rpcBody('SendMessage', { message: MESSAGE }) })
  const rest = await call(`${gateway.url}/message:send`, { method: 'POST', headers: [...JSON_TYPE, ...V1], body: JSON.stringify({ message: MESSAGE }) })
  const card = await call(gateway.url + CARD, { headers: V1 })
  const got = await call(`${gateway.url}/tasks/t`, { headers: V1 })
  for (const response of [json, rest, card, got]) {
    t.equal(response.status, 501)
    t.equal(response.headers['retry-after'], undefined)
    t.equal(response.headers['gateway-decision'], 'reject;rule="gateway/only-grpc"')
  }
  t.match(json.json(), { id: 1, error: { code: -32603, message: MESSAGES } })
  t.match(rest.json(), { error: { code: 501, status: 'UNIMPLEMENTED', message: MESSAGES, details: [{ reason: 'GRPC_NOT_SERVED' }] } })

  const why = /names only gRPC interfaces: GRPC 1\.0 agent\.test:50051 is not served: the gateway has no gRPC listener for the agent .* bypass the gateway/
  t.match(gateway.logs().map(line => line['msg']), [why])
  const agents = await (await fetch(`${gateway.adminUrl}/agents`)).json() as object
  t.match(agents, [{ ready: false, card: { state: 'failed', problem: why } }])
  t.equal((await fetch(`${gateway.adminUrl}/readyz`)).status, 503)
})

t.test('with a gRPC listener: the card names the public address, in the order of the agent', async t => {
  const both = (url: string): object => ({
    ...ONLY_GRPC,
    supportedInterfaces: [...ONLY_GRPC.supportedInterfaces, { url: `${url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
  })
  const agent = await fakeAgent(t, { card: both })
  const [port = 0] = await freePorts(1)
  const server = `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, grpc: {listen: "127.0.0.1:${port}", publicAddress: "gate.test:443"}}\n`
  const gateway = await gatewayFor(t, { yaml: server + oneAgent(agent.url) })
  const card = await call(gateway.url + CARD, { headers: V1 })
  t.match(card.json(), {
    supportedInterfaces: [
      { url: 'gate.test:443', protocolBinding: 'GRPC', protocolVersion: '1.0' },
      { url: `${gateway.url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }
    ]
  })
  const agents = await (await fetch(`${gateway.adminUrl}/agents`)).json() as object
  t.match(agents, [{
    ready: true,
    interfaces: [{ binding: 'JSONRPC', path: '/a2a' }, { binding: 'GRPC', version: '1.0', address: 'gate.test:443', upstream: 'grpc://127.0.0.1:50051' }],
    card: { warnings: [] }
  }])
  t.equal((await rpc(`${gateway.url}/a2a`)).status, 200, 'HTTP works as ever')
})

t.test('gRPC only, with a gRPC listener: the card is served, and HTTP calls are not operations of the agent', async t => {
  const agent = await fakeAgent(t, { card: () => ONLY_GRPC })
  const [port = 0] = await freePorts(1)
  const server = 'server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms}\n'
  const gateway = await gatewayFor(t, { yaml: server + oneAgent(agent.url, [`grpc: {listen: "127.0.0.1:${port}", publicAddress: "gate.test:9"}`]) })
  const card = await call(gateway.url + CARD, { headers: V1 })
  t.match(card.json(), { supportedInterfaces: [{ url: 'gate.test:9', protocolBinding: 'GRPC' }] })
  const response = await call(`${gateway.url}/message:send`, { method: 'POST', headers: [...JSON_TYPE, ...V1], body: '{}' })
  t.match([response.status, response.json()], [404, { error: { details: [{ reason: 'ROUTE_NOT_FOUND' }] } }])
})
