/** Event streams: forwarded at once, byte by byte, with back-pressure, and never a clean end for a broken stream. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { JSON_TYPE, MESSAGE, open, rawAgent, rpcBody, until, V1 } from '../helpers/http.js'
import { fakeAgent, rawExchange } from '../helpers/raw.js'

const BODY = rpcBody('SendStreamingMessage', { message: MESSAGE })
const ACTIVE = 'a2a_gateway_streams_active{agent="agent"}'
const EVENTS = 'a2a_gateway_stream_events_total{agent="agent"}'
const outcome = (name: string): string =>
  `a2a_gateway_requests_total{agent="agent",operation="SendStreamingMessage",binding="JSONRPC",version="1.0",outcome="${name}"}`

/** A gateway and an agent that leaves the stream to the test. */
async function streaming (
  t: Test,
  headers: Record<string, string> = { 'content-type': 'text/event-stream' }
): Promise<{ gateway: TestGateway; opened: Promise<{ response: ServerResponse; incoming: IncomingMessage }> }> {
  let found: (value: { response: ServerResponse; incoming: IncomingMessage }) => void = () => {}
  const opened = new Promise<{ response: ServerResponse; incoming: IncomingMessage }>(resolve => {
    found = resolve
  })
  const agent = await fakeAgent(t, {
    answer: (_request, response, incoming) => {
      response.writeHead(200, headers)
      response.flushHeaders()
      found({ response, incoming })
    }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  return { gateway, opened }
}

async function listen (gateway: TestGateway): Promise<{ incoming: IncomingMessage, text: () => string, stop: () => void }> {
  const outgoing = open(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1, 'accept', 'text/event-stream'], body: BODY })
  outgoing.on('error', () => {})
  outgoing.end(BODY)
  const [incoming] = await once(outgoing, 'response') as [IncomingMessage]
  let text = ''
  incoming.on('data', (chunk: Buffer) => { text += chunk.toString('latin1') })
  incoming.on('error', () => {})
  return { incoming, text: () => text, stop: () => { outgoing.destroy() } }
}

t.test('headers come before the first event, and every event before the next is sent', async t => {
  const { gateway, opened } = await streaming(t, { 'content-type': 'text/event-stream; charset=utf-8' })
  const client = await listen(gateway)
  t.equal(client.incoming.statusCode, 200, 'the agent has sent no event yet')
  t.equal(client.incoming.headers['content-type'], 'text/event-stream; charset=utf-8')
  t.equal(client.incoming.headers['cache-control'], 'no-cache')
  t.equal(client.incoming.headers['x-accel-buffering'], 'no')
  t.equal(client.incoming.headers['content-length'], undefined)
  t.equal(await gateway.metric(ACTIVE), 1)
  const { response } = await opened
  let expected = ''
  for (let i = 0; i < 20; i++) {
    const event = `data: {"jsonrpc":"2.0","id":1,"result":{"n":${i}}}\n\n`
    expected += event
    response.write(event)
    await until(() => client.text() === expected, `event ${i}`)
  }
  t.equal(await gateway.metric(EVENTS), 20)
  const ended = once(client.incoming, 'end')
  response.end()
  await ended
  t.ok(client.incoming.complete)
  await until(async () => await gateway.metric(ACTIVE) === 0, 'the stream to be counted off')
  t.equal(await gateway.metric(outcome('forwarded')), 1)
})

t.test('an agent\'s own cache headers stay', async t => {
  const { gateway, opened } = await streaming(t, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'yes'
  })
  const client = await listen(gateway)
  t.equal(client.incoming.headers['cache-control'], 'no-store')
  t.equal(client.incoming.headers['x-accel-buffering'], 'yes')
  ;(await opened).response.end()
})

t.test('bytes pass unchanged however they are cut: single bytes, comments, all line endings, unknown fields', async t => {
  const { gateway, opened } = await streaming(t)
  const client = await listen(gateway)
  const { response } = await opened
  const bytes = Buffer.from(
    '\ufeffdata: 0\n\n: hello\n\nevent: x\r\ndata: {"a":"😀"}\r\n\r\n:\r\rdata: b\rdata:c\r\rid: 1\nretry: 5\nfoo\n\ndata\n\n\n\n: ping\n\ndata: \u2028 last\n\n'
  )
  for (const byte of bytes) {
    response.write(Buffer.from([byte]))
    await new Promise(resolve => setImmediate(resolve))
  }
  const ended = once(client.incoming, 'end')
  response.end()
  await ended
  t.equal(client.text(), bytes.toString('latin1'))
  t.equal(await gateway.metric(EVENTS), 5, 'comments, blank lines and blocks without data are no events')
})

const streamingRequest = (version: string): string =>
  `POST /rpc ${version}\r\nhost: x\r\ncontent-type: application/json\r\na2a-version: 1.0\r\na2a-extensions: https://x.test/mine/v1\r\naccept: text/event-stream\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`
const chunked = (parts: readonly string[]): string => parts.map(part => `${part.length.toString(16)}\r\n${part}\r\n`).join('')
const event = (i: number): string => `data: {"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"m${i}","role":"ROLE_AGENT","parts":[{"text":"${i}"}]}}}\n\n`
/** A gateway with a rule that reads every response. */
const reading = (url: string, responses: string): string => oneAgent(url, [`responses: ${responses}`, 'extensions: [mine]'], [
  'extensions: {mine: {uri: "https://x.test/mine/v1", mode: enforce, activation: {required: always}, response: [{id: few, select: {part: {data: true}}, count: {max: 9}, verdict: reject}]}}'
])
const SSE_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const BURST = Array.from({ length: 50 }, (_event, i) => event(i))

for (const responses of ['off', 'observe', 'enforce']) {
  t.test(`events that arrive together leave together, responses: ${responses}`, async t => {
    const agent = await rawAgent(t, socket => { socket.write(`${SSE_HEAD}${chunked(BURST)}0\r\n\r\n`) })
    const gateway = await gatewayFor(t, { yaml: reading(agent.url, responses) })
    const response = await rawExchange(gateway.url, streamingRequest('HTTP/1.1'))
    const body = response.slice(response.indexOf('\r\n\r\n') + 4)
    const chunks = [...body.matchAll(/(?:^|\r\n)([\da-f]+)\r\n/g)].map(match => parseInt(match[1] as string, 16))
    t.equal(chunks.at(-1), 0)
    t.ok(chunks.length <= 5, `${chunks.length} chunks of HTTP/1.1 for ${BURST.length} events`)
    t.equal(body.replace(/(?:^|\r\n)[\da-f]+\r\n(?:\r\n$)?/g, ''), BURST.join(''))
    t.equal(await gateway.metric(EVENTS), BURST.length)
  })

  t.test(`events that arrive together with the end of the agent's connection reach the client, responses: ${responses}`, async t => {
    const agent = await rawAgent(t, socket => { socket.end(`${SSE_HEAD}${chunked(BURST)}`) })
    const gateway = await gatewayFor(t, { yaml: reading(agent.url, responses) })
    const response = await rawExchange(gateway.url, streamingRequest('HTTP/1.1'), { until: 'close' })
    t.notOk(response.endsWith('0\r\n\r\n') && !response.includes('"error"'), 'no clean end without an error')
    const events = BURST.filter(one => response.includes(one.trimEnd())).length
    t.equal(events, BURST.length)
  })
}

t.test('a comment arrives even if no event follows', async t => {
  const { gateway, opened } = await streaming(t)
  const client = await listen(gateway)
  const { response } = await opened
  response.write(': keep-alive\n')
  await until(() => client.text() === ': keep-alive\n')
  t.equal(await gateway.metric(EVENTS), 0)
  response.end()
})

t.test('a client that does not read pauses the agent', async t => {
  let written = 0
  let stopped = false
  let aborted = false
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      response.once('close', () => { aborted = !response.writableFinished })
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const event = `data: ${'x'.repeat(64 * 1024)}\n\n`
      const pump = (): void => {
        while (!response.destroyed && written < 400 * 1024 * 1024) {
          written += event.length
          if (!response.write(event)) {
            stopped = true
            response.once('drain', () => { stopped = false; pump() })
            return
          }
        }
        response.end()
      }
      pump()
    }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  socket.write(
    `POST /rpc HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\na2a-version: 1.0\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`
  )
  await until(() => stopped, 'the agent to be stopped')
  // Kernel buffers on two loopback connections take some megabytes; what matters is that it ends.
  let before = -1
  await until(async () => {
    if (before === written && stopped) return true
    before = written
    await new Promise(resolve => setTimeout(resolve, 300))
    return false
  }, 'the agent to stand still', 30_000)
  t.ok(written < 40 * 1024 * 1024, `stopped after ${written} bytes`)
  t.ok(stopped)
  const held = written
  // And it goes on once the client reads.
  socket.resume()
  await until(() => written > held + 8 * 1024 * 1024, 'the agent to go on', 30_000)
  t.ok(written > held + 8 * 1024 * 1024, `the agent went on to ${written} bytes`)
  socket.destroy()
  await until(() => aborted, 'the agent\'s request to be aborted')
  await until(async () => await gateway.metric(ACTIVE) === 0)
})

t.test('a client that disconnects mid-stream aborts the agent\'s request', async t => {
  const { gateway, opened } = await streaming(t)
  const client = await listen(gateway)
  const { response } = await opened
  response.write('data: 1\n\n')
  await until(() => client.text() !== '')
  const closed = once(response, 'close')
  client.stop()
  await closed
  t.notOk(response.writableFinished)
  await until(async () => await gateway.metric(outcome('client_aborted')) === 1, 'client_aborted')
  t.equal(await gateway.metric(ACTIVE), 0)
  t.equal(await gateway.metric('a2a_gateway_upstream_errors_total{agent="agent",kind="other"}'), 0, 'that is no failure of the agent')
})

t.test('an agent that dies mid-stream gives the client an error, never a clean end', async t => {
  for (const how of ['reset', 'close'] as const) {
    const agent = await rawAgent(t, socket => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n')
      setTimeout(() => { if (how === 'reset') socket.resetAndDestroy(); else socket.end() }, 100)
    })
    const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
    const client = await listen(gateway)
    await new Promise<void>(resolve => { client.incoming.once('close', resolve) })
    t.equal(client.text(), 'data: 1\n\n')
    t.notOk(client.incoming.complete, how)
    await until(async () => await gateway.metric(outcome('upstream_error')) === 1, 'upstream_error')
    t.equal(await gateway.metric('a2a_gateway_upstream_errors_total{agent="agent",kind="reset"}'), 1)
    t.equal(await gateway.metric(ACTIVE), 0)
  }
})

t.test('a client of HTTP/1.0, which reads to the end of the connection, gets a reset', async t => {
  const agent = await rawAgent(t, socket => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n')
    setTimeout(() => { socket.resetAndDestroy() }, 100)
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  let error = ''
  socket.on('error', (failure: NodeJS.ErrnoException) => { error = failure.code ?? '' })
  socket.resume()
  socket.write(streamingRequest('HTTP/1.0'))
  await once(socket, 'close').catch(() => {})
  t.equal(error, 'ECONNRESET')
})

t.test('a truncated JSON response is an error too', async t => {
  const agent = await rawAgent(t, socket => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"jsonrpc"')
    setTimeout(() => { socket.end() }, 50)
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const client = await listen(gateway)
  await new Promise<void>(resolve => { client.incoming.once('close', resolve) })
  t.notOk(client.incoming.complete)
})

t.test('streams are streams in HTTP+JSON too, by POST and by GET', async t => {
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'TEXT/Event-Stream' })
      response.write('data: {"task":{}}\n\n')
      response.end('data: {"statusUpdate":{}}\n\n')
    }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const rest = JSON.stringify({ message: MESSAGE })
  const posted = await rawExchange(
    gateway.url,
    `POST /rest/message:stream HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\na2a-version: 1.0\r\nconnection: close\r\ncontent-length: ${rest.length}\r\n\r\n${rest}`
  )
  t.match(posted, /data: \{"statusUpdate":\{\}\}/)
  const got = await rawExchange(
    gateway.url,
    'GET /rest/tasks/1:subscribe HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\nconnection: close\r\n\r\n'
  )
  t.match(got, /x-accel-buffering: no/)
  t.equal(await gateway.metric(EVENTS), 4)
  t.equal(
    await gateway.metric(
      'a2a_gateway_requests_total{agent="agent",operation="SubscribeToTask",binding="HTTP+JSON",version="1.0",outcome="forwarded"}'
    ),
    1
  )
})

t.test('two hundred streams at once, each with its own events', async t => {
  const responses: ServerResponse[] = []
  const agent = await fakeAgent(t, {
    answer: (request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      response.write(`data: ${(JSON.parse(request.body.toString()) as { id: number }).id}\n\n`)
      responses.push(response)
    }
  })
  const gateway = await gatewayFor(t, { yaml: `agents: [{name: agent, upstream: {url: "${agent.url}", connections: 300}}]` })
  const texts = Array.from({ length: 200 }, async (_, i) => {
    const response = await fetch(`${gateway.url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: rpcBody('SendStreamingMessage', { message: MESSAGE }, String(i))
    })
    return await response.text()
  })
  await until(() => responses.length === 200, 'all streams', 20_000)
  t.equal(await gateway.metric(ACTIVE), 200)
  for (const response of responses) response.end('data: end\n\n')
  t.same(await Promise.all(texts), Array.from({ length: 200 }, (_, i) => `data: ${i}\n\ndata: end\n\n`))
  await until(async () => await gateway.metric(ACTIVE) === 0)
})
