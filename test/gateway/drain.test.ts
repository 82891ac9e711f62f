/** A shutdown loses no call that it can avoid losing. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, open, readAnswer, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { MAIN } from '../helpers/paths.js'

const server = (drainTimeout: string): readonly string[] => [
  `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: ${drainTimeout}}`
]
const STREAM = rpcBody('SendStreamingMessage', { message: MESSAGE })

t.test('a call in flight gets its response, readiness ends at once, and new connections are rejected', async t => {
  const responses: ServerResponse[] = []
  const agent = await fakeAgent(t, { answer: (_request, response) => { responses.push(response) } })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], server('20s')) })
  const inFlight = rpc(`${gateway.url}/rpc`)
  await until(() => responses.length === 1)

  const idle = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  await once(idle, 'connect')
  const idleClosed = once(idle.resume(), 'close')
  const keepAlive = new HttpAgent({ keepAlive: true })
  t.teardown(() => { keepAlive.destroy() })
  const used = await new Promise<IncomingMessage>((resolve, reject) => {
    httpRequest(`${gateway.url}/.well-known/agent-card.json`, { agent: keepAlive }, resolve).on('error', reject).end()
  })
  const usedClosed = once(used.socket, 'close')
  used.resume()
  await once(used, 'end')

  const closing = gateway.close()
  t.equal(gateway.close(), closing, 'a second close is the first')
  await usedClosed
  const readyz = await fetch(`${gateway.adminUrl}/readyz`)
  t.equal(readyz.status, 503)
  t.match(await readyz.text(), /shutting down/)
  t.equal((await fetch(`${gateway.adminUrl}/livez`)).status, 200)
  await t.rejects(call(`${gateway.url}/rpc`), { code: 'ECONNREFUSED' })

  responses[0]?.end('{"late":true}')
  const got = await inFlight
  t.equal(got.text, '{"late":true}')
  t.equal(got.headers.connection, 'close')
  await closing
  await idleClosed // one that never asked may have been about to, and lives to the end
  await t.rejects(fetch(`${gateway.adminUrl}/livez`), 'and then all is closed')
  t.equal(agent.sockets.size, 0)
})

t.test('a header of the agent with the value connection changes nothing: the header reaches the client, and the connection closes', async t => {
  const responses: ServerResponse[] = []
  const agent = await fakeAgent(t, { answer: (_request, response) => { responses.push(response) } })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], server('20s')) })
  const keepAlive = new HttpAgent({ keepAlive: true })
  t.teardown(() => { keepAlive.destroy() })
  const own = { 'x-a': 'connection', vary: 'connection', 'x-b': '1' }
  const send = async (): Promise<IncomingMessage> => {
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    const request = httpRequest(`${gateway.url}/rpc`, { method: 'POST', headers, agent: keepAlive }).end(rpcBody('SendMessage', { message: MESSAGE }))
    const [response] = await once(request, 'response') as [IncomingMessage]
    return response
  }
  const respond = (index: number): void => { responses[index]?.writeHead(200, { 'content-type': 'application/json', ...own }).end('{"a":1}') }
  const first = send()
  await until(() => responses.length === 1)
  respond(0)
  const open = await first
  t.match([open.headers, await readAnswer(open)], [{ ...own, connection: 'keep-alive' }, { text: '{"a":1}' }])
  const last = send()
  await until(() => responses.length === 2)
  const closing = gateway.close()
  await until(async () => (await fetch(`${gateway.adminUrl}/readyz`)).status === 503)
  respond(1)
  const closed = await last
  t.match([closed.headers, await readAnswer(closed)], [{ ...own, connection: 'close' }, { text: '{"a":1}' }])
  await closing
})

t.test('another request on an open connection is still served while the gateway stops', async t => {
  const responses: ServerResponse[] = []
  const agent = await fakeAgent(t, { answer: (_request, response) => { responses.push(response) } })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], server('20s')) })
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  let text = ''
  socket.on('data', (chunk: Buffer) => { text += chunk.toString() })
  const request = 'GET /rest/tasks/1 HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\n\r\n'
  socket.write(request)
  await until(() => responses.length === 1)
  responses[0]?.writeHead(200, { 'content-length': '2' })
  responses[0]?.write('{')
  await until(() => text.includes('{'), 'the head to have gone out before the stop')
  const closing = gateway.close()
  socket.write(request)
  responses[0]?.end('}')
  await until(() => responses.length === 2 || socket.destroyed, 'the second call')
  responses[1]?.end('[]')
  await once(socket, 'close')
  await closing
  t.match(text, /\{\}/)
})

t.test('streams end with a comment after the drain time; within an event they are broken off', async t => {
  for (const [written, clean] of [
    ['data: {"a":1}\n\n', true],
    ['', true],
    [': ping\r\n\r\n', true],
    ['data: {"a":', false],
    ['data: {"a":1}\n', false]
  ] as const) {
    const aborted: string[] = []
    const agent = await fakeAgent(t, {
      answer: (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.flushHeaders()
        for (const byte of written) response.write(byte)
        response.on('close', () => {
          aborted.push(written)
        })
      }
    })
    const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], server('100ms')) })
    const outgoing = open(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body: STREAM })
    outgoing.on('error', () => {})
    outgoing.end(STREAM)
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    let text = ''
    incoming
      .on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      .on('error', () => {})
    const closed = new Promise<void>(resolve => {
      incoming.once('close', resolve)
    })
    await until(() => text === written)
    await gateway.close()
    await closed
    t.equal(incoming.complete, clean, JSON.stringify(written))
    t.equal(text, clean ? `${written}: the gateway is shutting down\n\n` : written)
    await until(() => aborted.length === 1, "the agent's side to be aborted")
  }
})

t.test('a call that outlasts the drain time is broken off without a response', async t => {
  const agent = await fakeAgent(t, { answer: () => {} })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], server('100ms')) })
  const inFlight = rpc(`${gateway.url}/rpc`)
  inFlight.catch(() => {})
  await until(() => agent.received.length === 1)
  await gateway.close()
  await t.rejects(inFlight)
})

t.test('an idle gateway stops at once', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], server('1h')) })
  const begun = Date.now()
  await gateway.close()
  t.ok(Date.now() - begun < 10_000)
})

t.test('SIGTERM under load: every call in flight gets its response, and the exit code is 0', async t => {
  const CALLS = 60
  const agent = await fakeAgent(t, {
    answer: (request, response) => {
      const id = /"id":(\d+)/.exec(request.body.toString())?.[1] ?? ''
      setTimeout(() => { response.setHeader('content-type', 'application/json').end(`{"jsonrpc":"2.0","id":${id},"result":{}}`) }, 1_000)
    }
  })
  const port = async (): Promise<number> => {
    const free = createServer().listen(0, '127.0.0.1')
    await once(free, 'listening')
    const address = free.address() as AddressInfo
    await new Promise(resolve => { free.close(resolve) })
    return address.port
  }
  const listen = `127.0.0.1:${await port()}`
  const child = spawn(
    process.execPath,
    [MAIN, 'serve', '--upstream', agent.url, '--listen', listen, '--admin', `127.0.0.1:${await port()}`],
    { env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'pipe'] }
  )
  t.teardown(() => { child.kill('SIGKILL') })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => { output += chunk.toString() })
  child.stderr.on('data', (chunk: Buffer) => { output += chunk.toString() })
  await until(() => output.includes('"msg":"listening"'), 'the gateway to listen', 30_000)
  const exited = once(child, 'exit')
  const keepAlive = new HttpAgent({ keepAlive: true })
  t.teardown(() => { keepAlive.destroy() })
  const calls = Array.from({ length: CALLS }, async (_, i) => {
    const body = Buffer.from(rpcBody('SendMessage', { message: MESSAGE }, String(i)))
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      httpRequest(
        `http://${listen}/rpc`,
        {
          method: 'POST',
          agent: i % 2 === 0 ? keepAlive : false,
          headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'content-length': body.length }
        },
        resolve
      )
        .on('error', reject)
        .end(body)
    })
    return (await readAnswer(incoming)).text
  })
  await until(() => agent.received.length === CALLS, 'all calls to be in flight', 30_000)
  child.kill('SIGTERM')
  t.same(await Promise.all(calls), Array.from({ length: CALLS }, (_, i) => `{"jsonrpc":"2.0","id":${i},"result":{}}`))
  const [code, signal] = await exited
  t.equal(code, 0, output)
  t.equal(signal, null)
})
