/** The playground on a real admin listener: policies decide about one request and about the last requests, and nothing changes. */
import t from 'tap'
import type { Explanation } from '#offline/explain/explanation.js'
import { PlaygroundThread } from '#console/playground/playground-thread.js'
import type { Explained, Replayed, Sample } from '#console/playground/tasks.js'
import { grpcAgent, grpcGateway, requestOf } from '../front/grpc-kit.js'
import { call, MESSAGE, rpcBody } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { consoleFor, REQUIRED } from './kit.js'

const TIMESTAMP = 'https://github.com/a2aproject/a2a-samples/extensions/timestamp/v1'
const CARD = { capabilities: { extensions: [{ uri: TIMESTAMP }] } }
const SETTINGS = '{playground: true, requests: 5}'
const LIST = ', extensions: [timestamp]'
const STRICT = 'extensions:\n  timestamp: {mode: enforce}\n'

async function send (adminUrl: string, name: string, body: object, headers: readonly string[] = ['origin', adminUrl]): Promise<Answer> {
  return await call(`${adminUrl}/console/api/playground/${name}`, {
    method: 'POST',
    headers: ['content-type', 'application/json', ...headers],
    body: JSON.stringify(body)
  })
}

function message (timestamp: string): string {
  return rpcBody('SendMessage', { message: { ...MESSAGE, metadata: { 'github.com/a2aproject/a2a-samples/extensions/timestamp/v1/timestamp': timestamp } } })
}

t.test('off by default', async t => {
  const { gateway, api } = await consoleFor(t)
  for (const answer of [await api('api/playground/start'), await send(gateway.adminUrl, 'explain', { agent: 'agent', policy: '' })]) {
    t.equal(answer.status, 403)
    t.match(answer.json(), { error: /server\.console\.playground/ })
  }
  t.match((await api('api/status')).json(), { playground: false })
})

t.test('a policy is evaluated, and stays out of force', async t => {
  const { gateway, agent, api } = await consoleFor(t, SETTINGS, LIST, CARD)
  const { adminUrl } = gateway
  t.match((await api('api/playground/start')).json(), { agents: ['agent'], keeps: 5, catalogue: [{ name: /./ }] })
  t.match((await api('api/playground/schema')).json(), { properties: { extensions: { type: 'object' } } })
  t.match((await api('api/playground/document?agent=agent')).json(), /- name: agent\n/)
  const request = `POST /rpc\nA2A-Version: 1.0\nContent-Type: application/json\n\n${message('yesterday')}`
  const explain = async (policy: string, text = request): Promise<Explained> =>
    (await send(adminUrl, 'explain', { agent: 'agent', policy, request: text })).json() as unknown as Explained
  const observed = await explain('')
  t.match(observed, { problems: [], problem: null, explanation: { decision: 'forward' } })
  t.match(observed.text, /timestamp[^]*ts: violated/)
  const strict = await explain(STRICT)
  t.match(strict.explanation as Explanation, { decision: 'reject', rule: 'timestamp/ts', refusal: { body: /EXTENSION_DATA_INVALID/ } })
  t.match(await explain('extensions:\n  timestamp: {mod: enforce}\n'), {
    problems: [{ file: 'policy', line: 2, col: 15, message: /unknown key "mod"/, hint: 'did you mean "mode"?' }],
    explanation: null
  })
  t.match(await explain('', 'nonsense'), { problem: /^request:1: / })
  t.match(await explain('', "curl http://x/rpc -d '@/etc/passwd'"), { problem: /names the file "\/etc\/passwd".*reads no files/ })
  t.match(await explain('', 'POST /rpc\n\n< /etc/passwd'), { problem: /names the file "\/etc\/passwd".*reads no files/ })
  t.match(await explain('', ''), { problem: null, explanation: null })
  t.equal(agent.received.length, 0, 'the agent got nothing')
  const sent = await call(`${gateway.url}/rpc`, { method: 'POST', headers: ['a2a-version', '1.0', 'content-type', 'application/json'], body: message('yesterday') })
  t.notMatch(sent.text, /EXTENSION_DATA_INVALID/, 'the policy in force is the old one')
  t.equal(agent.received.length, 1)
})

t.test('samples of the catalogue fit the agent', async t => {
  const { gateway, api } = await consoleFor(t, SETTINGS, LIST, CARD)
  const samples = (await api('api/playground/samples?agent=agent')).json() as unknown as Sample[]
  t.match(samples[0], { policy: '', text: /^POST \/rpc\n[^]*"hello"/ })
  const own = samples.filter(({ policy }) => policy === 'timestamp')
  t.ok(own.length > 3)
  const wrong: unknown[] = []
  for (const { name, expected, text } of own) {
    const { explanation } = (await send(gateway.adminUrl, 'explain', { agent: 'agent', policy: STRICT, request: text })).json() as unknown as Explained
    if ((explanation as Explanation | null)?.decision !== expected) wrong.push(name)
  }
  t.same(wrong, [])
})

t.test('the last requests are replayed, without credentials', async t => {
  const { gateway, api } = await consoleFor(t, SETTINGS, LIST, CARD)
  const post = async (body: string, headers: readonly string[] = []): Promise<void> => {
    await call(`${gateway.url}/rpc?access_token=t0psecret`, {
      method: 'POST',
      headers: ['a2a-version', '1.0', 'content-type', 'application/json', 'authorization', 'Bearer t0psecret', 'cookie', 'a=t0psecret', ...headers],
      body
    })
  }
  await post(message('too old to be kept'))
  for (const text of ['2023-11-14T22:13:20Z', 'yesterday', 'tomorrow']) await post(message(text))
  await post(rpcBody('SendMessage', { message: { ...MESSAGE, parts: [{ text: 'x'.repeat(70_000) }] } }))
  await post(message('2023-11-14T22:13:21Z'), ['x-own', 'shown'])
  const requests = (await api('api/playground/requests?agent=agent')).json() as unknown as { id: string, operation: string, hasBody: boolean }[]
  t.equal(requests.length, 5)
  t.match(requests, [{ operation: 'SendMessage', hasBody: true }, { hasBody: false }])
  t.notMatch(JSON.stringify(requests), /yesterday|secret/)
  const text = (await api(`api/playground/request?agent=agent&id=${requests[0]?.id ?? ''}`)).json() as unknown as string
  t.match(text, /^POST \/rpc\?access_token=%5Bredacted%5D\n[^]*x-own: shown[^]*"2023-11-14T22:13:21Z"/)
  t.notMatch(text, /secret/)
  t.equal((await api(`api/playground/request?agent=agent&id=${requests[1]?.id ?? ''}`)).status, 404)
  const replay = async (policy: string, more: object = {}): Promise<Replayed> =>
    (await send(gateway.adminUrl, 'replay', { agent: 'agent', policy, ...more })).json() as unknown as Replayed
  const { replay: found } = await replay(STRICT)
  t.match(found, { evaluated: 4, withoutBody: 1, rejected: 2, newlyRejected: 2, newlyForwarded: 0, observed: 0 })
  t.match(found?.requests, [
    { before: 'forward', after: 'reject', rule: 'timestamp/ts', violations: [{ rule: 'timestamp/ts', mode: 'enforce', path: /timestamp/ }] },
    { before: 'forward', after: 'reject' }
  ])
  t.notMatch(JSON.stringify(found), /yesterday|tomorrow/, 'no data of the client')
  t.match((await replay('')).replay, { rejected: 0, newlyRejected: 0, observed: 2 })
  t.match((await replay(STRICT, { last: 1 })).replay, { evaluated: 1, rejected: 0 })
  t.match(await replay('extensions: {timestamp: {mode: strict}}'), { problems: [{ line: 1 }], replay: null })
})

t.test('required extensions', async t => {
  const { gateway } = await consoleFor(t, SETTINGS)
  await call(`${gateway.url}/rpc`, { method: 'POST', headers: ['a2a-version', '1.0', 'content-type', 'application/json'], body: rpcBody('SendMessage', { message: MESSAGE }) })
  const { replay } = (await send(gateway.adminUrl, 'replay', { agent: 'agent', policy: 'agents: [{name: agent, mode: observe}]' })).json() as unknown as Replayed
  t.match(replay, { evaluated: 1, rejected: 0, newlyForwarded: 1, observed: 1, requests: [{ before: 'reject', after: 'forward', rule: `${REQUIRED}/required` }] })
})

t.test('calls over gRPC', async t => {
  const agent = await grpcAgent(t)
  const policy = 'extensions:\n  notes: {uri: "urn:notes", mode: enforce, request: [{id: note, select: {metadata: {in: [message], key: note}}, count: {max: 0}}]}\n'
  const gateway = await grpcGateway(t, agent, { agent: ['card: {advertise: [{uri: "urn:notes"}]}'], server: [`console: ${SETTINGS}`] })
  const message = (metadata: object): Buffer => requestOf({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'a' }], metadata } })
  await gateway.client.call({ body: message({}) })
  await gateway.client.call({ body: message({ note: 'hush' }) })
  const { replay } = (await send(gateway.adminUrl, 'replay', { agent: 'agent', policy })).json() as unknown as Replayed
  t.match(replay, { evaluated: 2, newlyRejected: 1, requests: [{ binding: 'GRPC', after: 'reject', rule: 'notes/note' }] })
  const text = (await call(`${gateway.adminUrl}/console/api/playground/request?agent=agent&id=${replay?.requests[0]?.id ?? ''}`)).json() as unknown as string
  const explained = (await send(gateway.adminUrl, 'explain', { agent: 'agent', policy, request: text })).json() as unknown as Explained
  t.match(explained.explanation, { binding: 'GRPC', decision: 'reject', rule: 'notes/note' })
})

t.test('without the setting, no request is kept', async t => {
  const { gateway, api } = await consoleFor(t, '{playground: true}')
  await call(`${gateway.url}/rpc`, { method: 'POST', headers: ['content-type', 'application/json'], body: rpcBody('SendMessage', { message: MESSAGE }) })
  t.same((await api('api/playground/requests?agent=agent')).json(), [])
  t.match((await api('api/playground/start')).json(), { keeps: 0 })
})

t.test('other pages and wrong requests', async t => {
  const { gateway, api } = await consoleFor(t, SETTINGS)
  const { adminUrl } = gateway
  const value = { agent: 'agent', policy: '' }
  for (const headers of [[], ['origin', 'http://evil.example'], ['origin', adminUrl, 'sec-fetch-site', 'cross-site'], ['host', 'evil.example', 'origin', 'http://evil.example']]) {
    t.equal((await send(adminUrl, 'explain', value, headers)).status, 403, headers.join(' '))
  }
  t.equal((await api('api/playground/requests?agent=agent', { headers: ['sec-fetch-site', 'cross-site'] })).status, 403)
  t.equal((await api('api/playground/explain', { method: 'PUT' })).status, 405)
  t.equal((await api('api/playground/nowhere')).status, 404)
  t.equal((await api('api/playground/document?agent=nobody')).status, 404)
  t.equal((await send(adminUrl, 'explain', { agent: 'nobody', policy: '' })).status, 404)
  t.equal((await send(adminUrl, 'explain', { agent: 'agent' })).status, 400)
  t.equal((await send(adminUrl, 'replay', { ...value, last: 0 })).status, 400)
  t.equal((await send(adminUrl, 'explain', { agent: 'agent', policy: '#'.repeat(300_000) })).status, 413)
  t.equal((await send(adminUrl, 'explain', { agent: 'agent', policy: '', request: '#'.repeat(600_000) })).status, 413)
})

t.test('a task that takes too long ends the thread, and the next task gets another', async t => {
  const thread = new PlaygroundThread({ time: 1, waiting: 1 })
  t.teardown(() => { thread.close() })
  const task = { kind: 'request', request: {} } as never
  const { signal } = new AbortController()
  const first = thread.run(task, signal)
  const second = thread.run(task, AbortSignal.abort())
  await t.rejects(thread.run(task, signal), { message: /the playground is busy/ })
  await t.rejects(first, { status: 422, message: /takes more than 0\.001 s/ })
  await t.rejects(second, { message: 'no longer needed' })
  await t.rejects(thread.run(task, signal), { status: 422, message: /takes more than/ })
})
