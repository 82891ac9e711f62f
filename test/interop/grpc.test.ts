/** Agents and clients of three languages with each other over gRPC: every operation, 1.0 and 0.3. */
import t from 'tap'
import { quietSdk } from '../helpers/agents.js'
import { CLIENTS, agentOf } from './grpc-agents.js'
import { SETUP_TIMEOUT, programs } from './toolchains.js'

quietSdk()
t.setTimeout(2 * SETUP_TIMEOUT)

t.before(async () => {
  for (const sdk of ['py-1', 'go-2'] as const) await programs(sdk)
})

for (const language of ['JavaScript', 'Python', 'Go'] as const) {
  t.test(`${language} agent`, async t => {
    const agent = await agentOf(t, language)
    for (const client of CLIENTS) {
      const before = agent.calls()
      const direct = await client.run(agent.url, agent.grpcAddress)
      t.ok(agent.calls() - before > 10, `${client.name}: the calls arrive over gRPC`)
      const again = await client.run(agent.url, agent.grpcAddress)
      t.same(again, direct, client.name)
    }
  })
}
