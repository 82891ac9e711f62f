/** `access.tasks` in front of an unmodified agent of the official SDK, with two callers: each operation, version and binding. */
import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { Test } from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { gatewayFor } from '../helpers/gateway.js'
import { until } from '../helpers/http.js'
import type { Seen, TaskCall } from '../helpers/task-calls.js'
import { callIn, PLACES } from '../helpers/task-calls.js'
import { as, idsOfTask, keyDirectory, message, ownedYaml, resultOf, rpcCall } from '../helpers/task-owners.js'

quietSdk()

async function owned (t: Test, options: Parameters<typeof ownedYaml>[1] = {}, kind: 'dual' | 'v03' = 'dual') {
  const agent = await startAgent({ kind })
  t.teardown(() => agent.close())
  const gateway = await gatewayFor(t, { yaml: ownedYaml(agent.url, options), baseDir: keyDirectory(t) })
  const [ada, bob, support, nobody] = [as(gateway.url, 'ada'), as(gateway.url, 'bob'), as(gateway.url, 'support'), as(gateway.url, null)]
  return { agent, gateway, ada, bob, support, nobody }
}

t.test('strangers cannot tell the task of another caller from none', async t => {
  const { agent, ada, bob, nobody } = await owned(t)
  const mismatches: object[] = []
  let compared = 0
  for (const version of ['1.0', '0.3'] as const) {
    for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
      for (const place of PLACES) {
        const { task, context } = idsOfTask(await ada(message('pause')))
        const [own, random] = [place[1] === 'context' ? context : task, randomUUID()]
        const what = { version, binding, place }
        agent.received.length = 0
        const [foreign, none, anonymous] = [
          await bob(callIn(place, own, version, binding)),
          await bob(callIn(place, random, version, binding)),
          await nobody(callIn(place, own, version, binding))
        ]
        if (agent.calls().length > 0) mismatches.push({ ...what, problem: 'reached the agent' })
        const text = foreign.text.replaceAll(own, 'ID')
        if (text !== none.text.replaceAll(random, 'ID')) mismatches.push({ ...what, foreign: foreign.text, none: none.text })
        const headOf = ({ status, headers }: Seen): string => JSON.stringify([status, headers])
        if (headOf(foreign) !== headOf(none)) mismatches.push({ ...what, foreign, none })
        const rpc = binding === 'JSONRPC'
        const served =
          foreign.status === (rpc ? 200 : 404) && text.includes('TASK_NOT_FOUND') && text.includes('-32001') === (rpc || version === '0.3')
        if (!served) mismatches.push({ ...what, foreign })
        if (anonymous.status !== 401) mismatches.push({ ...what, anonymous })
        compared++
        // The owner gets what the agent says, which may be an error of its own.
        const mine = await ada(callIn(place, own, version, binding))
        if (mine.text.includes('"gateway/') || mine.headers.some(([name]) => name === 'gateway-decision')) mismatches.push({ ...what, mine })
      }
    }
  }
  t.same(mismatches, [])
  t.equal(compared, 4 * PLACES.length)
})

/** The first task in a response or in the events of a stream. */
function taskIn (text: string): { readonly id: string, readonly contextId: string } | null {
  const texts = text.startsWith('{') ? [text] : [...text.matchAll(/^data: ?(.*)$/gm)].map(([, data = '']) => data)
  for (const one of texts) {
    const body = JSON.parse(one) as { result?: Record<string, unknown>, task?: object }
    const result = body.result ?? body
    const task = (result.task ?? result) as { id?: unknown, contextId?: unknown, status?: unknown }
    if (typeof task.id === 'string' && typeof task.contextId === 'string' && task.status !== undefined) return { id: task.id, contextId: task.contextId }
  }
  return null
}

for (const kind of ['dual', 'v03'] as const) {
  t.test(`tasks made in each version and binding, by send and by stream: agent ${kind}`, async t => {
    const { ada, bob } = await owned(t, {}, kind)
    const mismatches: object[] = []
    let made = 0
    for (const version of kind === 'v03' ? ['0.3'] as const : ['1.0', '0.3'] as const) {
      for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
        for (const operation of ['SendMessage', 'SendStreamingMessage'] as const) {
          const { text } = await ada(callIn([operation, 'task'], '', version, binding))
          const task = taskIn(text)
          if (task === null) {
            mismatches.push({ version, binding, operation, text })
            continue
          }
          made++
          const [mine, foreign, joined] = [
            await ada(callIn(['GetTask', 'task'], task.id, version, binding)),
            await bob(callIn(['GetTask', 'task'], task.id, version, binding)),
            await bob(callIn([operation, 'context'], task.contextId, version, binding))
          ]
          if (!mine.text.includes(task.id)) mismatches.push({ version, binding, operation, mine })
          for (const one of [foreign, joined]) if (!one.text.includes('TASK_NOT_FOUND')) mismatches.push({ version, binding, operation, one })
        }
      }
    }
    t.same(mismatches, [])
    t.equal(made, kind === 'v03' ? 4 : 8)
  })
}

t.test('the rejection, in full', async t => {
  const { ada, bob, gateway } = await owned(t)
  const { task } = idsOfTask(await ada(message('a task')))
  t.same(JSON.parse((await bob(rpcCall('GetTask', { id: task }))).text), {
    jsonrpc: '2.0',
    id: 1,
    error: {
      code: -32001,
      message: 'Task not found.',
      data: [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'TASK_NOT_FOUND', domain: 'a2a-protocol.org', metadata: { rule: 'task-owner' } },
        { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: 'params.id', description: 'Task not found.' }] }
      ]
    }
  })
  await bob(rpcCall('GetTask', { id: 'guess' }))
  await ada(rpcCall('GetTask', { id: task }))
  const count = (outcome: string): Promise<number> => gateway.metric(`a2a_gateway_task_owner_checks_total{agent="agent",outcome="${outcome}"}`)
  t.same([await count('mismatch'), await count('unknown'), await count('match')], [1, 1, 1])
  await until(() => gateway.audits().length === 2, 'two audit lines')
  t.match(gateway.audits(), [{ owner: 'mismatch', reason: 'TASK_NOT_FOUND', rule: 'task-owner', task_id: task }, { owner: 'unknown' }])
})

t.test('owners come back: further messages, streams, and a message that has a context only', async t => {
  const { ada, bob } = await owned(t)
  const first = idsOfTask(await ada(message('pause')))
  t.same(idsOfTask(await ada(message('again', { taskId: first.task, contextId: first.context }))), first)
  const second = idsOfTask(await ada(message('another', { contextId: first.context, referenceTaskIds: [first.task] })))
  t.equal(second.context, first.context)
  const streamed = await ada(message('pause', {}, 'SendStreamingMessage'))
  const id = /"task":\{"id":"([^"]+)"/.exec(streamed.text)?.[1] ?? ''
  t.match((await ada(rpcCall('GetTask', { id }))).text, '"result"', 'the first event of a stream names the task')
  t.match((await bob(rpcCall('GetTask', { id }))).text, 'TASK_NOT_FOUND')
  const { contextId } = resultOf(await ada(message('message'))).message as { contextId: string }
  t.match((await bob(message('hello', { contextId }))).text, 'TASK_NOT_FOUND')
  t.match((await ada(message('hello', { contextId }))).text, '"result"')
})

t.test('lists have the tasks of the caller only', async t => {
  const { ada, bob, support } = await owned(t, { tasks: '{shared: {groups: [support]}}' })
  const mine: string[] = []
  for (let i = 0; i < 7; i++) {
    mine.push(idsOfTask(await ada(message(`task ${i}`))).task)
    await bob(message(`other ${i}`))
  }
  for (const list of [
    (token: string): TaskCall => rpcCall('ListTasks', { pageSize: 3, ...(token === '' ? {} : { pageToken: token }) }),
    (token: string): TaskCall => ({
      method: 'GET',
      path: `/a2a/rest/tasks?pageSize=3&pageToken=${encodeURIComponent(token)}`,
      headers: { 'a2a-version': '1.0' },
      body: null
    })
  ]) {
    const seen: string[] = []
    let token = ''
    let pages = 0
    do {
      const { text } = await ada(list(token))
      const body = JSON.parse(text) as { result?: object }
      const page = (body.result ?? body) as { tasks?: { id: string }[], totalSize: number, nextPageToken?: string }
      t.equal(page.totalSize, page.tasks?.length ?? 0, 'of the caller, on this page')
      seen.push(...(page.tasks ?? []).map(({ id }) => id))
      token = page.nextPageToken ?? ''
      pages++
    } while (token !== '')
    t.ok(pages >= 5, 'pages of the agent')
    t.same(seen.sort(), mine.sort())
  }
  const all = resultOf(await ada(rpcCall('ListTasks', { pageSize: 100 }))) as { tasks: object[], totalSize: number }
  t.same([all.tasks.length, all.totalSize], [7, 7], 'a single page')
  t.equal((resultOf(await support(rpcCall('ListTasks', { pageSize: 100 }))) as { totalSize: number }).totalSize, 14, 'everything')
})

t.test('list: reject', async t => {
  const { agent, ada, support } = await owned(t, { tasks: '{list: reject, shared: {groups: [support]}}' })
  agent.received.length = 0
  t.match((await ada(rpcCall('ListTasks', {}))).text, /"code":-32004.*UNSUPPORTED_OPERATION/)
  t.equal(agent.calls().length, 0)
  t.match((await support(rpcCall('ListTasks', {}))).text, '"result"')
})

t.test('shared callers use all tasks and own those that they create', async t => {
  const { gateway, ada, bob, support } = await owned(t, { tasks: '{shared: {groups: [support]}}' })
  const { task, context } = idsOfTask(await ada(message('pause')))
  t.match((await support(message('help', { taskId: task, contextId: context }))).text, '"result"')
  t.match((await support(rpcCall('GetTask', { id: task }))).text, '"result"')
  t.match((await ada(rpcCall('GetTask', { id: task }))).text, '"result"', 'still of its owner')
  const own = idsOfTask(await support(message('mine')))
  t.match((await ada(rpcCall('GetTask', { id: own.task }))).text, 'TASK_NOT_FOUND')
  t.match((await bob(message('join', { contextId: own.context }))).text, 'TASK_NOT_FOUND')
  t.equal(await gateway.metric('a2a_gateway_task_owner_checks_total{agent="agent",outcome="shared"}'), 2)
})

t.test('shared callers do not become owners of the tasks of others', async t => {
  const { agent, ada, bob, support } = await owned(t, { tasks: '{onUnknown: allow, shared: {groups: [support]}}' })
  const { task } = idsOfTask(await as(agent.url, null)(message('pause')))
  t.match((await support(message('pause', { taskId: task }))).text, '"result"')
  t.match((await ada(message('pause', { taskId: task }))).text, '"result"', 'still of nobody')
  t.match((await bob(rpcCall('GetTask', { id: task }))).text, 'TASK_NOT_FOUND', 'now of ada')
})

t.test('shared by a schema over the caller', async t => {
  const { ada, bob, support } = await owned(t, { tasks: '{shared: {match: {properties: {groups: {contains: {const: support}}}}}}' })
  const { task } = idsOfTask(await ada(message('a task')))
  t.match((await support(rpcCall('GetTask', { id: task }))).text, '"result"')
  t.match((await bob(rpcCall('GetTask', { id: task }))).text, 'TASK_NOT_FOUND')
})

t.test('contexts: any', async t => {
  const { ada, bob } = await owned(t, { tasks: '{contexts: any}' })
  const { task } = idsOfTask(await ada(message('first', { contextId: 'chosen' })))
  t.equal(idsOfTask(await bob(message('second', { contextId: 'chosen' }))).context, 'chosen')
  t.match((await bob(rpcCall('GetTask', { id: task }))).text, 'TASK_NOT_FOUND', 'tasks have owners all the same')
})

t.test('ids are compared exactly', async t => {
  const { agent, ada } = await owned(t)
  const { task } = idsOfTask(await ada(message('a task')))
  agent.received.length = 0
  const others = [task.toUpperCase(), ` ${task}`, `${task} `, `${task}\u0000`, `${task}\u200b`, task.replace('-', '\u2010'), `./${task}`, encodeURIComponent(`${task}/`)]
  for (const id of others.filter(one => one !== task)) t.match((await ada(rpcCall('GetTask', { id }))).text, 'TASK_NOT_FOUND', JSON.stringify(id))
  t.equal(agent.calls().length, 0)
  const encoded = `%${task.charCodeAt(0).toString(16)}${task.slice(1)}`
  t.match((await ada({ ...rpcCall('GetTask', {}), method: 'GET', path: `/a2a/rest/tasks/${encoded}`, body: null })).text, 'BAD_REQUEST_TARGET', 'another spelling of the path')
})

t.test('onUnknown: allow lets tasks pass that the store does not know, and a look claims nothing', async t => {
  const { agent, ada, bob, gateway } = await owned(t, { tasks: '{onUnknown: allow}' })
  const direct = as(agent.url, null)
  const { task } = idsOfTask(await direct(message('pause')))
  t.match((await bob(rpcCall('GetTask', { id: task }))).text, '"result"')
  t.match((await ada(rpcCall('GetTask', { id: task }))).text, '"result"', 'bob does not own it')
  t.match((await ada(message('on', { taskId: task }))).text, '"result"')
  t.match((await bob(rpcCall('GetTask', { id: task }))).text, 'TASK_NOT_FOUND', 'the first message makes it a task of ada')
  t.equal(await gateway.metric('a2a_gateway_task_owner_checks_total{agent="agent",outcome="unknown"}'), 3)
  t.notMatch((await bob(rpcCall('GetTask', { id: task.toUpperCase() }))).text, '"result"')
  // A tenant is no way around: the agent may ignore it.
  t.match((await bob(rpcCall('GetTask', { id: task, tenant: 'x' }))).text, 'TASK_NOT_FOUND')
  t.match((await bob({ ...rpcCall('GetTask', {}), method: 'GET', path: `/a2a/rest/x/tasks/${task}`, body: null })).text, 'TASK_NOT_FOUND')
})

t.test('what the gateway cannot read never reaches the agent, whatever the mode', async t => {
  const { agent, ada, bob } = await owned(t, { agent: ['mode: observe', 'unknownMethods: forward', 'responses: off'] })
  const { task } = idsOfTask(await ada(message('a task')))
  agent.received.length = 0
  const raw = (body: string, headers: Record<string, string> = {}): TaskCall =>
    ({ method: 'POST', path: '/a2a/jsonrpc', headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers }, body })
  const get = (params: string): string => `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":${params}}`
  for (const [what, call] of [
    ['no JSON', raw('{"jsonrpc":"2.0","id":1,"method":"GetTask"')],
    ['two ids', raw(get(`{"id":"x","id":"${task}"}`))],
    ['another type', raw(get(`{"id":["${task}"]}`))],
    ['other letters', raw(get(`{"Id":"${task}"}`))],
    ['no id', raw(get('{}'))],
    ['another media type', raw(get(`{"id":"${task}"}`), { 'content-type': 'text/plain' })],
    ['a method of the other version', raw(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"${task}"}}`)],
    ['no version', raw(get(`{"id":"${task}"}`), { 'a2a-version': '' })],
    ['an unknown version', raw(get(`{"id":"${task}"}`), { 'a2a-version': '7' })],
    ['a batch', raw(`[${get(`{"id":"${task}"}`)}]`)],
    ['a notification', raw(`{"jsonrpc":"2.0","method":"CancelTask","params":{"id":"${task}"}}`)],
    ['two spellings', message('x', { taskId: '', task_id: task })],
    ['many references', message('x', { referenceTaskIds: [...Array.from({ length: 200 }, () => randomUUID()), task] })]
  ] as const) {
    const { text } = await bob(call)
    t.match(text, '"error"', what)
    t.notMatch(text, '"result"', what)
  }
  t.equal(agent.calls().length, 0)
  t.match((await bob(rpcCall('GetTask', { id: task }))).text, 'TASK_NOT_FOUND', 'observe does not apply to owners')
})

t.test('without access.tasks every caller uses every task', async t => {
  const agent = await startAgent({ kind: 'dual' })
  t.teardown(() => agent.close())
  const gateway = await gatewayFor(t, { yaml: ownedYaml(agent.url, { tasks: 'null' }), baseDir: keyDirectory(t) })
  const { task } = idsOfTask(await as(gateway.url, 'ada')(message('a task')))
  t.match((await as(gateway.url, 'bob')(rpcCall('GetTask', { id: task }))).text, '"result"')
})
