/**
 * The total memory of the bodies of all calls: calls up to the limit pass. Beyond the limit, the gateway rejects requests and does not
 * evaluate responses.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, open, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { holdingAgent, refusals, refusedForNow } from './kit.js'

const MIB = 1_048_576
const HEADERS = [...JSON_TYPE, ...V1]

/** A call whose body has just so many bytes. */
function bodyOf (bytes: number): string {
  const least = rpcBody('SendMessage', { message: { ...MESSAGE, parts: [{ text: '' }] } }, '7').length
  return rpcBody('SendMessage', { message: { ...MESSAGE, parts: [{ text: 'x'.repeat(bytes - least) }] } }, '7')
}

t.test('bodies in flight fill it, to the byte; ended calls free it', async t => {
  const agent = await holdingAgent(t)
  const limits = (memory: string): string => `limits: {memory: ${memory}, requestTimeout: 2s}`
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], [limits('1MiB')]) })
  const first = open(`${gateway.url}/rpc`, { headers: HEADERS, body: bodyOf(MIB - 1_000) })
  first.on('error', () => {})
  first.end(bodyOf(MIB - 1_000))
  await until(() => agent.received.length === 1, 'the first call')

  const refused = await call(`${gateway.url}/rpc`, { headers: HEADERS, body: bodyOf(1_001) })
  refusedForNow(t, refused, ['JSONRPC', '1.0'], 'memory', 'null')
  t.equal(await refusals(gateway, 'gateway/memory'), 1)
  t.equal(agent.received.length, 1, 'the agent was not asked')

  const second = call(`${gateway.url}/rpc`, { headers: HEADERS, body: bodyOf(1_000) })
  await until(() => agent.received.length === 2, 'one that just fits')
  agent.release()
  agent.release()
  t.equal((await second).status, 200)

  const third = call(`${gateway.url}/rpc`, { headers: HEADERS, body: bodyOf(MIB) })
  await until(() => agent.received.length === 3, 'all of it is free again')
  agent.release()
  t.equal((await third).status, 200)

  await gateway.reload(configOf({ yaml: oneAgent(agent.url, [], [limits('2MiB')]) }))
  const fourth = call(`${gateway.url}/rpc`, { headers: HEADERS, body: bodyOf(2 * MIB) })
  await until(() => agent.received.length === 4, 'a reload moves it')
  agent.release()
  t.equal((await fourth).status, 200)
})

t.test('large bodies leave a quarter to small ones', async t => {
  const agent = await holdingAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], ['limits: {memory: 8MiB}']) })
  const ask = (bytes: number): ReturnType<typeof call> => call(`${gateway.url}/rpc`, { headers: HEADERS, body: bodyOf(bytes) })
  const calls = [ask(3 * MIB), ask(3 * MIB - 2_000)]
  await until(() => agent.received.length === 2, 'two large calls')
  refusedForNow(t, await ask(MIB + 1_000), ['JSONRPC', '1.0'], 'memory', 'null')
  calls.push(ask(MIB - 1_000), ask(500))
  await until(() => agent.received.length === 4, 'small calls')
  for (let i = 0; i < 4; i++) agent.release()
  t.same((await Promise.all(calls)).map(({ status }) => status), [200, 200, 200, 200])
})

t.test('an incomplete body counts, until its client has disconnected', async t => {
  const agent = await fakeAgent(t, {})
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], ['limits: {memory: 1MiB}']) })
  const ask = async (): Promise<number> => (await call(`${gateway.url}/rpc`, { headers: HEADERS, body: bodyOf(500) })).status
  t.equal(await ask(), 200)
  const refused = async (): Promise<boolean> => {
    const slow = open(`${gateway.url}/rpc`, { method: 'POST', headers: [...HEADERS, 'content-length', String(MIB)] })
    slow.on('error', () => {})
    slow.write('{'.padEnd(MIB - 10))
    // Asked before that has arrived, a call takes its room and it is the one that is refused.
    await sleep(100)
    const status = await ask()
    slow.destroy()
    return status === 503
  }
  await until(refused, 'it counts')
  await until(async () => await ask() === 200, 'it is over')
})

const URI = 'https://x.test/ext/sizes/v1'
const POLICY = [
  'extensions:',
  '  sizes:',
  `    uri: "${URI}"`,
  '    response: [{id: short, select: {event: first}, schema: {properties: {type: {const: message}}}, verdict: reject}]'
]

for (const responses of ['observe', 'enforce'] as const) {
  t.test(`a response above the memory limit, ${responses}`, async t => {
    let size = 0
    const agent = await fakeAgent(t, {
      card: url => plainCard(url, { capabilities: { extensions: [{ uri: URI }] } }),
      answer: (_request, response) => {
        response.setHeader('content-type', 'application/json')
        response.end(
          JSON.stringify({
            jsonrpc: '2.0',
            id: 1,
            result: { message: { messageId: 'a', role: 'ROLE_AGENT', parts: [{ text: 'y'.repeat(size) }] } }
          })
        )
      }
    })
    const gateway = await gatewayFor(t, {
      yaml: oneAgent(agent.url, [`responses: ${responses}`, 'extensions: [sizes]'], ['limits: {memory: 1MiB}', ...POLICY])
    })
    const ask = (): ReturnType<typeof rpc> => rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['a2a-extensions', URI])
    const unread = (): Promise<number> => gateway.metric('a2a_gateway_answers_unread_total{agent="agent",reason="no_memory"}')

    size = MIB - 1_000
    t.equal((await ask()).status, 200)
    t.equal(await unread(), 0)
    size = MIB
    const answer = await ask()
    t.equal(await unread(), 1)
    if (responses === 'observe') t.match(answer.json(), { result: { message: { parts: [{ text: 'y'.repeat(MIB) }] } } }, 'forwarded whole')
    else t.match(answer.json(), { error: { code: -32006, message: /limits\.memory/ } })
    size = 10
    t.equal((await ask()).status, 200, 'room again')
    t.equal(await unread(), 1)
  })
}
