/** Workers count the push notification configurations of a task together: the primary keeps them. */
import t from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { oneAgent } from '../helpers/gateway.js'
import { call, deleteConfig, PUSH_FORMS, sendWith, setConfig } from '../helpers/push-calls.js'
import type { PushForm } from '../helpers/push-calls.js'
import { idsOfTask } from '../helpers/task-owners.js'
import { cluster } from './kit.js'

quietSdk()

t.test('of 50 configurations at once on two workers, five pass', async t => {
  const form = PUSH_FORMS[0] as PushForm
  const url = 'https://hooks.example.com/1'
  const agent = await startAgent({ kind: 'dual' })
  t.teardown(() => agent.close())
  const gateway = await cluster(t, `${oneAgent(agent.url, ['push: {perTask: 5, resolve: false}'])}\ntelemetry: {logs: {level: debug}}`)
  const { task } = idsOfTask(await call(gateway.url, sendWith(form, null, { url })))
  const seen = await Promise.all(Array.from({ length: 50 }, (_, i) => call(gateway.url, setConfig(form, task, { id: `c${i}`, url }))))
  const passed = seen.flatMap(({ text }, i) => text.includes('"result"') ? [i] : [])
  t.equal(passed.length, 5)
  t.equal(seen.filter(({ text }) => text.includes('PUSH_CONFIGS_EXHAUSTED')).length, 45)
  await call(gateway.url, deleteConfig(form, task, `c${passed[0] ?? 0}`))
  t.match((await call(gateway.url, setConfig(form, task, { id: 'new', url }))).text, '"result"')
  t.match((await call(gateway.url, setConfig(form, task, { id: 'more', url }))).text, 'PUSH_CONFIGS_EXHAUSTED')
  t.equal(new Set((await gateway.heard(/^request$/, 54)).map(line => line.worker)).size, 2, 'both workers took part')
})
