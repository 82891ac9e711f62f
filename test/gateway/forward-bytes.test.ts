/** The gateway forwards what it received: bodies, targets and statuses, in both directions. */
import { once } from 'node:events'
import { connect } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { anyCharacter } from '../helpers/any-text.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, MESSAGE_03, open, readAnswer, rpcBody, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { fakeAgent, rawExchange } from '../helpers/raw.js'
import type { RawRequest } from '../helpers/raw.js'
import { checkAsync } from '../helpers/seed.js'

const LIMIT = 64 * 1024
const RPC_03 = { headers: JSON_TYPE }
const RPC = { headers: [...JSON_TYPE, ...V1] }

t.test('the agent gets the client\'s bytes, for any JSON', async t => {
  let answer: Buffer = Buffer.alloc(0)
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(answer)
    }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const message = `"message":${JSON.stringify(MESSAGE)}`
  const bodies: Record<string, string> = {
    'astral characters': `{"jsonrpc":"2.0","id":"😀","method":"SendMessage","params":{${message},"metadata":{"𝒳":"\u{10ffff}é\u2028"}}}`,
    'escapes that stay escapes': `{"jsonrpc":"2.0","id":"\\u0041","method":"SendMessage","params":{${message},"metadata":{"\\u0061\\/":"\\ud83d\\ude00\\ud800\\n\\b\\f"}}}`,
    'odd white space': `\r\n\t { "jsonrpc" :\t"2.0" ,\n"method":"SendMessage","id"\n:1, "params":{ ${message} }\r\n}\n\n  `,
    'numbers with many digits': `{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"SendMessage","params":{${message},"metadata":{"a":0.1000000000000000055511151231257827,"b":1E+400,"c":-0.0,"d":1e-0,"e":9007199254740993}}}`,
    'members in any order': `{"params":{${message}},"method":"SendMessage","id":null,"jsonrpc":"2.0"}`,
    'unknown members': `{"x":[[],{}],"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{${message},"y":{"__proto__":{"a":1},"constructor":0}}}`
  }
  for (const [name, body] of Object.entries(bodies)) {
    answer = Buffer.from(body)
    const got = await call(`${gateway.url}/rpc`, { ...RPC, body })
    t.equal(got.status, 200, name)
    t.equal(agent.received.at(-1)?.body.toString(), body, `${name}: request`)
    t.ok(got.bytes.equals(answer), `${name}: answer`)
  }
})

t.test('any JSON document and any response arrive unchanged, in both bindings', async t => {
  let answer: Buffer = Buffer.alloc(0)
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(answer)
    }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['protocol: {backslashNames: forward}'], ['limits: {jsonDepth: 512}']) })
  t.ok(await checkAsync(
    'gateway/forward-bytes/any-json',
    fc.asyncProperty(
      fc.json({ maxDepth: 5, stringUnit: anyCharacter }),
      fc.constantFrom('', ' ', '\n\t', '\r\n'),
      fc.uint8Array({ maxLength: 3000 }),
      fc.boolean(),
      async (document, space, bytes, rest) => {
        const extra = `"metadata":{"any"${space}:${space}${document}${space}}`
        const body = rest
          ? `{${space}"message":${JSON.stringify(MESSAGE)},${extra}${space}}`
          : `{"jsonrpc":"2.0","id":1,${space}"method":"SendMessage","params":{"message":${JSON.stringify(MESSAGE)},${extra}}${space}}`
        answer = Buffer.from(bytes)
        agent.received.length = 0
        const got = await call(`${gateway.url}${rest ? '/rest/message:send' : '/rpc'}`, { ...RPC, body })
        return got.status === 200 && agent.received[0]?.body.equals(Buffer.from(body)) === true && got.bytes.equals(answer)
      }
    ),
    { numRuns: 150 }
  ) > 0, 'inputs')
})

t.test('bodies up to the limit pass, one byte more is 413 in the caller\'s binding', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], ['limits: {body: 64KiB}']) })

  const empty = await call(`${gateway.url}/rest/tasks/t1:cancel`, { method: 'POST', headers: V1, body: '' })
  t.equal(empty.status, 200)
  t.equal(agent.received[0]?.body.length, 0, 'an empty body stays empty')
  await call(`${gateway.url}/rest/tasks/t1:cancel`, { method: 'POST', headers: V1, body: [] })
  t.equal(agent.received[1]?.body.length, 0, 'an empty chunked body too')

  const rpcOf = (size: number): string => padded(size, text => rpcBody('SendMessage', { message: { ...MESSAGE, parts: [{ text }] } }, '7'))
  const rpc03Of = (size: number): string =>
    padded(size, text => rpcBody('message/send', { message: { ...MESSAGE_03, parts: [{ kind: 'text', text }] } }, '7'))
  const restOf = (size: number): string => padded(size, text => JSON.stringify({ message: { ...MESSAGE, parts: [{ text }] } }))
  const rest03Of = (size: number): string =>
    padded(size, text => JSON.stringify({ message: { messageId: 'm', role: 'ROLE_USER', content: [{ text }] } }))
  const ways: Array<[string, string, { headers: readonly string[] }, (size: number) => string, (got: Answer) => void]> = [
    ['JSON-RPC 1.0', '/rpc', RPC, rpcOf, got => { rpcShape(got, [{ reason: 'REQUEST_TOO_LARGE' }]) }],
    ['JSON-RPC 0.3', '/rpc', RPC_03, rpc03Of, got => { rpcShape(got, { details: [{ reason: 'REQUEST_TOO_LARGE' }] }) }],
    ['HTTP+JSON 1.0', '/rest/message:send', RPC, restOf, got => {
      t.equal(got.headers['content-type'], 'application/json', 'the media type of the request')
      t.match(got.json(), {
        error: {
          code: 413,
          status: 'OUT_OF_RANGE',
          message: /65536 bytes/,
          details: [{ reason: 'REQUEST_TOO_LARGE', domain: 'a2a-extension-gateway' }]
        }
      })
    }],
    ['HTTP+JSON 0.3', '/rest/v1/message:send', RPC_03, rest03Of, got => {
      t.match(got.json(), { code: -32603, message: /65536 bytes/ })
    }]
  ]
  function rpcShape (got: Answer, data: unknown): void {
    t.equal(got.headers['content-type'], 'application/json')
    t.match(got.json(), { jsonrpc: '2.0', id: null, error: { code: -32603, message: /65536 bytes/, data } })
  }
  for (const [name, path, options, bodyOf, shape] of ways) {
    for (const chunked of [false, true]) {
      agent.received.length = 0
      const body = bodyOf(LIMIT)
      const fits = await call(gateway.url + path, { ...options, body: chunked ? pieces(body) : body })
      t.equal(fits.status, 200, `${name}, ${chunked ? 'chunked' : 'content-length'}: the limit fits`)
      t.equal(agent.received[0]?.body.toString(), body)
      const over = bodyOf(LIMIT + 1)
      const got = await call(gateway.url + path, { ...options, body: chunked ? pieces(over) : over })
      t.equal(got.status, 413, `${name}, ${chunked ? 'chunked' : 'content-length'}: one byte more does not`)
      t.equal(got.headers['gateway-decision'], 'reject;rule="gateway/body-size"')
      t.equal(agent.received.length, 1)
      shape(got)
    }
  }
})

t.test('a client that sends far more than the limit still gets the 413', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], ['limits: {body: 64KiB}']) })
  const big = Buffer.alloc(8 * 1024 * 1024, 0x20)
  for (let i = 0; i < 10; i++) {
    const response = await fetch(`${gateway.url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: big
    })
    t.equal(response.status, 413, 'with Content-Length')
    await response.text()
    const got = await call(`${gateway.url}/rpc`, { ...RPC, body: new Array(64).fill(big.subarray(0, 128 * 1024)) as Buffer[] })
    t.equal(got.status, 413, 'chunked')
  }
  // Python's urllib and others: the connection is to end, and nothing is read before all is sent.
  for (const connection of ['close', 'keep-alive']) {
    const text = await sendThenRead(
      gateway.url,
      `POST /rpc HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: ${connection}\r\ncontent-length: ${big.length}\r\n\r\n`,
      big
    )
    t.match(text, /^HTTP\/1\.1 413 /, `connection: ${connection}`)
    t.match(text, /REQUEST_TOO_LARGE/)
  }
  t.equal(agent.received.length, 0)
})

t.test('a client that never stops sending is cut off', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], ['limits: {body: 64KiB}']) })
  const outgoing = open(`${gateway.url}/rpc`, { ...RPC, method: 'POST', body: [] })
  const closed = new Promise<void>(resolve => { outgoing.on('close', resolve) })
  outgoing.on('error', () => {})
  const answered = new Promise<Answer>((resolve, reject) => {
    outgoing.on('response', incoming => {
      readAnswer(incoming).then(resolve, reject)
    })
  })
  const pump = setInterval(() => { if (!outgoing.destroyed) outgoing.write(Buffer.alloc(8192, 0x20)) }, 5)
  t.equal((await answered).status, 413)
  await closed
  clearInterval(pump)
})

t.test('targets keep their query and their percent-encoding', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const targets = [
    '/rest/tasks?contextId=a%20b&pageSize=10&x=%zz&y=a+b&&=&?',
    '/rest/tasks/a%C3%A9%20%3Ab%26?historyLength=1',
    '/rest/tasks/%E2%82%AC?A2A-Version=1.0',
    '/rest/tasks/a@b!$&\'()*+,=~',
    '/rest/tenant%20x/tasks/1',
    '/rest/tasks/1/pushNotificationConfigs/c%2B1?a=%2F%2e%2e%5c',
    '/rest/tasks?'
  ]
  for (const target of targets) {
    const got = await rawExchange(gateway.url, `GET ${target} HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\nconnection: close\r\n\r\n`)
    t.match(got, /^HTTP\/1\.1 200/, target)
    t.equal(agent.received.at(-1)?.url, target)
  }
})

t.test('responses of the agent pass unchanged', async t => {
  let next: (request: RawRequest) => { status: number, body: string, type?: string } = () => ({ status: 200, body: '' })
  const agent = await fakeAgent(t, {
    answer: (request, response) => {
      const { status, body, type } = next(request)
      response.writeHead(status, 'Odd Reason', type === undefined ? {} : { 'content-type': type })
      response.end(body)
    }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const table: ReadonlyArray<readonly [number, string, string?]> = [
    [200, '{}', 'application/json'],
    [201, '{"a": 1}', 'application/a2a+json'],
    [202, ''],
    [204, ''],
    [400, '{"error":{"code":400}}', 'application/a2a+json'],
    [401, '{}', 'application/json'],
    [403, 'no', 'text/plain'],
    [404, '{"error":{"code":404,"message":"x"}}', 'application/json'],
    [409, '{}', 'application/problem+json'],
    [418, 'short and stout'],
    [422, '{"detail":[]}', 'application/json'],
    [429, ''],
    [500, '{"message":"x"}', 'application/json'],
    [503, 'busy', 'text/plain'],
    [304, ''],
    [299, '\u00ff\u0000', 'application/octet-stream']
  ]
  for (const [status, body, type] of table) {
    next = () => ({ status, body, ...(type === undefined ? {} : { type }) })
    for (const path of ['/rest/message:send', '/rpc']) {
      const got = await call(gateway.url + path, {
        ...RPC,
        body: path === '/rpc' ? rpcBody('SendMessage', { message: MESSAGE }) : JSON.stringify({ message: MESSAGE })
      })
      t.equal(got.status, status)
      t.equal(got.text, body, `${path} ${status}: body`)
      t.equal(got.headers['content-type'], type, `${path} ${status}: content-type`)
      t.equal(got.headers['gateway-decision'], undefined)
    }
  }
  for (const [verb, path] of [['GET', '/rest/tasks/1'], ['DELETE', '/rest/tasks/1/pushNotificationConfigs/2']]) {
    next = () => ({ status: 204, body: '' })
    const got = await call(gateway.url + (path as string), { method: verb as string, headers: V1 })
    t.equal(got.status, 204)
    t.equal(agent.received.at(-1)?.method, verb)
  }
  const labels = 'agent="agent",operation="SendMessage",binding="JSONRPC",version="1.0"'
  const errors = table.filter(([status]) => status >= 400).length
  t.equal(await gateway.metric(`a2a_gateway_requests_total{${labels},outcome="agent_error"}`), errors)
  t.equal(await gateway.metric(`a2a_gateway_requests_total{${labels},outcome="forwarded"}`), table.length - errors)
})

async function sendThenRead (url: string, head: string, body: Buffer): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.pause()
  const failed = once(socket, 'error').then(([error]) => String(error))
  socket.write(head)
  await Promise.race([failed, new Promise<void>(resolve => { socket.write(body, () => { resolve() }) })])
  const [first] = await Promise.race([failed.then(error => [error]), once(socket.resume(), 'data')]) as [Buffer | string]
  socket.destroy()
  return first.toString()
}

function pieces (text: string): string[] {
  return text.match(/[^]{1,9973}/g) ?? []
}

/** A body of exactly `size` bytes. */
function padded (size: number, bodyOf: (text: string) => string): string {
  return bodyOf('x'.repeat(size - Buffer.byteLength(bodyOf(''))))
}
