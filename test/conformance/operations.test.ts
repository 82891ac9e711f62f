/** The statements about discovery, transport, identity and governance, through one gateway. */
import t from 'tap'
import { oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, rpc, V1 } from '../helpers/http.js'
import { serve } from '../helpers/serve.js'
import { bench, declares } from './kit.js'

const A = 'https://example.com/ext/a/v1'

t.test('credentials in headers reach the agent as they are, and no header of the gateway names the caller', async t => {
  const { agent, send } = await bench(t)
  const headers = ['Authorization', 'Bearer abc.def', 'X-API-Key', 'k1', 'Cookie', 'session=1']
  await send(undefined, headers)
  t.match(agent.received[0]?.headers, { authorization: 'Bearer abc.def', 'x-api-key': 'k1', cookie: 'session=1' })
})

t.test('a 401 and a 403 of the agent reach the client with their headers and body', async t => {
  let status = 401
  const { send } = await bench(t, {
    answer: (_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json', 'www-authenticate': 'Bearer realm="agent", scope="a"' })
      response.end('{"detail":"who are you?"}')
    }
  })
  for (status of [401, 403]) {
    const got = await send()
    t.equal(got.status, status)
    t.equal(got.headers['www-authenticate'], 'Bearer realm="agent", scope="a"')
    t.equal(got.text, '{"detail":"who are you?"}')
  }
})

t.test('parts of every kind pass byte for byte, including numbers that no double can represent', async t => {
  const { agent, gateway } = await bench(t)
  const body = '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[' +
    '{"text":"\\ud83d\\ude00 \\u0000"},{"raw":"AAECAw==","mediaType":"image/png","filename":"x"},{"url":"https://example.com/x","mediaType":"image/png"},' +
    '{"data":{"n":12345678901234567890.10,"e":1e400,"deep":[[[]]]}}]}}}'
  const got = await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body })
  t.equal(got.status, 200)
  t.equal(agent.received[0]?.body.toString(), body)
})

t.test('calls pass two gateways in a row, each with its own policies', async t => {
  const inner = await bench(t, { card: declares({ uri: A, required: true }) })
  // A process of its own: a request that returns to its gateway is a loop.
  const outer = await serve(
    t,
    oneAgent(inner.gateway.url, ['extensions: [a]'], [`extensions: {a: {uri: "${A}", activation: {default: inject}}}`])
  )
  t.equal((await rpc(`${outer.url}/rpc`)).json().error, undefined)
  t.equal(inner.agent.received[0]?.headers['a2a-extensions'], A)
  t.match((await inner.send()).json(), { error: { code: -32008 } })
})

t.test('an audit line records the decision of a policy, without the data of the client', async t => {
  const { gateway, send } = await bench(t, {
    card: declares({ uri: A }),
    agent: ['extensions: [a]'],
    root: [`extensions: {a: {uri: "${A}", request: [{id: number, select: {metadata: {key: secret}}, schema: {type: number}}]}}`]
  })
  await send({ message: { ...MESSAGE, metadata: { secret: 'Zq7Secret' } } })
  t.match(gateway.audits(), [{ decision: 'rejected', operation: 'SendMessage', rule: 'number', extension: 'a' }])
  t.notMatch(JSON.stringify(gateway.audits()), /Zq7Secret/)
})

t.test('a rule on a header that a trusted proxy sets limits who may use an extension', async t => {
  const { agent, send } = await bench(t, {
    card: declares({ uri: A }),
    agent: ['extensions: [a]'],
    root: [
      `extensions: {a: {uri: "${A}", activation: {signals: [header]}, request: [`,
      '  {id: team, select: {header: x-team}, count: {min: 1}, schema: {enum: [billing]}, error: {class: forbidden}}]}}'
    ]
  })
  const asking = (team: string): Promise<{ json (): Record<string, unknown> }> => send(undefined, ['A2A-Extensions', A, 'X-Team', team])
  t.match((await asking('guests')).json(), { error: { code: -32004 } })
  t.equal((await asking('billing')).json().error, undefined)
  t.equal((await send()).json().error, undefined, 'without the extension nobody is limited')
  t.equal(agent.received.length, 2)
})
