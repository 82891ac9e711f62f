/** Owners of tasks on a real Redis server, which gateways share. Needs the Debian package `redis-server`. */
import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import t from 'tap'
import { RedisStore } from '#state/redis-store.js'
import type { OwnedName } from '#state/store.js'
import { gatewayFor } from '../helpers/gateway.js'
import { freePort, until } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { startRedis } from '../helpers/redis.js'
import { serve } from '../helpers/serve.js'
import { as, idsOfTask, keyDirectory, message, ownedYaml, rpcCall } from '../helpers/task-owners.js'

const task = (id: string): OwnedName => ({ kind: 'task', id })

async function open (port: number, ttl = 60_000): Promise<RedisStore> {
  const config = { store: `redis://127.0.0.1:${port}`, maxTasks: 1, ttl, timeout: 2_000, prefix: 'gw:' }
  const store = new RedisStore(config, { info: () => {}, warn: () => {} })
  await until(async () => await store.read({ agent: 'a', tenant: null, taskId: 'probe' }) !== 'unavailable', 'a connection', 15_000)
  return store
}

/** An agent that makes a task for each message, in the context that the message names. */
const answer: NonNullable<Parameters<typeof fakeAgent>[1]>['answer'] = (request, response) => {
  const { params } = JSON.parse(request.body.toString()) as { params: { id?: string, message?: { contextId?: string } } }
  const one = { id: params.id ?? randomUUID(), contextId: params.message?.contextId ?? randomUUID(), status: { state: 'TASK_STATE_WORKING' } }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: params.message === undefined ? one : { task: one } }))
}

t.test('the first writer owns a name, in one round trip for any number of names', async t => {
  const redis = await startRedis(t, await freePort())
  const [one, other] = [await open(redis.port), await open(redis.port)]
  t.teardown(() => Promise.all([one.close(), other.close()]))
  const owners = await Promise.all(Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? one : other).owners('a', [task('1')], `owner ${i}`)))
  t.equal(new Set(owners.flat()).size, 1, 'one owner for all')
  t.same(await one.owners('a', [task('2'), task('1')], null), [null, owners.flat()[0]], 'a look claims nothing')
  t.same(await one.owners('a', [{ kind: 'context', id: '1' }], 'x'), ['x'], 'a context is no task')
  t.same(await one.owners('b', [task('1')], null), [null], 'of another agent')
  const many = await one.owners('a', Array.from({ length: 5_000 }, (_, i) => task(String(i))), null)
  t.equal(many === 'unavailable' ? 0 : many.filter(owner => owner !== null).length, 1)
  const short = await open(redis.port, 300)
  t.teardown(() => short.close())
  t.same(await short.owners('a', [task('short')], 'x'), ['x'])
  const start = performance.now()
  await until(async () => {
    await new Promise(resolve => setTimeout(resolve, 400))
    return (await short.owners('a', [task('short')], null))[0] === null
  }, 'the expiry')
  t.ok(performance.now() - start > 250)
  t.ok(await remaining(redis.port) > 0, 'every record has a time to live')
  await redis.kill()
  await until(async () => await one.owners('a', [task('1')], null) === 'unavailable', 'the end of the connection')
})

/** Least time to live of all records, ms; -1 for a record without one. */
async function remaining (port: number): Promise<number> {
  const script = 'local least = 1e9 for _, key in ipairs(redis.call("KEYS", "gw:owner:*")) do least = math.min(least, redis.call("PTTL", key)) end return least'
  const socket = connect(port, '127.0.0.1')
  socket.write(`*3\r\n$4\r\nEVAL\r\n$${script.length}\r\n${script}\r\n$1\r\n0\r\n`)
  const [reply] = await new Promise<string[]>(resolve => socket.once('data', (chunk: Buffer) => { resolve(chunk.toString().slice(1).split('\r\n')) }))
  socket.destroy()
  return Number(reply)
}

t.test('a server that does not respond in time, or whose user may not use SET or MGET: unavailable', async t => {
  const slow = await startRedis(t, await freePort())
  const store = await open(slow.port)
  t.teardown(() => store.close())
  slow.pause()
  t.same(await store.owners('a', [task('1')], 'x'), 'unavailable')
  slow.resume()
  for (const [command, claim] of [['set', 'x'], ['mget', null]] as const) {
    const strict = await startRedis(t, await freePort(), '--user', 'default', 'on', 'nopass', '~*', '+@all', `-${command}`)
    const other = await open(strict.port)
    t.teardown(() => other.close())
    t.same(await other.owners('a', [task('1')], claim), 'unavailable', command)
  }
})

t.test('two gateways: 50 messages at once that name the same new context', async t => {
  const { port } = await startRedis(t, await freePort())
  const agent = await fakeAgent(t, { answer })
  const yaml = ownedYaml(agent.url, {
    tasks: '{onUnknown: allow}',
    root: [`state: {store: "redis://127.0.0.1:${port}", timeout: 5s}`],
    directory: keyDirectory(t)
  })
  const gateways = await Promise.all([serve(t, yaml), serve(t, yaml)])
  for (const gateway of gateways) await until(() => gateway.said(/connected to the store/).length > 0, 'a connection', 30_000)
  const send = { ...message('hello', { contextId: 'c' }), path: '/rpc' }
  const responses = await Promise.all(Array.from({ length: 50 }, async (_, i) => {
    return (await as(gateways[i % 2]?.url ?? '', i % 4 < 2 ? 'ada' : 'bob')(send)).text
  }))
  const passed = [true, false].map(ada => responses.filter((text, i) => (i % 4 < 2) === ada && text.includes('"result"')).length)
  t.equal(Math.min(...passed), 0, 'one caller gets nothing')
  t.ok(Math.max(...passed) >= 24, 'the other gets everything')
})

t.test('a wiped store, and a stopped one', async t => {
  const redis = await startRedis(t, await freePort())
  const agent = await fakeAgent(t, { answer })
  const root = [`state: {store: "redis://127.0.0.1:${redis.port}", timeout: 2s}`]
  const gateway = await gatewayFor(t, { yaml: ownedYaml(agent.url, { root }), baseDir: keyDirectory(t) })
  const ada = as(gateway.url, 'ada')
  const send = { ...message('hello'), path: '/rpc' }
  await until(async () => (await ada(send)).status === 200, 'a connection', 15_000)
  const { task } = idsOfTask(await ada(send))
  const get = { ...rpcCall('GetTask', { id: task }), path: '/rpc' }
  t.match((await ada(get)).text, '"result"')
  await command(redis.port, 'FLUSHALL')
  t.match((await ada(get)).text, 'TASK_NOT_FOUND', 'wiped')
  await redis.kill()
  await until(async () => (await ada(get)).status === 503, 'the end of the connection')
  const [foreign, none] = [await as(gateway.url, 'bob')(get), await as(gateway.url, 'bob')({ ...get, body: get.body?.replace(task, 'none') ?? null })]
  t.equal(foreign.text, none.text, 'an outage shows nothing')
  t.match((await ada(send)).text, 'STATE_UNAVAILABLE', 'the agent makes no task that nobody could use')
})

async function command (port: number, text: string): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`${text}\r\n`)
  await new Promise(resolve => socket.once('data', resolve))
  socket.destroy()
}
