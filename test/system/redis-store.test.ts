/** Memory of tasks on a real Redis server. Needs the Debian package `redis-server`. */
import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { RedisStore } from '#state/redis-store.js'
import type { Lookup, TaskKey } from '#state/store.js'
import { freePort } from '../helpers/http.js'
import { startRedis } from '../helpers/redis.js'

const key = (taskId: string, tenant: string | null = null): TaskKey => ({ agent: 'weather', tenant, taskId })
const record = (fields: Record<string, string>): Map<string, string> => new Map(Object.entries(fields))

interface Opened { readonly store: RedisStore, readonly lines: string[] }

function open (url: string, more: { readonly timeout?: number, readonly ttl?: number, readonly prefix?: string } = {}): Opened {
  const lines: string[] = []
  const log = (level: string) => (fields: object, message: string): void => { lines.push(`${level} ${JSON.stringify(fields)} ${message}`) }
  return {
    store: new RedisStore(
      { store: url, maxTasks: 1, ttl: 60_000, timeout: 1_000, prefix: 'gw:', ...more },
      { info: log('info'), warn: log('warn') }
    ),
    lines
  }
}

/** Until the store can be asked. */
async function connected (store: RedisStore, ms = 15_000): Promise<void> {
  for (const end = Date.now() + ms; await store.read(key('probe')) === 'unavailable';) {
    if (Date.now() > end) throw new Error('not connected')
    await sleep(20)
  }
}

t.test('two stores on one server see each other\'s writes', async t => {
  const { port } = await startRedis(t, await freePort())
  const [one, other] = [open(`redis://127.0.0.1:${port}`), open(`redis://localhost:${port}/0`)]
  const stranger = open(`redis://127.0.0.1:${port}`, { prefix: 'other:' })
  for (const { store } of [one, other, stranger]) await connected(store)
  t.equal(await other.store.read(key('t')), 'unknown')
  t.equal(await one.store.write(key('t'), record({ state: 'working', 's:p': 'asked' })), true)
  t.same(await other.store.read(key('t')), record({ state: 'working', 's:p': 'asked' }))
  t.equal(await other.store.write(key('t'), record({ state: 'completed', '': 'é\u0000\r\n*1' })), true)
  t.same(await one.store.read(key('t')), record({ state: 'completed', 's:p': 'asked', '': 'é\u0000\r\n*1' }))
  for (const id of ['t\r\nFLUSHALL\r\n', '*', 't\u0000', '', '\ud800', 'x'.repeat(1_000_000)]) {
    t.equal(await one.store.read(key(id)), 'unknown')
    await one.store.write(key(id), record({ id: 'other' }))
  }
  t.equal(await one.store.read(key('t', '')), 'unknown', 'of another tenant')
  t.equal(await stranger.store.read(key('t')), 'unknown', 'of another prefix')
  t.match(await one.store.read(key('t')), record({ state: 'completed' }))
  t.equal(await one.store.write(key('t'), record({ state: 'failed', 's:p': 'x'.repeat(40_000) })), false, 'too much')
  t.same(await one.store.read(key('t')), record({ state: 'failed', '': 'é\u0000\r\n*1' }), 'and not left as it was')
  const start = performance.now()
  await Promise.all([one, other, stranger].map(({ store }) => store.close()))
  t.ok(performance.now() - start < 1_000)
  t.equal(one.store.read(key('t')), 'unavailable')
  t.equal(await one.store.write(key('t'), record({ a: '1' })), false)
})

t.test('a task is forgotten after the time to live', async t => {
  const { port } = await startRedis(t, await freePort())
  const { store } = open(`redis://127.0.0.1:${port}`, { ttl: 1_500 })
  t.teardown(() => store.close())
  await connected(store)
  for (const id of ['read', 'written', 'neither']) await store.write(key(id), record({ a: '1' }))
  await sleep(1_000)
  await store.read(key('read'))
  await store.write(key('written'), record({ a: '2' }))
  await sleep(900)
  t.same(await Promise.all(['read', 'written', 'neither'].map(id => store.read(key(id)))), [
    record({ a: '1' }),
    record({ a: '2' }),
    'unknown'
  ])
})

t.test('killed under load and restarted: no call fails or waits, nothing is mixed up', async t => {
  const port = await freePort()
  const first = await startRedis(t, port)
  const { store, lines } = open(`redis://127.0.0.1:${port}`)
  t.teardown(() => store.close())
  await connected(store)
  const running = new AbortController()
  let wrong = 0
  const outcomes: Record<string, number> = { known: 0, unknown: 0, unavailable: 0, kept: 0, lost: 0 }
  const count = (name: string): void => { outcomes[name] = (outcomes[name] ?? 0) + 1 }
  const load = Array.from({ length: 50 }, async (_, worker) => {
    for (let i = 0; !running.signal.aborted; i++) {
      const id = `${worker}-${i % 5}`
      count(await store.write(key(id), record({ id })) === false ? 'lost' : 'kept')
      const read: Lookup = await store.read(key(id))
      if (typeof read !== 'string' && read.get('id') !== id) wrong++
      count(typeof read === 'string' ? read : 'known')
      if (i % 20 === 0 || read === 'unavailable') await sleep(1)
    }
  })
  await sleep(300)
  await first.kill()
  await sleep(300)
  t.equal(store.read(key('x')), 'unavailable', 'at once')
  const second = await startRedis(t, port)
  await connected(store)
  await sleep(300)
  running.abort()
  await Promise.all(load)
  t.equal(wrong, 0)
  for (const [name, n] of Object.entries(outcomes)) if (name !== 'unknown') t.ok(n > 0, `${name} ${n}`)
  await second.kill('SIGTERM')
  await sleep(100)
  t.equal(store.read(key('x')), 'unavailable')
  t.ok(lines.length < 20, `told of changes, not of calls: ${lines.length}`)
  t.match(lines[0], /^info .*connected to the store/)
  t.match(lines.join('\n'), /warn \{"server":"127\.0\.0\.1:\d+","reason":"\w+"\} state: no connection/)
})

t.test('a server that stops responding costs one timeout', async t => {
  const redis = await startRedis(t, await freePort())
  const { store, lines } = open(`redis://127.0.0.1:${redis.port}`, { timeout: 300 })
  t.teardown(() => store.close())
  await connected(store)
  for (const id of ['t', 'kept']) await store.write(key(id), record({ a: '1' }))
  redis.pause()
  const start = performance.now()
  t.same(await Promise.all([store.read(key('t')), store.read(key('u')), store.write(key('t'), record({ a: '2' }))]), [
    'unavailable',
    'unavailable',
    false
  ])
  t.ok(performance.now() - start < 900, 'no longer than the timeout')
  await sleep(20)
  t.equal(store.read(key('t')), 'unavailable', 'then at once')
  redis.resume()
  await connected(store)
  t.equal(await store.read(key('t')), 'unknown', 'it has missed a write')
  t.same(await store.read(key('kept')), record({ a: '1' }))
  t.match(lines.join('\n'), /"reason":"TIMEOUT"/)
})

t.test('passwords: right, wrong, missing; none is ever logged', async t => {
  const password = 'p@ss word/ü'
  const { port } = await startRedis(t, await freePort(), '--requirepass', password)
  const right = open(`redis://:${encodeURIComponent(password)}@127.0.0.1:${port}/3`)
  await connected(right.store)
  t.equal(await right.store.write(key('t'), record({ a: '1' })), true)
  const rows: [string, string][] = [
    [`redis://:wr0ng-s3cret@127.0.0.1:${port}`, 'WRONGPASS'],
    [`redis://127.0.0.1:${port}`, 'NOAUTH'],
    [`redis://user:wr0ng-s3cret@127.0.0.1:${port}`, 'WRONGPASS']
  ]
  for (const [url, reason] of rows) {
    const { store, lines } = open(url)
    for (let i = 0; lines.length === 0 && i < 500; i++) await sleep(20)
    await sleep(500)
    t.equal(store.read(key('t')), 'unavailable')
    t.same(
      lines,
      [
        `warn {"server":"127.0.0.1:${port}","reason":"${reason}"} state: no connection to the store; tasks are unknown until the gateway connects again`
      ],
      'once, with several attempts'
    )
    await store.close()
  }
  t.notMatch(right.lines.join('\n'), /p@ss|p%40ss/)
  await right.store.close()
})

t.test('a server that rejects writes is reported once, and still read', async t => {
  const { port } = await startRedis(t, await freePort())
  const { store, lines } = open(`redis://127.0.0.1:${port}`)
  t.teardown(() => store.close())
  await connected(store)
  await store.write(key('t'), record({ a: '1', b: '1' }))
  await store.write(key('u'), record({ a: '1' }))
  const { createClient } = await import('@redis/client')
  const admin = createClient({ url: `redis://127.0.0.1:${port}` })
  admin.on('error', () => {})
  await admin.connect()
  t.teardown(() => { admin.destroy() })
  await admin.configSet('maxmemory', '1')
  for (let i = 0; i < 10; i++) t.equal(await store.write(key('t'), record({ a: '2' })), false)
  t.equal(await store.read(key('t')), 'unknown', 'what was written before is no longer so')
  t.same(await store.read(key('u')), record({ a: '1' }))
  t.equal(lines.filter(line => line.includes('rejects commands') && line.includes('OOM')).length, 1)
  await admin.configSet('maxmemory', '0')
  t.equal(await store.write(key('t'), record({ a: '2' })), true)
  t.same(await store.read(key('t')), record({ a: '2' }))
})
