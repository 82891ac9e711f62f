/** What spans say about chains of callers, and `explain` and policy tests with a chain. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { commandLine } from '../helpers/command-line.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { MESSAGE, rpc, until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { identityKeys } from '../identity/signing-keys.js'

const REST = { message: MESSAGE }

t.test('spans', async t => {
  const agent = await fakeAgent(t)
  const env = { OTEL_TRACES_EXPORTER: 'console', OTEL_BSP_SCHEDULE_DELAY: '50' }
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['access: {delegation: {maxDepth: 2}}'], ['telemetry: {logs: {level: silent}, traces: {enabled: true}}']), env })
  await rpc(`${gateway.url}/rpc`, 'SendMessage', REST, ['via', '1.1 a2a-gateway-000000000000, 2 a2a-gateway-000000000001'])
  const depthOf = (span: Record<string, unknown>): unknown => (span['attributes'] as Record<string, unknown>)['a2a_gateway.delegation.depth']
  await until(() => gateway.spans().some(span => depthOf(span) !== undefined), 'the span of the call')
  t.equal(gateway.spans().map(depthOf).find(depth => depth !== undefined), 2)
})

t.test('explain and policy tests', async t => {
  const { ed } = await identityKeys()
  const access = 'access: {allow: [{id: staff, on: [messages], caller: {groups: [staff]}}, {id: agents, on: [all], caller: {groups: [agents]}}], delegation: {maxDepth: 2, as: {client: b}, mayReach: [c]}}'
  const chain = (initiator: string, hops: string): string => `{client: a, groups: [agents], delegation: {hops: [${hops}], initiator: ${initiator}}}`
  const folder = t.testdir({
    'card.json': JSON.stringify(plainCard('http://127.0.0.1:1')),
    'own.pem': ed,
    'call.http': `POST /rpc\nContent-Type: application/json\nA2A-Version: 1.0\na2a-delegation: recorded\n\n{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${JSON.stringify(REST)}}\n`,
    'delegation.test.yaml': `agent: agent
tests:
  - {name: staff, caller: ${chain('{subject: alice, groups: [staff]}', 'edge/a')}, request: {message: {parts: [{text: a}]}}, expect: {decision: forward}, bindings: [JSONRPC, HTTP+JSON]}
  - {name: a guest, caller: ${chain('{subject: bob, groups: [guests]}', 'edge/a')}, request: {message: {parts: [{text: a}]}}, expect: {decision: reject, rule: gateway/delegation, reason: DELEGATION_NOT_ALLOWED, message: initiated, status: 403}, bindings: [HTTP+JSON]}
  - {name: too deep, caller: ${chain('{subject: alice, groups: [staff]}', 'edge/a, edge/x, edge/y')}, request: {message: {parts: [{text: a}]}}, expect: {decision: reject, reason: DELEGATION_NOT_ALLOWED, message: Too many agents}}
  - {name: a loop, caller: ${chain('{subject: alice, groups: [staff]}', 'east/agent')}, request: {message: {parts: [{text: a}]}}, expect: {decision: reject, reason: DELEGATION_NOT_ALLOWED, message: already passed}}
  - {name: an agent for nobody, caller: {client: a, groups: [agents]}, request: {message: {parts: [{text: a}]}}, expect: {decision: reject, reason: DELEGATION_INVALID}}
`
  })
  const domain = ['delegation: {gateway: east, trustDomain: test, key: {file: own.pem}, agents: {groups: [agents]}}', 'identity: {sources: {corp: {jwt: {issuer: "https://idp.example.com", audience: [a], keys: discover}}}}']
  writeFileSync(join(folder, 'gateway.yaml'), `version: 1\n${oneAgent('http://127.0.0.1:1', ['card: {file: card.json}', access], domain)}\n`)
  const run = (...args: string[]) => commandLine(args, { cwd: folder })
  const tests = await run('test', '--config', 'gateway.yaml', 'delegation.test.yaml')
  t.equal(tests.code, 0, tests.out + tests.err)
  const caller = (initiator: object, hops: readonly string[]): string => JSON.stringify({ client: 'a', groups: ['agents'], delegation: { hops, initiator } })
  const alice = await run('explain', '--config', 'gateway.yaml', '--caller', caller({ subject: 'alice', groups: ['staff'] }, ['edge/a']), 'call.http')
  t.equal(alice.code, 0, alice.out + alice.err)
  t.match(alice.out, /delegation +1 in between \(edge\/a\), initiated by alice of corp, groups staff\n/)
  t.match(alice.out, /a2a-delegation/, 'the header for the agent')
  t.notMatch(alice.out, /recorded/)
  const bob = await run('explain', '--config', 'gateway.yaml', '--json', '--caller', caller({ subject: 'bob' }, ['edge/a']), 'call.http')
  t.equal(bob.code, 1)
  t.match(JSON.parse(bob.out), { requests: [{ decision: 'reject', reason: 'DELEGATION_NOT_ALLOWED', delegation: { depth: 1, hops: ['edge/a'], initiator: { subject: 'bob' }, mode: 'enforce', problem: 'initiator' } }] })
  const unverified = await run('explain', '--config', 'gateway.yaml', '--caller', '{"groups": ["staff"]}', 'call.http')
  t.match(unverified.out, /explain does not verify; give the chain with "delegation" in --caller/)
  t.match(unverified.out, /delegation +a direct call/)
})
