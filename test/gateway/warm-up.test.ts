/** The warm-up of a process: its calls, its bounds, and that nothing of it can be seen. */
import { PassThrough } from 'node:stream'
import t from 'tap'
import type { Test } from 'tap'
import { sampleOf } from '#jsonschema/sample.js'
import { compileSchema } from '#jsonschema/schema.js'
import { buildRuntime } from '#server/runtime.js'
import type { AgentRegistry } from '#agents/agent-registry.js'
import { startGateway } from '#server/start.js'
import { rehearse, WarmUp } from '#server/warm-up/warm-up.js'
import { configOf, oneAgent } from '../helpers/gateway.js'
import { MESSAGE, rpc, until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import type { FakeAgent } from '../helpers/raw.js'

const REQUIRED = 'https://example.com/ext/required/v1'
const OBJECT_SCHEMAS = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'
const ORDER = {
  type: 'object',
  required: ['sku', 'lines'],
  properties: {
    sku: { type: 'string', minLength: 3 },
    lines: { type: 'array', minItems: 2, items: { $ref: '#/$defs/line' } },
    kind: { enum: ['new', 'used'] },
    note: { type: ['string', 'null'] }
  },
  $defs: { line: { type: 'object', required: ['count'], properties: { count: { type: 'integer', minimum: 1 }, gift: { type: 'boolean' } } } }
}

/** A slow machine makes fewer calls in the CPU time of a real warm-up: the tests are about the calls. */
const ENOUGH = { cpu: 3_000_000, meshCpu: 400_000, time: 20_000 }

function agentOf (t: Test): Promise<FakeAgent> {
  return fakeAgent(t, {
    card: url => plainCard(url, {
      capabilities: { streaming: true, extensions: [{ uri: REQUIRED, required: true }, { uri: OBJECT_SCHEMAS }] },
      schemas: { order: ORDER }
    })
  })
}

async function runtimeOf (t: Test, url: string, server = ''): Promise<{ registry: AgentRegistry, metrics: () => Promise<string> }> {
  const config = configOf({ yaml: server + oneAgent(url, ['extensions: [object-schemas]']) })
  const { registry, services, close } = await buildRuntime(config, { processMetrics: false, logs: new PassThrough() })
  t.teardown(close)
  await registry.start()
  return { registry, metrics: async () => (await services.metrics.text()).replace(/^.*card_age_seconds\{.*$/m, '') }
}

t.test('calls of every interface are forwarded and rejected, with data that follows and breaks the schemas', async t => {
  const agent = await agentOf(t)
  const { registry, metrics } = await runtimeOf(t, agent.url)
  const before = await metrics()
  const found = await rehearse(registry.config, registry.snapshot.agents.all, ENOUGH)
  const seen = new Set(found.find(one => one.name === 'a2a_gateway_requests_total')?.values.map(({ labels }) =>
    [labels.operation, labels.binding, labels.version, labels.outcome].join(' ')))
  const missing = ['JSONRPC', 'HTTP+JSON'].flatMap(binding => ['1.0', '0.3'].flatMap(version => [
    ...['SendMessage', 'SendStreamingMessage', 'GetTask'].map(operation => `${operation} ${binding} ${version} forwarded`),
    `SendMessage ${binding} ${version} rejected`
  ])).filter(one => !seen.has(one))
  t.strictSame(missing, [])
  t.strictSame([...seen].filter(one => !/ (forwarded|rejected)$/.test(one)), [], 'no call fails')
  const rules = new Set(found.find(one => one.name === 'a2a_gateway_refusals_total')?.values.map(({ labels }) => labels.rule))
  t.ok(rules.has(`${REQUIRED}/required`), 'a required extension is missing')
  t.ok(rules.has('object-schemas/validate-first-structured-part'), 'data breaks a schema')
  const violations = found.find(one => one.name === 'a2a_gateway_violations_total')?.values ?? []
  t.strictSame(violations.filter(({ labels }) => labels.phase === 'response'), [], 'the responses follow the schemas')
  t.equal(agent.received.length, 0, 'the agent gets no call')
  t.equal(await metrics(), before, 'the metrics of the process stay the same')
})

t.test('a gateway for a mesh also rehearses the questions of a proxy', async t => {
  const agent = await agentOf(t)
  const { registry } = await runtimeOf(t, agent.url, 'server: {listen: null, admin: "127.0.0.1:0", mesh: {listen: "127.0.0.1:0"}}\n')
  const found = await rehearse(registry.config, registry.snapshot.agents.all, ENOUGH)
  const values = found.find(one => one.name === 'a2a_gateway_requests_total')?.values ?? []
  for (const front of ['ext_authz', 'ext_proc']) {
    const outcomes = new Set(values.filter(({ labels }) => labels.front === front).map(({ labels }) => labels.outcome))
    t.same([...outcomes].sort(), ['forwarded', 'rejected'], front)
  }
})

t.test('a gateway that warms up is not ready before the end; nobody sees the calls', async t => {
  const agent = await agentOf(t)
  const logs = new PassThrough()
  const audit = new PassThrough()
  let text = ''
  for (const stream of [logs, audit]) stream.on('data', (chunk: Buffer) => { text += chunk.toString() })
  const yaml = oneAgent(agent.url, ['extensions: [object-schemas]'], [
    'telemetry: {logs: {level: trace}, audit: {enabled: true, forwarded: true}, traces: {enabled: true}}'
  ])
  const gateway = await startGateway(configOf({ yaml }), {
    env: { OTEL_TRACES_EXPORTER: 'console' }, logs, audit, traces: audit, processMetrics: false, warmUp: true
  })
  t.teardown(() => gateway.close())
  const probe = async (): Promise<{ ok: boolean, text: string }> => {
    const response = await fetch(`${gateway.adminUrl}/readyz`)
    return { ok: response.ok, text: await response.text() }
  }
  const first = await probe()
  t.notOk(first.ok)
  t.match(first.text, /the gateway is warming up/)
  t.equal((await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['a2a-extensions', REQUIRED])).status, 200, 'calls are served in the meantime')
  await until(async () => (await probe()).ok, 'the gateway is ready')
  t.equal(agent.received.length, 1)
  const samples = (await (await fetch(`${gateway.adminUrl}/metrics`)).text()).split('\n')
    .filter(line => line.startsWith('a2a_gateway_requests_total{'))
  t.strictSame(samples.map(line => line.split(' ').at(-1)), ['1'])
  t.notMatch(text, /warm-up/)
  const ids = [...text.matchAll(/"request_id":"[0-9a-f]+-([0-9a-z]+)"/g)].map(([, number]) => number)
  t.ok(ids.length > 0)
  t.strictSame(new Set(ids), new Set(['1']), 'the ids of calls begin at 1')
})

t.test('a failure is logged once and does not prevent readiness', async t => {
  const agent = await agentOf(t)
  const { registry } = await runtimeOf(t, agent.url)
  const warnings: string[] = []
  const log = { warn: (_fields: unknown, message: string) => { warnings.push(message) } }
  const broken = { config: { ...registry.config, limits: null }, snapshot: registry.snapshot }
  const warmUp = new WarmUp(broken as never, log as never)
  t.equal(warmUp.pending, true)
  await warmUp.run()
  t.equal(warmUp.pending, false)
  t.strictSame(warnings, ['the warm-up failed; the first calls may take longer'])
})

t.test('without a card, the warm-up waits and prevents nothing', async t => {
  const agent = await agentOf(t)
  const { registry } = await runtimeOf(t, agent.url)
  let has = false
  const none = { all: [] }
  const late = { config: registry.config, get snapshot () { return has ? registry.snapshot : { ...registry.snapshot, agents: none } } }
  const warmUp = new WarmUp(late as never, { warn: (_: unknown, message: string) => { t.fail(message) } } as never)
  const over = warmUp.run()
  t.equal(warmUp.pending, false)
  has = true
  t.equal(warmUp.pending, true, 'from the moment of the card')
  await over
  t.equal(warmUp.pending, false)
})

t.test('samples follow their schemas', async t => {
  const rows: readonly unknown[] = [
    ORDER,
    { const: 7 },
    { anyOf: [{ type: 'integer', minimum: 3 }, { type: 'string' }] },
    { type: 'array', items: { type: 'boolean' } },
    { properties: { a: { $ref: '#/properties/b' }, b: { type: 'null' } } },
    true
  ]
  for (const schema of rows) {
    const compiled = compileSchema(schema)
    t.ok(compiled.ok)
    if (compiled.ok) t.equal(compiled.schema.validate(sampleOf(schema) as never), null, JSON.stringify(schema))
  }
  const endless = { $ref: '#/$defs/a', $defs: { a: { type: 'object', required: ['a'], properties: { a: { $ref: '#/$defs/a' } } } } }
  t.ok(JSON.stringify(sampleOf(endless)).length < 200)
  t.doesNotThrow(() => sampleOf({ $ref: '#/nowhere', type: 1 }))
  const lists = (depth: number, last: object): object => depth === 0 ? last : { type: 'array', minItems: 32, items: lists(depth - 1, last) }
  for (const last of [{ type: 'string' }, { const: 'x'.repeat(10_000) }, { enum: ['x'.repeat(10_000)] }]) {
    t.ok(JSON.stringify(sampleOf(lists(7, last))).length < 200_000, 'lists within lists do not multiply')
  }
})
