/** `untaggedData` on the wire: allowed by default, rejected in the client's format, recorded in observe. */
import t from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, MESSAGE_03, rpcBody } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'

const M10 = { message: { ...MESSAGE, parts: [{ data: { a: 1 }, mediaType: 'application/json' }] } }
const M03 = { message: { ...MESSAGE_03, parts: [{ kind: 'data', data: { a: 1 } }] } }
const V1 = ['a2a-version', '1.0']
const FORMS = [
  { name: 'JSON-RPC 1.0', path: '/rpc', headers: V1, body: rpcBody('SendMessage', M10), status: 200, shape: { error: { code: -32005 } } },
  { name: 'JSON-RPC 0.3', path: '/rpc', headers: [], body: rpcBody('message/send', M03), status: 200, shape: { error: { code: -32005 } } },
  {
    name: 'HTTP+JSON 1.0',
    path: '/rest/message:send',
    headers: V1,
    body: JSON.stringify(M10),
    status: 400,
    shape: { error: { status: 'INVALID_ARGUMENT' } }
  },
  { name: 'HTTP+JSON 0.3', path: '/rest/v1/message:send', headers: [], body: JSON.stringify(M03), status: 400, shape: { code: -32005 } }
] as const

for (const { name, path, headers, body, status, shape } of FORMS) {
  t.test(name, async t => {
    const agent = await fakeAgent(t)
    const sendTo = async (...keys: string[]): Promise<{ got: Awaited<ReturnType<typeof call>>, audits: Record<string, unknown>[] }> => {
      const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, keys) })
      return {
        got: await call(gateway.url + path, { method: 'POST', headers: [...JSON_TYPE, ...headers], body }),
        audits: gateway.audits()
      }
    }
    const refused = await sendTo('untaggedData: reject')
    t.equal(refused.got.status, status)
    t.equal(refused.got.headers['gateway-decision'], 'reject;rule="gateway/untagged-data"')
    t.match(refused.got.json(), shape)
    t.match(refused.got.text, 'message.parts[0].data belongs to none of this agent\'s extensions')
    t.equal(agent.received.length, 0)
    t.match((await sendTo('untaggedData: reject', 'mode: observe')).audits, [{ decision: 'observed', rule: 'untagged-data' }])
    t.same((await sendTo()).audits, [])
    t.same(agent.received.map(one => one.body.toString()), [body, body])
  })
}
