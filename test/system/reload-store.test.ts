/** Changes the store of tasks while calls run, by the file and by SIGHUP. Needs the Debian package `redis-server`. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { approvalPolicy, approvals, callsOf, HITL, send } from '../helpers/approvals.js'
import { freePort, until } from '../helpers/http.js'
import { startRedis } from '../helpers/redis.js'
import { serve } from '../helpers/serve.js'

quietSdk()

t.test('from memory to Redis and back under load: no call fails, no content of the file is logged, and each store works', async t => {
  const agent = await startAgent({ kind: 'v1', behaviour: approvals, card: { extensions: [{ uri: HITL }] } })
  t.teardown(() => agent.close())
  const { port } = await startRedis(t, await freePort(), '--requirepass', 's3cret')
  const yaml = (store: string): string =>
    [
      'agents:',
      `  - {name: tools, upstream: {url: "${agent.url}"}, responses: enforce, extensions: [hitl]}`,
      ...approvalPolicy('allow'),
      `state: {store: "${store}", timeout: 2s}`
    ].join('\n')
  const redis = yaml(`redis://:s3cret@127.0.0.1:${port}`)
  const gateway = await serve(t, yaml('memory'))
  const url = `${gateway.url}/a2a/jsonrpc`
  const reloads = (): number => gateway.said(/^configuration reloaded: settings: state\.store$/).length
  const remembered = (): Promise<number> => gateway.metric('a2a_gateway_tasks_remembered')

  const stopped = new AbortController()
  const failures: string[] = []
  let calls = 0
  const clients = Array.from({ length: 6 }, async (_, client) => {
    for (let i = 0; !stopped.signal.aborted; i++) {
      const name = `c${client}n${i}`
      const paused = await send(url, { text: name }, i % 2 === 0)
      const done = await send(url, { taskId: paused.taskId, approved: callsOf(name) }, i % 2 === 1)
      if (paused.state !== 'INPUT_REQUIRED' || done.state !== 'COMPLETED') {
        failures.push(`${paused.state} ${paused.rule}, ${done.state} ${done.rule}`)
      }
      calls += 2
    }
  })
  await sleep(500)
  t.ok(await remembered() > 0)
  for (let round = 1; round <= 3; round++) {
    gateway.rewrite(redis)
    if (round === 2) gateway.kill('SIGHUP')
    await until(() => reloads() === 2 * round - 1 && gateway.said(/connected to the store/).length === round, `reload ${round}`, 20_000)
    await sleep(300)
    t.equal(await remembered(), 0, 'a server holds them')
    const { taskId } = await send(url, { text: 'probe' })
    t.equal((await send(url, { taskId, approved: ['other'] })).rule, 'hitl/every-call-once', 'Redis knows it')

    gateway.rewrite(yaml('memory'))
    if (round === 2) gateway.kill('SIGHUP')
    await until(() => reloads() === 2 * round, `reload back ${round}`, 20_000)
    t.equal((await send(url, { taskId, approved: ['other'] })).state, 'COMPLETED', 'another store knows nothing of it')
    const next = await send(url, { text: 'probe' })
    t.equal((await send(url, { taskId: next.taskId, approved: ['other'] })).rule, 'hitl/every-call-once', 'memory knows it')
  }
  stopped.abort()
  await Promise.all(clients)
  t.same(failures, [])
  t.ok(calls > 100, `${calls} calls`)
  t.same(await gateway.heard(/needs a restart|could not be closed/, 0), [])
  gateway.kill('SIGTERM')
  t.equal(await gateway.exited, 0)
  t.notMatch(gateway.output(), /s3cret/)
})
