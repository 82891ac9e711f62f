/** Official clients and agents: an allowed URL is set and read back; a forbidden one reaches no agent, and the client shows the reason. */
import t from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { connect, taskIdOf } from '../helpers/sdk-clients.js'
import { clients, transports } from './matrix.js'

quietSdk()

for (const kind of ['v1', 'dual', 'v03'] as const) {
  for (const client of clients) {
    for (const transport of transports) {
      t.test(`agent ${kind}, client ${client}, ${transport}`, async t => {
        const agent = await startAgent({ kind })
        t.teardown(() => agent.close())
        const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['push: {allow: ["https://hooks.example.com/a2a/*"]}']) })
        const cardUrl = `${gateway.url}/.well-known/agent-card.json`
        const connected = await connect({ client, transport, cardUrl }).catch((error: unknown) => error as Error)
        if (connected instanceof Error) {
          const direct = await connect({ client, transport, cardUrl: agent.cardUrl }).catch((error: unknown) => error as Error)
          t.ok(direct instanceof Error, 'the agent does not serve this client directly either')
          return
        }
        const taskId = taskIdOf(await connected.send('a task')) ?? ''
        agent.received.length = 0
        await t.rejects(connected.createPush(taskId, 'c1', 'https://hooks.example.com.evil.test/a2a/1'), /push notifications|PUSH_URL_NOT_ALLOWED|-32602/)
        t.equal(agent.calls().length, 0, 'nothing arrived')
        await connected.createPush(taskId, 'c1', 'https://hooks.example.com/a2a/1').then(
          async () => { t.match(JSON.stringify(await connected.listPush(taskId)), 'https://hooks.example.com/a2a/1') },
          // The agent of 0.3 serves some combinations of operation and binding with an error of its own.
          () => { t.ok(agent.calls().length > 0, 'the agent itself rejects the call') }
        )
      })
    }
  }
}
