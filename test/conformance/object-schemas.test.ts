/** The flow of the object-schemas extension, v1, over real sockets: each test names the section of its document. */
import t from 'tap'
import type { Test } from 'tap'
import type { Answer } from '../helpers/http.js'
import { call } from '../helpers/http.js'
import type { Bench, BenchOptions } from './kit.js'
import { bench, events } from './kit.js'

const URI = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'
const FIGHT = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { a: { type: 'string' }, b: { type: 'string' } },
  required: ['a', 'b'],
  additionalProperties: false
}
const RESPONSE = { type: 'object', properties: { winner: { type: 'string' } }, required: ['winner'] }
const CARD = {
  capabilities: { streaming: true, extensions: [{ uri: URI, description: 'JSON input' }] },
  schemas: { fightComparison: FIGHT, fightResponse: RESPONSE },
  skills: [{
    id: 'fight-comparison',
    name: 'Fight Comparison',
    description: 'Determines who would win',
    tags: ['comparison'],
    inputModes: ['text/plain', 'application/json;schema=fightComparison'],
    outputModes: ['text/plain', 'application/json;schema=fightResponse']
  }]
}
const TAG = 'application/json;schema=fightComparison'
const GOOD = { a: 'Lion', b: 'Tiger' }
const TASK = { kind: 'task', id: 't1', contextId: 'c1', status: { state: 'submitted' } }

const part = (data: unknown, mimeType: string | null = TAG): Record<string, unknown> =>
  ({ kind: 'data', data, ...(mimeType === null ? {} : { metadata: { mimeType } }) })
const message = (...parts: unknown[]): Record<string, unknown> => ({ kind: 'message', messageId: 'm1', role: 'user', parts })
const fights = (t: Test, options: BenchOptions = {}): Promise<Bench> => bench(t, { card: CARD, result: TASK, ...options })
const ask = ({ send03 }: Bench, ...parts: unknown[]): Promise<Answer> => send03({ message: message(...parts) })

t.test('1: the declaration, the schemas at the root of the card and the modes are served as they are', async t => {
  const { gateway } = await fights(t)
  const card = (await call(`${gateway.url}/.well-known/agent-card.json`)).json() as unknown as typeof CARD
  t.same({ capabilities: card.capabilities, schemas: card.schemas, skills: card.skills }, CARD)
})

t.test('1: without the declaration in the card nothing is validated', async t => {
  const on = await fights(t, { card: { ...CARD, capabilities: { streaming: true } } })
  t.same((await ask(on, part({ a: 1 }))).json().result?.id, 't1')
})

t.test('1: text, files and data without a schema pass unread', async t => {
  const on = await fights(t)
  const file = { kind: 'file', file: { name: 'x', mimeType: 'image/png', bytes: 'AAAA' } }
  for (const one of [{ kind: 'text', text: 'Lion or tiger?' }, file, part({ anything: 1 }, null), part({ a: 1 }, 'application/json')]) {
    t.same((await ask(on, one)).json().result?.id, 't1', JSON.stringify(one))
  }
  t.equal(on.agent.received.length, 4)
})

t.test('2: the message of the document triggers validation without any header, once its id is a string as A2A requires', async t => {
  const on = await fights(t)
  const sent = { kind: 'message', role: 'user', parts: [part({ a: '100 duck sized horses', b: '1 horse sized duck' })] }
  t.match((await on.send03({ message: { ...sent, messageId: 1 } })).json(), { error: { code: -32602, message: /params\.message\.messageId must be a string/ } })
  t.match((await on.send03({ message: { ...sent, messageId: '1' } })).json(), { result: { id: 't1' } })
  t.match((await ask(on, part({ a: 'Lion' }))).json(), { error: { code: -32602 } })
  t.equal(on.agent.received.length, 1)
})

t.test('2: data of another type than object is validated with its schema, and a rule demands objects', async t => {
  const card = { ...CARD, schemas: { ...CARD.schemas, any: true } }
  const list = part([1, 2], 'application/json;schema=any')
  const on = await fights(t, { card })
  t.match((await ask(on, part([1, 2]))).json(), { error: { code: -32602 } }, 'the schema demands an object')
  const sent = { messageId: 'm1', role: 'ROLE_USER', parts: [{ data: [1, 2], mediaType: 'application/json;schema=any' }] }
  t.equal((await on.send({ message: sent })).json().error, undefined, 'the schema allows a list')
  const strict = await fights(t, {
    card,
    agent: ['extensions: [object-schemas, objects]'],
    root: [`extensions: {objects: {uriPattern: "${URI.replace(/v1$/, '*')}", request: [{id: object, select: {part: {data: true, mediaType: "application/json;schema=*"}}, schema: {type: object}, required: false}]}}`]
  })
  t.match((await strict.send({ message: sent })).json(), { error: { code: -32602 } })
  t.match((await ask(strict, list)).json(), { error: { code: -32602 } })
  t.match((await ask(strict, part(GOOD))).json(), { result: { id: 't1' } })
})

t.test('2: a rule limits the media type to the input modes of the card', async t => {
  const part03 = 'select: {metadata: {in: [part], key: mimeType}}'
  const on = await fights(t, {
    agent: ['extensions: [object-schemas, modes]'],
    root: [`extensions: {modes: {uriPattern: "${URI.replace(/v1$/, '*')}", request: [{id: input, ${part03}, schema: {enumFromCard: "/skills/*/inputModes/*"}, required: false}]}}`]
  })
  t.match((await ask(on, part(GOOD))).json(), { result: { id: 't1' } })
  t.match((await ask(on, part({ winner: 'Lion' }, 'application/json;schema=fightResponse'))).json(), { error: { code: -32602 } })
  t.match((await ask(await fights(t), part({ winner: 'Lion' }, 'application/json;schema=fightResponse'))).json(), { result: { id: 't1' } }, 'without the rule')
})

t.test('3: an undeclared name is an error that lists the declared names', async t => {
  const on = await fights(t)
  for (const name of ['nope', 'FightComparison', '__proto__', 'constructor']) {
    const { error } = (await ask(on, part(GOOD, `application/json;schema=${name}`))).json()
    t.match(error, { code: -32005, message: /fightComparison, fightResponse/ }, name)
  }
  t.equal(on.agent.received.length, 0)
})

t.test('3: declared data is validated, and the rejection names every violation', async t => {
  const on = await fights(t)
  const got = await ask(on, part({ a: 1, c: 2 }))
  const { error } = got.json()
  t.match(error, { code: -32602, message: /params\.message\.parts\[0\]\.data/ })
  for (const path of ['data.a', 'data.b', 'data.c']) t.match(got.text, path)
  t.same((await ask(on, part(GOOD))).json().result?.id, 't1')
  t.equal(on.agent.received.length, 1)
})

t.test('3: of several flagged parts only the first counts', async t => {
  const on = await fights(t)
  const text = { kind: 'text', text: 'hi' }
  t.match((await ask(on, text, part(GOOD), part({ a: 1 }))).json(), { result: { id: 't1' } })
  t.match((await ask(on, text, part({ a: 1 }), part(GOOD))).json(), { error: { code: -32602 } })
})

t.test('3: on an existing task every flagged part is rejected because a task is running, and other parts pass', async t => {
  const on = await fights(t)
  for (const parts of [[part(GOOD)], [part({ a: 1 })], [part(GOOD, 'application/json;schema=nope')], [{ kind: 'text', text: 'x' }, part(GOOD)]]) {
    const { error } = (await on.send03({ message: { ...message(...parts), taskId: 't1' } })).json()
    t.match(error, { message: /task/, data: { details: [{ reason: 'INVALID_PARAMS' }, { reason: 'STRUCTURED_INPUT_TASK_RUNNING' }] } }, JSON.stringify(parts))
  }
  t.equal(on.agent.received.length, 0)
  t.match((await on.send03({ message: { ...message({ kind: 'text', text: 'x' }), taskId: 't1' } })).json(), { result: { id: 't1' } })
})

t.test('3: valid input without a task must be answered with a task, also in a stream', async t => {
  const reply = { kind: 'message', messageId: 'a', role: 'agent', parts: [{ kind: 'text', text: 'no task' }] }
  const on = await fights(t, {
    agent: ['responses: enforce'],
    answer: (request, response) => {
      if (request.body.includes('message/stream')) return events(response, reply)
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: reply }))
    }
  })
  t.match((await ask(on, part(GOOD))).json(), { error: { code: -32006 } })
  t.match((await on.send03({ message: message(part(GOOD)) }, [], 'message/stream')).text, /-32006/)
  t.match((await ask(on, { kind: 'text', text: 'hi' })).json(), { result: { messageId: 'a' } }, 'free without structured input')
})

t.test('4: tagged data of artifacts follows its schema, in responses and in streams', async t => {
  let data: unknown
  const artifact = (): unknown => ({ artifactId: 'fight-result', parts: [part(data, 'application/json;schema=fightResponse')] })
  const on = await fights(t, {
    agent: ['responses: enforce'],
    answer: (request, response) => {
      if (request.body.includes('message/stream')) {
        return events(response, TASK, { kind: 'artifact-update', taskId: 't1', contextId: 'c1', artifact: artifact() })
      }
      const result = { ...TASK, status: { state: 'completed' }, artifacts: [artifact()] }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))
    }
  })
  const stream = async (): Promise<string> => (await on.send03({ message: message(part(GOOD)) }, [], 'message/stream')).text
  data = { winner: 'Tiger' }
  t.match((await ask(on, part(GOOD))).json(), { result: { id: 't1' } })
  t.notMatch(await stream(), /-32006/)
  data = { loser: 'Lion' }
  t.match((await ask(on, part(GOOD))).json(), { error: { code: -32006 } })
  t.match((await on.send03({ id: 't1' }, [], 'tasks/get')).json(), { error: { code: -32006 } })
  t.match(await stream(), /-32006/)
})
