/** The view of an operator in Prometheus: a gateway in front of an official agent, after successful and failed calls. */
import t from 'tap'
import { startAgent } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { startPrometheus, until } from '../helpers/prometheus.js'
import { connect } from '../helpers/sdk-clients.js'

const REQUIRED = 'https://example.com/ext/required/v1'

t.test('calls, rejections, streams and activations of a real gateway arrive in Prometheus with the documented labels', async t => {
  const agent = await startAgent({ kind: 'dual', card: { extensions: [{ uri: REQUIRED, required: true }], streaming: true } })
  t.teardown(() => agent.close())
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const prometheus = await startPrometheus(t, new URL(gateway.adminUrl).host)

  const send = async (extensions: string | null, stream = false): Promise<void> => {
    const response = await fetch(`${gateway.url}${new URL(await rpcUrl(gateway.url)).pathname}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'a2a-version': '1.0',
        accept: 'text/event-stream',
        ...(extensions === null ? {} : { 'a2a-extensions': extensions })
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: stream ? 'SendStreamingMessage' : 'SendMessage',
        params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] } }
      })
    })
    await response.arrayBuffer()
  }
  await send(REQUIRED)
  await send(REQUIRED)
  await send(null)
  await send(REQUIRED, true)
  const client = await connect({
    client: 'v1',
    cardUrl: `${gateway.url}/.well-known/agent-card.json`,
    transport: 'JSONRPC',
    extensions: [REQUIRED]
  })
  t.ok(client, 'an official client reads the served card')

  const value = async (expression: string): Promise<number> => Number((await prometheus.query(expression))[0]?.value[1] ?? 0)
  await until('scrape of all calls', 20, async () =>
    (await value('sum(a2a_gateway_requests_total{operation=~"Send.*"})')) === 4 ? true : null
  )
  t.equal(
    await value('a2a_gateway_requests_total{agent="agent",operation="SendMessage",binding="JSONRPC",version="1.0",outcome="forwarded"}'),
    2
  )
  t.equal(
    await value('a2a_gateway_requests_total{agent="agent",operation="SendMessage",binding="JSONRPC",version="1.0",outcome="rejected"}'),
    1
  )
  t.equal(
    await value(
      'a2a_gateway_requests_total{agent="agent",operation="SendStreamingMessage",binding="JSONRPC",version="1.0",outcome="forwarded"}'
    ),
    1
  )
  t.equal(
    await value(`a2a_gateway_violations_total{agent="agent",extension="${REQUIRED}",rule="required",phase="request",mode="enforce"}`),
    1
  )
  t.equal(
    await value(`a2a_gateway_activations_total{agent="agent",extension="${REQUIRED}",source="client",echo="confirmed"}`),
    2,
    'the SDK echoes on unary calls'
  )
  t.equal(
    await value(`a2a_gateway_activations_total{agent="agent",extension="${REQUIRED}",source="client",echo="absent"}`),
    1,
    'and not on JSON-RPC streams'
  )
  t.ok(await value('a2a_gateway_stream_events_total{agent="agent"}') >= 2)
  t.equal(await value('a2a_gateway_streams_active{agent="agent"}'), 0)
  t.equal(await value('a2a_gateway_decision_duration_seconds_count{agent="agent"}'), 4)
  t.equal(await value('a2a_gateway_upstream_duration_seconds_count{agent="agent",operation="SendMessage"}'), 2)
  t.ok(await value('a2a_gateway_card_age_seconds{agent="agent"}') > 0)
  t.equal(await value('a2a_gateway_card_refreshes_total{agent="agent",outcome="changed"}'), 1)
  t.match((await prometheus.query('a2a_gateway_config_info'))[0]?.metric.hash, /^[0-9a-f]{12}$/)
  t.same((await prometheus.targets()).map(target => target.lastError), [''])
})

async function rpcUrl (gatewayUrl: string): Promise<string> {
  const card = (await (await fetch(`${gatewayUrl}/.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0' } })).json()) as {
    supportedInterfaces: { url: string; protocolBinding: string }[]
  }
  return card.supportedInterfaces.find(one => one.protocolBinding === 'JSONRPC')?.url ?? ''
}
