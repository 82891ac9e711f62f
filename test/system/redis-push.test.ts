/** Push notification configurations of tasks on a real Redis server, which gateways share. Needs the Debian package `redis-server`. */
import t from 'tap'
import { RedisStore } from '#state/redis-store.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { freePort, until } from '../helpers/http.js'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { call, deleteConfig, PUSH_FORMS, sendWith, setConfig } from '../helpers/push-calls.js'
import type { PushForm } from '../helpers/push-calls.js'
import { pushChanges } from '../helpers/push-changes.js'
import { startRedis } from '../helpers/redis.js'
import { idsOfTask } from '../helpers/task-owners.js'

quietSdk()

const FORM = PUSH_FORMS[0] as PushForm
const URL = 'https://hooks.example.com/1'

async function open (port: number): Promise<RedisStore> {
  const config = { store: `redis://127.0.0.1:${port}`, maxTasks: 1, ttl: 60_000, timeout: 2_000, prefix: 'gw:' }
  const store = new RedisStore(config, { info: () => {}, warn: () => {} })
  await until(async () => await store.read({ agent: 'a', tenant: null, taskId: 'probe' }) !== 'unavailable', 'a connection', 15_000)
  return store
}

t.test('changes of the configurations of a task', async t => {
  const redis = await startRedis(t, await freePort())
  const store = await open(redis.port)
  t.teardown(() => store.close())
  await pushChanges(t, store)
  await redis.kill()
  const change = { agent: 'a', taskId: 't', kind: 'reserve', entries: ['1'], token: 't', max: 3 } as const
  await until(async () => await store.pushConfigs(change) === 'unavailable', 'the end of the connection')
})

t.test('two gateways count together; without the server, requests are rejected or not counted', async t => {
  const redis = await startRedis(t, await freePort())
  const agent = await startAgent({ kind: 'dual' })
  t.teardown(() => agent.close())
  const start = async (onUnknown: string) => await gatewayFor(t, {
    yaml: oneAgent(
      agent.url,
      [`push: {perTask: 5, resolve: false, onUnknown: ${onUnknown}}`],
      [`state: {store: "redis://127.0.0.1:${redis.port}", timeout: 2s}`]
    )
  })
  const [one, other] = [await start('reject'), await start('allow')]
  const { task } = idsOfTask(await call(agent.url, sendWith(FORM, null, { id: 'x', url: URL })))
  await until(async () => !(await call(one.url, setConfig(FORM, task, { id: 'c0', url: URL }))).text.includes('STATE_UNAVAILABLE'), 'a connection', 15_000)
  await until(async () => (await call(other.url, deleteConfig(FORM, task, 'c0'))).text.includes('result'), 'a delete')
  // `other` has a connection when its deletes free.
  await until(async () => {
    const set = await Promise.all(Array.from({ length: 50 }, (_, i) => call(i % 2 === 0 ? one.url : other.url, setConfig(FORM, task, { id: `c${i}`, url: URL }))))
    const passed = set.filter(({ text }) => text.includes('"result"')).length
    return passed === 5 && set.filter(({ text }) => text.includes('PUSH_CONFIGS_EXHAUSTED')).length === 45
  }, '5 of 50 at once')
  await redis.kill()
  await until(async () => (await call(one.url, setConfig(FORM, task, { id: 'n', url: URL }))).text.includes('STATE_UNAVAILABLE'), 'a rejection')
  const rejected = await call(one.url, setConfig(FORM, task, { id: 'n', url: URL }))
  t.equal(rejected.status, 503)
  t.ok(rejected.headers.some(([name]) => name === 'retry-after'))
  t.match((await call(other.url, setConfig(FORM, task, { id: 'n', url: URL }))).text, '"result"', 'onUnknown: allow')
})
