/** The activated extensions, as clients see them in the header and as metrics count them, and the totals of a task. */
import t from 'tap'
import type { Turn } from '../helpers/agents.js'
import { until } from '../helpers/http.js'
import { taskIdOf } from '../helpers/sdk-clients.js'
import type { Combination } from './responses-kit.js'
import { behind, FOUR, told, wire } from './responses-kit.js'

const PROVEN = 'https://x.test/ext/proven/v1'
const LISTED = 'https://x.test/ext/listed/v1'
const IDLE = 'https://x.test/ext/idle/v1'
const MORE = 'https://x.test/ext/more/v1'
const USAGE = 'https://github.com/inference-gateway/schemas/tree/main/a2a/extensions/usage/v1'

const policies = (echo: string): string[] => [
  'extensions:',
  ...Object.entries({ proven: PROVEN, listed: LISTED, idle: IDLE, more: MORE }).map(
    ([name, uri]) => `  ${name}: {uri: "${uri}", echo: ${echo}, owns: {metadata: [${name}.*]}}`
  )
]

/** Proves one by data, and one by naming it; of the others nothing shows. */
function behaviour (turn: Turn): void {
  const added = { metadata: { 'proven.x': 1 }, extensions: [LISTED] }
  if (turn.text === 'message') return turn.messageWith(added, { text: 'hi' })
  turn.task('working', { metadata: { 'proven.x': 1 } })
  turn.status('completed', 'done', added)
}

/** What the SDKs say in the header: 1.3.0 all but in streams of JSON-RPC, 0.3.14 nothing. */
function saysHeader ({ kind, transport }: Combination, streamed: boolean): boolean {
  return kind !== 'v03' && !(streamed && transport === 'JSONRPC')
}

for (const combination of FOUR) {
  for (const echo of ['passthrough', 'verify', 'synthesize'] as const) {
    t.test(`${echo}: ${combination.name}`, async t => {
      // What is not named in the card the SDK does not tell the executor, so the header is filled by hand.
      for (const says of [true, false]) {
        const { gateway, client } = await behind(t, combination, {
          agent: {
            behaviour,
            activate: says ? 'all' : 'none',
            activates: says ? [MORE] : [],
            card: { extensions: [PROVEN, LISTED, IDLE].map(uri => ({ uri })) }
          },
          responses: 'enforce',
          policies: '[proven, listed, idle, more]',
          root: policies(echo)
        })
        const { fetch, exchanges } = wire()
        const caller = await client({ fetch, extensions: [PROVEN, LISTED, IDLE] })
        t.equal((await told(caller.send('message'))).failure, null)
        t.equal((await told(caller.stream('message'))).failure, null)
        for (const [i, { headers }] of exchanges.entries()) {
          const header = saysHeader(combination, i === 1) && says
          const fromAgent = header ? [PROVEN, LISTED, IDLE, ...echo === 'passthrough' ? [MORE] : []] : []
          const expected = echo === 'synthesize' ? [...new Set([...fromAgent, PROVEN, LISTED])] : fromAgent
          const [own, other] =
            combination.version === '1.0' ? ['a2a-extensions', 'x-a2a-extensions'] : ['x-a2a-extensions', 'a2a-extensions']
          t.same(
            (headers.get(own) ?? '').split(',').filter(Boolean).sort(),
            expected.sort(),
            `${i === 0 ? 'unary' : 'stream'}, agent ${says ? 'says so' : 'says nothing'}`
          )
          t.equal(headers.get(other), null)
        }
        const count = (name: string, kind: string): Promise<number> =>
          gateway.metric(`a2a_gateway_activations_total{agent="agent",extension="${name}",source="client",echo="${kind}"}`)
        const headers = says ? [false, true].filter(streamed => saysHeader(combination, streamed)).length : 0
        await until(async () => await count('proven', 'confirmed') + await count('proven', 'absent') === 2, 'both exchanges to end')
        t.same([await count('proven', 'confirmed'), await count('listed', 'confirmed')], [2, 2], 'by data, and by name')
        t.same([await count('idle', 'confirmed'), await count('idle', 'absent')], [headers, 2 - headers], 'by the header alone')
        t.equal(await count('other', 'unexpected') + await count('more', 'unexpected'), headers, 'nobody asked for it')
      }
    })
  }

  t.test(`tokens of a task are counted once: ${combination.name}`, async t => {
    let used = 0
    const { gateway, client, agent } = await behind(t, combination, {
      agent: {
        card: { extensions: [{ uri: USAGE }] },
        behaviour: turn => {
          used += 10
          const usage = { [`${USAGE}/usage`]: { prompt_tokens: used, completion_tokens: used * 2, total_tokens: used * 3 } }
          turn.task('working', { metadata: usage })
          turn.status(turn.continued ? 'completed' : 'input-required', 'more?')
        }
      },
      responses: 'observe',
      policies: '[usage]'
    })
    const tokens = (metric: string): Promise<number> =>
      gateway.metric(`a2a_gateway_observed_total{agent="agent",extension="usage",metric="${metric}",by=""}`)
    const caller = await client({ extensions: [USAGE] })
    const streamed = await told(caller.stream('go'))
    t.equal(streamed.failure, null)
    const id = taskIdOf(streamed.values[0]) ?? 'none'
    await until(async () => await tokens('total_tokens') === 30, 'the stream to be counted')
    for (let i = 0; i < 3; i++) t.match(JSON.stringify(await caller.getTask(id)), /total_tokens.{1,3}30/, 'the task tells it again')
    if (combination.version === '1.0') {
      await caller.listTasks((streamed.values[0] as { payload: { value: { contextId: string } } }).payload.value.contextId)
    }
    t.equal(await tokens('total_tokens'), 30, 'and it counts once')
    t.equal((await told(caller.send('again', { taskId: id }))).failure, null)
    await until(async () => await tokens('total_tokens') === 60, 'what has come to it')
    await caller.getTask(id)
    t.same([await tokens('prompt_tokens'), await tokens('completion_tokens'), await tokens('total_tokens')], [20, 40, 60])
    // Another task of another client.
    await told(caller.send('other'))
    await until(async () => await tokens('total_tokens') === 150, 'another task, by itself')
    t.ok(agent.calls().length >= 7)
  })
}
