/** `access.tasks` and responses of agents: whose task they name, races, and responses that cannot be read. */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import t from 'tap'
import type { Test } from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import { freePort, until } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import type { TaskCall } from '../helpers/task-calls.js'
import { as, idsOfTask, keyDirectory, message, ownedYaml, resultOf, rpcCall } from '../helpers/task-owners.js'

const AGENT_PATH = '/rpc'
const at = (call: TaskCall): TaskCall => ({ ...call, path: AGENT_PATH })
const send = (text: string, more: object = {}, method = 'SendMessage'): TaskCall => at(message(text, more, method))
const get = (id: string): TaskCall => at(rpcCall('GetTask', { id }))

const taskOf = (id: string, contextId: string): object => ({ id, contextId, status: { state: 'TASK_STATE_WORKING' } })
const result = (value: object): string => JSON.stringify({ jsonrpc: '2.0', id: 1, result: value })

/** An agent that responds with what the text of the message says, as JSON. */
async function obedient (t: Test, options: Parameters<typeof ownedYaml>[1] = {}) {
  const agent = await fakeAgent(t, {
    answer: (request, response) => {
      const { method, params } = JSON.parse(request.body.toString()) as {
        method: string
        params: { message?: { parts: { text: string }[] }, id?: string }
      }
      const text = params.message?.parts[0]?.text
      if (text === undefined) return json(response, result(method === 'ListTasks' ? { tasks: [] } : taskOf(params.id ?? '', 'c')))
      const { type = 'application/json', body, status = 200 } = JSON.parse(text) as { type?: string, body: string, status?: number }
      response.statusCode = status
      response.setHeader('content-type', type)
      response.end(body)
    }
  })
  const gateway = await gatewayFor(t, { yaml: ownedYaml(agent.url, options), baseDir: keyDirectory(t) })
  return { agent, gateway, ada: as(gateway.url, 'ada'), bob: as(gateway.url, 'bob') }
}

function json (response: ServerResponse, body: string): void {
  response.setHeader('content-type', 'application/json')
  response.end(body)
}

const says = (body: string, type?: string, status?: number): string => JSON.stringify({ body, type, status })
const task = (id: string, contextId: string): string => says(result({ task: taskOf(id, contextId) }))
const events = (...values: object[]): string => says(values.map(value => `data: ${result(value)}\n\n`).join(''), 'text/event-stream')

t.test('a response with the task or the context of another caller is an error', async t => {
  const { gateway, ada, bob } = await obedient(t)
  await ada(send(task('t1', 'c1')))
  for (const [what, text] of [
    ['task', task('t1', 'c2')],
    ['context', task('t2', 'c1')],
    ['message', says(result({ message: { messageId: 'm', role: 'ROLE_AGENT', contextId: 'c1', parts: [{ text: 'SECRET' }] } }))],
    ['message of a task', says(result({ message: { messageId: 'm', role: 'ROLE_AGENT', taskId: 't1', parts: [{ text: 'SECRET' }] } }))]
  ] as const) {
    const { text: got } = await bob(send(text))
    t.match(got, /"code":-32006.*INVALID_AGENT_RESPONSE.*task-owner/, what)
    t.notMatch(got, /SECRET|"t1"|"c1"/, what)
  }
  await until(() => gateway.audits().length === 4, 'audit lines')
  t.match(gateway.audits()[0], { phase: 'response', owner: 'mismatch', rule: 'task-owner' })
  t.equal(await gateway.metric('a2a_gateway_task_owner_checks_total{agent="agent",outcome="mismatch"}'), 4)
  t.match((await ada(get('t1'))).text, '"result"')
})

t.test('streams: the event that names the task of another caller ends the stream', async t => {
  const { ada, bob } = await obedient(t)
  await ada(send(task('t1', 'c1')))
  const update = (taskId: string, state: string): object => ({ statusUpdate: { taskId, contextId: 'c9', status: { state } } })
  const { text } = await bob(send(events({ task: taskOf('t9', 'c9') }, update('t9', 'TASK_STATE_WORKING'), update('t1', 'TASK_STATE_FAILED')), {}, 'SendStreamingMessage'))
  t.match(text, /"t9".*TASK_STATE_WORKING.*-32006/s)
  t.notMatch(text, /TASK_STATE_FAILED/)
  t.match((await bob(get('t9'))).text, '"result"', 'the first event has named the task')
  t.match((await ada(get('t9'))).text, 'TASK_NOT_FOUND')
})

t.test('a response that cannot be read does not pass', async t => {
  const { ada } = await obedient(t)
  for (const [what, text] of [
    ['no JSON', says('{"jsonrpc":"2.0"')],
    ['another type', says('task t1', 'text/plain')],
    ['two ids', says('{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"a","id":"b","status":{"state":"TASK_STATE_WORKING"}}}}')],
    ['two spellings', says(result({ statusUpdate: { taskId: 'a', task_id: 'b', status: { state: 'TASK_STATE_WORKING' } } }))],
    ['no result', says(result({ nothing: 1 }))],
    ['an id of another type', says(result({ task: { id: 7, status: { state: 'TASK_STATE_WORKING' } } }))]
  ] as const) t.match((await ada(send(text))).text, /"code":-32006/, what)
  t.match((await ada(send(says('{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"tired"}}')))).text, 'tired', 'errors of the agent pass')
})

t.test('lists: what cannot be read, and tasks without an owner', async t => {
  let list = '{}'
  const agent = await fakeAgent(t, {
    answer: (request, response) => {
      const text = request.body.toString()
      json(response, text.includes('ListTasks') ? list : result({ task: taskOf((JSON.parse(text) as { params: { message: { parts: { text: string }[] } } }).params.message.parts[0]?.text ?? '', 'c') }))
    }
  })
  const directory = keyDirectory(t)
  const gateway = await gatewayFor(t, { yaml: ownedYaml(agent.url), baseDir: directory })
  const ada = as(gateway.url, 'ada')
  await ada(send('mine'))
  const ids = (text: string): string[] => (JSON.parse(text) as { result: { tasks: { id: string }[] } }).result.tasks.map(({ id }) => id)
  const listed = async (tasks: object[], more: object = {}): Promise<string> => {
    list = result({ tasks, nextPageToken: 'next', pageSize: 50, totalSize: 4321, ...more })
    return (await ada(at(rpcCall('ListTasks', {})))).text
  }
  const other = taskOf('other', 'c')
  const mine = taskOf('mine', 'c')
  t.same(ids(await listed([other, mine, other])), ['mine'])
  t.same(JSON.parse(await listed([other])), { jsonrpc: '2.0', id: 1, result: { tasks: [], nextPageToken: 'next', pageSize: 50, totalSize: 0 } })
  t.notMatch(await listed([]), '4321', 'an empty page does not count the tasks of others')
  t.notMatch(await listed([mine], { total_size: 4321 }), '4321', 'another spelling')
  t.same(ids(await listed(Array.from({ length: 1_000 }, (_, i) => i === 500 ? mine : taskOf(`x${i}`, 'c')))), ['mine'], 'a large page')
  for (const broken of ['{"jsonrpc":"2.0","id":1,"result":{"tasks":[{"id":"other"', result({ tasks: 7 }), result({ tasks: [mine, { secret: 1 }] }), '"other"']) {
    list = broken
    t.match((await ada(at(rpcCall('ListTasks', {})))).text, /"code":-32006/, broken)
  }
  const lenient = await gatewayFor(t, { yaml: ownedYaml(agent.url, { tasks: '{onUnknown: allow}' }), baseDir: directory })
  list = result({ tasks: [other, mine], totalSize: 2 })
  t.same(ids((await as(lenient.url, 'ada')(at(rpcCall('ListTasks', {})))).text), ['other', 'mine'])
})

t.test('race: nobody can subscribe to a task before its owner is known, and nobody else after it', async t => {
  const waiting: ServerResponse[] = []
  const agent = await fakeAgent(t, {
    answer: (request, response) => {
      if (request.body.includes('SendMessage')) {
        waiting.push(response)
        return
      }
      response.setHeader('content-type', 'text/event-stream')
      response.end(`data: ${result({ task: taskOf('t1', 'c1') })}\n\n`)
    }
  })
  const gateway = await gatewayFor(t, { yaml: ownedYaml(agent.url), baseDir: keyDirectory(t) })
  const [ada, bob] = [as(gateway.url, 'ada'), as(gateway.url, 'bob')]
  const subscribe = at(rpcCall('SubscribeToTask', { id: 't1' }))
  const sent = ada(send('make t1'))
  await until(() => waiting.length === 1, 'the message')
  t.match((await bob(subscribe)).text, 'TASK_NOT_FOUND', 'the agent knows the task, and the gateway not yet')
  if (waiting[0] !== undefined) json(waiting[0], result({ task: taskOf('t1', 'c1') }))
  t.equal(idsOfTask(await sent).task, 't1')
  const [own, other] = await Promise.all([ada(subscribe), bob(subscribe)])
  t.match(own.text, '"result"')
  t.match(other.text, 'TASK_NOT_FOUND')
})

t.test('of callers whose messages name the same new context, the first one owns it', async t => {
  const agent = await fakeAgent(t, {
    answer: (request, response) => {
      const { contextId } = (JSON.parse(request.body.toString()) as { params: { message: { contextId: string } } }).params.message
      json(response, result({ task: taskOf(randomUUID(), contextId) }))
    }
  })
  const gateway = await gatewayFor(t, { yaml: ownedYaml(agent.url, { tasks: '{onUnknown: allow}' }), baseDir: keyDirectory(t) })
  const callers = [as(gateway.url, 'ada'), as(gateway.url, 'bob')]
  const responses = await Promise.all(Array.from({ length: 50 }, async (_, i) => (await callers[i % 2]?.(send('hello', { contextId: 'shared' })))?.text ?? ''))
  const passed = [0, 1].map(caller => responses.filter((text, i) => i % 2 === caller && text.includes('"result"')).length)
  t.same([...passed].sort((a, b) => a - b), [0, 25], 'one caller gets all responses, the other none')
})

t.test('without its store', async t => {
  const root = [`state: {store: "redis://127.0.0.1:${await freePort()}"}`]
  const strict = await obedient(t, { root })
  for (const call of [send(task('t1', 'c1')), get('t1'), get('t2'), at(rpcCall('ListTasks', {})), at(rpcCall('CancelTask', { id: 't1' }))]) {
    const { status, text, headers } = await strict.ada(call)
    t.equal(status, 503, text)
    t.match(text, /STATE_UNAVAILABLE/)
    t.match(headers.find(([name]) => name === 'retry-after'), ['retry-after', '1'])
  }
  t.equal(strict.agent.received.length, 0, 'the agent does no work')
  t.ok(await strict.gateway.metric('a2a_gateway_task_owner_checks_total{agent="agent",outcome="unavailable"}') > 0)
  const lenient = await obedient(t, { root, tasks: '{onUnknown: allow}' })
  t.match((await lenient.ada(send(task('t1', 'c1')))).text, '"result"')
  t.match((await lenient.bob(get('t1'))).text, '"result"')
  t.same(resultOf(await lenient.bob(at(rpcCall('ListTasks', {})))), { tasks: [] })
})

t.test('after a restart nobody owns the tasks', async t => {
  const { agent, ada } = await obedient(t)
  await ada(send(task('t1', 'c1')))
  const again = await gatewayFor(t, { yaml: ownedYaml(agent.url), baseDir: keyDirectory(t) })
  t.match((await as(again.url, 'ada')(get('t1'))).text, 'TASK_NOT_FOUND')
})
