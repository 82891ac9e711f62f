/**
 * Cards that are hostile until they are compiled: the gateway rejects them within bounds, while the previous card and every other agent
 * continue to work.
 */
import t from 'tap'
import type { Test } from 'tap'
import { readCard } from '#a2a/card/card.js'
import type { CardDocument, LoadedCards } from '#a2a/card/loaded-cards.js'
import type { AgentState, AgentStateOptions } from '#pipeline/agent-snapshot.js'
import { buildAgentState, COMPILED_HERE, schemasToCompile } from '#pipeline/agent-snapshot.js'
import type { SchemaToWrite } from '#jsonschema/code.js'
import { CardCompiler, readySchemas } from '#agents/card/compiler.js'
import { SECRET_HIDDEN } from '#policy/request/inject.js'
import { costOf } from '#jsonschema/lint.js'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import { cardOf29Kilobytes, HOSTILE_CARDS, PATTERN_OF_700_BYTES } from '../helpers/hostile-cards.js'
import { rpc, until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'

const OBJECT_SCHEMAS = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'

const cardWith = (url: string, schemas: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  plainCard(url, { capabilities: { extensions: [{ uri: OBJECT_SCHEMAS, params: { schemas } }] } })

const loaded = (schemas: Readonly<Record<string, unknown>>): LoadedCards => {
  const value = cardWith('http://agent.test', schemas)
  const read = readCard(value)
  if (!read.ok) throw new Error(read.problem)
  const document: CardDocument = { bytes: Buffer.from(JSON.stringify(value)), value, card: read.card }
  return { byVersion: { 0.3: document, '1.0': document }, fetchedAt: 0, origin: 'card' }
}

const [agent] = configOf({ yaml: oneAgent('http://agent.test') }).agents
const options = (previous: AgentState | null = null): AgentStateOptions => ({
  agent: agent as never,
  maxExtensions: 8,
  previous,
  secretOf: SECRET_HIDDEN
})

// What is measured is sizes: the machine may be busy.
const compiler = new CardCompiler({ time: 100_000 })
t.teardown(() => compiler.close())

/** What a gateway does with the card. */
async function load (schemas: Readonly<Record<string, unknown>>, previous: AgentState | null = null): Promise<AgentState> {
  const cards = loaded(schemas)
  return buildAgentState(cards, {
    ...options(previous),
    ready: await readySchemas(await compiler.write(schemasToCompile(cards, options(previous))))
  })
}

for (const [name, { outcome, problem, schemas }] of Object.entries(HOSTILE_CARDS)) {
  t.test(`${name}: ${outcome}`, async t => {
    if (outcome === 'rejected') return await t.rejects(load(schemas), { message: problem })
    const state = await load(schemas)
    t.ok(
      state.policy['1.0'].unusable.some(({ message }) => problem.test(message)),
      state.policy['1.0'].unusable[0]?.message ?? 'nothing is unusable'
    )
    t.ok(state.policy['1.0'].unusable.length <= 101, 'few are told')
  })
  // Code is counted where it is written.
  if (problem.source.includes('characters of code')) continue
  t.test(`${name}: the same without a thread`, async t => {
    let told: string
    try {
      told = buildAgentState(loaded(schemas), options()).policy['1.0'].unusable.map(one => one.message).join('\n')
    } catch (error) {
      told = (error as Error).message
    }
    t.match(told, problem)
  })
}

const toWrite = (key: string, schema: unknown): ReadonlyMap<string, SchemaToWrite> => new Map([[key, { schema, formats: 'assert' }]])

t.test('compiling has a time limit', async t => {
  const short = new CardCompiler({ time: 1 })
  t.teardown(() => short.close())
  const { a } = HOSTILE_CARDS['references copied everywhere']?.schemas as { a: unknown }
  await t.rejects(short.write(toWrite('a', a)), { message: 'compiling the schemas of the card takes more than 0.001 s' })
  t.equal(short.running, false, 'the thread is ended')
})

t.test('compiling has a memory limit, and the next card is compiled', async t => {
  const small = new CardCompiler({ heap: 12, time: 100_000 })
  t.teardown(() => small.close())
  const { a } = HOSTILE_CARDS['references copied everywhere']?.schemas as { a: unknown }
  await t.rejects(small.write(toWrite('a', a)), { message: 'compiling the schemas of the card takes more than 12 MiB of memory' })
  const written = await small.write(toWrite('a', { type: 'string' }))
  t.match(written.get('a'), { code: { ok: true }, values: 2 })
  t.equal(small.started, 2)
})

t.test('the thread adds the compiled form of the code; code with a form that V8 rejects works as well', async t => {
  const schema = {
    type: 'object',
    properties: { a: { $ref: '#/$defs/n' } },
    required: ['a'],
    $defs: { n: { type: 'integer', pattern: '^x' } }
  }
  const { code, ...rest } = (await compiler.write(toWrite('a', schema))).get('a') ?? { code: { ok: false } }
  if (!code.ok) throw new Error('the schema does not compile')
  t.ok((code.quick.compiled?.length ?? 0) > 1_000 && (code.full.compiled?.length ?? 0) > 1_000)
  const broken = { code: code.quick.code, compiled: Buffer.from(code.quick.compiled ?? []).fill(0) }
  for (const quick of [code.quick, broken, { code: code.quick.code, compiled: null }]) {
    const ready = (await readySchemas(new Map([['a', { ...rest, code: { ...code, quick } } as never]]))).get('a')?.result
    t.match(ready, { ok: true })
    if (ready?.ok !== true) continue
    t.same([{ a: 1 }, { a: 1.5 }, {}, 7].map(value => ready.schema.matches(value)), [true, false, false, false])
  }
})

t.test('a job that is no longer needed ends; others continue; an idle thread ends', async t => {
  const one = new CardCompiler({ idle: 10 })
  t.teardown(() => one.close())
  const stop = new AbortController()
  const first = one.write(
    toWrite('a', { anyOf: Array.from({ length: 1_000 }, (_, index) => ({ required: [`k${index}`] })) }),
    stop.signal
  )
  const second = one.write(toWrite('b', { type: 'string' }), stop.signal)
  const third = one.write(toWrite('c', { type: 'string' }))
  stop.abort()
  await t.rejects(first, { message: 'no longer needed' })
  await t.rejects(second, { message: 'no longer needed' })
  t.match((await third).get('c'), { code: { ok: true } })
  await until(() => !one.running, 'the thread to end')
})

t.test('a known schema is compiled once; a small card starts no thread', async t => {
  const before = compiler.started
  const large = {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`k${index}`, { type: 'string' }]))
  }
  t.ok(costOf(large, 1_000) > COMPILED_HERE)
  const state = await load({ large })
  t.equal(schemasToCompile(loaded({ large, other: { const: 1 } }), options(state)).size, 1)
  t.throws(() => buildAgentState(loaded({ large }), { ...options(), ready: new Map() }), {
    message: 'a schema of the card is not compiled yet'
  })
  t.equal(buildAgentState(loaded({ large: { const: 1 } }), { ...options(), ready: new Map() }).policy['1.0'].unusable.length, 0)
  t.ok(compiler.started - before <= 1)
  // Schemas that were taken over count again: a card cannot grow without bound, a little at each refresh.
  let grown: AgentState | null = null
  const schemas: Record<string, unknown> = {}
  const grow = async (): Promise<void> => {
    for (let i = 0; i < 8; i++) {
      schemas[`k${i}`] = { pattern: `(?:abc${i}){999}` }
      grown = await load(schemas, grown)
    }
  }
  await t.rejects(grow(), { message: /together, more than 25000/ })
  t.equal(Object.keys(schemas).length, 7)
})

async function twoAgents (t: Test) {
  const self: { schemas: Readonly<Record<string, unknown>> } = { schemas: {} }
  const hostile = await fakeAgent(t, { card: url => cardWith(url, self.schemas) })
  const other = await fakeAgent(t)
  // Without a public URL, the ETag depends on the host of a request, and /agents shows none.
  const yaml = ['server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, publicUrl: "http://gateway.test"}',
    'agents:',
    `  - {name: hostile, path: /hostile, upstream: {url: "${hostile.url}"}, card: {refresh: 20ms}}`,
    `  - {name: other, path: /other, upstream: {url: "${other.url}"}}`,
    'telemetry: {logs: {level: info}}'].join('\n')
  const gateway = await gatewayFor(t, { yaml })
  const about = async (): Promise<{ card: { state: string; etag: unknown; problem: string | null; warnings: readonly string[] } }> =>
    ((await (await fetch(`${gateway.adminUrl}/agents`)).json()) as { name: string; card: never }[]).find(
      ({ name }) => name === 'hostile'
    ) as never
  return { self, gateway, about }
}

t.test('a gateway keeps the previous card, reports the reason, and serves every other agent', { timeout: 60_000 }, async t => {
  const { self, gateway, about } = await twoAgents(t)
  const before = await about()
  t.equal(before.card.state, 'ok')
  for (const schemas of [{ a: { pattern: PATTERN_OF_700_BYTES } }, cardOf29Kilobytes('x')]) {
    self.schemas = schemas
    const rejected = await gateway.metric('a2a_gateway_card_refreshes_total{agent="hostile",outcome="invalid"}')
    await until(
      async () => (await gateway.metric('a2a_gateway_card_refreshes_total{agent="hostile",outcome="invalid"}')) > rejected,
      'the card to be rejected',
      30_000
    )
    const after = await about()
    t.equal(after.card.state, 'stale')
    t.same(after.card.etag, before.card.etag, 'the previous card is in force')
    t.match(
      after.card.problem,
      /does not contain a usable card: the patterns of the card compile to \d+ instructions together, more than 25000/
    )
    t.ok(gateway.logs().some(line => /agent hostile has no newer card: .*instructions together/.test(String(line.msg))), 'the log says so')
    for (const path of ['hostile', 'other']) t.equal((await rpc(`${gateway.url}/${path}/rpc`)).status, 200, path)
  }
  self.schemas = { a: { type: 'string' } }
  await until(async () => (await about()).card.state === 'ok', 'the next good card to be used', 30_000)
  t.notSame((await about()).card.etag, before.card.etag)
})

t.test('a large valid card is compiled in the thread and used', { timeout: 60_000 }, async t => {
  const { self, gateway, about } = await twoAgents(t)
  const before = await about()
  self.schemas = {
    order: {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`k${index}`, { type: 'string', pattern: '^[a-z]{1,9}$' }])),
      additionalProperties: false
    }
  }
  await until(async () => JSON.stringify((await about()).card.etag) !== JSON.stringify(before.card.etag), 'the card to be used', 30_000)
  t.same((await about()).card.warnings, [])
  const send = async (data: unknown): Promise<unknown> => {
    const params = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ data, mediaType: 'application/json;schema=order' }] } }
    return JSON.parse((await rpc(`${gateway.url}/hostile/rpc`, 'SendMessage', params, ['a2a-extensions', OBJECT_SCHEMAS])).text) as unknown
  }
  t.notMatch(await send({ k1: 'abc' }), { error: {} })
  t.match(await send({ k1: 'ABC' }), { error: { code: -32602, message: /k1/ } })
})
