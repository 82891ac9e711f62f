/** The count of data that a policy owns and no rule looked at, over real sockets. */
import t from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, rpcBody, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'

const URI = 'https://example.com/order/v1'

t.test('the value passes and is counted by policy', async t => {
  const agent = await fakeAgent(t, { card: url => plainCard(url, { capabilities: { extensions: [{ uri: URI }] } }) })
  const policies = `extensions:
  order:
    uri: "${URI}"
    owns: {metadata: [$uri, $uri/*]}
    request: [{id: valid, select: {metadata: {in: [message], key: $uri}}, schema: {type: object}}]`
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['extensions: [order]'], [policies]) })
  const counted = (): Promise<number> => gateway.metric('a2a_gateway_unexamined_data_total{agent="agent",extension="order"}')
  const send = async (params: object): Promise<number> =>
    (await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body: rpcBody('SendMessage', params) })).status
  for (const [params, total] of [
    [{ message: MESSAGE }, 0],
    [{ message: { ...MESSAGE, metadata: { [URI]: {} } } }, 0],
    [{ message: MESSAGE, metadata: { [URI]: {} } }, 1],
    [{ message: { ...MESSAGE, metadata: { [`${URI}/code`]: 1, [`${URI}/sum`]: 2 } } }, 3]
  ] as const) {
    t.equal(await send(params), 200)
    t.equal(await counted(), total, JSON.stringify(params))
  }
  t.equal(agent.received.length, 4)
  t.strictSame(gateway.audits(), [], 'no rule is broken')
})
