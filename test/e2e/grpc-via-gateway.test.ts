/** Every operation of every official JavaScript client has the same result over gRPC through the gateway as without it. */
import t from 'tap'
import { connect } from '../helpers/sdk-clients.js'
import { COMPARISON, OBJECT_SCHEMAS } from '../../examples/fight.js'
import { quietSdk } from '../helpers/agents.js'
import { startGrpcAgent } from '../helpers/grpc-agents.js'
import { grpcGatewayFor } from '../helpers/grpc-gateway.js'
import { grpcSeen, grpcStory } from './grpc-stories.js'
import { clients } from './matrix.js'

quietSdk()

const KNOWN = 'https://example.com/ext/known/v1'
const UNKNOWN = 'https://example.com/ext/unknown/v1'

for (const kind of ['v1', 'dual', 'v03'] as const) {
  for (const client of clients) {
    t.test(`agent ${kind}, client ${client}`, async t => {
      const agent = await startGrpcAgent({ kind, card: { extensions: [{ uri: KNOWN }] } })
      t.teardown(() => agent.close())
      const gateway = await grpcGatewayFor(t, { upstream: agent.url })
      const run = { client, extensions: [KNOWN, UNKNOWN] }
      const direct = await grpcStory({ ...run, cardUrl: agent.cardUrl, address: agent.grpcAddress })
      const seenDirect = grpcSeen(agent)
      const cardUrl = `${gateway.url}/.well-known/agent-card.json`
      t.same(await grpcStory({ ...run, cardUrl, address: gateway.grpcAddress }), direct, 'the client is told the same')
      t.same(grpcSeen(agent), seenDirect, 'the agent sees the same')
    })
  }
}

t.test('a call without the required extension does not reach the agent', async t => {
  for (const [kind, client] of [['v1', 'v1'], ['dual', 'v1'], ['dual', 'v1-as-03'], ['dual', 'v03'], ['v03', 'v03']] as const) {
    const agent = await startGrpcAgent({ kind, card: { extensions: [{ uri: KNOWN, required: true }] } })
    t.teardown(() => agent.close())
    const gateway = await grpcGatewayFor(t, { upstream: agent.url })
    const run = { client, cardUrl: `${gateway.url}/.well-known/agent-card.json`, address: gateway.grpcAddress }
    const sends = ['sendMessage', 'sendTask', 'stream'] as const

    const rejected = await grpcStory({ ...run, extensions: [] })
    for (const operation of sends) t.match(rejected[operation]?.error?.message, KNOWN, `${client} of ${kind}: ${operation} is rejected`)
    if (client === 'v1') t.match(rejected.sendMessage?.error?.name, /ExtensionSupportRequiredError/, 'the client has its own error')
    t.notOk(agent.grpcCalls.some(({ path }) => /\/Send(?:Streaming)?Message$/.test(path)), 'no message came through')

    const followed = await grpcStory({ ...run, extensions: [KNOWN] })
    for (const operation of sends) t.notOk(followed[operation]?.error, `${client} of ${kind}: ${operation} follows the rule`)
  }
})

t.test('data that does not match the schema in the card does not reach the agent', async t => {
  const schemas = {
    fightComparison: {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      required: ['a', 'b'],
      additionalProperties: false
    }
  }
  const agent = await startGrpcAgent({ kind: 'v1', card: { extensions: [{ uri: OBJECT_SCHEMAS }], schemas } })
  t.teardown(() => agent.close())
  const gateway = await grpcGatewayFor(t, { upstream: agent.url })
  const client = await connect({ client: 'v1', transport: 'GRPC', cardUrl: `${gateway.url}/.well-known/agent-card.json` })
  await t.rejects(client.send('', { data: { a: 'Lion', b: 7 }, mediaType: COMPARISON }), { message: /data\.b must be a string/ })
  t.equal(agent.grpcCalls.length, 0)
  await client.send('', { data: { a: 'Lion', b: 'Tiger' }, mediaType: COMPARISON })
  t.equal(agent.grpcCalls.length, 1)
})
