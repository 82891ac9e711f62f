/** For every failure between gateway and agent, the caller gets an error in its own format, and the metrics name the kind. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { failureKind, failureRejection } from '#upstream/failure.js'
import { gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, freePort, JSON_TYPE, MESSAGE, MESSAGE_03, rawAgent, rpcBody, until, untilSame, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { inTests } from '../helpers/paths.js'

const TLS = inTests('fixtures/tls')
const HUGE_ID = '123456789012345678901234567890'

/** A card on disk, so that the agent is known although it cannot be asked. */
function cardFile (t: Test, url: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'card-'))
  t.teardown(() => { rmSync(directory, { recursive: true }) })
  const file = join(directory, 'card.json')
  writeFileSync(file, JSON.stringify(plainCard(url)))
  return file
}

function gatewayTo (t: Test, url: string, upstream = ''): Promise<TestGateway> {
  return gatewayFor(t, { yaml: `agents: [{name: agent, upstream: {url: "${url}"${upstream}}, card: {file: "${cardFile(t, url)}"}}]` })
}

interface Expected {
  readonly status: number
  readonly reason: string
  readonly kind: string
  readonly message: RegExp
  readonly grpc: string
}

const REFUSED = { status: 502, reason: 'UPSTREAM_UNREACHABLE', kind: 'refused', grpc: 'UNAVAILABLE', message: /connection refused/ }
const RESET = { status: 502, reason: 'UPSTREAM_FAILED', kind: 'reset', grpc: 'UNAVAILABLE', message: /closed the connection/ }
const PROTOCOL = { status: 502, reason: 'UPSTREAM_FAILED', kind: 'protocol', grpc: 'UNAVAILABLE', message: /not HTTP/ }
const TLS_REFUSED = { status: 502, reason: 'UPSTREAM_UNREACHABLE', kind: 'tls', grpc: 'UNAVAILABLE', message: /certificate/ }

/** Calls once in every binding and version and looks at every shape. */
async function refusedEverywhere (t: Test, gateway: TestGateway, expected: Expected): Promise<void> {
  const { status, reason, kind, message, grpc } = expected
  const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-extension-gateway', metadata: { kind } }
  const common = (got: Answer, name: string): void => {
    t.equal(got.status, status, `${name}: status`)
    t.equal(got.headers['gateway-decision'], `reject;rule="gateway/upstream-${kind.replace('_', '-')}"`, `${name}: gateway-decision`)
    t.equal(got.headers['cache-control'], 'no-store')
    t.notMatch(got.text, /127\.0\.0\.1|node_modules|ECONN|UND_ERR|HPE_/, `${name}: nothing of the inside`)
  }
  for (const id of ['7', '"a\\u0041"', HUGE_ID, '-0']) {
    const got = await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body: rpcBody('SendMessage', { message: MESSAGE }, id) })
    common(got, `JSON-RPC 1.0, id ${id}`)
    t.equal(got.headers['content-type'], 'application/json')
    t.ok(got.text.startsWith(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32603,`), got.text.slice(0, 80))
    t.match(got.json(), { error: { message, data: [info] } })
  }
  const legacy = await call(`${gateway.url}/rpc`, { headers: JSON_TYPE, body: rpcBody('message/send', { message: MESSAGE_03 }, HUGE_ID) })
  common(legacy, 'JSON-RPC 0.3')
  t.match(legacy.text, `"id":${HUGE_ID},`)
  const rest = await call(`${gateway.url}/rest/message:send`, {
    headers: ['content-type', 'application/a2a+json', ...V1],
    body: JSON.stringify({ message: MESSAGE })
  })
  common(rest, 'HTTP+JSON 1.0')
  t.equal(rest.headers['content-type'], 'application/a2a+json')
  t.match(rest.json(), { error: { code: status, status: grpc, message, details: [info] } })
  const get = await call(`${gateway.url}/rest/tasks/1`, { headers: V1 })
  common(get, 'HTTP+JSON 1.0 GET')
  t.equal(get.headers['content-type'], 'application/a2a+json')
  const rest03 = await call(`${gateway.url}/rest/v1/message:send`, {
    headers: JSON_TYPE,
    body: JSON.stringify({ message: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'x' }] } })
  })
  common(rest03, 'HTTP+JSON 0.3')
  t.equal(rest03.headers['content-type'], 'application/json')
  t.match(rest03.json(), { code: -32603, message })
  await until(async () => await gateway.metric(`a2a_gateway_upstream_errors_total{agent="agent",kind="${kind}"}`) === 8, `eight of ${kind}`)
  t.equal(
    await gateway.metric(
      'a2a_gateway_requests_total{agent="agent",operation="SendMessage",binding="JSONRPC",version="1.0",outcome="upstream_error"}'
    ),
    4
  )
}

t.test('connection refused', async t => {
  await refusedEverywhere(t, await gatewayTo(t, `http://127.0.0.1:${await freePort()}`), REFUSED)
})

t.test('the name does not resolve', async t => {
  await refusedEverywhere(t, await gatewayTo(t, 'http://nonexistent.invalid'), {
    status: 502,
    reason: 'UPSTREAM_UNREACHABLE',
    kind: 'dns',
    grpc: 'UNAVAILABLE',
    message: /does not resolve/
  })
})

t.test('an untrusted certificate, a certificate for another name, and no TLS', async t => {
  const served = async (name: string): Promise<number> => {
    const server = createTlsServer(
      { key: readFileSync(join(TLS, `${name}.key.pem`)), cert: readFileSync(join(TLS, `${name}.pem`)) },
      (request, response) => {
        request.resume()
        response.end('{"reached":true}')
      }
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => { server.closeAllConnections(); server.close() })
    return (server.address() as AddressInfo).port
  }
  const right = await served('right')
  const wrong = await served('wrong')
  const ca = `, tls: {ca: "${join(TLS, 'ca.pem')}"}`
  await refusedEverywhere(t, await gatewayTo(t, `https://127.0.0.1:${right}`), TLS_REFUSED)
  await refusedEverywhere(t, await gatewayTo(t, `https://127.0.0.1:${wrong}`, ca), TLS_REFUSED)

  const fine = await gatewayTo(t, `https://127.0.0.1:${right}`, ca)
  const got = await call(`${fine.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body: rpcBody('SendMessage', { message: MESSAGE }) })
  t.equal(got.text, '{"reached":true}', 'a trusted certificate of the right name works')
  const named = await gatewayTo(t, `https://127.0.0.1:${wrong}`, `, tls: {ca: "${join(TLS, 'ca.pem')}", serverName: other.example}`)
  t.equal(
    (
      await call(`${named.url}/rpc`, {
        headers: [...JSON_TYPE, ...V1, 'host', 'evil.example'],
        body: rpcBody('SendMessage', { message: MESSAGE })
      })
    ).text,
    '{"reached":true}',
    'tls.serverName names the certificate'
  )

  const plain = await fakeAgent(t)
  await refusedEverywhere(t, await gatewayTo(t, plain.url.replace('http:', 'https:')), TLS_REFUSED)
  t.equal(plain.received.length, 0)
})

t.test('a thousand calls with a bad certificate leak nothing', async t => {
  const server = createTlsServer({ key: readFileSync(join(TLS, 'right.key.pem')), cert: readFileSync(join(TLS, 'right.pem')) })
  const sockets = new Set<Duplex>()
  server.on('connection', (socket: Duplex) => { sockets.add(socket); socket.once('close', () => sockets.delete(socket)) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close(); for (const socket of sockets) socket.destroy() })
  const gateway = await gatewayTo(t, `https://127.0.0.1:${(server.address() as AddressInfo).port}`)
  for (let i = 0; i < 300; i++) await (await fetch(`${gateway.url}/rest/tasks/1`, { headers: { 'a2a-version': '1.0' } })).text()
  await untilSame(t, () => sockets.size, 0, 'no connection is left')
  t.equal(await gateway.metric('a2a_gateway_upstream_errors_total{agent="agent",kind="tls"}'), 300)
})

t.test('headers timeout', async t => {
  const agent = await rawAgent(t, () => {})
  const gateway = await gatewayTo(t, agent.url, ', timeouts: {headers: 100ms}')
  await refusedEverywhere(t, gateway, {
    status: 504,
    reason: 'UPSTREAM_TIMEOUT',
    kind: 'headers_timeout',
    grpc: 'DEADLINE_EXCEEDED',
    message: /in time/
  })
})

t.test('a connection that closes, or is reset, before the response', async t => {
  for (const end of [
    (socket: Socket) => {
      socket.end()
    },
    (socket: Socket) => {
      socket.resetAndDestroy()
    },
    (socket: Socket) => {
      socket.end('HTTP/1.1 200 OK\r\ncontent-type: app')
    }
  ]) {
    const agent = await rawAgent(t, end)
    await refusedEverywhere(t, await gatewayTo(t, agent.url), RESET)
  }
})

t.test('bytes that are not HTTP', async t => {
  const table: Record<string, string> = {
    'another protocol': '220 smtp.example ESMTP\r\n',
    'a page without a head': '<html>hello</html>\r\n\r\n',
    'a length that is none': 'HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n',
    'two lengths': 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}',
    'length and chunks': 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    'a head that never ends': `HTTP/1.1 200 OK\r\n${'x-a: b\r\n'.repeat(10_000)}\r\n`
  }
  for (const [name, bytes] of Object.entries(table)) {
    await t.test(name, async t => {
      const agent = await rawAgent(t, socket => { socket.write(bytes) })
      await refusedEverywhere(t, await gatewayTo(t, agent.url), PROTOCOL)
    })
  }
})

t.test('the gateway follows no redirect', async t => {
  const elsewhere = await fakeAgent(t)
  for (const status of [301, 302, 303, 307, 308]) {
    const agent = await fakeAgent(t, {
      answer: (_request, response) => {
        response.writeHead(status, { location: `${elsewhere.url}/rpc` }).end('moved')
      }
    })
    const gateway = await gatewayTo(t, agent.url)
    await refusedEverywhere(t, gateway, {
      status: 502,
      reason: 'UPSTREAM_FAILED',
      kind: 'redirect',
      grpc: 'UNAVAILABLE',
      message: /redirect/
    })
    t.equal((await call(`${gateway.url}/rest/tasks/1`, { headers: V1 })).headers.location, undefined)
  }
  t.equal(elsewhere.received.length, 0)
})

t.test('a response that stops, or does not match its length, is broken off', async t => {
  const table: Array<[string, string, (socket: Socket) => void]> = [
    [
      'silence for longer than timeouts.idle',
      'body_timeout',
      socket => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{"a"')
      }
    ],
    [
      'less than Content-Length',
      'reset',
      socket => {
        socket.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{"a"')
      }
    ],
    [
      'a broken chunk',
      'protocol',
      socket => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{"\r\nZZ\r\n')
      }
    ]
  ]
  for (const [name, kind, answer] of table) {
    const agent = await rawAgent(t, answer)
    const gateway = await gatewayTo(t, agent.url, ', timeouts: {idle: 200ms}')
    await t.rejects(
      call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body: rpcBody('SendMessage', { message: MESSAGE }) }),
      name
    )
    await until(
      async () => (await gateway.metric(`a2a_gateway_upstream_errors_total{agent="agent",kind="${kind}"}`)) === 1,
      `${name}: ${kind}`
    )
  }
})

t.test('bytes beyond Content-Length never reach another caller', async t => {
  const smuggled = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 8\r\n\r\n{"x": 1}'
  const agent = await rawAgent(t, socket => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}${smuggled}`)
  })
  const gateway = await gatewayTo(t, agent.url)
  for (let i = 0; i < 10; i++) {
    const got = await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body: rpcBody('SendMessage', { message: MESSAGE }) })
    t.equal(got.text, '{}')
  }
})

t.test('an HTML error page keeps its status and loses its stack trace', async t => {
  const page = '<!DOCTYPE html><pre>PayloadTooLargeError: too large<br> at /app/node_modules/raw-body/index.js:163:17</pre>'
  for (const [status, type] of [[413, 'text/html; charset=utf-8'], [500, 'Text/HTML'], [404, 'text/html'], [502, 'text/html']] as const) {
    const agent = await fakeAgent(t, {
      answer: (_request, response) => {
        response.writeHead(status, { 'content-type': type, 'x-powered-by': 'Express' }).end(page)
      }
    })
    const gateway = await gatewayTo(t, agent.url)
    const got = await call(`${gateway.url}/rpc`, {
      headers: [...JSON_TYPE, ...V1],
      body: rpcBody('SendMessage', { message: MESSAGE }, HUGE_ID)
    })
    t.equal(got.status, status)
    t.equal(got.headers['content-type'], 'application/json')
    t.equal(got.headers['gateway-decision'], 'reject;rule="gateway/upstream-html"')
    t.ok(got.text.startsWith(`{"jsonrpc":"2.0","id":${HUGE_ID},"error":`))
    t.notMatch(got.text, /node_modules|DOCTYPE/)
    const rest = await call(`${gateway.url}/rest/tasks/1`, { headers: V1 })
    t.equal(rest.status, status)
    t.match(rest.json(), { error: { message: new RegExp(String(status)), details: [{ reason: 'UPSTREAM_FAILED' }] } })
    t.notMatch(rest.text, /node_modules|DOCTYPE/)
    const legacy = await call(`${gateway.url}/rest/v1/tasks/1`)
    t.equal(legacy.status, status)
    t.match(legacy.json(), { code: -32603 })
  }
})

t.test('an HTML page with 401 or 503 keeps its headers', async t => {
  const agent = await fakeAgent(t, {
    answer: (request, response) => {
      if (request.url.includes('busy')) response.writeHead(503, { 'content-type': 'text/html', 'retry-after': '7' }).end('<p>busy')
      else {
        response
          .writeHead(401, ['content-type', 'text/html', 'www-authenticate', 'Bearer realm="a"', 'www-authenticate', 'Basic'])
          .end('<p>who?')
      }
    }
  })
  const gateway = await gatewayTo(t, agent.url)
  const who = await call(`${gateway.url}/rest/tasks/who`, { headers: V1 })
  t.equal(who.status, 401)
  t.equal(who.headers['www-authenticate'], 'Bearer realm="a", Basic')
  const busy = await call(`${gateway.url}/rest/tasks/busy`, { headers: V1 })
  t.equal(busy.status, 503)
  t.equal(busy.headers['retry-after'], '7')
})

t.test('a success in HTML is forwarded', async t => {
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>fine')
    }
  })
  const gateway = await gatewayTo(t, agent.url)
  t.equal((await call(`${gateway.url}/rest/tasks/1`, { headers: V1 })).text, '<p>fine')
})

t.test('a failure is logged once, without the stack', async t => {
  const agent = await rawAgent(t, socket => { socket.resetAndDestroy() })
  const gateway = await gatewayFor(t, {
    yaml: `agents: [{name: agent, upstream: {url: "${agent.url}"}}]\ntelemetry: {logs: {level: warn}}`
  })
  await call(`${gateway.url}/rest/tasks/1`, { headers: V1 })
  await until(() => gateway.logs().length > 0)
  t.match(gateway.logs(), [{ level: 'warn', agent: 'agent', kind: 'reset', msg: 'the agent failed' }])
  t.notMatch(JSON.stringify(gateway.logs()), /node_modules/)
})

t.test('every network error has a kind', async t => {
  const error = (code: string, cause?: unknown): Error => Object.assign(new Error(code, { cause }), { code })
  const table: Record<string, string> = {
    ECONNREFUSED: 'refused',
    EHOSTUNREACH: 'refused',
    EMFILE: 'resources',
    ENFILE: 'resources',
    ENOBUFS: 'resources',
    ENOMEM: 'resources',
    EADDRNOTAVAIL: 'resources',
    ENETUNREACH: 'refused',
    ENOTFOUND: 'dns',
    EAI_AGAIN: 'dns',
    UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
    ETIMEDOUT: 'connect_timeout',
    ECONNRESET: 'reset',
    EPIPE: 'reset',
    UND_ERR_SOCKET: 'reset',
    UND_ERR_HEADERS_TIMEOUT: 'headers_timeout',
    UND_ERR_BODY_TIMEOUT: 'body_timeout',
    UND_ERR_HEADERS_OVERFLOW: 'protocol',
    HPE_INVALID_CONSTANT: 'protocol',
    UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'protocol',
    UND_ERR_RES_EXCEEDED_MAX_SIZE: 'too_large',
    DEPTH_ZERO_SELF_SIGNED_CERT: 'tls',
    SELF_SIGNED_CERT_IN_CHAIN: 'tls',
    CERT_HAS_EXPIRED: 'tls',
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'tls',
    ERR_TLS_CERT_ALTNAME_INVALID: 'tls',
    ERR_SSL_WRONG_VERSION_NUMBER: 'tls',
    EPROTO: 'tls',
    UND_ERR_DESTROYED: 'other',
    SOMETHING: 'other'
  }
  for (const [code, kind] of Object.entries(table)) {
    t.equal(failureKind(error(code)), kind, code)
    t.equal(failureKind(new TypeError('failed', { cause: error(code) })), kind, `${code}, wrapped`)
    t.equal(failureKind(new AggregateError([error(code), error('SOMETHING')])), kind, `${code}, first of several`)
  }
  t.equal(failureKind(error('UND_ERR_SOCKET', error('ERR_TLS_CERT_ALTNAME_INVALID'))), 'tls', 'the cause of a closed socket counts')
  t.equal(failureKind(error('UND_ERR_SOCKET', error('ECONNRESET'))), 'reset')
  t.equal(failureKind('a text'), 'other')
  t.equal(failureKind(undefined), 'other')
  const circle = new Error('a')
  circle.cause = circle
  t.equal(failureKind(circle), 'other', 'a circle of causes ends')
  t.match(failureRejection('connect_timeout', 5), {
    reason: 'UPSTREAM_TIMEOUT',
    rule: 'gateway/upstream-connect-timeout',
    metadata: { kind: 'connect_timeout' }
  })
  t.match(failureRejection('too_large', 5), { reason: 'UPSTREAM_FAILED' })
})
