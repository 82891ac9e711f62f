/** Dependencies between extensions over real sockets: one rejection that names all, and rules that depend on another extension. */
import t from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, rpcBody, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'

const [BASE, SIGNED, PAID] = ['https://example.com/base/v1', 'https://example.com/signed/v1', 'https://example.com/paid/v1'] as const
const TASK = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' }, metadata: { receipt: 7 } }

const POLICIES = `extensions:
  base: {uri: "${BASE}"}
  signed: {uri: "${SIGNED}", activation: {requires: [base]}}
  paid:
    uri: "${PAID}"
    activation: {requires: [signed]}
    request: [{id: amount, select: {metadata: {key: amount}}, schema: {type: number}, when: {active: "${SIGNED}"}}]
    response: [{id: receipt, select: {metadata: {in: [task], key: receipt}}, schema: {type: string}, unless: {active: "${SIGNED}"}, verdict: reject}]`

t.test('a client that sends what one rejection names is accepted', async t => {
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { extensions: [BASE, SIGNED, { uri: PAID, required: true }].map(one => typeof one === 'string' ? { uri: one } : one) } }),
    answer: (request, response) => {
      const result = { task: TASK }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(request.url === '/rpc' ? { jsonrpc: '2.0', id: 1, result } : result))
    }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['extensions: [base, signed, paid]', 'responses: enforce'], [POLICIES]) })
  const send = async (path: string, metadata: object, requested?: string): ReturnType<typeof call> => {
    const message = { ...MESSAGE, metadata }
    return await call(`${gateway.url}${path}`, {
      headers: [...JSON_TYPE, ...V1, ...requested === undefined ? [] : ['a2a-extensions', requested]],
      body: path === '/rpc' ? rpcBody('SendMessage', { message }) : JSON.stringify({ message })
    })
  }
  for (const path of ['/rpc', '/rest/message:send']) {
    const rejected = (await send(path, {})).text
    const named = /"missingExtensions": ?"([^"]*)"/.exec(rejected)?.[1] ?? ''
    t.strictSame(named.split(','), [PAID, SIGNED, BASE], path)
    t.equal(agent.received.length, 0)
    t.match((await send(path, {}, named)).text, '"receipt":7', path)
    t.match((await send(path, { amount: 'x' }, named)).text, 'amount', 'a rule for requests that depends on the other extension')
    t.equal(agent.received.length, 1)
    agent.received.length = 0
  }
})

t.test('a rule for responses that depends on another extension', async t => {
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { extensions: [{ uri: SIGNED }, { uri: PAID }] } }),
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { task: TASK } }))
    }
  })
  const policies = POLICIES.replace('\n    activation: {requires: [signed]}', '').replace(', activation: {requires: [base]}', '')
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['extensions: [signed, paid]', 'responses: enforce'], [policies]) })
  for (const [requested, status] of [[PAID, -32006], [`${PAID},${SIGNED}`, undefined], [SIGNED, undefined]] as const) {
    const response = await call(`${gateway.url}/rpc`, {
      headers: [...JSON_TYPE, ...V1, 'a2a-extensions', requested],
      body: rpcBody('SendMessage', { message: MESSAGE })
    })
    t.equal((response.json() as { error?: { code?: number } }).error?.code, status, requested)
  }
})
