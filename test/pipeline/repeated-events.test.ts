/**
 * Streams of events that repeat earlier ones: held or observed, and wherever the bytes are cut, decisions and bytes are those without
 * templates.
 */
import { deepStrictEqual as same } from 'node:assert'
import t from 'tap'
import type { ResponseDriver } from '#pipeline/response/driver.js'
import { ResponseMachine } from '#pipeline/response.js'
import type { ResponseEvaluator } from '#policy/response/evaluator.js'
import { STILL } from '../helpers/response-driver.js'
import { ask, policyFor, rule, URI, V1 } from '../policy/responses.js'

const texts = ['a', 'b\n\n', '', 'é“😀', 'data: x', 'c', 'd', '"e"']
const delta = (text: string): Buffer => V1.artifact([V1.text(text)], { append: true })
const odd = [
  V1.artifact([V1.part({ total: 1 })]),
  V1.artifact([V1.part({ total: 'x' })], { append: true }),
  delta('x').fill('!', 20, 23),
  V1.status('completed'),
  Buffer.from(delta('x').toString().replace('"t1"', '"t2"'))
]
const events = [...texts.map(delta), ...odd.slice(0, 1), ...texts.map(delta)]
const framed = (list: readonly Buffer[]): Buffer => Buffer.concat(list.map((data, i) => {
  return i % 5 === 4
    ? Buffer.concat([Buffer.from(`: note\r\nid: ${i}\r\ndata:`), data, Buffer.from('\r\n\r\n')])
    : Buffer.concat([Buffer.from('data: '), data, Buffer.from('\n\n')])
}))

const POLICIES = {
  enforce: policyFor({ response: [rule()] }, { responses: 'enforce' }),
  observe: policyFor({ response: [rule()] }, { responses: 'observe' })
}

function drive (responses: 'enforce' | 'observe', plain: boolean, chunks: readonly Buffer[]): { readonly found: unknown[], readonly sent: string } {
  const policy = POLICIES[responses]
  const tracer = { policy: () => {}, skipped: () => {}, evaluated: () => {} }
  const asking = { operation: 'SendStreamingMessage', requested: [URI] } as const
  const evaluator = ask(policy, plain ? { ...asking, tracer } : asking).review as ResponseEvaluator
  const found: unknown[] = []
  const sent: Buffer[] = []
  const driver: ResponseDriver = {
    ...STILL,
    write: bytes => { sent.push(bytes); return true },
    finish: rest => { sent.push(...rest) },
    reject: rejection => { found.push(rejection) },
    evaluated: ({ results, ...rest }, event) => {
      found.push([event, rest, results.map(({ kind, taskId, contextId, state }) => [kind, taskId, contextId, state])])
    },
    unreadable: reason => { found.push(reason) }
  }
  const machine = new ResponseMachine({
    echo: { policy, headerName: 'A2A-Extensions', requested: [], outbound: [], injected: [], active: [], forbidden: null },
    card: null,
    evaluation: { evaluator, limits: { response: 10_000, event: 10_000 } },
    anyPage: false
  }, driver)
  machine.onHead(200, ['content-type', 'text/event-stream'])
  for (const chunk of chunks) machine.onChunk(chunk)
  machine.onEnd()
  return { found, sent: Buffer.concat(sent).toString() }
}

const streams = [['without faults', events], ...odd.map((one, i) => [`with odd event ${i}`, [...events, one, delta('z')]] as const)] as const

for (const responses of ['observe', 'enforce'] as const) {
  for (const [index, [name, list]] of streams.entries()) {
    t.test(`${responses}, ${name}`, async t => {
      const stream = framed(list)
      const expected = drive(responses, true, [stream])
      t.ok(expected.found.length >= events.length)
      t.same(drive(responses, false, [stream]), expected)
      t.same(drive(responses, false, Array.from(stream, byte => Buffer.from([byte]))), expected)
      // The events are the same in each stream: together, the streams are cut at every byte.
      for (let cut = 1 + index; cut < stream.length; cut += streams.length) {
        same(drive(responses, false, [stream.subarray(0, cut), stream.subarray(cut)]), expected, `cut at ${cut}`)
      }
    })
  }
}
