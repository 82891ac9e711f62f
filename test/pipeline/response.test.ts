/** The response machine after a rejection: the agent's remaining bytes, end and failure have no effect. */
import t from 'tap'
import type { ResponseDriver, ResponsePlan } from '#pipeline/response/driver.js'
import type { ResponseDecision } from '#policy/response/evaluator.js'
import { ResponseMachine } from '#pipeline/response.js'
import { broken, FORWARD, review } from '../helpers/evaluated-exchange.js'
import { NO_POLICY, STILL } from '../helpers/response-driver.js'
import type { Bytes } from '#wire/chunked-buffer.js'
import { ChunkedBuffer, whole } from '#wire/chunked-buffer.js'

interface Driven { readonly machine: ResponseMachine, readonly done: string[], readonly sent: Buffer[] }

function drive (
  type: string,
  evaluate: (bytes: Bytes) => ResponseDecision,
  { limit = 1_000, holds = true }: { readonly limit?: number, readonly holds?: boolean } = {}
): Driven {
  const done: string[] = []
  const sent: Buffer[] = []
  const driver: ResponseDriver = {
    ...STILL,
    begin: () => { done.push('begin') },
    write: bytes => { done.push('write'); sent.push(bytes); return true },
    finish: rest => { done.push('finish'); sent.push(...rest) },
    reject: ({ rule }) => { done.push(`reject ${rule}`) },
    unusable: why => { done.push(why) }
  }
  const plan: ResponsePlan = {
    echo: { policy: NO_POLICY, headerName: 'A2A-Extensions', requested: [], outbound: [], injected: [], active: [], forbidden: null },
    card: null,
    evaluation: { evaluator: review({ evaluate, buffersBody: holds }), limits: { response: limit, event: limit } },
    anyPage: false
  }
  const machine = new ResponseMachine(plan, driver)
  machine.onHead(200, ['content-type', type])
  return { machine, done, sent }
}

const failing = (): ReturnType<typeof broken> => broken('enforce')

for (const [name, type, first, expected] of [
  ['an event that breaks a rule', 'text/event-stream', 'data: {}\n\n', ['begin', 'reject policy/rule']],
  ['a body above the limit', 'application/json', 'x'.repeat(1_001), ['reject gateway/response-size']],
  ['a type that rules cannot read', 'text/plain', 'hello', ['reject gateway/response-type']]
] as const) {
  t.test(name, async t => {
    const { machine, done } = drive(type, failing)
    machine.onChunk(Buffer.from(first))
    t.same(done, expected)
    t.equal(machine.onChunk(Buffer.from('data: {}\n\n')), true, 'the agent is not paused')
    machine.onEnd()
    machine.onFailure(() => { done.push('reported') })
    t.same(done, expected, 'nothing follows')
  })
}

t.test('a failure before any rejection is reported', async t => {
  const { machine, done } = drive('application/json', failing)
  machine.onChunk(Buffer.from('{'))
  machine.onFailure(() => { done.push('reported') })
  t.same(done, ['reported'])
})

for (const holds of [true, false]) {
  t.test(`a large response that is ${holds ? 'enforced' : 'observed'} stays in the chunks in which it arrived`, async t => {
    const chunks = ['a', 'b', 'c'].map(letter => Buffer.alloc(40_000, letter))
    const seen: Bytes[] = []
    const { machine, sent } = drive('application/json', bytes => { seen.push(bytes); return FORWARD }, { limit: 1_000_000, holds })
    for (const chunk of chunks) machine.onChunk(chunk)
    machine.onEnd()
    const [evaluated] = seen
    t.ok(evaluated instanceof ChunkedBuffer)
    t.equal(whole(evaluated as Bytes).equals(Buffer.concat(chunks)), true)
    t.same(sent.map(chunk => (chunks as Buffer[]).indexOf(chunk)), [0, 1, 2], 'the same memory is forwarded')
  })
}
