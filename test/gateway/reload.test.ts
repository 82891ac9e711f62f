/** A new configuration replaces the old one without an effect on requests in flight. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { packageVersion } from '#config/paths.js'
import { configOf, gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, open, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import type { FakeAgent } from '../helpers/raw.js'

const EXT = 'https://example.com/ext/demo/v1'
const LOGGED = 'telemetry: {logs: {level: debug}}'
const agentAt = (name: string, url: string, ...more: readonly string[]): string =>
  [`  - name: ${name}`, `    path: /${name}`, `    upstream: {url: "${url}"}`, ...more.map(line => `    ${line}`)].join('\n')
const yaml = (agents: readonly string[], ...root: readonly string[]): string => ['agents:', ...agents, ...root].join('\n')
/** Requires the extension, in a mode, with rules. */
const policy = (mode: string, rules: readonly string[] = ['one']): string => [
  'extensions:', '  demo:', `    uri: ${EXT}`, `    mode: ${mode}`, '    activation: {required: always}', '    request:',
  ...rules.map(id => `      - {id: ${id}, select: {part: {data: true}}, count: {max: 1}}`)
].join('\n')

interface CountingAgent extends FakeAgent { cards: number }

/** Counts how often its card is asked for. */
async function countingAgent (t: Test, options: Parameters<typeof fakeAgent>[1] = {}): Promise<CountingAgent> {
  const agent = await fakeAgent(t, options)
  const counting = { ...agent, cards: 0 }
  agent.server.prependListener('request', (request: IncomingMessage) => {
    if (request.url?.includes('/.well-known/') === true) counting.cards++
  })
  return counting
}

const lastLog = (gateway: TestGateway, text: string): Record<string, unknown> | undefined =>
  gateway.logs().findLast(line => String(line.msg).includes(text))
const agentsOf = async (gateway: TestGateway): Promise<Record<string, unknown>[]> =>
  (await (await fetch(`${gateway.adminUrl}/agents`)).json()) as Record<string, unknown>[]
const status = async (url: string): Promise<number> => (await rpc(url)).status

t.test('agents are added, removed and changed; the report, the log, /agents, /readyz and the metrics show it', async t => {
  const [one, two] = [await fakeAgent(t), await fakeAgent(t)]
  const gateway = await gatewayFor(t, { yaml: yaml([agentAt('a', one.url), agentAt('b', one.url)], LOGGED) })
  const hash = configOf({ yaml: yaml([agentAt('a', one.url), agentAt('b', one.url)], LOGGED) }).hash
  t.equal(await gateway.metric(`a2a_gateway_config_info{hash="${hash}"}`), 1)

  const next = configOf({ yaml: yaml([agentAt('b', one.url, 'mode: observe'), agentAt('c', two.url)], LOGGED) })
  const report = await gateway.reload(next)
  t.match(report, {
    ok: true,
    agents: { added: ['c'], removed: ['a'], changed: ['b'] },
    modes: ['b: enforce -> observe'],
    settings: [],
    needsRestart: []
  })
  t.equal(await status(`${gateway.url}/c/rpc`), 200, 'ready at once')
  t.equal(await status(`${gateway.url}/b/rpc`), 200)
  t.equal(await status(`${gateway.url}/a/rpc`), 404)
  t.match(lastLog(gateway, 'configuration reloaded'), {
    level: 'info',
    msg: /agents added: c; agents removed: a; agents changed: b; modes: b: enforce -> observe/,
    agents: { added: ['c'] }
  })
  t.same((await agentsOf(gateway)).map(agent => [agent.name, agent.mode]), [['b', 'observe'], ['c', 'enforce']])
  const [about, ...others] = (await agentsOf(gateway)).map(agent => agent.gateway as Record<string, unknown>)
  t.same(
    about,
    {
      name: 'a2a-extension-gateway',
      version: packageVersion(),
      node: process.version,
      configuration: next.hash,
      startedAt: about?.startedAt
    },
    '/agents says who answers'
  )
  t.ok(Math.abs(Date.parse(String(about?.startedAt)) - performance.timeOrigin) < 60_000)
  t.same(others, [about])
  t.equal(await gateway.metric(`a2a_gateway_build_info{version="${packageVersion()}",node="${process.version}"}`), 1)
  t.equal((await fetch(`${gateway.adminUrl}/readyz`)).status, 200)
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  t.notMatch(metrics, /card_age_seconds\{agent="a"\}/)
  t.match(metrics, /card_age_seconds\{agent="b"\}/)
  t.match(metrics, /card_age_seconds\{agent="c"\}/)
  t.match(metrics, `config_info{hash="${next.hash}"} 1`)
  t.notMatch(metrics, hash)
  t.equal(await gateway.metric('a2a_gateway_config_reloads_total{outcome="ok"}'), 1)
  t.equal(await gateway.metric('a2a_gateway_config_reloads_total{outcome="invalid"}'), 0)
})

t.test('effective rules and modes are reported, per agent', async t => {
  const agent = await fakeAgent(t)
  const listed = 'extensions: [demo]'
  const gateway = await gatewayFor(t, {
    yaml: yaml([agentAt('a', agent.url, listed), agentAt('b', agent.url)], policy('enforce', ['one', 'two']), LOGGED)
  })
  t.match(
    await gateway.reload(
      configOf({ yaml: yaml([agentAt('a', agent.url, listed), agentAt('b', agent.url)], policy('observe', ['two', 'three']), LOGGED) })
    ),
    {
      agents: { added: [], removed: [], changed: ['a'] },
      rules: { added: ['a/demo/three'], removed: ['a/demo/one'], changed: [] },
      modes: ['a/demo: enforce -> observe']
    }
  )
  const changed = policy('observe', ['two', 'three']).replace('max: 1', 'max: 2')
  t.match(await gateway.reload(configOf({ yaml: yaml([agentAt('a', agent.url, listed), agentAt('b', agent.url)], changed, LOGGED) })), {
    rules: { added: [], removed: [], changed: ['a/demo/two'] },
    modes: []
  })
  t.match(await gateway.reload(configOf({ yaml: yaml([agentAt('a', agent.url, listed), agentAt('b', agent.url)], changed, LOGGED) })), {
    agents: { changed: [] },
    rules: { changed: [] }
  })
  t.match(lastLog(gateway, 'configuration reloaded'), { msg: 'configuration reloaded: nothing has changed' })
  const owning = `${changed}\n    owns: {metadata: [k]}`
  t.match(
    await gateway.reload(configOf({ yaml: yaml([agentAt('a', agent.url, listed), agentAt('b', agent.url)], owning, LOGGED) })),
    { rules: { added: ['a/demo.owns'], removed: [], changed: [] } },
    'what a policy says beside its rules'
  )
  const answering = `${owning}\n    response: [{id: answered, select: {part: {data: true}}, count: {max: 1}}]\n    correlate: [{id: fits, remember: {on: request, select: {metadata: {key: k}}}, check: {on: response, select: {metadata: {key: k}}, relation: member}}]`
  const enforcing = (text: string): string =>
    yaml([agentAt('a', agent.url, listed, 'responses: enforce'), agentAt('b', agent.url)], text, LOGGED)
  t.match(await gateway.reload(configOf({ yaml: enforcing(answering) })), {
    rules: { added: ['a/demo/answered', 'a/demo/fits'], removed: [], changed: [] },
    modes: ['a responses: observe -> enforce']
  })
  t.match(
    await gateway.reload(
      configOf({
        yaml: enforcing(answering.replace('data: true}}, count: {max: 1}}]\n    corr', 'data: true}}, count: {max: 2}}]\n    corr'))
      })
    ),
    { rules: { added: [], removed: [], changed: ['a/demo/answered'] }, modes: [] }
  )
})

t.test('an overlay of the agent is a change of that agent; /agents names the layers', async t => {
  const agent = await fakeAgent(t)
  const config = (a: string): string =>
    yaml(
      [agentAt('a', agent.url, `extensions: [${a}, object-schemas]`), agentAt('b', agent.url, 'extensions: [demo]')],
      policy('observe', ['one'])
    )
  const gateway = await gatewayFor(t, { yaml: config('demo') })
  const policies = async (): Promise<unknown> => (await agentsOf(gateway)).map(({ policies }) => (policies as unknown[])[0])
  t.same(await policies(), [...'ab'].map(() => ({ name: 'demo', uri: EXT, mode: 'observe', layers: ['file'] })))
  t.equal(await status(`${gateway.url}/a/rpc`), 200)
  const report = await gateway.reload(
    configOf({ yaml: config('{demo: {mode: enforce, request: [{id: two, select: {part: {data: true}}, count: {max: 1}}]}}') })
  )
  t.match(report, {
    agents: { changed: ['a'] },
    rules: { added: ['a/demo/two'], removed: ['a/demo/one'] },
    modes: ['a/demo: observe -> enforce']
  })
  t.same(await policies(), [
    { name: 'demo', uri: EXT, mode: 'enforce', layers: ['file', 'agent'] },
    { name: 'demo', uri: EXT, mode: 'observe', layers: ['file'] }
  ])
  t.match((await agentsOf(gateway))[0]?.policies, [{}, { name: 'object-schemas', mode: 'enforce', layers: ['catalogue'] }])
  t.match((await rpc(`${gateway.url}/a/rpc`)).json().error, { code: -32008 })
  t.equal((await rpc(`${gateway.url}/b/rpc`)).json().error, undefined)
})

t.test('a policy takes effect without a new card request, even while the agent is down', async t => {
  const agent = await countingAgent(t)
  const gateway = await gatewayFor(t, { yaml: yaml([agentAt('a', agent.url, 'extensions: [demo]')], policy('off')) })
  t.equal((await rpc(`${gateway.url}/a/rpc`)).json().error, undefined)
  const { cards } = agent
  const before = await agentsOf(gateway)
  agent.server.closeAllConnections()
  agent.server.close()
  for (const mode of ['enforce', 'observe', 'enforce']) {
    t.equal((await gateway.reload(configOf({ yaml: yaml([agentAt('a', agent.url, 'extensions: [demo]')], policy(mode)) }))).ok, true)
  }
  t.match((await rpc(`${gateway.url}/a/rpc`)).json().error, { code: -32008 })
  t.equal((await call(`${gateway.url}/a/.well-known/agent-card.json`)).status, 200)
  t.equal(agent.cards, cards)
  const after = await agentsOf(gateway)
  t.match(after, [{ ready: true, card: { state: 'ok', etag: (before[0]?.card as { etag: object }).etag } }])
  t.equal((after[0]?.lastRefusals as unknown[]).length, 1)
})

t.test('inherited cards are refreshed as before', async t => {
  let name = 'first'
  const agent = await countingAgent(t, { card: url => plainCard(url, { name }) })
  const config = (mode: string): string => yaml([agentAt('a', agent.url, 'extensions: [demo]', 'card: {refresh: 1s}')], policy(mode))
  const gateway = await gatewayFor(t, { yaml: config('off') })
  for (const mode of ['observe', 'off', 'observe', 'off']) await gateway.reload(configOf({ yaml: config(mode) }))
  name = 'second'
  await until(async () => (await call(`${gateway.url}/a/.well-known/agent-card.json`)).json().name as unknown === 'second')
  const { cards } = agent
  const begun = Date.now()
  await until(() => agent.cards - cards >= 6, 'three refreshes in two variants', 20_000)
  t.ok(Date.now() - begun >= 1_500, `one source refreshes, once a second: three refreshes in ${Date.now() - begun} ms`)
})

t.test('a card keeps its age: the card of an agent that is down still expires', async t => {
  const agent = await fakeAgent(t)
  const config = (mode: string): string =>
    yaml([agentAt('a', agent.url, 'extensions: [demo]', 'card: {refresh: 1s, maxStale: 2s}')], policy(mode))
  const gateway = await gatewayFor(t, { yaml: config('off') })
  agent.server.closeAllConnections()
  agent.server.close()
  const begun = Date.now()
  let i = 0
  await until(async () => {
    await gateway.reload(configOf({ yaml: config(i++ % 2 === 0 ? 'observe' : 'off') }))
    await sleep(100)
    return await status(`${gateway.url}/a/rpc`) === 503
  }, 'the card to expire', 20_000)
  t.ok(Date.now() - begun > 500)
  await gateway.reload(configOf({ yaml: config('enforce') }))
  t.equal(await status(`${gateway.url}/a/rpc`), 503, 'and a reload does not bring it back')
  t.equal((await fetch(`${gateway.adminUrl}/readyz`)).status, 503)
})

t.test('calls and streams in flight keep their configuration, and the agent its connections, until they end', async t => {
  const answers: ServerResponse[] = []
  const agent = await fakeAgent(t, { answer: (_request, response) => { answers.push(response) } })
  const gateway = await gatewayFor(t, { yaml: yaml([agentAt('a', agent.url), agentAt('b', agent.url)], LOGGED) })
  const unary = rpc(`${gateway.url}/a/rpc`)
  await until(() => answers.length === 1)
  const stream = open(`${gateway.url}/b/rpc`, {
    headers: [...JSON_TYPE, ...V1],
    body: rpcBody('SendStreamingMessage', { message: MESSAGE })
  })
  stream.end(rpcBody('SendStreamingMessage', { message: MESSAGE }))
  await until(() => answers.length === 2)
  answers[1]?.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
  const [incoming] = await once(stream, 'response') as [IncomingMessage]
  let text = ''
  incoming.on('data', (chunk: Buffer) => { text += chunk.toString() })
  // Its head has arrived, its body has not.
  const half = open(`${gateway.url}/a/rpc`, {
    headers: [...JSON_TYPE, ...V1, 'content-length', String(rpcBody('SendMessage', { message: MESSAGE }).length)],
    method: 'POST'
  })
  half.write(rpcBody('SendMessage', { message: MESSAGE }).slice(0, 10))
  await sleep(50)

  // a goes, b becomes another; then all of it comes back, under other agents.
  const other = await fakeAgent(t)
  await gateway.reload(configOf({ yaml: yaml([agentAt('b', other.url, 'mode: observe')], LOGGED) }))
  await gateway.reload(configOf({ yaml: yaml([agentAt('a', other.url), agentAt('b', other.url)], LOGGED) }))
  t.equal(await status(`${gateway.url}/a/rpc`), 200)
  t.equal(other.received.length, 1, 'new calls go to the new agent')

  await sleep(300)
  half.end(rpcBody('SendMessage', { message: MESSAGE }).slice(10))
  const halfAnswer = once(half, 'response')
  await until(() => answers.length === 3, 'a call whose body was under way to reach the agent it was for')
  answers[2]?.end('{"half":true}')
  t.equal(((await halfAnswer)[0] as IncomingMessage).statusCode, 200)
  answers[0]?.end('{"late":true}')
  t.equal((await unary).text, '{"late":true}')
  await until(
    () => gateway.logs().filter(line => String(line.msg).includes('is over') && line.agent === 'a').length === 1,
    'agent a to be closed'
  )
  t.equal(
    gateway.logs().filter(line => String(line.msg).includes('is over') && line.agent === 'b').length,
    1,
    'b between the two; the one with the stream not'
  )
  answers[1]?.write('data: 2\n\n')
  await until(() => text.includes('data: 2'), 'a stream to go on')
  answers[1]?.end('data: 3\n\n')
  await once(incoming, 'end')
  t.equal(text, 'data: 1\n\ndata: 2\n\ndata: 3\n\n')
  await until(() => agent.sockets.size === 0, 'the old agent\'s connections to be closed')
})

t.test('an unusable configuration changes nothing, and is counted and logged', async t => {
  const agent = await countingAgent(t)
  const good = yaml([agentAt('a', agent.url)], LOGGED)
  const gateway = await gatewayFor(t, { yaml: good })
  const hash = configOf({ yaml: good }).hash
  const { cards } = agent
  const badSchema = [
    'extensions:',
    '  demo:',
    `    uri: ${EXT}`,
    '    request: [{id: one, select: {part: {data: true}}, schema: {type: nonsense}}]'
  ].join('\n')
  const directory = t.testdir({ 'ca.pem': 'no certificate' })
  const tls = yaml(
    [agentAt('new', agent.url), agentAt('b', 'https://127.0.0.1:1', '').replace('"}', `", tls: {ca: "${join(directory, 'ca.pem')}"}}`)],
    LOGGED
  )
  for (const [text, said] of [
    [yaml([agentAt('b', agent.url)], badSchema, LOGGED), /extensions\.demo\.request\[0\]\.schema cannot be used/],
    [tls, /agent b: upstream\.tls\.ca/]
  ] as const) {
    const report = await gateway.reload(configOf({ yaml: text }))
    t.match(report, { ok: false, problems: [said] })
    t.ok(gateway.logs().some(line => line.level === 'error' && said.test(String(line.msg))))
  }
  t.match(gateway.reject([{ file: 'gateway.yaml', line: 3, col: 5, message: 'unknown key "x"', code: 'A2AGW_ERR_CONFIG_UNKNOWN_KEY' }]), { ok: false })
  t.match(lastLog(gateway, 'gateway.yaml:3:5'), { level: 'error', code: 'A2AGW_ERR_CONFIG_UNKNOWN_KEY' })
  t.match(lastLog(gateway, 'last good one stays'), { level: 'error', problems: 1 })
  t.equal(await gateway.metric('a2a_gateway_config_reloads_total{outcome="invalid"}'), 3)
  t.equal(await gateway.metric('a2a_gateway_config_reloads_total{outcome="ok"}'), 0)
  t.equal(await gateway.metric(`a2a_gateway_config_info{hash="${hash}"}`), 1)
  t.same((await agentsOf(gateway)).map(one => one.name), ['a'])
  t.equal(await status(`${gateway.url}/a/rpc`), 200)
  t.equal(agent.cards, cards, 'nothing was dialled for it')
})

t.test('a mounted certificate that changed makes a new agent, the same file touched does not', async t => {
  const agent = await fakeAgent(t)
  const { readFileSync } = await import('node:fs')
  const { rootCertificates } = await import('node:tls')
  const directory = t.testdir({ 'ca.pem': rootCertificates[0] ?? '' })
  const text = yaml([agentAt('a', agent.url).replace('"}', `", tls: {ca: "${join(directory, 'ca.pem')}"}}`)], LOGGED)
  const gateway = await gatewayFor(t, { yaml: text })
  t.match(await gateway.reload(configOf({ yaml: text })), { agents: { changed: [] } })
  writeFileSync(join(directory, 'ca.pem'), rootCertificates[1] ?? '')
  t.match(await gateway.reload(configOf({ yaml: text })), { agents: { changed: ['a'] } })
  t.ok(readFileSync(join(directory, 'ca.pem')).length > 0)
  t.equal(await status(`${gateway.url}/a/rpc`), 200)
})

t.test('settings that need a restart are reported each time and stay; all others change at once', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: yaml([agentAt('a', agent.url)], 'telemetry: {logs: {level: info}}') })
  const rest = [
    'server: {listen: "127.0.0.1:1", admin: "127.0.0.1:2", drainTimeout: 7s, trustedProxies: ["127.0.0.1"], publicUrl: "https://public.example"}',
    'limits: {body: 1KiB}',
    'telemetry: {logs: {level: debug, format: pretty}, traces: {enabled: true}, audit: {enabled: false}}'
  ]
  const next = configOf({ yaml: yaml([agentAt('a', agent.url)], ...rest) })
  const needsRestart = [
    'server.listen',
    'server.admin',
    'server.drainTimeout',
    'telemetry.logs.format',
    'telemetry.traces',
    'telemetry.audit'
  ]
  const settings = ['server.publicUrl', 'server.trustedProxies', 'limits.body', 'telemetry.logs.level']
  const before = await rpc(`${gateway.url}/a/rpc`, 'SendMessage', { message: MESSAGE }, ['x-forwarded-for', '192.0.2.1'])
  t.equal(before.status, 200)
  t.equal(agent.received[0]?.headers['x-forwarded-for'], '127.0.0.1')
  t.same(await gateway.reload(next).then(report => report.ok ? [report.needsRestart, report.settings] : report), [needsRestart, settings])
  t.match(lastLog(gateway, 'needs a restart: server.listen, server.admin'), { level: 'warn' })
  t.same(await gateway.reload(next).then(report => report.ok ? [report.needsRestart, report.settings] : report), [needsRestart, []])

  t.equal((await rpc(`${gateway.url}/a/rpc`, 'SendMessage', { message: MESSAGE }, ['x-forwarded-for', '192.0.2.1'])).status, 200)
  t.equal(agent.received[1]?.headers['x-forwarded-for'], '192.0.2.1, 127.0.0.1', 'trustedProxies')
  t.equal(
    (await rpc(`${gateway.url}/a/rpc`, 'SendMessage', { message: { ...MESSAGE, parts: [{ text: 'x'.repeat(2_000) }] } })).status,
    413,
    'limits.body'
  )
  t.match((await call(`${gateway.url}/a/.well-known/agent-card.json`, { headers: V1 })).text, 'https://public.example/a', 'publicUrl')
  t.ok(gateway.logs().some(line => line.level === 'debug'), 'the log level')
})

t.test('a shorter request timeout does not apply to requests in flight', async t => {
  const agent = await fakeAgent(t)
  const config = (timeout: string): string => yaml([agentAt('a', agent.url)], `limits: {requestTimeout: ${timeout}}`)
  const gateway = await gatewayFor(t, { yaml: config('30s') })
  const body = rpcBody('SendMessage', { message: MESSAGE })
  const slow = open(`${gateway.url}/a/rpc`, { method: 'POST', headers: [...JSON_TYPE, ...V1, 'content-length', String(body.length)] })
  slow.write(body.slice(0, 10))
  await sleep(50)
  await gateway.reload(configOf({ yaml: config('1s') }))
  const late = open(`${gateway.url}/a/rpc`, { method: 'POST', headers: [...JSON_TYPE, ...V1, 'content-length', String(body.length)] })
  late.write(body.slice(0, 10))
  t.equal((await once(late, 'response') as [IncomingMessage])[0].statusCode, 408, 'it counts for those that begin now')
  late.destroy()
  // Beyond the new timeout and the 5 s that Node's own timer has on top: nothing happens that could be awaited.
  await sleep(6_500)
  slow.end(body.slice(10))
  t.equal((await once(slow, 'response') as [IncomingMessage])[0].statusCode, 200)
})

t.test('a new agent whose card is unavailable is not ready, as at a start', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: yaml([agentAt('a', agent.url)]) })
  const begun = Date.now()
  t.match(await gateway.reload(configOf({ yaml: yaml([agentAt('a', agent.url), agentAt('b', 'http://127.0.0.1:1')]) })), {
    agents: { added: ['b'], changed: [] }
  })
  t.ok(Date.now() - begun < 3_000)
  t.equal(await status(`${gateway.url}/b/rpc`), 503)
  t.equal(await status(`${gateway.url}/a/rpc`), 200)
  const readyz = await fetch(`${gateway.adminUrl}/readyz`)
  t.equal(readyz.status, 503)
  t.match(await readyz.text(), /agent b/)
  await gateway.reload(configOf({ yaml: yaml([agentAt('a', agent.url)]) }))
  t.equal((await fetch(`${gateway.adminUrl}/readyz`)).status, 200)
})

t.test('passthrough prefixes are reloaded', async t => {
  const agent = await fakeAgent(t, { answer: (_request, response) => { response.end('docs') } })
  const gateway = await gatewayFor(t, { yaml: yaml([agentAt('a', agent.url, 'passthrough: [/docs]')], 'limits: {body: 1KiB}') })
  const get = async (path: string): Promise<number> => (await call(`${gateway.url}/a${path}`)).status
  t.same([await get('/docs/x'), await get('/files/x')], [200, 404])
  await gateway.reload(configOf({ yaml: yaml([agentAt('a', agent.url, 'passthrough: [/files]')], 'limits: {body: 4KiB}') }))
  t.same([await get('/docs/x'), await get('/files/x')], [404, 200])
  t.equal((await call(`${gateway.url}/a/files/x`, { body: 'x'.repeat(2_000) })).status, 200, 'and their limits')
})

t.test('a stop waits for a running reload; after it nothing is reloaded', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: yaml([agentAt('a', agent.url)]) })
  const reloading = gateway.reload(configOf({ yaml: yaml([agentAt('b', agent.url)]) }))
  const last = gateway.reload(configOf({ yaml: yaml([agentAt('c', agent.url)]) }))
  await gateway.close()
  t.match(await reloading, { ok: false })
  t.match(await last, { ok: false })
  t.match(await gateway.reload(configOf({ yaml: yaml([agentAt('d', agent.url)]) })), { ok: false, problems: [/shutting down/] })
  await until(() => agent.sockets.size === 0)
})
