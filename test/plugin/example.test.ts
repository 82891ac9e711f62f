/** The example application with the official SDK as client and agent. */
import t from 'tap'
import { application } from '../../examples/fastify-application.js'
import { fortune, FORTUNE_CONSENT, startEightball } from '../../examples/eightball.js'
import { clients, transports } from '../e2e/matrix.js'
import { quietSdk } from '../helpers/agents.js'
import { connect } from '../helpers/sdk-clients.js'
import { configuration } from './kit.js'

quietSdk()

const QUESTION = 'Oh magic 8-ball, will it rain today?'

t.test('every client of the SDK reaches the agent with a key, and is enforced', async t => {
  const agent = await startEightball({ port: 0 })
  t.teardown(() => agent.close())
  const config = configuration([{ name: 'eightball', path: '/agents/eightball', upstream: { url: agent.url } }], {
    telemetry: { logs: { level: 'silent' } }
  })
  const app = await application({ config, clients: new Set(['client']), operators: new Set(['operator']) })
  t.teardown(() => app.close())
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const cardUrl = `${url}/agents/eightball/.well-known/agent-card.json`
  t.equal((await fetch(cardUrl)).status, 401)
  t.equal((await fetch(`${url}/gateway/metrics`)).status, 401)
  t.same(await (await fetch(`${url}/health`)).json(), { status: 'ok' })
  // The SDK fetches the card without the header.
  const withKey: typeof fetch = (input, init) =>
    fetch(input, { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), authorization: 'Bearer client' } })
  for (const client of clients) {
    for (const transport of transports) {
      const allowed = await connect({ cardUrl, client, transport, extensions: [FORTUNE_CONSENT], fetch: withKey })
      t.match(JSON.stringify(await allowed.send(QUESTION)), fortune(QUESTION), `${client} ${transport}`)
      const seen = agent.requests()
      const without = await connect({ cardUrl, client, transport, fetch: withKey })
      await t.rejects(without.send(QUESTION), `${client} ${transport}: the required extension is missing`)
      t.equal(agent.requests(), seen)
    }
  }
  const metrics = await (await fetch(`${url}/gateway/metrics`, { headers: { authorization: 'Bearer operator' } })).text()
  t.match(metrics, /a2a_gateway_requests_total\{.*agent="eightball".*outcome="rejected".*\} \d/)
})
