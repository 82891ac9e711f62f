/** An overloaded process rejects new calls, and keeps calls in flight, its cards, and the admin listener. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import t from 'tap'
import type { SheddingConfig } from '#config/model/model.js'
import { Overload } from '#call/overload.js'
import { createLogger } from '#telemetry/logging.js'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, JSON_TYPE, open, until, untilSame, V1 } from '../helpers/http.js'
import { FORMS, holdingAgent, refusals, refusedForNow, send, sending } from './kit.js'

const OFF: SheddingConfig = { eventLoopDelay: 0, eventLoopUtilization: 0, heapUsed: 0, rss: 0, retryAfter: 5_000 }
const CALM = { eventLoopDelay: 10, eventLoopUtilized: 0.5, heapUsed: 1_000, rssBytes: 2_000 }
const overloadOf = (config: Partial<SheddingConfig>): Overload =>
  new Overload({ ...OFF, ...config }, createLogger({ level: 'silent', format: 'json' }, new PassThrough()))

/** By a call that never reaches the agent: it is no JSON. */
async function sheds (gateway: TestGateway): Promise<boolean> {
  return (await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body: '{' })).status === 503
}

t.test('each sign, on both sides of its limit', async t => {
  const table: [Partial<SheddingConfig>, Partial<SheddingConfig>][] = [
    [{ eventLoopUtilization: 0.5 }, { eventLoopUtilization: 0.49 }],
    [{ heapUsed: 1_000 }, { heapUsed: 999 }],
    [{ rss: 2_000 }, { rss: 1_999 }]
  ]
  for (const [within, beyond] of table) {
    const calm = overloadOf(within)
    calm.take(CALM)
    t.equal(calm.shedding, false, JSON.stringify(within))
    const loaded = overloadOf(beyond)
    loaded.take(CALM)
    t.equal(loaded.shedding, true, JSON.stringify(beyond))
    loaded.use(OFF)
    loaded.take(CALM)
    t.equal(loaded.shedding, false, 'over')
  }
  const worst = overloadOf({})
  worst.take({ eventLoopDelay: Infinity, eventLoopUtilized: 1, heapUsed: 1e12, rssBytes: 1e12 })
  t.equal(worst.shedding, false, 'nothing is looked at')
})

t.test('one long turn of the event loop does not count; two measurements in a row do', async t => {
  const overload = overloadOf({ eventLoopDelay: 100 })
  const after = (...delays: number[]): boolean[] => delays.map(eventLoopDelay => {
    overload.take({ ...CALM, eventLoopDelay })
    return overload.shedding
  })
  t.same(after(100, 101, 100, 101, 101, 500, Infinity, 100, 100), [false, false, false, false, true, true, true, false, false])
})

t.test('new calls are rejected, in every binding and version; everything else continues', async t => {
  const agent = await holdingAgent(t)
  const yaml = (rss: string): string =>
    oneAgent(
      agent.url,
      ['passthrough: [/files]'],
      [`shedding: {eventLoopDelay: 0s, rss: ${rss}, retryAfter: 3s}`, 'telemetry: {logs: {level: warn}}']
    )
  const gateway = await gatewayFor(t, { yaml: yaml('64GiB') })
  const { path, headers, body } = sending(['JSONRPC', '1.0'], true)
  const outgoing = open(gateway.url + path, { headers, body })
  outgoing.end(body)
  const [stream] = await once(outgoing, 'response') as [IncomingMessage]
  let text = ''
  stream.on('data', (chunk: Buffer) => { text += chunk.toString() })
  await until(() => agent.held.length === 1 && text.includes('data'), 'a stream, measured to be within')

  t.match(await gateway.reload(configOf({ yaml: yaml('1MiB') })), { ok: true, settings: ['shedding.rss'], needsRestart: [] })
  await until(() => sheds(gateway), 'the next measurement')
  const before = await refusals(gateway, 'gateway/overloaded')
  for (const form of FORMS) {
    refusedForNow(t, await send(gateway, form), form, 'overloaded', 'null', '3')
    refusedForNow(t, await send(gateway, form, true), form, 'overloaded', 'null', '3')
  }
  t.equal((await call(`${gateway.url}/files/y`, { body: 'z' })).headers['retry-after'], '3')
  t.equal(await refusals(gateway, 'gateway/overloaded'), before + 9)
  t.equal((await call(`${gateway.url}/.well-known/agent-card.json`)).status, 200, 'the card')
  for (const probe of ['/livez', '/readyz', '/metrics', '/agents']) t.equal((await fetch(gateway.adminUrl + probe)).status, 200, probe)
  agent.held[0]?.write('data: {"still":true}\n\n')
  await until(() => text.includes('still'), 'the stream to go on')
  t.match(gateway.logs(), [{ level: 'warn', msg: /the gateway rejects new calls \(shedding\.rss\)/, signs: ['rss'] }])

  await gateway.reload(configOf({ yaml: yaml('64GiB') }))
  await until(async () => !await sheds(gateway), 'calls to be accepted again')
  agent.release()
})

t.test('an event loop that is always late is detected', async t => {
  const agent = await holdingAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], ['shedding: {eventLoopDelay: 20ms}']) })
  let busy = true
  const turn = (): void => {
    for (const end = performance.now() + 100; performance.now() < end;);
    if (busy) setTimeout(turn, 1)
  }
  turn()
  await untilSame(t, () => sheds(gateway), true, 'calls are shed', 30_000)
  busy = false
  await untilSame(t, () => sheds(gateway), false, 'calls are accepted again', 30_000)
})
