/**
 * Agents and clients of three languages with each other over gRPC, 1.0 and 0.3: every operation has the same result through the gateway as
 * without it, and calls without the required extension stay at the gateway.
 */
import t from 'tap'
import { quietSdk } from '../helpers/agents.js'
import { grpcGatewayFor } from '../helpers/grpc-gateway.js'
import { CLIENTS, REQUIRED, agentOf } from './grpc-agents.js'
import { SETUP_TIMEOUT, programs } from './toolchains.js'

quietSdk()
t.setTimeout(2 * SETUP_TIMEOUT)

/** Each client names its operations its own way. */
const SENDS = ['sendMessage', 'sendTask', 'message', 'send', 'stream'] as const

t.before(async () => {
  for (const sdk of ['py-1', 'go-2'] as const) await programs(sdk)
})

for (const language of ['JavaScript', 'Python', 'Go'] as const) {
  t.test(`${language} agent`, async t => {
    const agent = await agentOf(t, language)
    const gateway = await grpcGatewayFor(t, { upstream: agent.url })
    for (const client of CLIENTS) {
      const before = agent.calls()
      const direct = await client.run(agent.url, agent.grpcAddress, [REQUIRED])
      t.ok(agent.calls() - before > 10, `${client.name}: the calls arrive over gRPC`)
      const via = await client.run(gateway.url, gateway.grpcAddress, [REQUIRED])
      const { unknown = '' } = client
      if (unknown !== '') t.match(via[unknown]?.error, 'no gRPC method', `${client.name}: ${unknown} is not of A2A`)
      t.same({ ...via, [unknown]: null }, { ...direct, [unknown]: null }, `${client.name}: the same through the gateway`)
    }
  })

  t.test(`${language} agent, without the required extension`, async t => {
    const agent = await agentOf(t, language)
    const gateway = await grpcGatewayFor(t, { upstream: agent.url })
    for (const client of CLIENTS) {
      const told = await client.run(gateway.url, gateway.grpcAddress, [])
      const sends = SENDS.filter(operation => told[operation] !== undefined)
      t.ok(sends.length > 2)
      for (const operation of sends) {
        const error = JSON.stringify(told[operation]?.error)
        t.match(error, REQUIRED, `${client.name}: ${operation} is rejected`)
        if (client.typed === true) t.match(error, 'ExtensionSupportRequiredError', `${client.name}: as its own error`)
      }
    }
    t.notOk(agent.sends(), 'the agent has seen no message')
  })
}
