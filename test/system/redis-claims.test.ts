/** Claimed values on a real Redis server, which gateways share. Needs the Debian package `redis-server`. */
import t from 'tap'
import { RedisStore } from '#state/redis-store.js'
import { freePort, until } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { startRedis } from '../helpers/redis.js'
import { serve } from '../helpers/serve.js'
import { nonceCard, nonceGateway, sendAtOnce } from '../helpers/unique.js'

const of = (key: string, window = 60_000): { key: string, window: number } => ({ key, window })

async function open (port: number): Promise<RedisStore> {
  const config = { store: `redis://127.0.0.1:${port}`, maxTasks: 1, ttl: 60_000, timeout: 2_000, prefix: 'gw:' }
  const store = new RedisStore(config, { info: () => {}, warn: () => {} })
  await until(async () => await store.read({ agent: 'a', tenant: null, taskId: 'probe' }) !== 'unavailable', 'a connection', 15_000)
  return store
}

t.test('two stores on one server share claims, which expire', async t => {
  const redis = await startRedis(t, await freePort())
  const [one, other] = [await open(redis.port), await open(redis.port)]
  t.teardown(() => Promise.all([one.close(), other.close()]))
  const outcomes = (await Promise.all(Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? one : other).claim('a', [of('1')])))).flat()
  t.equal(outcomes.filter(one => one === 'new').length, 1)
  t.equal(outcomes.filter(one => one === 'seen').length, 49)
  t.same(await other.claim('a', [of('2'), of('1'), of('3')]), ['new', 'seen', 'new'])
  t.same(await one.claim('b', [of('1')]), ['new'], 'of another agent')
  other.release('a', [of('2'), of('3')])
  t.same(await other.claim('a', [of('2')]), ['new'])
  t.same(await one.claim('a', [of('3'), of('2')]), ['new', 'seen'])

  t.same(await one.claim('a', [of('short', 50)]), ['new'])
  const start = performance.now()
  await until(async () => (await other.claim('a', [of('short', 60_000)]))[0] === 'new', 'the expiry')
  t.ok(performance.now() - start > 30)

  await redis.kill()
  await until(async () => (await one.claim('a', [of('4')]))[0] === 'unavailable', 'the end of the connection')
  one.release('a', [of('4')])
})

t.test('a server that does not respond in time, or whose user may not use SET: unavailable', async t => {
  const slow = await startRedis(t, await freePort())
  const store = await open(slow.port)
  t.teardown(() => store.close())
  slow.pause()
  t.same(await store.claim('a', [of('1'), of('2')]), ['unavailable', 'unavailable'])
  slow.resume()
  const strict = await startRedis(t, await freePort(), '--user', 'default', 'on', 'nopass', '~*', '+@all', '-set')
  const other = await open(strict.port)
  t.teardown(() => other.close())
  t.same(await other.claim('a', [of('1')]), ['unavailable'])
})

t.test('of 50 equal requests at once to two gateways, one passes', async t => {
  const { port } = await startRedis(t, await freePort())
  const agent = await fakeAgent(t, { card: nonceCard })
  const yaml = nonceGateway(agent.url, { root: [`state: {store: "redis://127.0.0.1:${port}", timeout: 5s}`] })
  const gateways = await Promise.all([serve(t, yaml), serve(t, yaml)])
  for (const gateway of gateways) await until(() => gateway.said(/connected to the store/).length > 0, 'a connection', 30_000)
  const { passed, rejections } = await sendAtOnce(gateways.map(({ url }) => url), 'a')
  t.equal(passed, 1)
  t.equal(rejections.filter(text => text.includes('was accepted before')).length, 49)
  t.equal(agent.received.length, 1)
})
