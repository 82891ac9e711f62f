/** The gateway's own state in `/metrics`: the presence of each agent's card, the limits, and the success of the last configuration load. */
import t from 'tap'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, MESSAGE, rpc, until } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'

t.test('agents with and without a card are distinguished, and limits follow a reload', async t => {
  const agent = await fakeAgent(t)
  const yaml = (streams: number): string =>
    [
      'agents:',
      `  - {name: there, path: /there, upstream: {url: "${agent.url}"}, concurrency: {requests: 7, streams: ${streams}}, card: {maxStale: 2h}}`,
      '  - {name: gone, path: /gone, upstream: {url: "http://127.0.0.1:1"}, card: {onUnavailable: forward}}',
      'limits: {memory: 50MiB, body: 1MiB, response: 1MiB}'
    ].join('\n')
  const gateway = await gatewayFor(t, { yaml: yaml(3) })
  const { metric } = gateway
  t.equal(await metric('a2a_gateway_card_usable{agent="there"}'), 1)
  t.match(
    await (await fetch(`${gateway.adminUrl}/metrics`)).text(),
    /^a2a_gateway_card_usable\{agent="gone"\} 0$/m,
    'ready, but nothing is decided'
  )
  t.equal(await metric('a2a_gateway_card_max_stale_seconds{agent="there"}'), 7_200)
  t.equal(await metric('a2a_gateway_requests_limit{agent="there"}'), 7)
  t.equal(await metric('a2a_gateway_streams_limit{agent="there"}'), 3)
  t.equal(await metric('a2a_gateway_held_limit_bytes'), 50 * 1_048_576)
  t.equal(await metric('a2a_gateway_config_last_reload_successful'), 1)

  gateway.reject([{ file: 'gateway.yaml', line: 0, col: 0, message: 'it is no configuration' }])
  t.match(await (await fetch(`${gateway.adminUrl}/metrics`)).text(), /^a2a_gateway_config_last_reload_successful 0$/m)
  await gateway.reload(configOf({ yaml: yaml(5) }))
  t.equal(await metric('a2a_gateway_config_last_reload_successful'), 1)
  t.equal(await metric('a2a_gateway_streams_limit{agent="there"}'), 5)
})

t.test('bytes of bodies are reported while calls hold them', async t => {
  const waiting: (() => void)[] = []
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      waiting.push(() => {
        response.setHeader('content-type', 'application/json').end('{"jsonrpc":"2.0","id":1,"result":{}}')
      })
    }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const answer = rpc(`${gateway.url}/rpc`, 'SendMessage', { message: { ...MESSAGE, parts: [{ text: 'x'.repeat(10_000) }] } })
  await until(() => waiting.length === 1, 'the call to reach the agent')
  t.ok(await gateway.metric('a2a_gateway_held_bytes') > 10_000)
  waiting[0]?.()
  t.equal((await answer).status, 200)
  await until(
    async () => (await call(`${gateway.adminUrl}/metrics`)).text.includes('\na2a_gateway_held_bytes 0\n'),
    'the bytes to be given back'
  )
})
