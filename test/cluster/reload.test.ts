/** A configuration takes effect in every process or in none. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { cluster, load, more } from './kit.js'

t.test('reloads under load: no call fails, and all processes, also later ones, have the new configuration', async t => {
  const agent = await fakeAgent(t)
  const other = await fakeAgent(t)
  const both = (path: string): string => `${oneAgent(agent.url)}\n  - {name: more, path: ${path}, upstream: {url: "${other.url}"}}`
  const gateway = await cluster(t, oneAgent(agent.url))
  const calls = load(`${gateway.url}/rpc`, 4)
  for (let i = 1; i <= 3; i++) {
    gateway.rewrite(both(`/v${i}`))
    await until(() => gateway.said(/^configuration reloaded/).length === i, 'the reload', 60_000)
    // Connections are new, so that all processes are asked.
    for (let n = 0; n < 10; n++) t.equal((await rpc(`${gateway.url}/v${i}/rpc`)).status, 200)
    if (i > 1) for (let n = 0; n < 10; n++) t.equal((await rpc(`${gateway.url}/v${i - 1}/rpc`)).status, 404)
  }
  await more(calls)
  await calls.stop()
  t.same(calls.bad, [])
  t.equal((await gateway.heard(/^configuration reloaded/, 3)).length, 3, 'said once each')
  t.equal(await gateway.metric('a2a_gateway_config_reloads_total{outcome="ok"}'), 3)
  t.equal(await gateway.metric('a2a_gateway_config_info'), 1)

  gateway.rewrite(both('/v9').replace('path:', 'pathh:'))
  await until(() => gateway.said(/last good one stays/).length === 1)
  for (let n = 0; n < 10; n++) t.equal((await rpc(`${gateway.url}/v3/rpc`)).status, 200)
  t.equal(await gateway.metric('a2a_gateway_config_reloads_total{outcome="invalid"}'), 1)

  for (const pid of gateway.workers().values()) process.kill(pid, 'SIGKILL')
  await until(async () => (await (await fetch(`${gateway.adminUrl}/readyz`)).text()).includes('no worker serves'))
  await until(
    () => gateway.said(/^worker \d+ ended/).length === 2 && gateway.workers().size === 2,
    'two others, at the same address',
    60_000
  )
  t.equal((await fetch(`${gateway.adminUrl}/readyz`)).status, 200)
  for (let n = 0; n < 10; n++) t.equal((await rpc(`${gateway.url}/v3/rpc`)).status, 200)
})

t.test('tasks are remembered for all workers', async t => {
  const directory = t.testdir({})
  const card = join(directory, 'card.json')
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          result: { task: { id: 'task-1', contextId: 'c', status: { state: 'TASK_STATE_INPUT_REQUIRED' } } }
        })
      )
    }
  })
  writeFileSync(card, JSON.stringify(plainCard(agent.url, { capabilities: { extensions: [{ uri: 'urn:p' }] } })))
  const gateway = await cluster(
    t,
    oneAgent(
      agent.url,
      [`card: {file: "${card}"}`, 'responses: enforce', 'extensions: [p]'],
      [
        'extensions:',
        '  p:',
        '    uri: urn:p',
        '    mode: enforce',
        '    request:',
        '      - {id: waits, select: {metadata: {in: [message], key: k}}, unless: {taskState: [input-required]}, count: {max: 0}, onUnknown: reject}'
      ]
    )
  )
  const body = (more: object): string => rpcBody('SendMessage', { message: { ...MESSAGE, ...more } })
  const send = async (more: object): Promise<string> =>
    (await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body: body(more) })).text
  t.match(await send({ taskId: 'task-1', metadata: { k: 1 } }), /"error"/, 'nothing is known yet')
  t.match(await send({}), /task-1/)
  for (let n = 0; n < 20; n++) t.match(await send({ taskId: 'task-1', metadata: { k: 1 } }), /"result"/, 'each worker knows')
  t.equal(await gateway.metric('a2a_gateway_tasks_remembered'), 1)
  for (const pid of gateway.workers().values()) process.kill(pid, 'SIGKILL')
  await until(() => gateway.said(/^worker \d+ ended/).length === 2 && gateway.workers().size === 2, 'two others', 60_000)
  t.match(await send({ taskId: 'task-1', metadata: { k: 1 } }), /"result"/, 'also those that come later')
})
