/**
 * Data of agents against the schemas in their card, as official clients receive the result: object-schemas, and a rule on metadata that
 * every binding carries.
 */
import t from 'tap'
import type { Turn } from '../helpers/agents.js'
import { ALL, behind, hasTags, isRefusedAnswer, requests, textOf, told, violations } from './responses-kit.js'

const URI = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'
const TAG = 'application/json;schema=animal'
const POLICY = [
  'extensions:',
  '  sizes:',
  '    uri: https://x.test/ext/sizes/v1',
  '    owns: {metadata: [size]}',
  '    response: [{id: number, select: {metadata: {in: [artifact], key: size}}, schema: {type: number}, verdict: reject}]'
]
const GOOD = { name: 'lion' }
const BAD = { name: 7, hush: 'secret-of-the-agent' }

/** By the text of the request. */
function behaviour (turn: Turn): void {
  const part = (data: Record<string, unknown>, mediaType = TAG) => ({ data, mediaType })
  if (turn.text === 'message') return turn.message({ text: 'no task' })
  if (turn.text === 'bad message') return turn.message({ text: 'no task' }, part(BAD))
  turn.task('working')
  switch (turn.text) {
    case 'good': turn.artifact('a', [part(GOOD)], { lastChunk: true, metadata: { size: 1 } }); break
    case 'bad': turn.artifact('a', [part(BAD)], { lastChunk: true }); break
    case 'undeclared': turn.artifact('a', [part(GOOD, 'application/json;schema=stranger')]); break
    case 'untagged': turn.artifact('a', [part(BAD, 'application/json')]); break
    case 'bad size': turn.artifact('a', [{ text: 'x' }], { metadata: { size: 'secret-of-the-agent' } }); break
    case 'bad status': return turn.status('completed', 'done', { parts: [part(BAD)] })
    case 'chunks':
      turn.artifact('a', [part(GOOD)], { append: false, lastChunk: false })
      turn.artifact('a', [part({ name: 7 })], { append: true, lastChunk: false })
      turn.artifact('a', [part(GOOD)], { append: true, lastChunk: true })
      break
    case 'replaced':
      turn.artifact('a', [part(GOOD)], { append: false, lastChunk: false })
      turn.artifact('a', [part(BAD)], { append: false, lastChunk: true })
      break
  }
  turn.status('completed')
}

const AGENT = {
  behaviour,
  card: {
    extensions: [{ uri: URI }, { uri: 'https://x.test/ext/sizes/v1' }],
    schemas: { animal: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } } }
  }
}
const setUp = (responses: 'enforce' | 'observe') => ({
  agent: AGENT,
  responses,
  policies: '[object-schemas, sizes]',
  root: [...POLICY, '    mode: enforce']
})

/** How many events the client has before the refusal; -1: it is not refused. */
const CASES = [
  { text: 'good', before: -1, unary: false },
  { text: 'untagged', before: -1, unary: false },
  { text: 'bad', before: 1, unary: true, rule: 'object-schemas/artifact-parts' },
  { text: 'undeclared', before: 1, unary: true, rule: 'object-schemas/artifact-parts' },
  { text: 'bad status', before: 1, unary: true, rule: 'object-schemas/artifact-parts' },
  { text: 'bad message', before: 0, unary: true, rule: 'object-schemas/artifact-parts' },
  // Text comes in pieces, data does not: each appended DataPart is whole.
  { text: 'chunks', before: 2, unary: true, rule: 'object-schemas/artifact-parts' },
  { text: 'replaced', before: 2, unary: true, rule: 'object-schemas/artifact-parts' },
  { text: 'bad size', before: 1, unary: true, rule: 'sizes/number', untagged: true }
] as const

for (const combination of ALL) {
  const cases = CASES.filter(one => hasTags(combination) || 'untagged' in one || one.before === -1)

  t.test(`enforce: ${combination.name}`, async t => {
    const { gateway, client, agent } = await behind(t, combination, setUp('enforce'))
    const caller = await client()
    let refused = 0
    for (const one of cases) {
      const { text, before } = one
      const unary = one.unary && (hasTags(combination) || 'untagged' in one)
      const sent = await told(caller.send(text))
      if (unary) {
        isRefusedAnswer(t, combination, sent.failure, one.rule, `${text}, send`)
        t.same(sent.values, [])
      } else t.equal(sent.failure, null, `${text}, send`)
      const streamed = await told(caller.stream(text))
      if (before >= 0 && 'rule' in one) {
        refused++
        isRefusedAnswer(t, combination, streamed.failure, one.rule, `${text}, stream`)
        t.equal(streamed.values.length, before, `${text}: events before the refusal`)
      } else {
        t.equal(streamed.failure, null, `${text}, stream`)
        t.match(textOf(streamed.values.at(-1)), /completed|"state":3/, `${text}: to its end`)
      }
      if (text !== 'untagged') t.notMatch(textOf([sent, streamed]), /secret-of-the-agent/, `${text}: what is refused is not told`)
    }
    t.equal(await gateway.metric(requests(combination, 'SendStreamingMessage', 'rejected')), refused)
    t.equal(await gateway.metric('a2a_gateway_streams_active{agent="agent"}'), 0)
    if (hasTags(combination)) {
      t.equal(await gateway.metric(violations('object-schemas', 'artifact-parts', 'observe')), 0, 'nothing is recorded only')
    }
    t.equal(agent.calls().length, cases.length * 2)
    t.notMatch(JSON.stringify(gateway.audits()), /secret-of-the-agent/)
  })

  t.test(`observe: ${combination.name}`, async t => {
    const { gateway, client } = await behind(t, combination, setUp('observe'))
    const caller = await client()
    for (const { text } of cases) {
      t.equal((await told(caller.send(text))).failure, null, `${text}, send`)
      t.equal((await told(caller.stream(text))).failure, null, `${text}, stream`)
    }
    t.equal(await gateway.metric(violations('sizes', 'number', 'observe')), 2)
    if (hasTags(combination)) t.equal(await gateway.metric(violations('object-schemas', 'artifact-parts', 'observe')), 12)
    t.equal(await gateway.metric(requests(combination, 'SendStreamingMessage', 'rejected')), 0)
  })

  // A client of 0.3 cannot name a schema over HTTP+JSON, so no input is structured there.
  if (!hasTags(combination)) continue
  t.test(`structured input: ${combination.name}`, async t => {
    const rule = 'object-schemas/structured-input-yields-task'
    const input = { data: GOOD, mediaType: TAG }
    const { client } = await behind(t, combination, setUp('enforce'))
    const caller = await client()
    isRefusedAnswer(t, combination, (await told(caller.send('message', input))).failure, rule, 'send')
    const streamed = await told(caller.stream('message', input))
    isRefusedAnswer(t, combination, streamed.failure, rule, 'stream')
    t.same(streamed.values, [])
    t.equal((await told(caller.send('good', input))).failure, null, 'a task')
    t.equal((await told(caller.stream('good', input))).failure, null, 'a stream of a task')
    t.equal((await told(caller.send('message'))).failure, null, 'words may be answered by a message')

    const observed = await behind(t, combination, setUp('observe'))
    t.equal((await told((await observed.client()).send('message', input))).failure, null)
    t.equal(await observed.gateway.metric(violations('object-schemas', 'structured-input-yields-task', 'observe')), 1)
  })
}
