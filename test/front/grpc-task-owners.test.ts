/** `access.tasks` over gRPC in front of an unmodified agent of the official SDK: as over HTTP, each operation and version. */
import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { Test } from 'tap'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { Operation } from '#a2a/operations.js'
import type { Version } from '#a2a/versions.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import { quietSdk } from '../helpers/agents.js'
import { gatewayFor } from '../helpers/gateway.js'
import { startGrpcAgent } from '../helpers/grpc-agents.js'
import { RawGrpc } from '../helpers/grpc-raw.js'
import type { RawResponse } from '../helpers/grpc-raw.js'
import type { Place } from '../helpers/task-calls.js'
import { PLACES } from '../helpers/task-calls.js'
import type { CallerName } from '../helpers/task-owners.js'
import { as, credentialsOf, keyDirectory, ownedYaml, rpcCall } from '../helpers/task-owners.js'
import { requestOf } from './grpc-kit.js'

quietSdk()

const HOOK = 'http://127.0.0.1:9/a2a'
const NOT_FOUND = 5
/** Streams of tasks that are not over end at this deadline. */
const DEADLINE = '1S'
type Call = (operation: Operation, value: object, version?: Version) => Promise<RawResponse>

async function owned (t: Test, tasks = '{}') {
  const agent = await startGrpcAgent({ kind: 'dual' })
  t.teardown(() => agent.close())
  const server = 'server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, grpc: {listen: "127.0.0.1:0", publicAddress: "agent.test:443"}}'
  const yaml = ownedYaml(agent.url, { tasks, agent: ['grpc: {}'], root: [server] })
  const gateway = await gatewayFor(t, { yaml, baseDir: keyDirectory(t) })
  const client = await RawGrpc.to(gateway.grpc[0] as string)
  t.teardown(() => { client.close() })
  const by = (name: CallerName | null): Call => async (operation, value, version = '1.0') => await client.call({
    path: grpcMethodFor(operation, version)?.path ?? '',
    body: requestOf(value, operation, version),
    headers: { 'a2a-version': version, 'grpc-timeout': DEADLINE, ...credentialsOf(name) }
  })
  return { agent, gateway, ada: by('ada'), bob: by('bob'), support: by('support'), nobody: by(null), http: { ada: as(gateway.url, 'ada'), bob: as(gateway.url, 'bob') } }
}

function read ({ messages }: RawResponse, operation: Operation, version: Version = '1.0'): Record<string, unknown>[] {
  return messages.map(bytes => {
    const found = readProtobuf(bytes, grpcMethodFor(operation, version)?.response as never, { depth: 100, members: 100_000 })
    if (!found.ok) throw new Error(found.problem.message)
    return found.value
  })
}

/** Null where the version has no such place. */
function requestIn ([operation, where]: Place, id: string, version: Version): object | null {
  const old = version === '0.3'
  if (grpcMethodFor(operation, version) === null || (old && (where === 'reference' || where === 'push'))) return null
  if (operation === 'SendMessage' || operation === 'SendStreamingMessage') {
    const names = where === 'task' ? { taskId: id } : where === 'context' ? { contextId: id } : where === 'reference' ? { referenceTaskIds: [id] } : {}
    const message = { messageId: 'm', role: 'ROLE_USER', [old ? 'content' : 'parts']: [{ text: 'hello' }], ...names }
    return { message, ...(where === 'push' ? { configuration: { taskPushNotificationConfig: { taskId: id, url: HOOK } } } : {}) }
  }
  const config = `tasks/${id}/pushNotificationConfigs/c`
  switch (operation) {
    case 'ListTasks': return { contextId: id }
    case 'CreateTaskPushNotificationConfig':
      return old
        ? { parent: `tasks/${id}`, configId: 'c', config: { name: config, pushNotificationConfig: { id: 'c', url: HOOK } } }
        : { taskId: id, id: 'c', url: HOOK }
    case 'GetTaskPushNotificationConfig':
    case 'DeleteTaskPushNotificationConfig':
      return old ? { name: config } : { taskId: id, id: 'c' }
    case 'ListTaskPushNotificationConfigs': return old ? { parent: `tasks/${id}` } : { taskId: id }
    default: return old ? { name: `tasks/${id}` } : { id }
  }
}

const sent = (text: string, version: Version = '1.0', more: object = {}): object =>
  ({ message: { messageId: 'm', role: 'ROLE_USER', [version === '0.3' ? 'content' : 'parts']: [{ text }], ...more } })

interface Named { readonly id: string, readonly contextId: string }

/** The task in the response to a message. */
function taskIn (response: RawResponse, operation: Operation, version: Version): Named {
  const [first] = read(response, operation, version)
  const task = first?.task as Named | undefined
  if (task === undefined) throw new Error(`${response.status} ${response.message} ${JSON.stringify(first)}`)
  return task
}

t.test('strangers cannot tell the task of another caller from none', async t => {
  const { agent, ada, bob, nobody } = await owned(t)
  const mismatches: object[] = []
  let compared = 0
  for (const version of ['1.0', '0.3'] as const) {
    for (const place of PLACES) {
      if (requestIn(place, '', version) === null) continue
      const [operation] = place
      const { id, contextId } = taskIn(await ada('SendMessage', sent('pause', version), version), 'SendMessage', version)
      const [own, random] = [place[1] === 'context' ? contextId : id, randomUUID()]
      const ask = async (call: Call, id: string): Promise<RawResponse> =>
        await call(operation, requestIn(place, id, version) ?? {}, version)
      const before = agent.grpcCalls.length
      const [foreign, none, anonymous] = [await ask(bob, own), await ask(bob, random), await ask(nobody, own)]
      const what = { version, place }
      if (agent.grpcCalls.length > before) mismatches.push({ ...what, problem: 'reached the agent' })
      const bytesOf = ({ headers: { date, ...headers }, messages, ...rest }: RawResponse): string =>
        JSON.stringify({ headers, messages: messages.map(one => one.toString('hex')), ...rest })
      if (bytesOf(foreign).replaceAll(own, 'ID') !== bytesOf(none).replaceAll(random, 'ID')) mismatches.push({ ...what, foreign: bytesOf(foreign), none: bytesOf(none) })
      if (foreign.status !== NOT_FOUND || foreign.message !== 'Task not found.') mismatches.push({ ...what, status: foreign.status, message: foreign.message })
      if (anonymous.status !== 16) mismatches.push({ ...what, anonymous: anonymous.status })
      compared++
      // The owner gets what the agent says, which may be an error of its own.
      const mine = await ask(ada, own)
      if (mine.headers['gateway-decision'] !== undefined && mine.status !== 4) mismatches.push({ ...what, mine: mine.message })
    }
  }
  t.same(mismatches, [])
  t.equal(compared, PLACES.length + PLACES.length - 4, 'all places of 1.0; 0.3 has neither lists of tasks, nor references, nor the task of a configuration')
})

t.test('owners are recorded from gRPC responses, and count over every binding', async t => {
  const { ada, bob, http } = await owned(t)
  const mismatches: object[] = []
  for (const version of ['1.0', '0.3'] as const) {
    for (const operation of ['SendMessage', 'SendStreamingMessage'] as const) {
      const { id, contextId } = taskIn(await ada(operation, sent('pause', version), version), operation, version)
      for (const asked of ['1.0', '0.3'] as const) {
        const get = requestIn(['GetTask', 'task'], id, asked) ?? {}
        const [mine, foreign] = [await ada('GetTask', get, asked), await bob('GetTask', get, asked)]
        const separate = mine.status === 0 && foreign.status === NOT_FOUND
        if (!separate) mismatches.push({ version, operation, asked, mine: mine.message, foreign: foreign.message })
      }
      const joined = await bob(operation, sent('hello', version, { contextId }), version)
      if (joined.status !== NOT_FOUND) mismatches.push({ version, operation, joined: joined.message })
      const [mine, foreign] = [await http.ada(rpcCall('GetTask', { id })), await http.bob(rpcCall('GetTask', { id }))]
      if (!mine.text.includes(id) || !foreign.text.includes('TASK_NOT_FOUND')) mismatches.push({ version, operation, mine: mine.text, foreign: foreign.text })
    }
  }
  t.same(mismatches, [])
  const made = await http.ada(rpcCall('SendMessage', sent('pause')))
  const { id } = (JSON.parse(made.text) as { result: { task: Named } }).result.task
  t.same([(await ada('GetTask', { id })).status, (await bob('GetTask', { id })).status], [0, NOT_FOUND], 'a task that was made over HTTP')
})

t.test('ListTasks over gRPC has the tasks of the caller only', async t => {
  const { ada, bob, support } = await owned(t, '{shared: {groups: [support]}}')
  const made: Record<'ada' | 'bob', string[]> = { ada: [], bob: [] }
  for (let i = 0; i < 3; i++) {
    made.ada.push(taskIn(await ada('SendMessage', sent('pause')), 'SendMessage', '1.0').id)
    if (i < 2) made.bob.push(taskIn(await bob('SendStreamingMessage', sent('pause')), 'SendStreamingMessage', '1.0').id)
  }
  const list = async (call: Call): Promise<{ ids: string[], totalSize: unknown }> => {
    const response = await call('ListTasks', {})
    const [{ tasks = [], totalSize } = {}] = read(response, 'ListTasks') as { tasks?: Named[], totalSize?: unknown }[]
    return { ids: tasks.map(({ id }) => id).sort(), totalSize }
  }
  t.same(await list(ada), { ids: [...made.ada].sort(), totalSize: 3 })
  t.same(await list(bob), { ids: [...made.bob].sort(), totalSize: 2 })
  t.same(await list(support), { ids: [...made.ada, ...made.bob].sort(), totalSize: 5 }, 'shared callers')
  const [page] = read(await ada('ListTasks', { pageSize: 1 }), 'ListTasks') as { tasks?: Named[], nextPageToken?: string }[]
  t.ok(page?.nextPageToken, 'the agent has another page')
  for (const call of [ada, bob]) {
    const [next] = read(await call('ListTasks', { pageSize: 50, pageToken: page?.nextPageToken }), 'ListTasks') as { tasks?: Named[] }[]
    const ids = next?.tasks?.map(({ id }) => id) ?? []
    t.ok(ids.length > 0 && ids.every(id => made[call === ada ? 'ada' : 'bob'].includes(id)), 'a page token of another caller shows no tasks of others')
  }
  const { ada: strict } = await owned(t, '{list: reject}')
  t.match(await strict('ListTasks', {}), { status: 9 })
})
