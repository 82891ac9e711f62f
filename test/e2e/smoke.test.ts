/**
 * One call per binding and version through a real gateway, with the official clients: forwarded, streamed, and rejected without the
 * required extension. `npm test` runs this file; the integration suite runs every operation (sdk-via-gateway.test.ts).
 */
import t from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { connect, taskIdOf } from '../helpers/sdk-clients.js'
import { clients, transports } from './matrix.js'

quietSdk()

const REQUIRED = 'https://example.com/ext/required/v1'

t.test('each official client reaches the agent with the required extension, and only with it', async t => {
  const agent = await startAgent({ kind: 'dual', card: { extensions: [{ uri: REQUIRED, required: true }] } })
  t.teardown(() => agent.close())
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const cardUrl = `${gateway.url}/.well-known/agent-card.json`
  const found: Record<string, unknown> = {}
  const expected: Record<string, unknown> = {}
  for (const client of clients) {
    for (const transport of transports) {
      const name = `${client} ${transport}`
      const active = await connect({ client, transport, cardUrl, extensions: [REQUIRED] })
      const message = JSON.stringify(await active.send('message'))
      const events: unknown[] = []
      for await (const event of active.stream('stream')) events.push(event)
      const inactive = await connect({ client, transport, cardUrl })
      const before = agent.calls().length
      const error = await inactive.send('message').then(() => null, (error: Error) => error.message)
      found[name] = {
        message: message.includes('message'),
        streamed: events.length > 1 && events.some(event => taskIdOf(event) !== null),
        rejected: error?.includes(REQUIRED) ?? false,
        reachedAgent: agent.calls().length > before
      }
      expected[name] = { message: true, streamed: true, rejected: true, reachedAgent: false }
    }
  }
  t.same(found, expected)
  t.equal(
    await gateway.metric(
      'a2a_gateway_violations_total{agent="agent",extension="https://example.com/ext/required/v1",rule="required",phase="request",mode="enforce"}'
    ),
    clients.length * transports.length
  )
})
