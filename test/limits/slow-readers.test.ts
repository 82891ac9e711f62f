/**
 * The gateway disconnects a client that reads none of its pending data. The gateway keeps a client that reads a little at a time, or that
 * has no pending data.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { until, untilSame } from '../helpers/http.js'
import type { FakeAgent } from '../helpers/raw.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { clientErrors, rawClient, sending } from './kit.js'
import type { RawClient } from './kit.js'

const SIZE = 24 * 1024 * 1024
const TIMED = 'limits: {writeTimeout: 1s, response: 64MiB}'
const outcome = (gateway: TestGateway, name: string, operation = 'SendMessage'): Promise<number> =>
  gateway.metric(`a2a_gateway_requests_total{agent="agent",operation="${operation}",binding="JSONRPC",version="1.0",outcome="${name}"}`)

const ask = (stream = false): string => {
  const { path, body } = sending(['JSONRPC', '1.0'], stream)
  return `POST ${path} HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\na2a-extensions: urn:p\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

async function largeAgent (t: Test): Promise<FakeAgent> {
  const bytes = Buffer.from(
    `{"jsonrpc":"2.0","id":7,"result":{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"${'x'.repeat(SIZE)}"}]}}}`
  )
  return await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: 'urn:p' }] } }),
    answer: (request, response) => {
      if (!request.body.includes('Streaming')) {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length })
        response.end(bytes)
        return
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const more = (): void => {
        while (!response.destroyed && response.write(`data: ${'x'.repeat(10_000)}\n\n`));
        response.once('drain', more)
      }
      if (request.body.includes('hello')) more()
    }
  })
}

/** Asks, and reads nothing. */
async function stuck (t: Test, gateway: TestGateway, stream: boolean): Promise<RawClient> {
  const client = await rawClient(t, gateway.url)
  client.socket.pause()
  client.socket.write(ask(stream))
  return client
}

for (const [name, stream, lines] of [['an answer that is passed on', false, []], ['a stream', true, []]] as const) {
  t.test(`${name}: nothing is read`, async t => {
    const agent = await largeAgent(t)
    const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, lines, [TIMED]) })
    await stuck(t, gateway, stream)
    await untilSame(t, () => clientErrors(gateway, 'write_timeout'), 1, 'the client is given up', 30_000)
    await untilSame(t, () => outcome(gateway, 'client_aborted', stream ? 'SendStreamingMessage' : 'SendMessage'), 1)
    await untilSame(t, () => gateway.metric('a2a_gateway_requests_active{agent="agent"}'), 0)
  })
}

t.test('a response that was held is written as one chunk: reading a little of it is enough', async t => {
  const agent = await largeAgent(t)
  const gateway = await gatewayFor(t, {
    yaml: oneAgent(
      agent.url,
      ['responses: enforce', 'extensions: [p]'],
      [
        TIMED,
        'extensions: {p: {uri: "urn:p", mode: enforce, response: [{id: r, select: {metadata: {key: k}}, count: {max: 1}, verdict: reject}]}}'
      ]
    )
  })
  const begun = Date.now()
  const client = await rawClient(t, gateway.url)
  client.socket.removeAllListeners('data')
  client.socket.pause()
  client.socket.write(ask())
  let taken = 0
  while (taken < SIZE / 2 || Date.now() - begun < 4_000) {
    const chunk = client.socket.read() as Buffer | null
    if (chunk !== null) taken += chunk.length
    await sleep(20)
    if (client.socket.destroyed || Date.now() - begun > 60_000) break
    if (taken > SIZE - 1_000_000) break
  }
  t.equal(await clientErrors(gateway, 'write_timeout'), 0)
  t.ok(taken >= SIZE / 2, `${taken} bytes`)
  client.socket.resume()
  await until(async () => await outcome(gateway, 'forwarded') + await outcome(gateway, 'rejected') === 1, 'its end', 30_000)
})

t.test('an idle stream does not count; 0s means no limit, and a reload changes it', async t => {
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    }
  })
  const large = await largeAgent(t)
  const yaml = (timeout: string): string =>
    `agents: [{name: agent, upstream: {url: "${large.url}"}}, {name: quiet, path: /quiet, upstream: {url: "${agent.url}"}}]\nlimits: {writeTimeout: ${timeout}}`
  const gateway = await gatewayFor(t, { yaml: yaml('0s') })
  const quiet = await rawClient(t, gateway.url, ask(true).replace('/rpc', '/quiet/rpc'))
  await until(() => quiet.text().includes('200 OK'))
  await stuck(t, gateway, true)
  await sleep(1_000)
  t.equal(await clientErrors(gateway, 'write_timeout'), 0)
  t.match(await gateway.reload(configOf({ yaml: yaml('200ms') })), { ok: true, settings: ['limits.writeTimeout'], needsRestart: [] })
  await until(async () => await clientErrors(gateway, 'write_timeout') === 1, 'the other to be given up', 30_000)
  t.equal(quiet.socket.destroyed, false)
})
