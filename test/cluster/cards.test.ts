/** The primary compiles the schemas of a card once for all workers. */
import { pino } from 'pino'
import t from 'tap'
import { handoutOf, HandedCards } from '#server/cluster/cards.js'
import type { AgentRegistryOptions } from '#agents/agent-registry.js'
import { cardCompiler } from '#agents/card/compiler.js'
import { AgentRegistry } from '#agents/agent-registry.js'
import { InFlight } from '#agents/in-flight.js'
import { Metrics } from '#telemetry/metrics/metrics.js'
import { configOf, oneAgent } from '../helpers/gateway.js'
import { until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'

const OBJECT_SCHEMAS = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'
/** Large enough for the thread. */
const SCHEMA = {
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`k${index}`, { type: 'string' }]))
}

t.test('a worker uses the code that the primary hands out, and starts no thread; without the code it starts one', async t => {
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { extensions: [{ uri: OBJECT_SCHEMAS, params: { schemas: { order: SCHEMA } } }] } })
  })
  const config = configOf({ yaml: oneAgent(agent.url) })
  const fleet = async (more: Partial<AgentRegistryOptions>): Promise<AgentRegistry> => {
    const made = new AgentRegistry(config, {
      metrics: new Metrics({ serves: false }),
      log: pino({ level: 'silent' }),
      inFlight: new InFlight(),
      env: {},
      ...more
    })
    t.teardown(() => made.close())
    await made.start()
    return made
  }
  t.teardown(() => cardCompiler.close())
  /** Threads that the action starts; none is kept from before. */
  const threads = async (action: () => Promise<AgentRegistry>): Promise<{ readonly fleet: AgentRegistry, readonly started: number }> => {
    await cardCompiler.close()
    const before = cardCompiler.started
    const fleet = await action()
    // The registry waits a second for the first cards: a busy machine may take longer.
    await until(() => fleet.snapshot.agents.all[0]?.ready === true, 'the card to be in use', 30_000)
    return { fleet, started: cardCompiler.started - before }
  }
  const primary = await threads(() => fleet({ onCard: () => {} }))
  t.equal(primary.started, 1)
  const [known] = primary.fleet.snapshot.agents.all
  if (known === undefined) throw new Error('no agent')
  // As between processes.
  const handout = structuredClone(handoutOf(known))
  if (handout.cards === null || handout.cards === 'same') throw new Error('no card')
  const workerWith = (cards: typeof handout.cards) => threads(() => {
    const handed = new HandedCards()
    handed.take({ ...handout, cards })
    return fleet({ keeper: handed.keeper })
  })
  const worker = await workerWith(handout.cards)
  t.equal(worker.started, 0)
  const other = await workerWith({ ...handout.cards, written: new Map() })
  t.equal(other.started, 1)
})

t.test('a worker enforces the extended card that the primary has loaded', async t => {
  const card = (extensions: object[]): Record<string, unknown> => ({ capabilities: { extendedAgentCard: true, extensions } })
  const extended = card([{ uri: 'urn:extended:v1', required: true }])
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, card([])),
    answer: ({ headers }, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(headers['x-key'] === 'secret' ? JSON.stringify({ jsonrpc: '2.0', id: 1, result: extended }) : '{}')
    }
  })
  const config = configOf({ yaml: oneAgent(agent.url, ['card: {extended: {headers: {X-Key: {env: KEY}}}}']), env: { KEY: 'secret' } })
  const registry = async (more: Partial<AgentRegistryOptions>): Promise<AgentRegistry> => {
    const made = new AgentRegistry(config, {
      metrics: new Metrics({ serves: false }),
      log: pino({ level: 'silent' }),
      inFlight: new InFlight(),
      env: { KEY: 'secret' },
      ...more
    })
    t.teardown(() => made.close())
    await made.start()
    await until(() => made.snapshot.agents.all[0]?.ready === true, 'the card to be in use', 30_000)
    return made
  }
  const [known] = (await registry({ onCard: () => {} })).snapshot.agents.all
  if (known === undefined) throw new Error('no agent')
  const requests = agent.received.length
  const handed = new HandedCards()
  handed.take(structuredClone(handoutOf(known)))
  const worker = await registry({ keeper: handed.keeper })
  t.same(worker.snapshot.agents.all[0]?.state?.policy['1.0'].required.map(one => one.uri), ['urn:extended:v1'])
  t.equal(agent.received.length, requests, 'the worker requests nothing itself')
  handed.take(structuredClone(handoutOf(known)))
  t.same(worker.snapshot.agents.all[0]?.state?.policy['1.0'].declared, ['urn:extended:v1'], 'the same cards stay in use')
})
