/** No passthrough prefix lets an operation avoid inspection, in any form that an agent's framework accepts as the operation. */
import t from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { fakeAgent, rawExchange } from '../helpers/raw.js'
import { quietSdk, startAgent } from '../helpers/agents.js'
import type { Form } from './kit.js'
import { bodyOf, FORMS, messageOf, REQUIRED, send, sending, textPart } from './kit.js'

quietSdk()

const [rpc1, , rest1, rest03] = FORMS as [Form, Form, Form, Form]

// Express, which the official SDK uses, matches paths in any case and with a slash at the end; Java servers cut at `;`.
const ADDRESSES: readonly (readonly [path: string, form: Form])[] = [
  ['/a2a/jsonrpc', rpc1],
  ['/a2a/jsonrpc/', rpc1],
  ['/a2a/JSONRPC', rpc1],
  ['/a2a/JsonRpc/', rpc1],
  ['/a2a/jsonrpc;x=1', rpc1],
  ['/a2a/jsonrpc;', rpc1],
  ['/a2a;x/jsonrpc', rpc1],
  ['/a2a/rest/message:send', rest1],
  ['/a2a/REST/message:send', rest1],
  ['/a2a/rest/Message:send', rest1],
  ['/a2a/rest/MESSAGE:SEND', rest1],
  ['/a2a/rest/message%3Asend', rest1],
  ['/a2a/rest/message%3asend/', rest1],
  ['/a2a/rest/message:send;x', rest1],
  ['/a2a/rest/message:stream', rest1],
  ['/a2a/rest/v1/message:send', rest03],
  ['/a2a/rest/V1/message:send', rest03],
  ['/a2a/rest/v1/Message:Send', rest03],
  ['/a2a/rest/acme/message:send', rest1],
  ['/a2a/rest/acme/Message:send', rest1]
]

t.test('an operation is inspected below any prefix and in any spelling', async (t) => {
  const agent = await startAgent({ kind: 'dual', card: { extensions: [{ uri: REQUIRED, required: true }] } })
  t.teardown(() => agent.close())
  for (const prefix of ['/a2a', '/a2a/rest', '/a2a/jsonrpc']) {
    const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [`passthrough: [${prefix}]`]) })
    for (const [path, form] of ADDRESSES) {
      const answer = await send(gateway.url, { ...sending(form, bodyOf(form, messageOf(form, [textPart(form, 'message')]))), path })
      t.match(String(answer.headers['gateway-decision']), /^reject/, `${prefix}: ${path}`)
      t.equal(agent.calls().length, 0, `${prefix}: ${path} did not arrive`)
      agent.received.length = 0
    }
  }
})

t.test('a request that is not an operation passes, byte for byte', async (t) => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['passthrough: [/files]']) })
  const large = Buffer.alloc(1_000_000, 'x')
  for (let round = 0; round < 3; round++) {
    for (const [type, body] of [
      ['application/json', '{"b":1,"a":1,"a":2 }'],
      ['text/plain', 'hello'],
      ['application/octet-stream', large],
      ['application/json', ''],
      ['garbage', 'x'],
      [null, 'x']
    ] as const) {
      for (const chunked of [false, true]) {
        const headers = [
          ...(type === null ? [] : [['Content-Type', type] as const]),
          ...(chunked ? [['Transfer-Encoding', 'chunked'] as const] : [])
        ]
        const answer = await send(gateway.url, { path: '/files/x', headers, body })
        const name = `${type}, ${body.length} bytes, ${chunked ? 'chunked' : 'declared'}`
        // Fastify may refuse a content type that it cannot read, but must not pass on half of it.
        if (answer.headers['gateway-decision'] !== undefined) {
          t.equal(agent.received.length, 0, `${name}: refused (${answer.status})`)
          continue
        }
        t.equal(
          agent.received[0]?.body.equals(Buffer.from(body as string)),
          true,
          `${name}: ${agent.received[0]?.body.length} bytes arrived`
        )
        agent.received.length = 0
      }
    }
  }
})

t.test('a passthrough request adds nothing to the next one on its connection', async (t) => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['passthrough: [/files]']).replace('{url:', '{connections: 1, url:') })
  const inner = 'GET /rpc HTTP/1.1\r\nHost: x\r\n\r\n'
  await rawExchange(
    gateway.url,
    `POST /files/a HTTP/1.1\r\nHost: x\r\nContent-Length: ${inner.length}\r\n\r\n${inner}GET /files/b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    { responses: 2 }
  )
  t.same(agent.received.map(({ method, url }) => `${method} ${url}`), ['POST /files/a', 'GET /files/b'])
})
