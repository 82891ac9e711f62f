/** The client reads exactly what the gateway has evaluated of a response. Official clients read every odd response of the corpus. */
import t from 'tap'
import { quietSdk } from '../helpers/agents.js'
import { NIGHTLY_ONLY, partOf } from '../helpers/seed.js'
import { answerBench } from './responses/bench.js'
import { compareResults } from './responses/compare.js'
import { corpus } from './responses/corpus.js'
import { answerFaults } from './responses/faults.js'
import { JUSTIFIED } from './responses/justified.js'
import { NO_CONTENT, NO_RESULT } from './responses/reading.js'

quietSdk()
t.setTimeout(1_200_000)

const used = new Set<string>()
const answers = partOf(corpus())

t.test(`${answers.length} responses`, async t => {
  const bench = await answerBench(t)
  for (const pair of bench.clients) {
    const { kind, form } = pair
    const given = answers.filter(answer => answer.form === form)
    let read = 0
    let forwarded = 0
    for (const answer of given) {
      const seen = await bench.run(pair, answer)
      if (seen.client.results.length > 0) read++
      if (seen.judgement.rejection === null) forwarded++
      const faults = answerFaults(pair, answer, seen, used)
      if (faults.length > 0) t.same(faults, [], `${answer.name}, ${kind}`)
    }
    // If every reader rejected these responses, the corpus would show nothing.
    t.ok(read > given.length / 4, `${kind}, ${form.binding} ${form.version}: ${read} of ${given.length} were read`)
    t.ok(forwarded > given.length / 3, `${forwarded} were forwarded`)
  }
})

t.test('every justified difference occurs', { skip: NIGHTLY_ONLY }, async t => {
  for (const { why } of JUSTIFIED) t.ok(used.has(why), why)
})

t.test('a different reading is found', async t => {
  const part = { kind: 'data', value: { a: 1 }, mediaTypes: ['a/b'], metadata: null } as const
  const content = { ...NO_CONTENT, id: 'a', role: 'agent', taskId: 't', parts: [part] } as const
  const reading = {
    ...NO_RESULT,
    kind: 'task',
    taskId: 't',
    state: 'working',
    status: content,
    artifacts: [content],
    history: [content]
  } as const
  t.same(compareResults(reading, reading), [])
  for (const [path, other] of [
    ['kind', { ...reading, kind: 'message' }],
    ['taskId', { ...reading, taskId: 'u' }],
    ['contextId', { ...reading, contextId: 'c' }],
    ['state', { ...reading, state: 'completed' }],
    ['append', { ...reading, append: true }],
    ['metadata', { ...reading, metadata: [1] }],
    ['message.id', { ...reading, message: content }],
    ['status.role', { ...reading, status: { ...content, role: 'user' } }],
    ['status.extensions', { ...reading, status: { ...content, extensions: ['urn:a'] } }],
    ['artifacts[0].id', { ...reading, artifacts: [{ ...content, id: 'b' }] }],
    ['artifacts[0].metadata', { ...reading, artifacts: [{ ...content, metadata: { a: 1 } }] }],
    ['artifacts[0].parts[0].value', { ...reading, artifacts: [{ ...content, parts: [{ ...part, value: { a: '1' } }] }] }],
    ['artifacts[0].parts[0].mediaType', { ...reading, artifacts: [{ ...content, parts: [{ ...part, mediaTypes: ['a/c'] }] }] }],
    ['artifacts[1].id', { ...reading, artifacts: [content, content] }],
    ['history[0].parts[1].kind', { ...reading, history: [{ ...content, parts: [part, part] }] }]
  ] as const) t.equal(compareResults(reading, other)[0]?.path, path, path)
})
