/** What spans and logs say about policy servers, and `explain`, `external ask` and policy tests with their answers. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { tail } from '../console/kit.js'
import { commandLine } from '../helpers/command-line.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { freePort, MESSAGE, rpc, until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { pointLine, policyServer } from './kit.js'

const REST = { message: MESSAGE }

t.test('spans and logs', async t => {
  const agent = await fakeAgent(t)
  const server = await policyServer(t, () => ({ decision: false }))
  const more = 'telemetry: {logs: {level: warn}, traces: {enabled: true}}'
  const env = { OTEL_TRACES_EXPORTER: 'console', OTEL_BSP_SCHEDULE_DELAY: '50' }
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['external: [{id: spend, use: corp}]'], [pointLine(server.url, 'timeout: 10s'), more]), env })
  await rpc(`${gateway.url}/rpc`, 'SendMessage', REST)
  await until(() => gateway.spans().some(span => span.name === 'ExternalDecision'), 'the span of a question')
  await until(() => gateway.spans().some(span => span.name === 'SendMessage'), 'the span of a call')
  const span = gateway.spans().find(one => (one.attributes as Record<string, unknown>)['a2a_gateway.external'] !== undefined)
  t.same((span?.attributes as Record<string, unknown>)['a2a_gateway.external'], ['spend: deny'])
  const down = await gatewayFor(t, { yaml: oneAgent(agent.url, ['external: [{id: spend, use: corp}]'], [pointLine(`http://127.0.0.1:${await freePort()}/x`), more.replace('true', 'false')]) })
  t.equal((await rpc(`${down.url}/rpc`, 'SendMessage', REST)).status, 503)
  await until(() => down.logs().some(line => 'decision_point' in line), 'a log line')
  t.match(down.logs().find(line => 'decision_point' in line), { agent: 'agent', decision_point: 'corp', problem: 'unreachable', msg: 'no decision of the policy server' })
})

t.test('the console has questions and answers, without data', async t => {
  const agent = await fakeAgent(t)
  const server = await policyServer(t, question => question['action']?.['name'] as unknown === 'GetTask' ? { decision: true } : { decision: false, context: { reason_admin: 'policy 7', decision_id: 'd-1' } })
  const yaml = oneAgent(agent.url, ['external: [{id: dlp, use: corp, send: message}]'], [pointLine(server.url, 'timeout: 10s')])
  const gateway = await gatewayFor(t, { yaml: `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, console: {}}\n${yaml}` })
  const { entries } = await tail(t, gateway.adminUrl)
  await rpc(`${gateway.url}/rpc`, 'GetTask', { id: 't1' })
  await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: { ...MESSAGE, parts: [{ text: 'SECRET' }] } })
  await until(() => entries.length === 2, 'two decisions')
  t.match(entries.map(({ answers }) => answers), [
    [{ rule: 'dlp', use: 'corp', outcome: 'allow', id: null }],
    [{ rule: 'dlp', use: 'corp', outcome: 'deny', id: 'd-1', reasonAdmin: 'policy 7', question: /"name": "SendMessage"[^]*"request": "…"/ }]
  ])
  t.match(JSON.stringify(server.received), /SECRET/)
  t.notMatch(JSON.stringify(entries), /SECRET/)
})

t.test('explain, external ask and policy tests', async t => {
  const server = await policyServer(t, () => ({ decision: false, context: { reason_user: 'Not on Sundays.', decision_id: 'd-9' } }))
  const folder = t.testdir({
    'card.json': JSON.stringify(plainCard('http://127.0.0.1:1')),
    'call.http': `POST /rpc\nContent-Type: application/json\nA2A-Version: 1.0\n\n{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${JSON.stringify(REST)}}\n`,
    'policies.test.yaml': `card: {name: a, capabilities: {}}
agent: {external: [{id: spend, use: corp}]}
tests:
  - {name: a denial rejects, external: {corp: {decision: false}}, request: {message: {parts: [{text: pay}]}}, expect: {decision: reject, reason: EXTERNAL_DECISION_DENIED, rule: gateway/external, status: 403}, bindings: [HTTP+JSON]}
  - {name: a permit forwards, external: {corp: {decision: true}}, request: {message: {parts: [{text: pay}]}}, expect: {decision: forward, unchanged: true}}
  - name: an obligation changes the request
    external: {corp: {decision: true, context: {obligations: [{type: custom, id: o, properties: {vendor: a2a, action: set, path: /message/metadata, value: {checked: 1}}}]}}}
    request: {message: {parts: [{text: pay}]}}
    expect: {decision: forward, body: {/message/metadata: {checked: 1}}}
    bindings: [JSONRPC, HTTP+JSON, GRPC]
  - {name: no answer rejects, external: {corp: error}, request: {message: {parts: [{text: pay}]}}, expect: {decision: reject, reason: EXTERNAL_DECISION_UNAVAILABLE}}
  - {name: without a recorded answer a question has no effect, request: {message: {parts: [{text: pay}]}}, expect: {decision: forward}}
`
  })
  writeFileSync(join(folder, 'gateway.yaml'), `version: 1\n${oneAgent('http://127.0.0.1:1', ['card: {file: card.json}', 'external: [{id: spend, use: corp}]'], [pointLine(server.url, 'timeout: 10s')])}\n`)
  const run = (...args: string[]) => commandLine(args, { cwd: folder })
  const asked = await run('external', 'ask', '--config', 'gateway.yaml', 'call.http')
  t.equal(asked.code, 1, asked.err)
  t.match(asked.out, /policy servers\n {2}spend: asks corp: deny\n {4}question \{/)
  t.match(asked.out, /"reasonUser": "Not on Sundays\."/)
  t.match(asked.out, /does not allow the call: Not on Sundays/)
  t.equal(server.received.length, 1)
  const explained = await run('explain', '--config', 'gateway.yaml', 'call.http')
  t.equal(explained.code, 0, explained.err)
  t.match(explained.out, /spend: asks corp: no answer is recorded, so the question has no effect here/)
  const recorded = await run('explain', '--config', 'gateway.yaml', '--external', '{"corp": {"decision": false}}', '--json', 'call.http')
  t.equal(recorded.code, 1, recorded.err)
  t.match(JSON.parse(recorded.out), { requests: [{ decision: 'reject', reason: 'EXTERNAL_DECISION_DENIED', external: [{ rule: 'spend', outcome: 'deny' }] }] })
  t.equal(server.received.length, 1, 'explain asks nobody')
  const tests = await run('test', '--format', 'tap', 'policies.test.yaml')
  t.equal(tests.code, 0, tests.out)
  t.match(tests.out, /a denial rejects/)
  const wrong = await run('external', 'tell', 'call.http')
  t.equal(wrong.code, 2)
  t.match(wrong.err, /write "external ask" and one recording/)
})
