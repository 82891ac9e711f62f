/**
 * Clients made with the official SDKs of other languages get the same results from the JavaScript agents behind the gateway as without it.
 */
import t from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import type { AgentKind } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { SDK_VERSIONS, SETUP_TIMEOUT, programs, runClient } from './toolchains.js'
import type { Sdk } from './toolchains.js'

quietSdk()
t.setTimeout(2 * SETUP_TIMEOUT)

const REQUIRED = 'https://example.com/ext/required/v1'
const OTHER = 'https://example.com/ext/other/v1'
const SCHEMAS = { point: { type: 'object', properties: { x: { type: 'integer' } }, required: ['x'] } }
const OBJECT_SCHEMAS = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'

const AGENTS: Readonly<Record<Sdk, readonly AgentKind[]>> = {
  'py-1': ['v1', 'dual', 'v03'],
  'py-0.3': ['dual', 'v03'],
  'go-2': ['v1', 'dual', 'v03'],
  'go-0.3': ['dual', 'v03']
}

t.before(async () => {
  for (const sdk of Object.keys(AGENTS) as Sdk[]) await programs(sdk)
})

for (const [sdk, kinds] of Object.entries(AGENTS) as [Sdk, readonly AgentKind[]][]) {
  for (const kind of kinds) {
    const legacy = sdk === 'go-2' && kind === 'v03'
    for (const transport of ['JSONRPC', 'HTTP+JSON'] as const) {
      // Go 0.3 has no HTTP+JSON, and Go 2 has another idea of the paths of 0.3 than JavaScript and Python: without /v1.
      if (transport === 'HTTP+JSON' && (sdk === 'go-0.3' || legacy)) continue
      t.test(`${sdk} ${SDK_VERSIONS[sdk]}, agent ${kind}, ${transport}`, async t => {
        const agent = await startAgent({ kind, card: { extensions: [{ uri: REQUIRED, required: true }, { uri: OTHER }] } })
        t.teardown(() => agent.close())
        const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
        const run = { transport, legacy, extensions: [REQUIRED, OTHER] }
        const direct = await runClient(sdk, { ...run, url: agent.url })
        const headersDirect = extensionsSeen(agent.calls())
        agent.received.length = 0
        t.same(await runClient(sdk, { ...run, url: gateway.url }), direct, 'the caller is told the same')
        t.same(extensionsSeen(agent.calls()), headersDirect, 'the agent is asked for the same extensions')
        for (const operation of ['card', 'message', 'send', 'sendData', 'stream', 'get', 'sendLong', 'cancel'] as const) {
          t.ok(direct[operation]?.value, `${operation} works at all`)
        }
      })
    }
  }
}

/** Extensions asked for by each call, whatever the spelling and number of lines. */
function extensionsSeen (calls: ReadonlyArray<{ headers: NodeJS.Dict<string | string[]> }>): string[] {
  return calls.map(({ headers }) =>
    [headers['a2a-extensions'] ?? headers['x-a2a-extensions'] ?? []]
      .flat()
      .join(',')
      .split(/\s*,\s*/)
      .sort()
      .join(' ')
  )
}

t.test('data that breaks a schema of the card does not reach the agent', async t => {
  for (const [sdk, transport] of [
    ['py-1', 'JSONRPC'],
    ['py-1', 'HTTP+JSON'],
    ['go-2', 'JSONRPC'],
    ['go-2', 'HTTP+JSON'],
    ['py-0.3', 'JSONRPC'],
    ['go-0.3', 'JSONRPC']
  ] as const) {
    const agent = await startAgent({
      kind: sdk === 'py-1' || sdk === 'go-2' ? 'v1' : 'v03',
      card: { extensions: [{ uri: OBJECT_SCHEMAS }], schemas: SCHEMAS }
    })
    t.teardown(() => agent.close())
    const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
    const send = { url: gateway.url, transport, mediaType: 'application/json;schema=point' }
    t.match(
      (await runClient(sdk, { ...send, data: { x: 'one' } })).sendData?.error,
      /data\.x must be an integer/,
      `${sdk}, ${transport}: the caller learns where`
    )
    t.equal(agent.calls().length, 0)
    t.ok((await runClient(sdk, { ...send, data: { x: 1 } })).sendData?.value)
    t.equal(agent.calls().length, 1)
  }
})
