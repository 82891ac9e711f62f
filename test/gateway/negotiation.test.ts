/**
 * Extensions and versions: the gateway accepts every alias, sends the agent's alias to the agent, and returns the client's alias to the
 * client.
 */
import t from 'tap'
import type { Test } from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, JSON_TYPE, lines, MESSAGE, MESSAGE_03, rpc, rpcBody, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import type { FakeAgent } from '../helpers/raw.js'

const A = 'https://example.com/ext/a/v1'
const B = 'https://example.com/ext/b/v1'
const C = 'https://example.com/ext/c/v1'

interface Setup {
  readonly agent?: string
  readonly upstream?: string
  readonly root?: string
  readonly echo?: readonly string[]
  readonly status?: number
  readonly extensions?: ReadonlyArray<{ uri: string; required?: boolean }>
}

async function setup (t: Test, options: Setup = {}): Promise<{ agent: FakeAgent, gateway: TestGateway }> {
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { extensions: options.extensions ?? [{ uri: A }, { uri: B }] } }),
    answer: (_request, response) => {
      response
        .writeHead(options.status ?? 200, ['content-type', 'application/json', ...(options.echo ?? [])] as unknown as string[])
        .end('{}')
    }
  })
  const gateway = await gatewayFor(t, {
    yaml: `agents: [{name: agent, upstream: {url: "${agent.url}"${options.upstream ?? ''}}${options.agent ?? ''}}]\n${options.root ?? ''}`
  })
  return { agent, gateway }
}

/** Both headers as the agent got them, by line. */
function arrived (agent: FakeAgent): [string[], string[]] {
  const raw = agent.received.at(-1)?.rawHeaders ?? []
  return [lines(raw, 'a2a-extensions'), lines(raw, 'x-a2a-extensions')]
}

t.test('for every form of the client\'s list, the agent gets each URI once, in order', async t => {
  const { agent, gateway } = await setup(t)
  const table: Array<[string, readonly string[], string[]]> = [
    ['one', ['A2A-Extensions', A], [A]],
    ['the older name', ['X-A2A-Extensions', A], [A]],
    ['commas', ['A2A-Extensions', `${A},${B}`], [A, B]],
    ['blanks and empty members', ['a2a-extensions', ` , ${A} ,,\t${B}\t, `], [A, B]],
    ['lines', ['A2A-Extensions', B, 'A2A-Extensions', A], [B, A]],
    ['both names, duplicates', ['X-A2A-Extensions', `${A}, ${B}`, 'A2A-Extensions', `${B},${C}`, 'a2a-EXTENSIONS', A], [A, B, C]],
    ['case counts in a URI', ['A2A-Extensions', `${A},${A.toUpperCase()}`], [A, A.toUpperCase()]],
    ['nothing', [], []],
    ['an empty header', ['A2A-Extensions', ''], []],
    ['no URIs, as long as they are texts', ['A2A-Extensions', 'x y, "a;b"'], ['x y', '"a;b"']]
  ]
  for (const [name, headers, expected] of table) {
    t.equal((await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, headers)).status, 200, name)
    t.same(arrived(agent), [expected, []], name)
    await call(`${gateway.url}/rest/tasks/1`, { headers: [...V1, ...headers] })
    t.same(arrived(agent), [expected, []], `${name}: GET`)
  }
})

t.test('spelling and form are those of the agent, for both versions', async t => {
  const table: Array<[string, string, [string[], string[]], [string[], string[]]]> = [
    ['auto', 'repeated', [[A, B], []], [[], [A, B]]],
    ['auto', 'joined', [[`${A},${B}`], []], [[], [`${A},${B}`]]],
    ['v1', 'repeated', [[A, B], []], [[A, B], []]],
    ['v1', 'joined', [[`${A},${B}`], []], [[`${A},${B}`], []]],
    ['v03', 'repeated', [[], [A, B]], [[], [A, B]]],
    ['v03', 'joined', [[], [`${A},${B}`]], [[], [`${A},${B}`]]],
    ['both', 'repeated', [[A, B], [A, B]], [[A, B], [A, B]]],
    ['both', 'joined', [[`${A},${B}`], [`${A},${B}`]], [[`${A},${B}`], [`${A},${B}`]]]
  ]
  for (const [spelling, form, v1, v03] of table) {
    const { agent, gateway } = await setup(t, { upstream: `, extensionHeader: {spelling: ${spelling}, form: ${form}}` })
    for (const name of ['A2A-Extensions', 'X-A2A-Extensions']) {
      const headers = [name, `${A}, ${B}`]
      await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, headers)
      t.same(arrived(agent), v1, `${spelling} ${form}: 1.0 from ${name}`)
      await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...headers], body: rpcBody('message/send', { message: MESSAGE_03 }) })
      t.same(arrived(agent), v03, `${spelling} ${form}: 0.3 from ${name}`)
    }
  }
})

t.test('unlistedExtensions: forward, strip, reject', async t => {
  const headers = ['A2A-Extensions', `${C},${A}`]
  const forward = await setup(t)
  t.equal((await rpc(`${forward.gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, headers)).status, 200)
  t.same(arrived(forward.agent)[0], [C, A])
  const strip = await setup(t, { agent: ', unlistedExtensions: strip' })
  await rpc(`${strip.gateway.url}/rpc`, 'GetTask', { id: '1' }, headers)
  t.same(arrived(strip.agent)[0], [A])
  await rpc(`${strip.gateway.url}/rpc`, 'GetTask', { id: '1' }, ['A2A-Extensions', C])
  t.same(arrived(strip.agent), [[], []], 'nothing is left')
  const reject = await setup(t, { agent: ', unlistedExtensions: reject' })
  const got = await rpc(`${reject.gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, headers)
  t.match(got.json(), { error: { code: -32004, message: new RegExp(A), data: [{ reason: 'UNSUPPORTED_OPERATION' }, { reason: 'EXTENSION_NOT_ALLOWED' }] } })
  const older = await rpc(`${reject.gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['X-A2A-Extensions', C])
  t.match(older.text, '"field":"header X-A2A-Extensions"', 'the header that the client sent')
  const rest = await call(`${reject.gateway.url}/rest/message:send`, {
    headers: [...JSON_TYPE, ...V1, ...headers],
    body: JSON.stringify({ message: MESSAGE })
  })
  t.equal(rest.status, 403)
  t.match(rest.json(), { error: { code: 403, status: 'PERMISSION_DENIED' } })
  t.equal(reject.agent.received.length, 0)
  t.equal((await rpc(`${reject.gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['A2A-Extensions', A])).status, 200)
})

const INJECT = (expose: boolean): Setup => ({
  agent: ', extensions: [mine]',
  root: `extensions: {mine: {uri: "${C}", activation: {default: inject, expose: ${expose}}}}`,
  extensions: [{ uri: A }, { uri: C, required: true }]
})

t.test('injected extensions are requested on every operation', async t => {
  const { agent, gateway } = await setup(t, INJECT(false))
  const id = { id: 't', taskId: 't' }
  for (const method of [
    'SendMessage',
    'SendStreamingMessage',
    'GetTask',
    'ListTasks',
    'CancelTask',
    'SubscribeToTask',
    'CreateTaskPushNotificationConfig',
    'GetTaskPushNotificationConfig',
    'ListTaskPushNotificationConfigs',
    'DeleteTaskPushNotificationConfig'
  ]) {
    t.equal((await rpc(`${gateway.url}/rpc`, method, method.startsWith('Send') ? { message: MESSAGE } : id)).status, 200, method)
    t.same(arrived(agent), [[C], []], method)
  }
  await rpc(`${gateway.url}/rpc`, 'GetTask', id, ['A2A-Extensions', A])
  t.same(arrived(agent)[0], [A, C], 'after the client\'s own')
  await rpc(`${gateway.url}/rpc`, 'GetTask', id, ['A2A-Extensions', `${C},${A}`])
  t.same(arrived(agent)[0], [C, A], 'and not twice')
  for (const [verb, path] of [
    ['GET', '/rest/tasks'],
    ['GET', '/rest/tasks/1'],
    ['POST', '/rest/tasks/1:cancel'],
    ['GET', '/rest/tasks/1:subscribe'],
    ['GET', '/rest/tasks/1/pushNotificationConfigs'],
    ['DELETE', '/rest/tasks/1/pushNotificationConfigs/2'],
    ['GET', '/rest/tenant/tasks']
  ] as const) {
    t.equal((await call(gateway.url + path, { method: verb, headers: V1 })).status, 200, `${verb} ${path}`)
    t.same(arrived(agent), [[C], []])
  }
  await call(`${gateway.url}/rpc`, { headers: JSON_TYPE, body: rpcBody('tasks/get', { id: 't' }) })
  t.same(arrived(agent), [[], [C]], '0.3')
})

t.test('the echo has the client\'s spelling', async t => {
  for (const echo of [
    ['A2A-Extensions', A, 'A2A-Extensions', B],
    ['X-A2A-Extensions', `${A}, ${B}`],
    ['a2a-extensions', A, 'x-a2a-extensions', `${B},${A}`]
  ]) {
    const { gateway } = await setup(t, { echo })
    for (const [sent, back, other] of [
      ['A2A-Extensions', 'a2a-extensions', 'x-a2a-extensions'],
      ['X-A2A-Extensions', 'x-a2a-extensions', 'a2a-extensions']
    ] as const) {
      const got = await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, [sent, `${A},${B}`])
      t.same(
        lines(got.rawHeaders, back)
          .join(',')
          .split(/\s*,\s*/),
        [A, B]
      )
      t.equal(got.headers[other], undefined)
    }
    const silent = await rpc(`${gateway.url}/rpc`)
    t.equal(silent.headers['a2a-extensions'], `${A},${B}`, "to a client that asked for nothing, in its version's")
    const legacy = await call(`${gateway.url}/rpc`, { headers: JSON_TYPE, body: rpcBody('tasks/get', { id: 't' }) })
    t.equal(legacy.headers['x-a2a-extensions'], `${A},${B}`)
  }
})

t.test('an injected URI is hidden from the echo, unless exposed or requested', async t => {
  const echo = ['A2A-Extensions', `${A},${C}`]
  const hidden = await setup(t, { ...INJECT(false), echo })
  t.equal((await rpc(`${hidden.gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['A2A-Extensions', A])).headers['a2a-extensions'], A)
  t.equal(
    (await rpc(`${hidden.gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['A2A-Extensions', `${A},${C}`])).headers[
      'a2a-extensions'
    ],
    `${A},${C}`
  )
  const onlyIt = await setup(t, { ...INJECT(false), echo: ['A2A-Extensions', C] })
  t.equal((await rpc(`${onlyIt.gateway.url}/rpc`)).headers['a2a-extensions'], undefined, 'no empty header is left')
  const exposed = await setup(t, { ...INJECT(true), echo })
  t.equal(
    (await rpc(`${exposed.gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['A2A-Extensions', A])).headers['a2a-extensions'],
    `${A},${C}`
  )
})

t.test('activations are counted by requester and echo', async t => {
  const { gateway } = await setup(t, { ...INJECT(false), echo: ['A2A-Extensions', `${C},${B}`] })
  await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['A2A-Extensions', A])
  await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['A2A-Extensions', `${A},urn:from-a-client`])
  const count = (extension: string, source: string, echo: string): Promise<number> =>
    gateway.metric(`a2a_gateway_activations_total{agent="agent",extension="${extension}",source="${source}",echo="${echo}"}`)
  t.equal(await count(A, 'client', 'absent'), 2)
  t.equal(await count('mine', 'gateway', 'confirmed'), 2)
  t.equal(await count('other', 'client', 'unexpected'), 2, 'B, which this card does not list')
  t.equal(await count('other', 'client', 'absent'), 1, 'a client\'s own URI is no label')
  const failing = await setup(t, { status: 500 })
  await rpc(`${failing.gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['A2A-Extensions', A])
  t.equal(
    await failing.gateway.metric(`a2a_gateway_activations_total{agent="agent",extension="${A}",source="client",echo="absent"}`),
    0,
    'a failure says nothing of activation'
  )
})

t.test('A2A-Version is forwarded normalised, and stays absent for 0.3', async t => {
  const { agent, gateway } = await setup(t)
  const versionOf = (): string[] => lines(agent.received.at(-1)?.rawHeaders ?? [], 'a2a-version')
  for (const sent of ['1.0', '1.0.1', '1.0.0', ' 1.0 ', '1.0.9-rc1']) {
    t.equal(
      (await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, 'A2A-Version', sent], body: rpcBody('GetTask', { id: '1' }) })).status,
      200,
      sent
    )
    t.same(versionOf(), ['1.0'], sent)
  }
  for (const sent of ['0.3', '0.3.0', '0.2.6']) {
    t.equal(
      (await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, 'a2a-version', sent], body: rpcBody('tasks/get', { id: '1' }) })).status,
      200,
      sent
    )
    t.same(versionOf(), ['0.3'], sent)
  }
  for (const headers of [[], ['a2a-version', '']]) {
    await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...headers], body: rpcBody('tasks/get', { id: '1' }) })
    t.same(versionOf(), [], 'absent, or empty')
  }
  await call(`${gateway.url}/rest/tasks/1?A2A-Version=1.0.1&x=1`)
  t.same(versionOf(), ['1.0'], 'the query parameter counts')
  t.equal(agent.received.at(-1)?.url, '/rest/tasks/1?A2A-Version=1.0.1&x=1', 'and stays where it is')
  await call(`${gateway.url}/rest/tasks/1?a2a-version=1.0`, { headers: V1 })
  t.same(versionOf(), ['1.0'])
  const before = agent.received.length
  const conflict = await call(`${gateway.url}/rest/tasks/1?A2A-Version=0.3`, { headers: V1 })
  t.equal(conflict.status, 400)
  t.match(conflict.text, 'differ')
  t.equal(agent.received.length, before)
})

t.test('more extensions than limits.extensions are rejected', async t => {
  const { agent, gateway } = await setup(t, { root: 'limits: {extensions: 3}' })
  const many = (n: number): string => Array.from({ length: n }, (_, i) => `urn:${i}`).join(',')
  t.equal((await rpc(`${gateway.url}/rpc`, 'GetTask', { id: '1' }, ['A2A-Extensions', many(3)])).status, 200)
  t.match((await rpc(`${gateway.url}/rpc`, 'GetTask', { id: '1' }, ['A2A-Extensions', many(4)])).json(), { error: { code: -32600 } })
  t.equal(agent.received.length, 1)
})

t.test('enforceOn: messages requires extensions on sends, the default on every operation', async t => {
  const required = { extensions: [{ uri: A, required: true }] }
  const messages = await setup(t, { ...required, agent: ', enforceOn: messages' })
  t.match((await rpc(`${messages.gateway.url}/rpc`)).json(), { error: { code: -32008 } })
  t.equal((await rpc(`${messages.gateway.url}/rpc`, 'GetTask', { id: '1' })).text, '{}')
  const all = await setup(t, required)
  t.match((await rpc(`${all.gateway.url}/rpc`, 'GetTask', { id: '1' })).json(), { error: { code: -32008 } })
  const rest = await call(`${all.gateway.url}/rest/tasks/1`, { headers: V1 })
  t.equal(rest.status, 400)
  t.match(rest.json(), {
    error: {
      status: 'FAILED_PRECONDITION',
      details: [{ reason: 'EXTENSION_SUPPORT_REQUIRED', domain: 'a2a-protocol.org', metadata: { missingExtensions: A } }]
    }
  })
  t.equal((await call(`${all.gateway.url}/.well-known/agent-card.json`)).status, 200, 'never on the card')
  t.equal(all.agent.received.length, 0)
})
