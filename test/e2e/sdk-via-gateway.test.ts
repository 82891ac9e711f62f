/** Every operation of every official client has the same result through the gateway as without it. */
import t from 'tap'
import { parseConfig } from '#config/load.js'
import { startGateway } from '#server/start.js'
import { COMPARISON, startFight } from '../../examples/fight.js'
import { quietSdk, startAgent } from '../helpers/agents.js'
import type { AgentOptions, TestAgent } from '../helpers/agents.js'
import { connect } from '../helpers/sdk-clients.js'
import { clients, runMatrix, transports } from './matrix.js'
import { inTests } from '../helpers/paths.js'

quietSdk()

const KNOWN = 'https://example.com/ext/known/v1'
const UNKNOWN = 'https://example.com/ext/unknown/v1'

/** A gateway in front of one agent, as little configured as can be. */
async function gatewayFor (url: string) {
  const parsed = parseConfig(`
version: 1
server: {listen: 127.0.0.1:0, admin: 127.0.0.1:0}
agents:
  - name: echo
    path: /agents/echo
    upstream: {url: "${url}"}
telemetry:
  logs: {level: silent}
  audit: {enabled: false}
`, { file: 'test.yaml', baseDir: inTests('e2e'), env: {} })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  const gateway = await startGateway(parsed.config)
  return { cardUrl: `${gateway.url}/agents/echo/.well-known/agent-card.json`, close: () => gateway.close() }
}

async function behindGateway (options: AgentOptions) {
  const agent = await startAgent(options)
  const gateway = await gatewayFor(agent.url)
  return {
    agent,
    cardUrl: gateway.cardUrl,
    async close (): Promise<void> {
      await gateway.close()
      await agent.close()
    }
  }
}

/** What the agent saw of the calls since the last look: the client's bytes, and of the headers what A2A is about. */
function seen (agent: TestAgent): unknown[] {
  const calls = agent.calls().map(({ method, url, headers, body }) => ({
    method,
    url: anonymous(url),
    body: anonymous(body.toString()),
    contentType: headers['content-type'],
    accept: headers.accept,
    authorization: headers.authorization,
    extensions: [headers['a2a-extensions'] ?? headers['x-a2a-extensions'] ?? []].flat().join(',').split(/\s*,\s*/)
  }))
  agent.received.length = 0
  return calls
}

const anonymous = (text: string): string => text.replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')

for (const kind of ['v1', 'dual', 'v03'] as const) {
  for (const client of clients) {
    for (const transport of transports) {
      t.test(`agent ${kind}, client ${client}, ${transport}`, async (t) => {
        const { agent, cardUrl, close } = await behindGateway({ kind, card: { extensions: [{ uri: KNOWN }] } })
        t.teardown(close)
        const options = { client, transport, authorization: 'Bearer x', extensions: [KNOWN, UNKNOWN] }

        agent.received.length = 0
        const direct = await runMatrix({ ...options, cardUrl: agent.cardUrl })
        const seenDirect = seen(agent)
        t.same(await runMatrix({ ...options, cardUrl }), direct, 'the client is told the same')
        t.same(seen(agent), seenDirect, 'the agent sees the same')
      })
    }
  }
}

t.test('a call without the required extension does not reach the agent', async (t) => {
  for (const kind of ['v1', 'dual', 'v03'] as const) {
    for (const transport of transports) {
      const { agent, cardUrl, close } = await behindGateway({ kind, card: { extensions: [{ uri: KNOWN, required: true }] } })
      t.teardown(close)
      const client = kind === 'v1' ? 'v1' : 'v03'
      const sends = ['sendMessage', 'sendTask', 'sendData', 'stream'] as const

      const refused = await runMatrix({ cardUrl, client, transport })
      for (const operation of sends) {
        t.ok(refused[operation]?.error, `${client}, ${transport}: ${operation} is refused`)
        t.match(JSON.stringify(refused[operation]?.http), /EXTENSION_SUPPORT_REQUIRED|-32008/)
      }
      t.notOk(agent.calls().some(({ body }) => /"parts"|"content"/.test(body.toString())), 'no message came through')

      const followed = await runMatrix({ cardUrl, client, transport, extensions: [KNOWN] })
      for (const operation of sends) t.notOk(followed[operation]?.error, `${client}, ${transport}: ${operation} follows the rule`)
    }
  }
})

t.test('data that does not match the schema in the card does not reach the agent', async (t) => {
  // 0.3 over HTTP+JSON is missing: its DataPart cannot carry the tag that names a schema.
  for (const [client, transport] of [['v1', 'JSONRPC'], ['v1', 'HTTP+JSON'], ['v1-as-03', 'JSONRPC'], ['v03', 'JSONRPC']] as const) {
    const agent = await startFight({ port: 0 })
    const gateway = await gatewayFor(agent.url)
    t.teardown(async () => {
      await gateway.close()
      await agent.close()
    })
    const fighter = await connect({ cardUrl: gateway.cardUrl, client, transport })
    await t.rejects(fighter.send('', { data: { a: 'Lion', b: 7 }, mediaType: COMPARISON }), `${client}, ${transport}: refused`)
    t.equal(agent.requests(), 0)
    await fighter.send('', { data: { a: 'Lion', b: 'Tiger' }, mediaType: COMPARISON })
    t.equal(agent.requests(), 1)
  }
})
