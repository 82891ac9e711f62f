/** `push.perTask` in front of an unmodified agent of the official SDK: each place of a configuration, each version and binding. */
import t from 'tap'
import type { Test } from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, deleteConfig, PUSH_FORMS, sendWith, setConfig } from '../helpers/push-calls.js'
import type { PushForm } from '../helpers/push-calls.js'
import { fakeAgent } from '../helpers/raw.js'
import type { Seen } from '../helpers/task-calls.js'
import { idsOfTask } from '../helpers/task-owners.js'

quietSdk()

const URL = 'https://hooks.example.com/1'
const V1 = PUSH_FORMS[0] as PushForm

const isFull = ({ text }: Seen): boolean => text.includes('maximum number of push notification configurations')

async function counted (t: Test, perTask: number, more = '') {
  const agent = await startAgent({ kind: 'dual' })
  t.teardown(() => agent.close())
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [`push: {perTask: ${perTask}, resolve: false${more}}`]) })
  const newTask = async (): Promise<string> => idsOfTask(await call(agent.url, sendWith(V1, null, { id: 'first', url: URL }))).task
  return { agent, gateway, newTask }
}

for (const form of PUSH_FORMS) {
  t.test(`${form.binding} ${form.version}`, async t => {
    const { agent, gateway, newTask } = await counted(t, 2)
    const task = await newTask()
    const set = (id?: string): Promise<Seen> => call(gateway.url, setConfig(form, task, { ...(id === undefined ? {} : { id }), url: URL }))
    t.notOk(isFull(await set('a')))
    t.notOk(isFull(await set('b')))
    agent.received.length = 0
    const rejected = await set('c')
    t.ok(isFull(rejected))
    t.equal(rejected.status, form.binding === 'JSONRPC' ? 200 : 400)
    t.match(rejected.text, form.version === '0.3' && form.binding === 'HTTP+JSON' ? 'by its id' : 'PUSH_CONFIGS_EXHAUSTED')
    t.notOk(rejected.text.includes(task))
    t.ok(isFull(await set()), 'without an id')
    for (const stream of [false, true]) t.ok(isFull(await call(gateway.url, sendWith(form, task, { id: 'd', url: URL }, 'more', stream))), `sent, stream ${stream}`)
    t.equal(agent.calls().length, 0, 'nothing arrived')
    t.notOk(isFull(await set('a')), 'the same id replaces')
    t.notOk(isFull(await call(gateway.url, sendWith(form, task, { id: 'b', url: URL }, 'pause'))), 'sent again')
    t.notOk(isFull(await call(gateway.url, sendWith(form, null, { id: 'z', url: URL }))), 'another task')
    await call(gateway.url, deleteConfig(form, task, 'unknown'))
    t.ok(isFull(await set('c')), 'an unknown one frees nothing')
    t.notOk(/error/.test((await call(gateway.url, deleteConfig(form, task, 'a'))).text))
    t.notOk(isFull(await set('c')), 'a delete frees one')
    t.ok(isFull(await set('d')))
  })
}

t.test('of 50 configurations at once, exactly N pass; ids do not matter', async t => {
  const { gateway, newTask } = await counted(t, 7)
  for (const form of PUSH_FORMS) {
    const task = await newTask()
    const seen = await Promise.all(Array.from({ length: 50 }, (_, i) => call(gateway.url, setConfig(form, task, { id: `c${i}`, url: URL }))))
    t.equal(seen.filter(one => !isFull(one)).length, 7)
    const other = await newTask()
    await Promise.all(Array.from({ length: 50 }, () => call(gateway.url, setConfig(form, other, { id: 'c', url: URL }))))
    const more = await Promise.all(Array.from({ length: 50 }, (_, i) => call(gateway.url, setConfig(form, other, { id: `c${i}`, url: URL }))))
    t.equal(more.filter(one => !isFull(one)).length, 6, 'one id counts once')
  }
})

t.test('a configuration without an id counts under the id that the agent gives it', async t => {
  const { gateway, newTask } = await counted(t, 2)
  for (const form of PUSH_FORMS) {
    const task = await newTask()
    const made = await call(gateway.url, setConfig(form, task, { url: URL }))
    await call(gateway.url, setConfig(form, task, { url: URL }))
    t.ok(isFull(await call(gateway.url, setConfig(form, task, { url: URL }))), 'the SDK gives each an id of its own')
    const [id = ''] = /[\da-f]{8}-[\da-f-]{27}/.exec(made.text.replaceAll(task, '')) ?? []
    await call(gateway.url, deleteConfig(form, task, id))
    t.notOk(isFull(await call(gateway.url, setConfig(form, task, { id: 'c', url: URL }))), `${form.binding} ${form.version}, ${made.text}`)
    t.ok(isFull(await call(gateway.url, setConfig(form, task, { id: 'd', url: URL }))))
  }
})

t.test('an agent that takes the id of the task has one configuration without an id', async t => {
  const agent = await fakeAgent(t, {
    answer: (request, response) => {
      const { id, params } = JSON.parse(request.body.toString()) as { id: number, params: { taskId: string } }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { id: params.taskId, ...params } }))
    }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['push: {perTask: 2, resolve: false}']) })
  const set = (config: { readonly id?: string }): Promise<Seen> => call(gateway.url, { ...setConfig(V1, 't', { url: URL, ...config }), path: '/rpc' })
  for (let i = 0; i < 5; i++) t.notOk(isFull(await set({})))
  t.notOk(isFull(await set({ id: 'b' })))
  t.ok(isFull(await set({ id: 'c' })))
})

t.test('what the agent rejects does not count', async t => {
  const { gateway, newTask } = await counted(t, 1)
  for (const form of PUSH_FORMS) {
    for (let i = 0; i < 3; i++) t.notOk(isFull(await call(gateway.url, setConfig(form, 'no-such-task', { id: `c${i}`, url: URL }))))
  }
  const task = await newTask()
  t.match((await call(gateway.url, setConfig(V1, task, { id: 'c', url: URL }))).text, '"result"')
})

t.test('observe records and forwards; off and null count nothing', async t => {
  const { gateway, newTask } = await counted(t, 1, ', mode: observe')
  const task = await newTask()
  for (const id of ['a', 'b', 'c']) t.match((await call(gateway.url, setConfig(V1, task, { id, url: URL }))).text, '"result"')
  t.equal(await gateway.metric('a2a_gateway_violations_total{agent="agent",extension="gateway",rule="push-per-task",phase="request",mode="observe"}'), 2)
})

t.test('two tasks in one request', async t => {
  const { gateway, newTask, agent } = await counted(t, 1)
  const [one, two] = [await newTask(), await newTask()]
  agent.received.length = 0
  const seen = await call(gateway.url, sendWith(V1, one, { id: 'a', url: URL, ...{ taskId: two } }))
  t.match(seen.text, 'names several tasks')
  t.equal(agent.calls().length, 0)
})

t.test('races between a delete and a create, and lost responses, never free too much', async t => {
  let fail: 'break' | 'error' | null = null
  const agent = await fakeAgent(t, {
    answer: (request, response) => {
      const { id, method, params } = JSON.parse(request.body.toString()) as { id: number, method: string, params: { id: string } }
      if (fail === 'break') return response.destroy()
      response.setHeader('content-type', 'application/json')
      const slow = method.startsWith('Delete') ? 60 : 0
      setTimeout(() => {
        response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(fail === 'error' ? { error: { code: -32603, message: 'no' } } : { result: params }) }))
      }, slow)
    }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['push: {perTask: 2, resolve: false}']) })
  const at = (one: ReturnType<typeof setConfig>) => call(gateway.url, { ...one, path: '/rpc' })
  const set = (id: string, task = 't') => at(setConfig(V1, task, { id, url: URL }))
  await set('a')
  await Promise.all([at(deleteConfig(V1, 't', 'a')), new Promise(resolve => setTimeout(resolve, 20)).then(() => set('a'))])
  await set('b')
  t.ok(isFull(await set('c')), 'set again while it was deleted: it counts')
  fail = 'error'
  await at(deleteConfig(V1, 't', 'a'))
  fail = null
  t.ok(isFull(await set('c')), 'a delete that failed frees nothing')
  await at(deleteConfig(V1, 't', 'a'))
  fail = 'break'
  await set('d')
  fail = null
  t.ok(isFull(await set('e')), 'nobody knows whether the agent stored it: it counts')
  t.notOk(isFull(await set('d')))
})
