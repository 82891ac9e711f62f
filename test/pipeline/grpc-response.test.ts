/** The machine for gRPC responses: what the client gets of head, messages and trailers, with every kind of evaluator. */
import fc from 'fast-check'
import t from 'tap'
import type { ResponseDecision } from '#policy/response/evaluator.js'
import { GRPC_CODES } from '#wire/grpc/codes.js'
import { anyText } from '../helpers/any-text.js'
import type { DriveOptions, Recorded } from '../helpers/grpc-machine.js'
import { drive, HEAD, OK } from '../helpers/grpc-machine.js'
import { broken, FORWARD, REMEMBER, review } from '../helpers/evaluated-exchange.js'
import { check } from '../helpers/seed.js'

const A = 'https://example.com/a'
const B = 'https://example.com/b'
const task = (id: string): Record<string, unknown> => ({ id, status: { state: 'TASK_STATE_WORKING' } })
const event = (id: string): Record<string, unknown> => ({ task: task(id) })
const STREAM: DriveOptions = { operation: 'SendStreamingMessage' }
/** Shows the URIs that the agent named, as `echoed` tells them. */
const showing = (): Partial<ReturnType<typeof review>> => {
  let named: readonly string[] = []
  return { echoed: uris => { named = [...uris] }, shown: () => named }
}

/** A whole response of the agent. */
function respond ({ machine }: Recorded, chunks: readonly Buffer[], trailers: readonly string[] = OK, head = HEAD): void {
  machine.onHead(head, false)
  for (const chunk of chunks) machine.onChunk(chunk)
  machine.onTrailers(trailers)
}

t.test('a response that nothing reads: bytes and trailers as sent', async t => {
  const driven = drive({ plan: { echo: null } })
  const bytes = Buffer.from([9, 9, 9])
  respond(driven, [bytes], [
    'grpc-status', '0', 'grpc-message', 'fine', 'x-own', '1', 'x-own', '2', 'a2a-extensions', A,
    'gateway-decision', 'reject;rule="spoofed"', 'connection', 'x-hop', 'x-hop', '1', ':status', '200', 'bad name', '1'
  ], [...HEAD, 'content-length', '3', 'gateway-decision', 'spoofed', 'grpc-status', '5', 'transfer-encoding', 'chunked', 'x-head', '1'])
  t.same(driven.done, ['begin 200', 'write', 'trailers 0'])
  t.same(driven.head, ['content-type', 'application/grpc', 'x-head', '1'])
  t.same(driven.trailers, ['grpc-status', '0', 'grpc-message', 'fine', 'x-own', '1', 'x-own', '2', 'a2a-extensions', A])
  t.same(driven.sent, bytes)
})

t.test('errors of the agent pass unchanged', async t => {
  const status = ['grpc-status', '5', 'grpc-message', 'No%20task', 'grpc-status-details-bin', 'CAU']
  for (const evaluator of [undefined, review(), review({ buffersBody: false, enforces: false })]) {
    const only = drive(evaluator === undefined ? {} : { evaluator })
    only.machine.onHead([...HEAD, ...status, 'gateway-decision', 'spoofed', 'x-own', '1', 'a2a-extensions', A], true)
    t.same(only.done, ['only 5'])
    t.same(only.head, ['content-type', 'application/grpc', ...status, 'x-own', '1', 'a2a-extensions', A])
    only.machine.onFailure(() => { only.done.push('reported') })
    t.same(only.done, ['only 5'], 'nothing follows')
    const late = drive(evaluator === undefined ? {} : { evaluator })
    respond(late, [], status)
    t.same(late.trailers, status)
    t.same(late.done, ['begin 200', 'trailers 5'])
  }
  t.same(drive().head, [])
  const untyped = drive()
  untyped.machine.onHead([':status', '200', ...status], true)
  t.same(untyped.head, [...status, 'content-type', 'application/grpc'])
})

t.test('a response without messages in one frame of headers: the client gets one frame, once', async t => {
  const status = ['grpc-status', '0', 'grpc-message', 'fine']
  const unread = ['unreadable malformed']
  for (const [name, options, expected] of [
    ['relayed', {}, [`echoed ${A}`, 'only 0']],
    ['relayed as a stream', STREAM, [`echoed ${A}`, 'only 0']],
    ['nothing reads it', { plan: { echo: null } }, ['only 0']],
    ['known by its headers', { evaluator: review({ ...showing(), readsBody: false }) }, ['only 0']],
    ['observed', { evaluator: review({ ...showing(), buffersBody: false, enforces: false }) }, ['only 0', ...unread]],
    ['observed as a stream', { ...STREAM, evaluator: review({ ...showing(), buffersBody: false, enforces: false }) }, ['only 0']],
    ['held', { evaluator: review(showing()) }, [...unread, 'reject gateway/response-messages']],
    ['held and observed', { evaluator: review({ ...showing(), enforces: false }) }, [...unread, 'only 0']],
    ['held as a stream', { ...STREAM, evaluator: review(showing()) }, ['only 0']],
    ['held as a stream whose end breaks a rule', { ...STREAM, evaluator: review({ end: () => broken('enforce') }) }, ['reject policy/rule']]
  ] as const) {
    const { machine, done } = drive(options)
    machine.onHead([...HEAD, ...status, 'x-own', '1', 'a2a-extensions', A], true)
    t.same(done, expected, name)
    machine.onTrailers([])
    machine.onFailure(() => { done.push('reported') })
    t.same(done, expected, `${name}: nothing follows`)
  }
  const annotated = drive({ ...STREAM, evaluator: review({ end: () => ({ ...FORWARD, annotations: ['policy/rule'] }) }) })
  annotated.machine.onHead([...HEAD, ...status], true)
  t.same(annotated.head, ['content-type', 'application/grpc', ...status, 'gateway-decision', 'warn;rule="policy/rule"'])
  const named = drive({ evaluator: review({ ...showing(), readsBody: false }) })
  named.machine.onHead([...HEAD, ...status, 'a2a-extensions', A], true)
  t.same(named.head, ['content-type', 'application/grpc', ...status, 'a2a-extensions', A])
})

t.test('the end of a response comes once', async t => {
  const all = [{}, STREAM, { evaluator: review() }, { ...STREAM, evaluator: review() }, { evaluator: review({ buffersBody: false }) }]
  for (const options of all) {
    const driven = drive(options)
    respond(driven, [driven.frame(event('t'))])
    const { length } = driven.done
    driven.machine.onTrailers([])
    driven.machine.onFailure(() => { driven.done.push('reported') })
    t.equal(driven.done.length, length)
  }
})

t.test('the message of an error is not shown: clients drop it', async t => {
  const driven = drive({ evaluator: review({ evaluate: () => broken('enforce') }) })
  respond(driven, [driven.frame(event('t'))], ['grpc-status', '5'])
  t.same(driven.done, ['begin 200', 'trailers 5'])
  t.equal(driven.sent.length, 0)
})

t.test('responses that are not gRPC', async t => {
  const head = (status: string, type: string, ...more: string[]): string[] => [':status', status, 'content-type', type, ...more]
  for (const [raw, last, expected] of [
    [head('503', 'text/html'), false, 'page 503'],
    [head('401', 'application/json', 'www-authenticate', 'Bearer'), true, 'page 401'],
    [head('302', 'application/grpc'), true, 'redirect 302'],
    [head('200', 'text/html'), false, 'page 200'],
    [head('200', 'application/grpc-web+proto'), false, 'page 200'],
    [head('200', 'application/grpc'), true, 'protocol 200'],
    [head('200', 'application/grpc', 'grpc-status', 'OK'), true, 'protocol 200'],
    [head('200', 'application/grpc', 'grpc-status', '0', 'grpc-status', '5'), true, 'protocol 200'],
    [[':status', '200'], false, 'page 200']
  ] as const) {
    const driven = drive()
    driven.machine.onHead(raw, last)
    driven.machine.onChunk(Buffer.from('<html>'))
    if (!last) driven.machine.onTrailers([])
    driven.machine.onFailure(() => { driven.done.push('reported') })
    t.same(driven.done, [expected], raw.join(' '))
  }
  for (const trailers of [[], ['grpc-status', ''], ['grpc-status', '00'], ['grpc-status', '-1'], ['grpc-status', '0', 'grpc-status', '0']]) {
    const driven = drive({ ...STREAM, evaluator: review() })
    respond(driven, [driven.frame(event('t'))], trailers)
    t.same(driven.done, ['begin 200 stream', 'write', 'protocol 200'], `${trailers.join(' ')}: after the messages`)
  }
})

t.test('extensions in head and trailers: both places name them, whatever the agent does', async t => {
  const evaluators = [
    undefined, review(showing()), review({ ...showing(), buffersBody: false }), review({ ...showing(), readsBody: false })
  ]
  for (const evaluator of evaluators) {
    const head = drive(evaluator === undefined ? {} : { evaluator })
    respond(head, [head.frame(event('t'))], OK, [...HEAD, 'a2a-extensions', `${A}, ${B}`])
    t.same(head.head, ['content-type', 'application/grpc', 'a2a-extensions', `${A},${B}`], 'JavaScript: one line in the head')
    t.same(head.trailers, [...OK, 'a2a-extensions', `${A},${B}`])
    if (evaluator === undefined) t.ok(head.done.includes(`echoed ${A} ${B}`))
  }
  const late = [[undefined, false], [review(showing()), true], [review({ ...showing(), buffersBody: false }), false]] as const
  for (const [evaluator, inHead] of late) {
    const driven = drive(evaluator === undefined ? {} : { evaluator })
    respond(driven, [driven.frame(event('t'))], [...OK, 'a2a-extensions', A, 'x-a2a-extensions', B])
    t.same(driven.trailers, [...OK, 'a2a-extensions', `${A},${B}`], 'Go: lines in the trailers')
    t.same(driven.head.includes('a2a-extensions'), inHead, 'a head that waits names them too')
    if (evaluator === undefined) t.ok(driven.done.includes(`echoed ${A} ${B}`))
  }
})

t.test('a head waits for the first message when rules need it', async t => {
  let shown: readonly string[] = []
  const driven = drive({
    ...STREAM,
    evaluator: review({
      buffersHead: true,
      shown: () => shown,
      evaluate: () => {
        shown = [A]
        return FORWARD
      }
    })
  })
  driven.machine.onHead(HEAD, false)
  t.same(driven.done, [])
  driven.machine.onChunk(driven.frame(event('t')))
  t.same(driven.done, ['begin 200 stream', 'write'])
  t.same(driven.head, ['content-type', 'application/grpc', 'a2a-extensions', A])
})

t.test('a held stream: messages go out in order, with their edits, until one is rejected', async t => {
  const seen: string[] = []
  const driven = drive({
    ...STREAM,
    evaluator: review({
      evaluate: bytes => {
        seen.push(bytes.toString('latin1'))
        return seen.length === 2
          ? { ...FORWARD, edits: [{ path: ['task', 'id'], value: Buffer.from('"changed"') }], annotations: ['policy/rule'] }
          : seen.length === 4 ? broken('enforce') : FORWARD
      }
    })
  })
  const frames = ['1', '2', '3', '4', '5'].map(id => driven.frame(event(id)))
  respond(driven, [Buffer.concat(frames)])
  driven.machine.onFailure(() => { driven.done.push('reported') })
  t.same(driven.done, ['begin 200 stream', 'write', 'write', 'write', 'reject policy/rule'])
  t.same(driven.messages, [event('1'), event('changed'), event('3')])
  t.equal(seen.length, 4, 'no message after the rejected one is evaluated')
  const annotated = drive({ ...STREAM, evaluator: review({ evaluate: () => ({ ...FORWARD, annotations: ['policy/rule'] }) }) })
  respond(annotated, [annotated.frame(event('1')), annotated.frame(event('2'))])
  t.same(annotated.trailers, [...OK, 'gateway-decision', 'warn;rule="policy/rule"'], 'each broken rule once')
})

t.test('a held stream waits for the record of a task', async t => {
  let stored = (): void => {}
  const driven = drive({
    ...STREAM,
    evaluator: review({ evaluate: () => REMEMBER }),
    driver: { remember: () => new Promise(resolve => { stored = () => { resolve(null) } }) }
  })
  driven.machine.onHead(HEAD, false)
  t.equal(driven.machine.onChunk(driven.frame(event('1'))), false, 'the agent is paused')
  driven.machine.onTrailers(OK)
  t.same(driven.done, ['begin 200 stream'])
  stored()
  await new Promise(setImmediate)
  t.same(driven.done, ['begin 200 stream', 'write', 'trailers 0', 'resume'])
})

t.test('the end of a stream: rules about the last message, after status 0 only', async t => {
  const evaluator = (): ReturnType<typeof review> => review({ end: () => broken('enforce') })
  const clean = drive({ ...STREAM, evaluator: evaluator() })
  respond(clean, [clean.frame(event('1'))])
  t.same(clean.done, ['begin 200 stream', 'write', 'reject policy/rule'])
  const failed = drive({ ...STREAM, evaluator: evaluator() })
  respond(failed, [failed.frame(event('1'))], ['grpc-status', '13'])
  t.same(failed.done, ['begin 200 stream', 'write', 'trailers 13'])
})

t.test('a held unary response', async t => {
  const driven = drive({ evaluator: review({ evaluate: () => ({ ...FORWARD, edits: [{ path: ['task', 'status'], value: null }] }) }) })
  const frame = driven.frame(event('t'))
  driven.machine.onHead(HEAD, false)
  for (const byte of frame) driven.machine.onChunk(Buffer.from([byte]))
  t.same(driven.done, [], 'nothing goes out before the trailers')
  driven.machine.onTrailers(OK)
  t.same(driven.done, ['begin 200', 'trailers 0'])
  t.same(driven.messages, [{ task: { id: 't' } }])
  const same = drive({ evaluator: review() })
  respond(same, [frame])
  t.same(same.sent, frame)
  const rejected = drive({ evaluator: review({ evaluate: () => broken('enforce') }) })
  respond(rejected, [frame])
  t.same(rejected.done, ['reject policy/rule'])
  const unfit = drive({ evaluator: review({ evaluate: () => ({ ...FORWARD, edits: [{ path: ['task', 'id'], value: Buffer.from('7') }] }) }) })
  respond(unfit, [frame])
  t.same(unfit.done, ['fault TypeError', 'reject gateway/internal'], 'an edit that cannot be made is not skipped')
  const stale = drive({ evaluator: review({ evaluate: () => { throw new Error('broken') } }) })
  respond(stale, [frame])
  t.same(stale.done, ['fault Error', 'reject gateway/internal'])
})

t.test('a held unary response in several chunks: both copies count for limits.memory', async t => {
  let held = 0
  const driven = drive({ evaluator: review(), driver: { reserveMemory: bytes => { held += bytes; return true } } })
  const frame = driven.frame(event('a task with a name'))
  respond(driven, [frame.subarray(0, 7), frame.subarray(7, 12), frame.subarray(12)])
  t.equal(held, 2 * frame.length)
  held = 0
  respond(drive({ evaluator: review(), driver: { reserveMemory: bytes => { held += bytes; return true } } }), [frame])
  t.equal(held, frame.length, 'one chunk is not copied')
})

const compressed = (frame: Buffer): Buffer => {
  const copy = Buffer.from(frame)
  copy[0] = 1
  return copy
}

interface Unreadable {
  readonly name: string
  readonly rule: string
  readonly reason: string
  readonly chunks: (frame: Buffer) => Buffer[]
  readonly more?: DriveOptions
  readonly head?: string[]
}

const UNARY: readonly Unreadable[] = [
  { name: 'two messages', rule: 'response-messages', reason: 'malformed', chunks: frame => [frame, frame] },
  { name: 'no message', rule: 'response-messages', reason: 'malformed', chunks: () => [] },
  { name: 'half a message', rule: 'response-messages', reason: 'malformed', chunks: frame => [frame.subarray(0, -1)] },
  { name: 'a message and half another', rule: 'response-messages', reason: 'malformed', chunks: frame => [frame, frame.subarray(0, 3)] },
  { name: 'a flag of 2', rule: 'response-messages', reason: 'malformed', chunks: () => [Buffer.from([2, 0, 0, 0, 0])] },
  { name: 'a compressed message', rule: 'response-encoding', reason: 'encoding', chunks: frame => [compressed(frame)] },
  { name: 'a large message', rule: 'response-size', reason: 'too_large', chunks: frame => [frame], more: { limits: { response: 10, event: 10 } } },
  { name: 'no memory', rule: 'response-memory', reason: 'no_memory', chunks: frame => [frame], more: { driver: { reserveMemory: () => false } } },
  {
    name: 'JSON',
    rule: 'response-type',
    reason: 'content_type',
    chunks: frame => [frame],
    head: [':status', '200', 'content-type', 'application/grpc+json']
  }
]
const STREAMED: readonly Unreadable[] = [
  { name: 'half a message', rule: 'response-messages', reason: 'malformed', chunks: frame => [frame.subarray(0, -1)] },
  { name: 'a flag of 2', rule: 'response-messages', reason: 'malformed', chunks: () => [Buffer.from([2, 0, 0, 0, 0])] },
  { name: 'a compressed message', rule: 'response-encoding', reason: 'encoding', chunks: frame => [compressed(frame)] },
  { name: 'a large message', rule: 'event-size', reason: 'too_large', chunks: frame => [frame], more: { limits: { response: 10, event: 10 } } }
]

for (const [kind, base, rows] of [['unary', {}, UNARY], ['streamed', STREAM, STREAMED]] as const) {
  for (const { name, rule, reason, chunks, more, head } of rows) {
    t.test(`${kind} responses that cannot be read: ${name}`, async t => {
      const frame = drive(base).frame(event('a task with a name'))
      const bytes = chunks(frame)
      const enforced = drive({ ...base, ...more, evaluator: review() })
      respond(enforced, bytes, OK, head)
      enforced.machine.onFailure(() => { enforced.done.push('reported') })
      t.same(enforced.done.filter(one => !one.startsWith('begin')), [`unreadable ${reason}`, `reject gateway/${rule}`])
      t.equal(enforced.sent.length, 0)
      // The first holds messages for the memory of a task, the second forwards them at once.
      for (const holds of [true, false]) {
        const observed = drive({ ...base, ...more, evaluator: review({ buffersBody: holds, enforces: false }) })
        respond(observed, bytes, OK, head)
        t.same(observed.done.filter(one => /^(?:unreadable|reject|trailers)/.test(one)).sort(), ['trailers 0', `unreadable ${reason}`])
        t.same(observed.sent, Buffer.concat(bytes), 'the client gets what the agent sent')
      }
    })
  }
}

t.test('an incomplete message before an error is dropped', async t => {
  const driven = drive({ ...STREAM, evaluator: review() })
  const frame = driven.frame(event('t'))
  respond(driven, [frame, frame.subarray(0, 8)], ['grpc-status', '13'])
  t.same(driven.done, ['begin 200 stream', 'write', 'trailers 13'])
  t.same(driven.sent, frame)
})

t.test('observed responses go out as they arrive', async t => {
  const seen: string[] = []
  for (const base of [{}, STREAM]) {
    const driven = drive({ ...base, evaluator: review({ buffersBody: false, enforces: false, seen, evaluate: () => broken('observe') }) })
    const frame = driven.frame(event('t'))
    driven.machine.onHead(HEAD, false)
    driven.machine.onChunk(frame.subarray(0, 7))
    t.same(driven.sent, frame.subarray(0, 7))
    driven.machine.onChunk(frame.subarray(7))
    driven.machine.onTrailers(OK)
    t.same(driven.done, [base === STREAM ? 'begin 200 stream' : 'begin 200', 'write', 'write', 'trailers 0'])
  }
  t.equal(seen.length, 2)
  const failed = drive({ evaluator: review({ buffersBody: false, enforces: false, seen }) })
  respond(failed, [failed.frame(event('t'))], ['grpc-status', String(GRPC_CODES.INTERNAL)])
  t.equal(seen.length, 2, 'the message of an error has no result')
})

t.test('failures: complete messages first, then the report', async t => {
  for (const [base, evaluator, expected] of [
    [STREAM, review(), ['begin 200 stream', 'write', 'reported']],
    [{}, review(), ['reported']],
    [STREAM, review({ buffersBody: false }), ['begin 200 stream', 'write', 'write', 'reported']],
    [{}, undefined, ['begin 200', 'write', 'write', 'reported']]
  ] as const) {
    const driven = drive({ ...base, ...(evaluator === undefined ? {} : { evaluator }) })
    driven.machine.onHead(HEAD, false)
    driven.machine.onChunk(driven.frame(event('t')))
    driven.machine.onChunk(Buffer.from([0, 0]))
    driven.machine.onFailure(() => { driven.done.push('reported') })
    t.same(driven.done, expected)
  }
  const early = drive()
  early.machine.onFailure(() => { early.done.push('reported') })
  t.same(early.done, ['reported'])
})

t.test('any cut of a stream into chunks gives the client the same messages and the same rejection', async t => {
  const edits = [{ path: ['task', 'contextId'], value: Buffer.from('"c"') }]
  const decide = (i: number): ResponseDecision => i % 3 === 1 ? { ...FORWARD, edits } : FORWARD
  const ids = fc.array(anyText({ maxLength: 300 }), { maxLength: 8 })
  t.ok(check('pipeline/grpc-response/grpc-held-cuts', fc.property(ids, fc.array(fc.nat(2_000)), fc.nat(9), (ids, cuts, reject) => {
    const run = (chunks: (body: Buffer) => Buffer[]): string => {
      let events = 0
      const driven = drive({ ...STREAM, evaluator: review({ evaluate: () => events++ === reject ? broken('enforce') : decide(events) }) })
      respond(driven, chunks(Buffer.concat(ids.map(id => driven.frame(event(id))))))
      return JSON.stringify([driven.done, driven.messages, driven.trailers])
    }
    return run(body => [body]) === run(body => {
      const at = [0, ...cuts.map(cut => Math.min(cut, body.length)).sort((a, b) => a - b), body.length]
      return at.slice(1).map((end, i) => Buffer.from(body.subarray(at[i], end)))
    })
  })) > 0, 'inputs')
})
