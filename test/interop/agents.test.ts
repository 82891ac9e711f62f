/**
 * Agents made with the official SDKs of other languages, behind the gateway: the JavaScript clients get the same results as without the
 * gateway.
 */
import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { COMPARISON, OBJECT_SCHEMAS } from '../../examples/fight.js'
import { quietSdk } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { rpc, rpcBody, call, JSON_TYPE, MESSAGE_03 } from '../helpers/http.js'
import type { ClientKind, Transport } from '../helpers/sdk-clients.js'
import { jsStory } from './js-story.js'
import { SDK_VERSIONS, SETUP_TIMEOUT, programs, startForeignAgent } from './toolchains.js'
import type { Sdk } from './toolchains.js'

quietSdk()
t.setTimeout(2 * SETUP_TIMEOUT)

const REQUIRED = 'https://example.com/ext/required/v1'
const OTHER = 'https://example.com/ext/other/v1'

interface Setup {
  readonly sdk: Sdk
  readonly args: readonly string[]
  readonly clients: readonly ClientKind[]
  readonly transports: readonly Transport[]
}

const SETUPS: readonly Setup[] = [
  { sdk: 'py-1', args: [], clients: ['v1'], transports: ['JSONRPC', 'HTTP+JSON'] },
  { sdk: 'py-1', args: ['--legacy'], clients: ['v1', 'v1-as-03', 'v03'], transports: ['JSONRPC', 'HTTP+JSON'] },
  { sdk: 'py-0.3', args: [], clients: ['v1-as-03', 'v03'], transports: ['JSONRPC', 'HTTP+JSON'] },
  { sdk: 'go-2', args: [], clients: ['v1'], transports: ['JSONRPC', 'HTTP+JSON'] },
  { sdk: 'go-2', args: ['--legacy'], clients: ['v1-as-03', 'v03'], transports: ['JSONRPC'] },
  { sdk: 'go-0.3', args: [], clients: ['v1-as-03', 'v03'], transports: ['JSONRPC'] }
]

t.before(async () => {
  for (const sdk of Object.keys(SDK_VERSIONS) as Sdk[]) await programs(sdk)
})

for (const { sdk, args, clients, transports } of SETUPS) {
  t.test(`${sdk} agent ${args.join(' ')}`, async t => {
    const agent = await startForeignAgent(t, sdk, [...args, '--required', REQUIRED, '--optional', OTHER])
    const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
    for (const client of clients) {
      for (const transport of transports) {
        const name = `${client}, ${transport}`
        // Go servers read a list in one line as one URI, so only a single one means the same to them with and without the gateway.
        const run = { client, transport, extensions: sdk.startsWith('go') ? [REQUIRED] : [REQUIRED, OTHER] }
        const direct = await jsStory({ ...run, url: agent.url })
        t.same(await jsStory({ ...run, url: gateway.url }), direct, `${name}: the same through the gateway`)
        t.match(direct.message?.value, {}, `${name}: works at all`)

        const before = agent.calls().length
        t.ok((await jsStory({ client, transport, url: agent.url, brief: true })).send?.value, `${name}: the SDK itself does not enforce`)
        t.not(agent.calls().length, before)
        await sleep(50)
        const reached = agent.calls().length
        const refused = await jsStory({ client, transport, url: gateway.url, brief: true })
        for (const operation of ['message', 'send', 'stream'] as const) {
          t.match(
            refused[operation]?.error,
            /A2A-Extensions: https:\/\/example\.com\/ext\/required\/v1/,
            `${name}: ${operation} is refused`
          )
        }
        t.equal(agent.calls().length, reached, `${name}: the agent has seen nothing of it`)
      }
    }
  })
}

t.test('object-schemas in front of agents that do not validate', async t => {
  const schemas = {
    fightComparison: {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      required: ['a', 'b'],
      additionalProperties: false
    }
  }
  for (const sdk of ['py-1', 'py-0.3'] as const) {
    const agent = await startForeignAgent(t, sdk, ['--optional', OBJECT_SCHEMAS, '--schemas', JSON.stringify(schemas)])
    const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
    const send = async (url: string, data: unknown): Promise<{ result?: unknown, error?: { message: string } }> => {
      const answer =
        sdk === 'py-1'
          ? await rpc(`${url}/a2a/jsonrpc`, 'SendMessage', {
            message: { messageId: 'm', role: 'ROLE_USER', parts: [{ data, mediaType: COMPARISON }] }
          })
          : await call(`${url}/a2a/jsonrpc`, {
            headers: JSON_TYPE,
            body: rpcBody('message/send', {
              message: { ...MESSAGE_03, parts: [{ kind: 'data', data, metadata: { mimeType: COMPARISON } }] }
            })
          })
      return answer.json() as { result?: unknown, error?: { message: string } }
    }
    t.ok((await send(agent.url, { a: 'Lion', b: 7 })).result, `${sdk}: the SDK itself takes anything`)
    await sleep(50)
    const reached = agent.calls().length
    t.match((await send(gateway.url, { a: 'Lion', b: 7 })).error?.message, /parts\[0\]\.data\.b must be a string/)
    t.equal(agent.calls().length, reached, `${sdk}: invalid data does not reach the agent`)
    t.ok((await send(gateway.url, { a: 'Lion', b: 'Tiger' })).result, `${sdk}: valid data does`)
  }
})

t.test('no call is lost when uvicorn closes a connection after 5 s', async t => {
  for (const sdk of ['py-1', 'py-0.3'] as const) {
    const agent = await startForeignAgent(t, sdk)
    const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
    const one = async (): Promise<number> => {
      const answer =
        sdk === 'py-1'
          ? await rpc(`${gateway.url}/a2a/jsonrpc`, 'SendMessage', {
            message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'message' }] }
          })
          : await call(`${gateway.url}/a2a/jsonrpc`, {
            headers: JSON_TYPE,
            body: rpcBody('message/send', { message: { ...MESSAGE_03, parts: [{ kind: 'text', text: 'message' }] } })
          })
      return answer.json().result === undefined ? answer.status * 1_000 : answer.status
    }
    const statuses: number[] = []
    for (const pause of [0, 4_000, 4_990, 5_010, 6_500]) {
      await sleep(pause)
      statuses.push(...await Promise.all(Array.from({ length: 20 }, one)))
      for (let i = 0; i < 40; i++) statuses.push(await one())
    }
    t.same(new Set(statuses), new Set([200]), `${sdk}: all of ${statuses.length} calls`)
  }
})
