/** Policy servers decide about calls over HTTP: questions, answers and obligations, through a real gateway and a real server. */
import t from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, MESSAGE_03, open, rpc, rpcBody, untilSame, V1 } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { DENY, obligation, responding, PERMIT, permitWith, pointLine, policyServer } from './kit.js'

const REST = { message: MESSAGE }
const DATA = { message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'pay' }, { data: { total: 900, iban: 'DE1' } }] } }
const LONG = '{timeout: 30s}'.slice(1, -1)

t.test('every binding and version: the question, a permit and a denial', async t => {
  const agent = await fakeAgent(t)
  const denied = { decision: false, context: { reason_user: { 403: 'Ask your manager.' }, reason_admin: 'policy 7', decision_id: 'd-1' } }
  let answer: object = PERMIT
  const server = await policyServer(t, () => answer)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['external: [{id: spend, use: corp}]'], [pointLine(server.url, LONG)]) })
  const { url } = gateway
  const forms: readonly [string, () => ReturnType<typeof call>, object, number, object][] = [
    ['JSON-RPC 1.0', () => rpc(`${url}/rpc`, 'SendMessage', REST), { action: { name: 'SendMessage' }, resource: { type: 'a2a_agent', id: 'agent', properties: { version: '1.0', binding: 'JSONRPC' } } }, 200, { error: { code: -32004, message: /does not allow the call: Ask your manager\./ } }],
    ['JSON-RPC 0.3', () => call(`${url}/rpc`, { headers: JSON_TYPE, body: rpcBody('message/send', { message: MESSAGE_03 }) }), { action: { name: 'SendMessage' }, resource: { properties: { version: '0.3', binding: 'JSONRPC' } } }, 200, { error: { code: -32004 } }],
    ['HTTP+JSON 1.0', () => call(`${url}/rest/message:send`, { headers: [...JSON_TYPE, ...V1], body: JSON.stringify(REST) }), { resource: { properties: { binding: 'HTTP+JSON' } } }, 403, { error: { code: 403, status: 'PERMISSION_DENIED' } }],
    ['GET of a task', () => call(`${url}/rest/tasks/t1`, { headers: V1 }), { action: { name: 'GetTask' }, resource: { type: 'task', id: 't1' }, context: { taskId: 't1' } }, 403, { error: { code: 403 } }]
  ]
  for (const [name, send, question, status, error] of forms) {
    answer = PERMIT
    const passed = await send()
    t.equal(passed.status, 200, `${name}: ${passed.text}`)
    t.match(server.received.at(-1)?.body, { subject: { type: 'anonymous', id: 'anonymous' }, ...question }, name)
    t.match(server.received.at(-1)?.body, { context: { phase: 'request', extensions: { requested: [], active: [], missing: [] }, supported_obligations: ['notification', 'custom'] } })
    const before = agent.received.length
    answer = denied
    const rejected = await send()
    t.equal(rejected.status, status, name)
    t.match(rejected.json(), error, name)
    t.notMatch(rejected.text, /policy 7|d-1/, 'the reason for administrators stays in the gateway')
    t.equal(rejected.headers['gateway-decision'], 'reject;rule="gateway/external"', name)
    t.equal(agent.received.length, before, `${name}: the agent gets nothing`)
  }
  t.equal(await gateway.metric('a2a_gateway_external_decisions_total{agent="agent",rule="spend",outcome="allow"}'), forms.length)
  t.equal(await gateway.metric('a2a_gateway_external_decisions_total{agent="agent",rule="spend",outcome="deny"}'), forms.length)
  // Each question counts in the histogram a2a_gateway_external_decision_duration_seconds.
  t.equal(await gateway.metric('a2a_gateway_external_decision_duration_seconds_count{agent="agent",phase="request"}'), forms.length * 2)
  await untilSame(t, () => gateway.audits().filter(line => line.decision === 'rejected').length, forms.length, 'audit lines')
  t.match(gateway.audits().find(line => line.decision === 'rejected'), {
    reason: 'EXTERNAL_DECISION_DENIED', external: [{ rule: 'spend', phase: 'request', mode: 'enforce', outcome: 'deny', id: 'd-1', reason: 'policy 7', cached: false }]
  })
  t.equal(server.received.every(one => one.path === '/access/v1/evaluation' && one.headers['content-type'] === 'application/json'), true)
  t.equal(new Set(server.received.map(one => one.headers['x-request-id'])).size, server.received.length)
  const card = await call(`${url}/.well-known/agent-card.json`)
  t.equal(card.status, 200)
  t.equal(server.received.length, forms.length * 2, 'a card has no question')
})

t.test('operations and conditions select the calls that are asked about', async t => {
  const agent = await fakeAgent(t)
  const server = await policyServer(t, () => DENY)
  const yaml = oneAgent(agent.url, ['external:', '  - {id: sends, use: corp, operations: [messages], when: {match: {properties: {message: {properties: {parts: {contains: {required: [data]}}}}}}}}', '  - {id: cancels, use: corp, operations: [CancelTask]}'], [pointLine(server.url, LONG)])
  const { url } = await gatewayFor(t, { yaml })
  t.match((await rpc(`${url}/rpc`, 'SendMessage', REST)).json(), { result: {} }, 'no data')
  t.match((await rpc(`${url}/rpc`, 'GetTask', { id: 't' })).json(), { result: {} }, 'another operation')
  t.equal(server.received.length, 0)
  t.match((await rpc(`${url}/rpc`, 'SendMessage', DATA)).json(), { error: { code: -32004 } })
  t.match((await rpc(`${url}/rpc`, 'CancelTask', { id: 't' })).json(), { error: { code: -32004 } })
  t.equal(server.received.length, 2)
  t.match((await rpc(`${url}/rpc`, 'SendMessage', { message: 1 })).json(), { error: { code: -32602 } })
  t.equal(server.received.length, 2, 'the server sees valid calls only')
})

t.test('send: message, without what redact names', async t => {
  const agent = await fakeAgent(t)
  const server = await policyServer(t, () => PERMIT)
  const yaml = oneAgent(agent.url, ['external: [{id: dlp, use: corp, send: message, redact: [/message/parts/*/data/iban, /message/metadata]}]'], [pointLine(server.url, LONG)])
  const { url } = await gatewayFor(t, { yaml })
  await rpc(`${url}/rpc`, 'SendMessage', { message: { ...DATA.message, metadata: { secret: 'x' } } })
  t.same(server.received[0]?.body['context']?.['request'], { message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'pay' }, { data: { total: 900 } }] } })
  t.match(String(agent.received[0]?.body), /DE1/, 'the agent gets everything')
  const big = await call(`${url}/rpc`, { headers: [...JSON_TYPE, ...V1], body: rpcBody('SendMessage', REST).replace('"hello"', '"hello"').replace('"parts"', '"metadata":{"n":12345678901234567890},"parts"') })
  t.equal(big.status, 503, 'a number that the server could read differently is not asked about')
  t.equal(server.received.length, 1)
})

t.test('obligations: strip, set, header, notification, redact', async t => {
  const agent = await fakeAgent(t, { answer: responding({ task: { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ artifactId: 'a', parts: [{ data: { iban: 'DE2', ok: 1 } }] }] } }) })
  const answer = permitWith(
    obligation({ action: 'strip', path: '/message/parts/1/data/iban' }),
    obligation({ action: 'set', path: '/message/metadata', value: { checked: true } }, 'o2'),
    obligation({ action: 'header', name: 'X-Approved-By', value: 'corp' }, 'o3'),
    obligation({ action: 'redact', path: '/task/artifacts/*/parts/*/data/iban' }, 'o4'),
    { type: 'notification', id: 'o5', properties: { to: 'fraud@example.com', topic: 'Payment', body: 'Somebody pays.' } }
  )
  const server = await policyServer(t, () => answer)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['external: [{id: dlp, use: corp}]'], [pointLine(server.url, LONG)]) })
  const response = await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1, 'x-approved-by', 'me', 'content-digest', 'sha-256=:x:'], body: rpcBody('SendMessage', DATA) })
  t.same((JSON.parse(String(agent.received[0]?.body)) as { params: unknown }).params, { message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'pay' }, { data: { total: 900 } }], metadata: { checked: true } } })
  t.equal(agent.received[0]?.headers['x-approved-by'], 'corp', 'the value of the client is replaced')
  t.equal(agent.received[0]?.headers['content-digest'], undefined, 'a digest of other bytes goes')
  t.match(response.json(), { result: { task: { id: 't1', artifacts: [{ parts: [{ data: { ok: 1 } }] }] } } })
  t.notMatch(response.text, /DE2/)
  await untilSame(t, () => gateway.audits().filter(line => line.decision === 'notified').length, 1, 'the notice')
  t.match(gateway.audits().find(line => line.decision === 'notified'), { phase: 'request', notices: [{ to: 'fraud@example.com', topic: 'Payment', body: 'Somebody pays.' }] })
})

t.test('an obligation that cannot be fulfilled denies, and the others are fulfilled', async t => {
  const agent = await fakeAgent(t)
  const notice = { type: 'notification', id: 'n', properties: { to: 'a', body: 'b' } }
  const cases: readonly [string, object][] = [
    ['an unknown type', { type: 'step-up', id: 'o', properties: { acr_value: '3' } }],
    ['another vendor', { type: 'custom', id: 'o', properties: { vendor: 'x', action: 'strip', path: '/message' } }],
    ['an unknown action', obligation({ action: 'watermark' })],
    ['no path', obligation({ action: 'strip' })],
    ['a header of HTTP', obligation({ action: 'header', name: 'Transfer-Encoding', value: 'x' })],
    ['a header of A2A', obligation({ action: 'header', name: 'a2a_version', value: '0.3' })],
    ['a line break', obligation({ action: 'header', name: 'x-a', value: 'a\r\nb: c' })],
    ['no place', obligation({ action: 'set', path: '/nothing/there', value: 1 })],
    ['no properties', { type: 'custom', id: 'o' }]
  ]
  let answer: object = PERMIT
  const server = await policyServer(t, () => answer)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['external: [{id: dlp, use: corp}]'], [pointLine(server.url, LONG)]) })
  for (const [name, one] of cases) {
    answer = permitWith(one, notice)
    t.match((await rpc(`${gateway.url}/rpc`, 'SendMessage', REST)).json(), { error: { code: -32004 } }, name)
  }
  t.equal(agent.received.length, 0)
  t.equal(await gateway.metric('a2a_gateway_external_decisions_total{agent="agent",rule="dlp",outcome="obligation"}'), cases.length)
  await untilSame(t, () => gateway.audits().filter(line => line.decision === 'notified').length, cases.length, 'the notices')
  t.match(gateway.audits().find(line => line.decision === 'rejected'), { external: [{ refused: 'the obligation o is of an unknown type' }] })
})

t.test('changed data is evaluated again by the rules of the gateway', async t => {
  const agent = await fakeAgent(t, { card: url => ({ ...plainDeclaring(url) }) })
  let answer: object = PERMIT
  const server = await policyServer(t, () => answer)
  const yaml = oneAgent(agent.url, ['extensions: [p]', 'external: [{id: dlp, use: corp}]'], ['extensions:', '  p: {uri: "urn:p", request: [{id: total, select: {part: {data: true, path: /total}}, required: true, schema: {type: number, maximum: 1000}}]}', pointLine(server.url, LONG)])
  const { url } = await gatewayFor(t, { yaml })
  const pay = () => rpc(`${url}/rpc`, 'SendMessage', DATA, ['a2a-extensions', 'urn:p'])
  t.match((await pay()).json(), { result: {} })
  answer = permitWith(obligation({ action: 'set', path: '/message/parts/1/data/total', value: 2000 }))
  t.match((await pay()).json(), { error: { code: -32602, message: /total must be at most 1000/ } })
  answer = permitWith(obligation({ action: 'strip', path: '/message/parts/1' }))
  t.match((await pay()).json(), { error: { code: -32602 } }, 'the required value is gone')
  answer = permitWith(obligation({ action: 'set', path: '/message/parts/1/data/total', value: 5 }))
  t.match((await pay()).json(), { result: {} })
  t.match(String(agent.received.at(-1)?.body), /"total":5/)
  t.equal(agent.received.length, 2)
})

function plainDeclaring (url: string): object {
  return {
    name: 'a',
    description: 'd',
    version: '1',
    protocolVersion: '1.0',
    url: `${url}/rpc`,
    preferredTransport: 'JSONRPC',
    supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true, extensions: [{ uri: 'urn:p' }] },
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: []
  }
}

t.test('a rule asks about the values that it selects', async t => {
  const agent = await fakeAgent(t, { card: plainDeclaring })
  const server = await policyServer(t, question => {
    const [first] = (question['context']?.['selected'] ?? []) as unknown as { value: number }[]
    return { decision: (first?.value ?? 0) < 1000 }
  })
  const yaml = oneAgent(agent.url, ['extensions: [p]'], ['extensions:', '  p: {uri: "urn:p", request: [{id: total, select: {part: {data: true, path: /total}}, external: corp}]}', pointLine(server.url, LONG)])
  const gateway = await gatewayFor(t, { yaml })
  const pay = (total: number) => rpc(`${gateway.url}/rpc`, 'SendMessage', { message: { ...DATA.message, parts: [{ data: { total, iban: 'DE1' } }] } }, ['a2a-extensions', 'urn:p'])
  t.match((await pay(900)).json(), { result: {} })
  t.match(server.received[0]?.body, { context: { rule: 'p/total', selected: [{ path: '/message/parts/0/data/total', value: 900 }], extensions: { requested: ['urn:p'], active: ['urn:p'] } } })
  t.notMatch(JSON.stringify(server.received[0]?.body), /DE1/, 'nothing else leaves')
  t.match((await pay(2000)).json(), { error: { code: -32004, message: /params\.message\.parts\[0\]\.data\.total/, data: [{}, { reason: 'EXTERNAL_DECISION_DENIED', metadata: { rule: 'total', extension: 'urn:p' } }] } })
  t.equal(await gateway.metric('a2a_gateway_external_decisions_total{agent="agent",rule="p/total",outcome="deny"}'), 1)
  await rpc(`${gateway.url}/rpc`, 'SendMessage', REST, ['a2a-extensions', 'urn:p'])
  t.equal(server.received.length, 2, 'a rule that selects nothing asks nothing')
})

t.test('observe asks, and lets every call pass', async t => {
  const agent = await fakeAgent(t)
  const server = await policyServer(t, () => DENY)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['external: [{id: spend, use: corp, mode: observe}]'], [pointLine(server.url, LONG)]) })
  t.match((await rpc(`${gateway.url}/rpc`, 'SendMessage', REST)).json(), { result: {} })
  await untilSame(t, () => server.received.length, 1, 'questions')
  await untilSame(t, () => gateway.metric('a2a_gateway_external_decisions_total{agent="agent",rule="spend",outcome="deny"}').catch(() => 0), 1, 'a recorded answer')
})

t.test('a client that leaves cancels its question', async t => {
  const agent = await fakeAgent(t)
  const server = await policyServer(t, () => undefined)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['external: [{id: spend, use: corp}]'], [pointLine(server.url, 'timeout: 30s')]) })
  const request = open(`${gateway.url}/rpc`, { method: 'POST', headers: [...JSON_TYPE, ...V1], body: rpcBody('SendMessage', REST) })
  request.on('error', () => {})
  request.end(rpcBody('SendMessage', REST))
  await untilSame(t, () => server.received.length, 1, 'questions')
  request.destroy()
  await untilSame(t, () => server.cancelled(), 1, 'cancelled questions')
  t.equal(agent.received.length, 0)
})
