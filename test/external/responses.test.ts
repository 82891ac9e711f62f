/** Policy servers decide about responses and events, over HTTP, gRPC and in a mesh. */
import t from 'tap'
import type { ServerResponse } from 'node:http'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { EVENT, grpcAgent, grpcGateway, HELLO, readResponse, reply, responseOf } from '../front/grpc-kit.js'
import { envoyFor, MODE } from '../front/mesh-kit.js'
import type { Lines } from '../front/mesh-kit.js'
import { DENY, obligation, PERMIT, permitWith, pointLine, policyServer, responding } from './kit.js'
import type { Question } from './kit.js'

const REST = { message: MESSAGE }
const LONG = 'timeout: 30s'
const task = (state: string, data: object = { iban: 'DE2', ok: 1 }): object => ({
  task: { id: 't1', contextId: 'c1', status: { state: `TASK_STATE_${state}` }, artifacts: [{ artifactId: 'a', parts: [{ data }] }] }
})
const RESPONSE = 'external: [{id: out, use: corp, phase: response}]'
const stateOf = (question: Question): unknown => (question['context']?.['results'] as unknown as { state?: string }[])[0]?.state

t.test('a whole response: permit, deny, strip, set', async t => {
  const agent = await fakeAgent(t, { answer: responding(task('COMPLETED')) })
  let answer: object = PERMIT
  const server = await policyServer(t, () => answer)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [RESPONSE], [pointLine(server.url, LONG)]) })
  const send = () => rpc(`${gateway.url}/rpc`, 'SendMessage', REST)
  t.match((await send()).json(), { result: task('COMPLETED') })
  t.equal(server.received.length, 1, 'the request has no question')
  t.match(server.received[0]?.body, { action: { name: 'SendMessage' }, context: { phase: 'response', taskId: 't1', contextId: 'c1', results: [{ kind: 'task', taskId: 't1', state: 'completed' }], supported_actions: ['strip', 'set'] } })
  t.notMatch(JSON.stringify(server.received[0]?.body), /DE2/, 'facts have no values')
  answer = DENY
  const denied = await send()
  t.match(denied.json(), { error: { code: -32004, message: /does not allow the call/ } })
  t.notMatch(denied.text, /DE2/)
  answer = permitWith(obligation({ action: 'strip', path: '/task/artifacts/*/parts/*/data/iban' }), obligation({ action: 'set', path: '/task/metadata', value: { checked: 1 } }))
  const changed = await send()
  t.match(changed.json(), { result: { task: { id: 't1', artifacts: [{ parts: [{ data: { ok: 1 } }] }], metadata: { checked: 1 } } } })
  t.notMatch(changed.text, /DE2/)
  answer = permitWith(obligation({ action: 'header', name: 'x-a', value: 'b' }))
  t.match((await send()).json(), { error: { code: -32004 } }, 'an obligation without a meaning in responses')
  t.equal(await gateway.metric('a2a_gateway_external_decision_duration_seconds_count{agent="agent",phase="response"}'), 4)
})

t.test('the error of an agent, and a response of another operation, have no question', async t => {
  const agent = await fakeAgent(t, {
    answer: (_, response) => {
      response.setHeader('content-type', 'application/json')
      response.end('{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"none"}}')
    }
  })
  const server = await policyServer(t, () => DENY)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [RESPONSE], [pointLine(server.url, LONG)]) })
  t.match((await rpc(`${gateway.url}/rpc`, 'GetTask', { id: 't' })).json(), { error: { code: -32001 } })
  t.match((await rpc(`${gateway.url}/rpc`, 'ListTaskPushNotificationConfigs', { taskId: 't' })).json(), { error: { code: -32001 } })
  t.equal(server.received.length, 0)
})

t.test('events: one question at a time, in order; a denied event ends the stream', async t => {
  const events = ['SUBMITTED', 'WORKING', 'WORKING', 'COMPLETED'].map((state, i) => `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: task(state, { iban: 'DE2', i }) })}\n\n`)
  const agent = await fakeAgent(t, {
    answer: (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`: hello\n\n${events.join('')}`)
    }
  })
  const open: ServerResponse[] = []
  let most = 0
  let last: object = PERMIT
  const server = await policyServer(t, (question, response) => {
    open.push(response)
    most = Math.max(most, open.length)
    setTimeout(() => {
      open.splice(open.indexOf(response), 1)
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(stateOf(question) === 'completed' ? last : permitWith(obligation({ action: 'strip', path: '/task/artifacts/0/parts/0/data/iban' }))))
    }, 5)
    return undefined
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [RESPONSE], [pointLine(server.url, LONG)]) })
  const stream = () => call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1, 'accept', 'text/event-stream'], body: rpcBody('SendStreamingMessage', REST) })
  const passed = await stream()
  t.equal(passed.text.match(/^data:/gm)?.length, 4)
  t.equal(passed.text.match(/DE2/g)?.length, 1, 'the last event is not changed')
  t.same([...passed.text.matchAll(/"i":(\d)/g)].map(one => one[1]), ['0', '1', '2', '3'], 'in order')
  t.equal(most, 1, 'one open question of a stream')
  last = DENY
  const denied = await stream()
  t.match(denied.text, /"i":2[^]*"code":-32004/)
  t.notMatch(denied.text, /"i":3/)
})

t.test('own rules see what the server has changed, and the server does not see what they remove', async t => {
  const card = (url: string): unknown => plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: 'urn:p' }] } })
  const agent = await fakeAgent(t, { card, answer: responding({ task: { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_COMPLETED' }, metadata: { secret: 'S1', total: 5 } } }) })
  let answer: object = PERMIT
  const server = await policyServer(t, () => answer)
  const yaml = oneAgent(agent.url, ['responses: enforce', 'extensions: [p]', 'external: [{id: out, use: corp, phase: response, send: message}]'], ['extensions:', '  p: {uri: "urn:p", response: [{id: secret, select: {metadata: {in: [task], key: secret}}, count: {max: 0}, verdict: strip}, {id: total, select: {metadata: {in: [task], key: total}}, schema: {maximum: 10}, verdict: reject}]}', pointLine(server.url, LONG)])
  const gateway = await gatewayFor(t, { yaml })
  const send = () => rpc(`${gateway.url}/rpc`, 'SendMessage', REST, ['a2a-extensions', 'urn:p'])
  const first = await send()
  t.match(first.json(), { result: { task: { metadata: { total: 5 } } } })
  t.notMatch(first.text, /S1/)
  t.match(server.received[0]?.body, { context: { result: { task: { metadata: { total: 5 } } } } })
  t.notMatch(JSON.stringify(server.received[0]?.body), /S1/)
  answer = permitWith(obligation({ action: 'set', path: '/task/metadata/total', value: 7 }))
  const second = await send()
  t.match(second.json(), { result: { task: { metadata: { total: 7 } } } })
  t.notMatch(second.text, /S1/, 'the removals of the rules stay')
  answer = permitWith(obligation({ action: 'set', path: '/task/metadata/total', value: 70 }))
  t.match((await send()).json(), { error: { code: -32006 } })
})

t.test('a rule of a policy asks about the values of a response', async t => {
  const card = (url: string): unknown => plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: 'urn:p' }] } })
  const agent = await fakeAgent(t, { card, answer: responding({ task: { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_COMPLETED' }, metadata: { total: 5 } } }) })
  let answer: object = PERMIT
  const server = await policyServer(t, () => answer)
  const yaml = oneAgent(agent.url, ['responses: enforce', 'extensions: [p]'], ['extensions:', '  p: {uri: "urn:p", response: [{id: total, select: {metadata: {in: [task], key: total}}, external: corp, verdict: reject}]}', pointLine(server.url, LONG)])
  const gateway = await gatewayFor(t, { yaml })
  const send = () => rpc(`${gateway.url}/rpc`, 'SendMessage', REST, ['a2a-extensions', 'urn:p'])
  t.match((await send()).json(), { result: {} })
  t.match(server.received[0]?.body, { context: { rule: 'p/total', selected: [{ path: '/task/metadata/total', value: 5 }] } })
  answer = DENY
  t.match((await send()).json(), { error: { code: -32004 } })
})

t.test('gRPC: requests, responses and streams', async t => {
  const value = { task: { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_COMPLETED' }, metadata: { iban: 'DE2', ok: true } } }
  const agent = await grpcAgent(t, { answer: one => { reply(one, one.headers[':path']?.endsWith('SendStreamingMessage') === true ? [EVENT, EVENT] : [responseOf(value)]) } })
  let answers: Record<string, object> = { request: PERMIT, response: PERMIT }
  const server = await policyServer(t, question => answers[String(question['context']?.['phase'])] ?? DENY)
  const { client } = await grpcGateway(t, agent, { agent: ['external: [{id: both, use: corp, phase: both}]'], root: [pointLine(server.url, LONG)] } as Parameters<typeof grpcGateway>[2])
  const passed = await client.call({ body: HELLO })
  t.equal(passed.status, 0, passed.message ?? '')
  t.match(server.received[0]?.body, { action: { name: 'SendMessage' }, resource: { properties: { binding: 'GRPC', version: '1.0' } }, context: { phase: 'request' } })
  t.match(server.received[1]?.body, { context: { phase: 'response', results: [{ kind: 'task', state: 'completed' }] } })
  answers = { request: permitWith(obligation({ action: 'set', path: '/message/metadata', value: { checked: true } }), obligation({ action: 'header', name: 'x-approved-by', value: 'corp' })), response: permitWith(obligation({ action: 'strip', path: '/task/metadata/iban' })) }
  const changed = await client.call({ body: HELLO })
  t.equal(changed.status, 0, changed.message ?? '')
  t.match(agent.calls.at(-1)?.headers, { 'x-approved-by': 'corp' })
  t.match(Buffer.concat(agent.calls.at(-1)?.chunks ?? []).toString('latin1'), /checked/)
  const metadata = (readResponse(changed.messages[0] as Buffer)['task'] as { metadata: object }).metadata
  t.same(Object.keys(metadata), ['ok'])
  answers = { request: { decision: false, context: { reason_user: 'No.' } }, response: PERMIT }
  const denied = await client.call({ body: HELLO })
  t.equal(denied.status, 7, 'PERMISSION_DENIED')
  t.match(denied.message, /No\./)
  answers = { request: PERMIT, response: DENY }
  t.equal((await client.call({ body: HELLO })).status, 7)
  const streamed = await client.call({ body: HELLO, path: '/lf.a2a.v1.A2AService/SendStreamingMessage' })
  t.equal(streamed.status, 7)
  t.equal(streamed.messages.length, 0)
})

t.test('a mesh: ext_authz and ext_proc ask too', async t => {
  const agent = await fakeAgent(t)
  let answer: object = PERMIT
  const server = await policyServer(t, () => answer)
  const gateway = await gatewayFor(t, {
    yaml: ['server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 500ms, mesh: {listen: "127.0.0.1:0"}}', 'agents:', `  - {name: agent, upstream: {url: "${agent.url}"}, external: [{id: spend, use: corp}]}`, pointLine(server.url, LONG)].join('\n')
  })
  const envoy = envoyFor(t, gateway.mesh ?? '')
  const headers: Lines = [['content-type', 'application/json'], ['a2a-version', '1.0']]
  const sent = { path: '/rpc', headers, body: rpcBody('SendMessage', REST) }
  const reply = { status: 200, headers: [['content-type', 'application/json']] as Lines, chunks: ['{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"ok"}]}}}'] }
  const processed = async () => await envoy.process(sent, reply, { request: MODE.BUFFERED })
  t.equal((await processed()).own, false)
  answer = permitWith(obligation({ action: 'set', path: '/message/metadata', value: { checked: true } }), obligation({ action: 'header', name: 'x-approved-by', value: 'corp' }))
  const changed = await processed()
  t.match(changed.agent?.body, /"checked":true/)
  t.same(changed.agent?.headers.filter(([name]) => name === 'x-approved-by'), [['x-approved-by', 'corp']])
  answer = DENY
  const denied = await processed()
  t.equal(denied.own, true)
  t.match(denied.body, /-32004/)
  t.equal(denied.agent, null)
  t.match(server.received.at(-1)?.body, { action: { name: 'SendMessage' }, resource: { properties: { binding: 'JSONRPC' } } })
  await until(() => server.received.length === 3, 'three questions')

  const asked = async () => await envoy.check(sent)
  answer = PERMIT
  t.equal((await asked()).own, false, 'ext_authz')
  answer = DENY
  const rejected = await asked()
  t.equal(rejected.own, true)
  t.match(rejected.body, /-32004/)
  answer = permitWith(obligation({ action: 'set', path: '/message/metadata', value: { checked: true } }))
  t.match(await asked(), { own: true, status: 500, agent: null }, 'ext_authz cannot change a body: the call does not pass unchanged')
  t.equal(server.received.length, 6)
})
