/**
 * What agents of three languages read in hostile protobuf. The expectations are files, so that the tests of the reader need no other
 * language; A2A_TEST_RECORD=1 writes them.
 */
import type { Test } from 'tap'
import t from 'tap'
import { grpcMethodOf } from '#a2a/grpc/methods.js'
import { readCall } from '#a2a/message/call.js'
import { nameId, taskIdOf } from '#a2a/task-id.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import { isDeepStrictEqual } from 'node:util'
import {
  CORPORA,
  CORPUS_NAMES,
  LANGUAGES,
  hex,
  normalised,
  readExpected,
  readingOf,
  readingsOf,
  versionOf,
  writeExpected
} from '../differential/grpc/expected.js'
import type { CorpusName, Expected, Language, Message, Reading } from '../differential/grpc/expected.js'
import { protoJsonOf } from '../differential/grpc/proto-json.js'
import { quietSdk } from '../helpers/agents.js'
import { startGrpcAgent } from '../helpers/grpc-agents.js'
import { grpcGatewayFor } from '../helpers/grpc-gateway.js'
import { RawGrpc, grpcMessage } from '../helpers/grpc-raw.js'
import type { RawResponse } from '../helpers/grpc-raw.js'
import { until } from '../helpers/http.js'
import { field, join, numberField } from '../helpers/protobuf-bytes.js'
import { SETUP_TIMEOUT, programs, startForeignGrpcAgent } from './toolchains.js'

quietSdk()
t.setTimeout(2 * SETUP_TIMEOUT)

interface Agent extends Reader {
  readonly url: string
}

interface Reader {
  readonly raw: RawGrpc
  /** Messages read so far, oldest first. */
  reads (): readonly unknown[]
}

t.before(async () => {
  for (const sdk of ['py-1', 'go-2'] as const) await programs(sdk)
})

t.test('hostile protobuf', async t => {
  const readers: Readonly<Record<Language, Agent>> = {
    python: await foreign(t, 'py-1'), go: await foreign(t, 'go-2'), javascript: await javascript(t)
  }
  await t.test('through the gateway, all agents read what the gateway has read', async t => {
    const [python, go, javascript] = await Promise.all(LANGUAGES.map(language => behindGateway(t, readers[language])))
    for (const corpus of CORPUS_NAMES) {
      const wrong: unknown[] = []
      let reached = 0
      const rows = await recorded(corpus, { python: python!, go: go!, javascript: javascript! })
      for (const [i, message] of CORPORA[corpus]().entries()) {
        const { name, readings } = rows[i]!
        const reads = LANGUAGES.map(language => readingOf(readings, language).read)
        if (reads.every(read => read === undefined)) continue
        reached++
        const ours = gatewayReads(message)
        const others = LANGUAGES.filter((_, of) => !isDeepStrictEqual(reads[of], ours))
        if (!isDeepStrictEqual(others, message.except?.languages ?? [])) wrong.push({ name, ours, others, readings })
      }
      t.same(wrong, [], corpus)
      t.ok(reached > 20, `${corpus}: ${reached} messages reach the agents`)
    }
  })
  for (const corpus of CORPUS_NAMES) {
    const rows = await recorded(corpus, readers)
    if (process.env['A2A_TEST_RECORD'] === '1') writeExpected(corpus, rows)
    t.same(rows, readExpected(corpus), `${corpus}: the agents do what the file says; A2A_TEST_RECORD=1 writes it anew`)
  }
})

function gatewayReads ({ path, bytes }: Message): unknown {
  const result = readProtobuf(bytes, grpcMethodOf(path)!.request, { depth: 64, members: 100_000 })
  return result.ok ? normalised(JSON.parse(JSON.stringify(result.value))) : undefined
}

async function foreign (t: Test, sdk: 'py-1' | 'go-2'): Promise<Agent> {
  const agent = await startForeignGrpcAgent(t, sdk, ['--legacy'])
  const raw = await RawGrpc.to(agent.grpcAddress)
  t.teardown(() => { raw.close() })
  return { raw, reads: agent.reads, url: agent.url }
}

/** The same agent, called through a gateway. */
async function behindGateway (t: Test, { reads, url }: Agent): Promise<Reader> {
  const gateway = await grpcGatewayFor(t, { upstream: url })
  const raw = await RawGrpc.to(gateway.grpcAddress)
  t.teardown(() => { raw.close() })
  return { raw, reads }
}

async function javascript (t: Test): Promise<Agent> {
  const agent = await startGrpcAgent({ kind: 'dual' })
  const raw = await RawGrpc.to(agent.grpcAddress)
  t.teardown(async () => {
    raw.close()
    await agent.close()
  })
  const all: unknown[] = []
  const reads = (): readonly unknown[] => {
    for (const call of agent.grpcCalls.slice(all.length)) all.push(JSON.parse(JSON.stringify(protoJsonOf(call))))
    return all
  }
  return { raw, url: agent.url, reads }
}

async function recorded (corpus: CorpusName, readers: Readonly<Record<Language, Reader>>): Promise<Expected[]> {
  const rows: Expected[] = []
  for (const message of CORPORA[corpus]()) {
    const { name, bytes } = message
    const [python, go, javascript] = await Promise.all(LANGUAGES.map(language => reading(readers[language], message)))
    rows.push({ name, bytes: hex(bytes), readings: readingsOf({ python: python!, go: go!, javascript: javascript! }) })
  }
  return rows
}

const MARKER = grpcMessage(field(2, join(field(1, 'marker'), numberField(4, 1), field(5, field(1, 'message')))))
const isMarker = (read: unknown): boolean => JSON.stringify(read).includes('"marker"')

/** Sends the message and then a marker, which arrives in the agent's log after all that the agent made of the message. */
async function reading ({ raw, reads }: Reader, { path, bytes }: Message): Promise<Reading> {
  const before = reads().length
  const { status } = await raw.call({ path, headers: versionOf(path), body: grpcMessage(bytes) })
  await raw.call({ body: MARKER })
  await until(() => reads().slice(before).some(isMarker), 'the marker', 60_000)
  const [read] = reads().slice(before).filter(one => !isMarker(one))
  return read === undefined ? { status } : { status, read: normalised(withContent(read, path)) }
}

/** The `.proto` file of the Go SDK for 0.3 has another name for the content of a message, and the same number. */
function withContent (read: unknown, path: string): unknown {
  const { message } = read as { message?: { parts?: unknown } }
  if (message?.parts === undefined || grpcMethodOf(path)?.version !== '0.3') return read
  const { parts: content, ...others } = message
  return { ...read as object, message: { ...others, content } }
}

/** Resource names of proto 0.3.0, made from the ids of two tasks. Libraries find the task in them each in its own way. */
const NAMES: readonly ((one: string, other: string) => string)[] = [
  one => `tasks/${one}`,
  one => `tasks/${one}/`,
  one => `tasks/${one}/pushNotificationConfigs/c`,
  one => `tasks/${one}/pushNotificationConfigs/`,
  one => `tasks/${one}/pushNotificationConfigs/c/`,
  one => `tasks/${one}/pushNotificationConfigs/c/d`,
  one => `tasks/${one}//pushNotificationConfigs/c`,
  (one, other) => `tasks/${one}/tasks/${other}`,
  (one, other) => `tasks/${one}/tasks/${other}/pushNotificationConfigs/c`,
  (one, other) => `tasks/${one}/pushNotificationConfigs/tasks/${other}`,
  (one, other) => `tasks/${one}/pushNotificationConfigs/c/tasks/${other}/pushNotificationConfigs/c`,
  (one, other) => `tasks/${one}\ntasks/${other}`,
  (one, other) => `tasks/\ntasks/${one}/tasks/${other}`,
  (one, other) => `tasks/tasks/${one}/${other}`,
  one => `tasks//${one}`,
  one => `tasks/ ${one}`,
  one => `tasks/${one} `,
  one => `tasks/${one}\n`,
  one => `tasks/${one}\0`,
  one => `tasks/${one}?a=b`,
  one => `tasks/${one}:cancel`,
  one => `tasks/%2e/${one}`,
  one => `/tasks/${one}`,
  one => `\ntasks/${one}`,
  one => ` tasks/${one}`,
  one => `a/tasks/${one}`,
  one => `mytasks/${one}`,
  one => `Tasks/${one}`,
  one => one,
  () => 'tasks/',
  () => 'tasks',
  () => ''
]

const oldMethod = (name: string): string => `/a2a.v1.A2AService/${name}`
/** Methods whose response names the task, and the request for a name. */
const NAMED: Readonly<Record<string, (name: string, other: string) => Buffer>> = {
  GetTask: name => field(1, name),
  GetTaskPushNotificationConfig: name => field(1, name),
  ListTaskPushNotificationConfig: name => field(1, name),
  CreateTaskPushNotificationConfig: name => create(name, ''),
  'CreateTaskPushNotificationConfig, the other task in the configuration': (name, other) => create(name, `tasks/${other}/pushNotificationConfigs/c`),
  'CreateTaskPushNotificationConfig, the name in the configuration': (name, other) => create(`tasks/${other}`, name),
  'CreateTaskPushNotificationConfig, no parent': name => create('', name)
}

function create (parent: string, name: string): Buffer {
  const config = field(2, join(field(1, 'c'), field(2, 'https://example.com/hook')))
  return join(field(1, parent), field(2, 'c'), field(3, join(field(1, name), config)))
}

t.test('names of tasks in 0.3: agents read the task that the gateway has read', async t => {
  const agents: Readonly<Record<Language, Agent>> = {
    python: await foreign(t, 'py-1'), go: await foreign(t, 'go-2'), javascript: await javascript(t)
  }
  for (const language of LANGUAGES) {
    const agent = agents[language]
    const { raw } = await behindGateway(t, agent)
    const call = async (to: RawGrpc, method: string, body: Buffer): Promise<RawResponse> => {
      const path = oldMethod(method)
      return await to.call({ path, headers: versionOf(path), body: grpcMessage(body) })
    }
    const begin = async (): Promise<string> => {
      const sent = join(field(1, 'm'), numberField(4, 1), field(5, field(1, 'task')))
      const { messages: [bytes] } = await call(agent.raw, 'SendMessage', field(1, sent))
      const { id } = (result('SendMessage', bytes) as { task: { id: string } }).task
      await call(agent.raw, 'CreateTaskPushNotificationConfig', create(`tasks/${id}`, `tasks/${id}/pushNotificationConfigs/c`))
      return id
    }
    const [one, other] = [await begin(), await begin()]
    const wrong: unknown[] = []
    let named = 0
    for (const [method, request] of Object.entries(NAMED)) {
      const [rpc = ''] = method.split(',')
      for (const nameOf of NAMES) {
        const body = request(nameOf(one, other), other)
        const { status, messages: [bytes] } = await call(raw, rpc, body)
        if (status !== 0) continue
        const gateway = taskOf(oldMethod(rpc), body)
        const found = tasksIn(result(rpc, bytes))
        named += found.length
        if (found.some(id => id !== gateway)) wrong.push({ method, name: nameOf('ONE', 'OTHER'), one, other, gateway, found })
      }
    }
    t.same(wrong, [], `${language}: each response is about the task that the gateway has read`)
    t.ok(named > 30, `${language}: ${named} names in responses`)
  }
})

/** The ids of the tasks in a response: a task, a configuration or a list of configurations. */
function tasksIn (response: unknown): Array<string | null> {
  const { id, name, configs = [] } = response as { id?: string, name?: string, configs?: ReadonlyArray<{ name?: string }> }
  return [...id === undefined ? [] : [id], ...[...name === undefined ? [] : [{ name }], ...configs].map(one => nameId(one.name))]
}

function taskOf (path: string, bytes: Buffer): string | null {
  const { version, operation } = grpcMethodOf(path)!
  const call = readCall({ bytes, binding: 'GRPC', version, contentType: 'application/grpc', restOperation: operation, limits: { depth: 64, members: 10_000 } })
  return taskIdOf(call, null)
}

function result (method: string, bytes: Buffer = Buffer.alloc(0)): unknown {
  const read = readProtobuf(bytes, grpcMethodOf(oldMethod(method))!.response, { depth: 64, members: 10_000 }, true)
  return read.ok ? read.value : null
}
