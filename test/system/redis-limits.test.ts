/** Limits that gateways share through a real Redis server: exact counts, one command for each step, and what happens without the server. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { isBudget } from '#policy/limits/charge.js'
import type { LimitRule } from '#policy/limits/charge.js'
import type { LimitKey, Taken } from '#state/limits/limit-store.js'
import { RedisLimits } from '#state/limits/redis-limits.js'
import type { TestGateway } from '../helpers/gateway.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { freePort, rpc, until } from '../helpers/http.js'
import type { FakeAgent } from '../helpers/raw.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { startRedis } from '../helpers/redis.js'

const RATE = { count: 10, period: 1_000, burst: 10 }
const one = (key: string, rule: LimitRule = RATE): LimitKey[] => [{ key, rule }]

async function open (t: Test, port: number, timeout = 2_000): Promise<RedisLimits> {
  const quiet = { info () {}, warn () {} }
  const limits = new RedisLimits({ store: `redis://127.0.0.1:${port}`, maxTasks: 1, ttl: 60_000, timeout, prefix: 'gw:' }, quiet)
  t.teardown(() => limits.close())
  await until(async () => await limits.take(one(`ready ${port}`)) !== null, 'a connection', 20_000)
  return limits
}

/** Sends one command as text, and returns the first line or bulk text of the reply. */
async function command (port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`${text}\r\n`)
  let reply = ''
  socket.on('data', chunk => { reply += chunk.toString() })
  await until(() => reply.endsWith('\r\n'), text, 20_000)
  socket.destroy()
  await once(socket, 'close')
  return reply
}

/** Numbers of calls of commands, without those of this test. */
async function counts (port: number): Promise<Record<string, number>> {
  const text = await command(port, 'INFO commandstats')
  return Object.fromEntries([...text.matchAll(/cmdstat_(\S+?):calls=(\d+)/g)].map(([, name = '', calls]) => [name, Number(calls)]))
}

t.test('100 requests at once of two gateways: 10 pass, and the next one waits 100 ms', async t => {
  const redis = await startRedis(t, await freePort())
  const [a, b] = [await open(t, redis.port), await open(t, redis.port)]
  const taken = await Promise.all(Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? a : b).take(one('k'))))
  const waits = taken.map(one => one?.wait ?? NaN).sort((x, y) => x - y)
  t.ok(waits.filter(wait => wait === 0).length <= 11, 'one more if 100 ms have passed')
  t.ok(waits.filter(wait => wait === 0).length >= 10)
  t.ok((waits.at(-1) ?? 0) <= 100 && (waits.at(-1) ?? 0) > 0, String(waits.at(-1)))
  await sleep(waits.at(-1) ?? 0)
  t.equal((await a.take(one('k')))?.wait, 0, 'after exactly that time')
})

t.test('all or nothing, budgets, and a clock that steps back', async t => {
  const redis = await startRedis(t, await freePort())
  const limits = await open(t, redis.port)
  const wide = { count: 60, period: 3_600_000, burst: 60 }
  const budget = { limit: 100, window: 60_000 }
  const step: LimitKey[] = [{ key: 'wide', rule: wide }, { key: 'narrow', rule: { count: 1, period: 3_600_000, burst: 1 } }, { key: 'b', rule: budget }]
  const take = async (): Promise<Taken> => await limits.take(step) as Taken
  t.match(await take(), { rejected: -1, wait: 0 })
  for (let i = 0; i < 5; i++) t.match(await take(), { rejected: 1 })
  const [used] = (await limits.take(one('wide', wide)))?.used ?? []
  t.ok(Math.abs((used ?? 0) - 2) < 0.1, `${used}: rejected requests do not count`)
  t.ok(await limits.spend([{ key: 'b', rule: budget, amount: 60 }, { key: 'c', rule: budget, amount: 1e15 }]))
  t.equal((await limits.take(one('b', budget)))?.wait, 0)
  for (let i = 0; i < 20; i++) await limits.spend([{ key: 'b', rule: budget, amount: 2.5 }, { key: 'c', rule: budget, amount: 1e15 }])
  const spent = await limits.take([...one('b', budget), ...one('c', budget)])
  t.match(spent, { used: [110, Number.MAX_SAFE_INTEGER] })
  t.ok((spent?.wait ?? 0) > 50_000 && (spent?.wait ?? 0) <= 60_000)

  const key = (await command(redis.port, 'KEYS gw:{limits}:*')).split('\r\n').find(text => text.startsWith('gw:')) ?? ''
  t.match(key, /^gw:\{limits\}:[\w-]{43}$/, 'keys reveal nothing, and are in one slot')
  t.not(await command(redis.port, `PTTL ${key}`), ':-1\r\n', 'every key expires')
  const ahead = Number((await command(redis.port, 'TIME')).split('\r\n')[2]) * 1_000 * 10 / 1_000 + 36_000_000
  await limits.take(one('back'))
  const keys = (await command(redis.port, 'KEYS gw:{limits}:*')).split('\r\n').filter(text => text.startsWith('gw:'))
  for (const name of keys) await command(redis.port, `SET ${name} ${ahead}`)
  const waits: number[] = []
  for (let i = 0; i < 3; i++) {
    const taken = await limits.take(one('back'))
    waits.push(taken?.wait ?? NaN)
    await sleep(110)
  }
  t.same([waits[0], ...waits.slice(1)], [100, 0, 0], 'an hour ahead: as long as the limit says')
  for (const garbage of ['x', '""', 'nan', '1e999']) {
    for (const name of keys) await command(redis.port, `SET ${name} ${garbage}`)
    t.not(await limits.take([...one('back'), ...one('b', budget)]), null, garbage)
  }
})

t.test('the same result as in memory, for the same steps', async t => {
  const redis = await startRedis(t, await freePort())
  const limits = await open(t, redis.port)
  const rule = { count: 7, period: 3_600_000, burst: 7 }
  t.notOk(isBudget(rule))
  const used: number[] = []
  for (let i = 0; i < 9; i++) used.push(Math.round((await limits.take(one('k', rule)))?.used[0] ?? NaN))
  t.same(used, [1, 2, 3, 4, 5, 6, 7, 7, 7])
})

interface Pair { readonly gateways: readonly TestGateway[], readonly agent: FakeAgent }

async function pair (t: Test, port: number, rates: readonly string[], more: readonly string[] = [], timeout = '5s'): Promise<Pair> {
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { extensions: [{ uri: 'urn:usage' }] } }),
    answer: (_request, response) => {
      response.setHeader('content-type', 'application/json')
        .end('{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"ok"}],"metadata":{"tokens":40}}}}')
    }
  })
  const yaml = oneAgent(agent.url, ['extensions: [usage]'], [
    'extensions: {usage: {uri: "urn:usage", activation: {signals: [always]}, observe: {metrics: [{name: tokens, type: counter, from: {metadata: {key: tokens}}}]}}}',
    `state: {store: "redis://127.0.0.1:${port}", timeout: ${timeout}}`,
    'telemetry: {logs: {level: info}}',
    ...rates.length === 0 ? [] : ['rates:', ...rates.map(rate => `  - ${rate}`)],
    ...more
  ])
  const gateways = [await gatewayFor(t, { yaml }), await gatewayFor(t, { yaml })]
  await until(() => gateways.every(gateway => gateway.logs().some(line => line.msg === 'state: connected to the store')), 'connections', 20_000)
  return { agent, gateways }
}

const send = async ({ gateways }: Pair, i: number): Promise<number> => (await rpc(`${gateways[i % 2]?.url}/rpc`)).status
const some = async (both: Pair, n: number): Promise<number[]> => {
  const found: number[] = []
  for (let i = 0; i < n; i++) found.push(await send(both, i))
  return found
}

t.test('two gateways share limits and budgets, with one command for each step', async t => {
  const redis = await startRedis(t, await freePort())
  const both = await pair(t, redis.port, [
    '{id: early, by: [address], rate: 6/1h, scope: shared}',
    '{id: agent, by: [agent], rate: 100/1h, scope: shared}',
    '{id: late, by: [operation], rate: 100/1h, scope: shared}',
    '{id: own, by: [address], rate: 100/1h}'
  ], ['budgets: [{id: tokens, by: [agent], of: usage/tokens, limit: 1000, window: 1h, scope: shared}]'])
  await some(both, 2)
  await until(async () => ((await counts(redis.port)).evalsha ?? 0) >= 6, 'the amounts of both calls')
  const before = await counts(redis.port)
  t.same(await some(both, 2), [200, 200])
  await until(async () => ((await counts(redis.port)).evalsha ?? 0) - (before.evalsha ?? 0) >= 6, 'the amounts')
  const after = await counts(redis.port)
  t.equal((after.evalsha ?? 0) - (before.evalsha ?? 0), 6, 'for each call: early limits, late limits with the budget, and the amount')
  t.equal(after.eval, before.eval, 'the script is sent once')
  t.same(await some(both, 4), [200, 200, 429, 429])
  t.equal((await some(both, 20)).every(status => status === 429), true)
  t.equal(both.agent.received.length, 6)
  for (const gateway of both.gateways) t.ok(await gateway.metric('a2a_gateway_rate_store_total{outcome="ok"}') > 10)
})

t.test('a budget that gateways share', async t => {
  const redis = await startRedis(t, await freePort())
  const both = await pair(t, redis.port, [], ['budgets: [{id: tokens, by: [agent], of: usage/tokens, limit: 100, window: 1h, scope: shared}]'])
  const statuses: number[] = []
  for (let i = 0; i < 5; i++) {
    statuses.push(await send(both, i))
    await sleep(50)
  }
  t.same(statuses, [200, 200, 200, 429, 429], 'a report of 40 each')
})

t.test('a server that loses its scripts or restarts: no call fails, and limits go on', async t => {
  const port = await freePort()
  const redis = await startRedis(t, port)
  const both = await pair(t, port, ['{id: narrow, by: [address], rate: 20/1h, scope: shared, replicas: 2}'])
  t.same(await some(both, 4), [200, 200, 200, 200])
  await command(port, 'SCRIPT FLUSH')
  const before = await counts(port)
  t.same(await some(both, 4), [200, 200, 200, 200])
  const after = await counts(port)
  t.equal((after.eval ?? 0) - (before.eval ?? 0), 1, 'sent again, by the first that needs it')

  await redis.kill()
  await until(() => both.gateways.every(gateway => gateway.logs().some(line => /no connection to the store; shared limits/.test(String(line.msg)))), 'the loss', 20_000)
  const alone = await some(both, 40)
  t.same(alone.filter(status => status === 200).length, 20, 'local: each of the two admits its half')
  t.ok(alone.every(status => status === 200 || status === 429), 'no call fails')
  await startRedis(t, port)
  await until(() => both.gateways.every(gateway => gateway.logs().filter(line => line.msg === 'state: connected to the store').length >= 4), 'new connections, for tasks and for limits', 30_000)
  const ok = (): Promise<number[]> => Promise.all(both.gateways.map(gateway => gateway.metric('a2a_gateway_rate_store_total{outcome="ok"}')))
  const counted = await ok()
  t.same(await some(both, 4), [200, 200, 200, 200], 'the shared limit, which the server has forgotten')
  t.same(await ok(), counted.map(count => count + 2))
  for (const gateway of both.gateways) {
    const lost = gateway.logs().filter(line => /shared limits are not shared/.test(String(line.msg)))
    t.equal(lost.length, 1, 'logged once')
    t.ok(await gateway.metric('a2a_gateway_rate_store_total{outcome="unavailable"}') > 0)
  }
})

t.test('onStoreDown', async t => {
  const port = await freePort()
  const redis = await startRedis(t, port)
  const strict = await pair(t, port, ['{id: narrow, by: [address], rate: 2/1h, scope: shared, onStoreDown: reject}'])
  const lenient = await pair(t, port, ['{id: narrow, by: [agent], rate: 2/1h, scope: shared, onStoreDown: allow}'])
  t.same([await some(strict, 3), await some(lenient, 3)], [[200, 200, 429], [200, 200, 429]])
  await redis.kill()
  const rejected = await rpc(`${strict.gateways[0]?.url}/rpc`)
  t.match([rejected.status, rejected.headers['retry-after'], rejected.json()], [503, '5', { error: { data: [{ reason: 'OVERLOADED', metadata: { limit: 'narrow' } }] } }])
  t.same(await some(lenient, 6), [200, 200, 200, 200, 200, 200])
})

t.test('a server that stops responding costs calls one timeout', async t => {
  const port = await freePort()
  await startRedis(t, port, '--enable-debug-command', 'yes')
  const both = await pair(t, port, ['{id: narrow, by: [address], rate: 1000/1h, scope: shared}'], [], '200ms')
  await some(both, 4)
  const sleeping = connect(port, '127.0.0.1', () => sleeping.write('DEBUG SLEEP 3\r\n'))
  sleeping.on('error', () => {})
  await sleep(100)
  const times: number[] = []
  for (let i = 0; i < 20; i++) {
    const start = performance.now()
    t.equal(await send(both, i), 200)
    times.push(performance.now() - start)
  }
  t.ok(times.filter(ms => ms > 150).length <= 2, `one timeout for each gateway: ${times.map(Math.round).join()}`)
  sleeping.destroy()
})
