/** What extensions may add to A2A, each by a policy over real sockets. */
import t from 'tap'
import { parseConfig } from '#config/load.js'
import { call, JSON_TYPE, MESSAGE, V1 } from '../helpers/http.js'
import { bench, declares, KONAMI } from './kit.js'

const A = 'https://example.com/ext/a/v1'
const B = 'https://example.com/ext/b/v1'
const C = 'https://example.com/ext/c/v1'
const TYPE = 'application/vnd.example.record+json'
const DATA = { data: { patient: 'p1' }, mediaType: TYPE }
const answered = (parts: unknown[]): unknown => ({ message: { messageId: 'a', role: 'ROLE_AGENT', parts } })

t.test('a profile extension demands data of one schema, in requests and in responses', async t => {
  let parts: unknown[] = [DATA]
  const { agent, send } = await bench(t, {
    card: declares({ uri: A }),
    agent: ['extensions: [profile]', 'responses: enforce'],
    root: [
      'extensions:',
      '  profile:',
      `    uri: ${A}`,
      '    request:',
      '      - {id: only-data, select: {part: {match: {not: {required: [data]}}}}, count: {max: 0}}',
      `      - {id: record, select: {part: {data: true, mediaType: "${TYPE}"}}, count: {min: 1}, schema: {type: object, required: [patient]}}`,
      '    response:',
      `      - {id: record-back, select: {part: {in: [message], data: true, mediaType: "${TYPE}"}}, schema: {type: object, required: [patient]}, verdict: reject}`
    ],
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: answered(parts) }))
    }
  })
  const say = async (...sent: unknown[]): Promise<unknown> =>
    (await send({ message: { messageId: 'm', role: 'ROLE_USER', parts: sent } })).json().error?.code
  t.equal(await say({ text: 'hello' }), -32602)
  t.equal(await say(DATA, { text: 'hello' }), -32602)
  t.equal(await say({ data: { name: 'x' }, mediaType: TYPE }), -32602)
  t.equal(agent.received.length, 0)
  t.equal(await say(DATA), undefined)
  parts = [{ data: {}, mediaType: TYPE }]
  t.equal(await say(DATA), -32006)
})

t.test('a method extension adds a method: unknown without a policy, and only with the extension and valid params with one', async t => {
  const params = { query: 'invoice' }
  const plain = await bench(t, { card: declares({ uri: A }) })
  t.match((await plain.send(params, [], 'tasks/search')).json(), { error: { code: -32601 } })
  t.equal(plain.agent.received.length, 0)
  const { agent, send } = await bench(t, {
    card: declares({ uri: A }),
    agent: ['extensions: [history]'],
    root: [`extensions: {history: {uri: "${A}", methods: {tasks/search: {need: active, params: {type: object, required: [query]}}}}}`]
  })
  t.match((await send(params, [], 'tasks/search')).json(), { error: { code: -32008 } })
  t.match((await send({}, ['A2A-Extensions', A], 'tasks/search')).json(), { error: { code: -32602 } })
  t.equal(agent.received.length, 0)
  t.equal((await send(params, ['A2A-Extensions', A], 'tasks/search')).json().error, undefined)
})

t.test('a policy can forbid members that A2A does not define, and demand those that it does', async t => {
  const { agent, send } = await bench(t, {
    card: declares({ uri: A }),
    agent: ['extensions: [core]'],
    root: [
      'extensions:',
      '  core:',
      `    uri: ${A}`,
      '    request:',
      '      - {id: known, select: {pointer: /message}, schema: {propertyNames: {enum: [messageId, contextId, taskId, role, parts, metadata, extensions, referenceTaskIds]}}}',
      '      - {id: named, select: {pointer: /message/messageId}, count: {min: 1}}',
      '      - {id: roles, select: {pointer: /message/role}, schema: {enum: [ROLE_USER, user]}}'
    ]
  })
  for (const sent of [{ ...MESSAGE, priority: 1 }, { role: 'ROLE_USER', parts: MESSAGE.parts }, { ...MESSAGE, role: 'ROLE_ADMIN' }]) {
    t.match((await send({ message: sent })).json(), { error: { code: -32602 } }, JSON.stringify(sent))
  }
  t.equal(agent.received.length, 0)
  t.equal((await send()).json().error, undefined)
})

t.test('custom attributes in the metadata of message and request are validated, and pass as they are without a policy', async t => {
  const sent = { message: { ...MESSAGE, metadata: { [A]: 'm' } }, metadata: { [A]: 'p' } }
  const plain = await bench(t, { card: declares({ uri: A }) })
  t.equal((await plain.send(sent)).json().error, undefined)
  t.match(plain.agent.received[0]?.body.toString(), JSON.stringify(sent))
  for (const place of ['message', 'params']) {
    const { send } = await bench(t, {
      card: declares({ uri: A }),
      agent: ['extensions: [attributes]'],
      root: [`extensions: {attributes: {uri: "${A}", request: [{id: number, select: {metadata: {in: [${place}], key: $uri}}, schema: {type: number}}]}}`]
    })
    t.match((await send(sent)).json(), { error: { code: -32602 } }, place)
  }
})

t.test('params of the declaration determine what a request may contain', async t => {
  const { send } = await bench(t, {
    card: declares({ uri: A, params: { codes: ['motherlode', 'rosebud'] } }),
    agent: ['extensions: [codes]'],
    root: [
      'extensions:',
      '  codes:',
      `    uri: ${A}`,
      '    request: [{id: code, select: {metadata: {in: [params], key: $uri/code}}, schema: {enumFromCard: "/capabilities/extensions/{self}/params/codes/*"}}]'
    ]
  })
  t.equal((await send({ message: MESSAGE, metadata: { [`${A}/code`]: 'rosebud' } })).json().error, undefined)
  t.match((await send({ message: MESSAGE, metadata: { [`${A}/code`]: 'xyzzy' } })).json(), { error: { code: -32602 } })
})

t.test('a client that activates an extension and does not follow its rules gets a validation error', async t => {
  const { agent, send } = await bench(t, {
    card: declares({ uri: KONAMI }),
    agent: ['extensions: [konami]'],
    root: [
      'extensions:',
      '  konami:',
      `    uri: ${KONAMI}`,
      '    owns: {metadata: [$uri/*]}',
      '    activation: {signals: [header]}',
      '    request: [{id: code, select: {metadata: {in: [params], key: $uri/code}}, count: {min: 1}, schema: {type: string}}]'
    ]
  })
  t.equal((await send()).json().error, undefined, 'inactive: no rule applies')
  t.match((await send(undefined, ['A2A-Extensions', KONAMI])).json(), { error: { code: -32602 } })
  t.match((await send({ message: MESSAGE, metadata: { [`${KONAMI}/code`]: 7 } }, ['A2A-Extensions', KONAMI])).json(), { error: { code: -32602 } })
  t.equal(agent.received.length, 1)
})

t.test('required dependencies of an activated extension are demanded, and may be added', async t => {
  const policies = (onMissing: string): string[] => [
    'extensions:',
    `  a: {uri: "${A}", activation: {requires: [b], onMissing: ${onMissing}}}`,
    `  b: {uri: "${B}", activation: {requires: [c], onMissing: ${onMissing}}, request: [{id: value, select: {metadata: {key: $uri}}, schema: {type: number}}]}`,
    `  c: {uri: "${C}"}`
  ]
  const card = declares({ uri: A }, { uri: B }, { uri: C })
  const strict = await bench(t, { card, agent: ['extensions: [a, b, c]'], root: policies('reject') })
  t.match((await strict.send(undefined, ['A2A-Extensions', A])).json(), { error: { code: -32602, data: [{ reason: 'INVALID_PARAMS' }, { reason: 'EXTENSION_DEPENDENCY_MISSING' }] } })
  t.match((await strict.send(undefined, ['A2A-Extensions', `${A}, ${B}`])).json(), { error: { data: [{ reason: 'INVALID_PARAMS' }, { reason: 'EXTENSION_DEPENDENCY_MISSING' }] } })
  t.equal(strict.agent.received.length, 0)
  t.equal((await strict.send(undefined, ['A2A-Extensions', `${A}, ${B}, ${C}`])).json().error, undefined)
  t.match(
    (await strict.send({ message: { ...MESSAGE, metadata: { [B]: 'text' } } }, ['A2A-Extensions', `${A}, ${B}, ${C}`])).json(),
    { error: { code: -32602, data: [{ reason: 'INVALID_PARAMS' }, { reason: 'EXTENSION_DATA_INVALID' }] } },
    'the rules of the dependency apply'
  )
  const adding = await bench(t, { card, agent: ['extensions: [a, b, c]'], root: policies('add') })
  t.equal((await adding.send(undefined, ['A2A-Extensions', A])).json().error, undefined)
  t.same(adding.agent.received[0]?.headers['a2a-extensions']?.toString().split(/, */).sort(), [A, B, C])
})

t.test('data of an extension that the client did not activate is removed from requests and responses', async t => {
  const { agent, send } = await bench(t, {
    card: declares({ uri: A }),
    agent: ['extensions: [a]', 'responses: enforce'],
    root: [`extensions: {a: {uri: "${A}", mode: enforce, owns: {metadata: [$uri]}, inactive: {request: strip, response: strip}}}`],
    result: { message: { messageId: 'a', role: 'ROLE_AGENT', parts: [{ text: 'ok' }], metadata: { [A]: 'detail', other: 1 } } }
  })
  const sent = { message: { ...MESSAGE, metadata: { [A]: 'detail', other: 1 } } }
  t.same((await send(sent)).json().result?.message?.metadata, { other: 1 })
  t.notMatch(agent.received[0]?.body.toString(), 'detail')
  t.same((await send(sent, ['A2A-Extensions', A])).json().result?.message?.metadata, { [A]: 'detail', other: 1 })
  t.match(agent.received[1]?.body.toString(), 'detail')
})

t.test('aliases name one extension: the agent gets the spelling of its card, the client its own', async t => {
  const permanent = 'https://w3id.example/ext/a'
  const { agent, send } = await bench(t, {
    card: declares({ uri: A, required: true }),
    agent: ['extensions: [a]'],
    root: [`extensions: {a: {uri: "${A}", aliases: [{uri: "${permanent}", relation: same}]}}`],
    answer: (request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'a2a-extensions': request.headers['a2a-extensions'] ?? '' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: answered([{ text: 'ok' }]) }))
    }
  })
  const got = await send(undefined, ['A2A-Extensions', permanent])
  t.equal(got.json().error, undefined)
  t.equal(agent.received[0]?.headers['a2a-extensions'], A)
  t.equal(got.headers['a2a-extensions'], permanent)
})

t.test('an alias that is another version is warned about', t => {
  const warningsOf = (alias: string): string[] => {
    const loaded = parseConfig(
      `version: 1\nagents: [{name: agent, upstream: {url: "http://127.0.0.1:9"}}]\nextensions: {a: {uri: "${A}", aliases: [{uri: "${alias}", relation: same}]}}`,
      { file: 'g.yaml', baseDir: '.', env: {} }
    )
    return loaded.ok ? loaded.warnings.map(({ message }) => message) : loaded.problems.map(({ message }) => `not loaded: ${message}`)
  }
  t.match(warningsOf(A.replace('v1', 'v2')).join(), /is version 2 and .* is version 1/)
  t.notMatch(warningsOf('https://w3id.example/ext/a').join(), /version/)
  t.end()
})

t.test('the gateway can report activated extensions for an agent that reports none', async t => {
  const { send } = await bench(t, {
    card: declares({ uri: A }),
    agent: ['extensions: [a]', 'responses: enforce'],
    root: [`extensions: {a: {uri: "${A}", owns: {metadata: [$uri]}, echo: synthesize}}`],
    result: { message: { messageId: 'a', role: 'ROLE_AGENT', parts: [{ text: 'ok' }], metadata: { [A]: 1 } } }
  })
  t.equal((await send(undefined, ['A2A-Extensions', A])).headers['a2a-extensions'], A)
  t.equal((await send()).headers['a2a-extensions'], undefined, 'not to a client that did not ask')
})

t.test('an endpoint that an extension adds is reached only with the extension', async t => {
  const { agent, gateway } = await bench(t, {
    card: declares({ uri: A }),
    agent: ['extensions: [a]'],
    root: [`extensions: {a: {uri: "${A}", routes: [{verb: POST, path: /executeCommand, body: {type: object, required: [command]}}]}}`]
  })
  const post = async (body: unknown, headers: readonly string[] = []): Promise<number> =>
    (await call(`${gateway.url}/executeCommand`, { headers: [...JSON_TYPE, ...V1, ...headers], body: JSON.stringify(body) })).status
  t.equal(await post({ command: 'ls' }), 400)
  t.equal(await post({}, ['A2A-Extensions', A]), 400)
  t.equal(agent.received.length, 0)
  t.equal(await post({ command: 'ls' }, ['A2A-Extensions', A]), 200)
  t.equal((await call(`${gateway.url}/other`, { headers: [...JSON_TYPE, ...V1], body: '{}' })).status, 404)
})

t.test('a webhook outside of an allow-list is rejected where it is set and where it is sent with a message', async t => {
  const { agent, send, rest } = await bench(t, {
    card: declares({ uri: A }),
    agent: ['extensions: [webhooks]'],
    root: [
      'extensions:',
      '  webhooks:',
      `    uri: ${A}`,
      '    request:',
      '      - {id: set, on: [CreateTaskPushNotificationConfig], select: {pointer: /url}, schema: {pattern: "^https://hooks\\\\.example\\\\.com/"}}',
      '      - {id: inline, select: {pointer: /configuration/taskPushNotificationConfig/url}, schema: {pattern: "^https://hooks\\\\.example\\\\.com/"}}'
    ]
  })
  const hook = (url: string): unknown => ({ message: MESSAGE, configuration: { taskPushNotificationConfig: { url } } })
  const set = (url: string): unknown => ({ taskId: 't1', id: 'c1', url })
  for (const url of ['http://169.254.169.254/latest', 'https://hooks.example.com.evil.test/']) {
    t.match((await send(set(url), [], 'CreateTaskPushNotificationConfig')).json(), { error: { code: -32602 } })
    t.match((await send(hook(url))).json(), { error: { code: -32602 } })
    t.equal((await rest('/tasks/t1/pushNotificationConfigs', { id: 'c1', url })).status, 400)
  }
  t.equal(agent.received.length, 0)
  t.equal((await send(set('https://hooks.example.com/x'), [], 'CreateTaskPushNotificationConfig')).json().error, undefined)
})
