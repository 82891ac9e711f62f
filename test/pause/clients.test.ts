/** `pause` with the official clients, in every version and binding: the task that waits, the decision, and the agent's response. */
import t from 'tap'
import { startGrpcAgent } from '../helpers/grpc-agents.js'
import { grpcGatewayFor } from '../helpers/grpc-gateway.js'
import { quietSdk } from '../helpers/agents.js'
import type { ClientOptions } from '../helpers/sdk-clients.js'
import { connect } from '../helpers/sdk-clients.js'
import { APPROVAL, approvalPolicy, CARD, decide, order, QUESTION, shown } from './kit.js'

quietSdk()

const CLIENTS: readonly Pick<ClientOptions, 'client' | 'transport'>[] = [
  { client: 'v1', transport: 'JSONRPC' },
  { client: 'v1', transport: 'HTTP+JSON' },
  { client: 'v1', transport: 'GRPC' },
  { client: 'v1-as-03', transport: 'JSONRPC' },
  { client: 'v1-as-03', transport: 'HTTP+JSON' },
  { client: 'v03', transport: 'JSONRPC' },
  { client: 'v03', transport: 'HTTP+JSON' }
]

t.test('a person agrees, in every form', async t => {
  const agent = await startGrpcAgent({ kind: 'dual', card: CARD })
  t.teardown(() => agent.close())
  const gateway = await grpcGatewayFor(t, { upstream: agent.url, agent: ['extensions: [approval]'], root: approvalPolicy() })
  for (const { client: kind, transport } of CLIENTS) {
    await t.test(`${kind} over ${transport}`, async t => {
      const client = await connect({ client: kind, transport, cardUrl: `${gateway.url}/.well-known/agent-card.json`, extensions: [APPROVAL] })
      t.equal(shown(await order(client, 10)).state, 'completed', 'a small order needs nobody')
      const before = agent.calls().length + agent.grpcCalls.length
      const waiting = shown(await order(client, 5_000))
      t.match(waiting, {
        state: 'input-required',
        texts: [QUESTION],
        data: { options: ['approve', 'decline'] },
        metadata: { [APPROVAL]: { type: 'approval_request' } }
      })
      t.match(shown(await client.getTask(waiting.id)), { id: waiting.id, state: 'input-required', texts: [QUESTION] })
      const again = shown(await decide(client, waiting.id))
      t.match(again, { id: waiting.id, state: 'input-required' }, 'a message without the decision')
      t.match(again.texts[1], /is required/)
      t.equal(agent.calls().length + agent.grpcCalls.length, before, 'the agent knows nothing of all this')
      const done = shown(await decide(client, waiting.id, true))
      t.equal(done.state, 'completed')
      t.not(done.id, waiting.id, 'the task of the agent')
      t.equal(agent.calls().length + agent.grpcCalls.length, before + 1)
      t.match(shown(await client.getTask(waiting.id)), { state: 'completed', texts: [/was sent to the agent/] })
      await t.rejects(decide(client, waiting.id, true), /has ended|not supported/, 'once')
      t.equal(agent.calls().length + agent.grpcCalls.length, before + 1)
    })
  }
})
