/**
 * Hostile protobuf in responses: the corpus of requests, in each place that an agent may write a message. What two readers read differently
 * does not pass `responses: enforce`, and is recorded by `observe`. All else passes byte for byte.
 */
import t from 'tap'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { Operation } from '#a2a/operations.js'
import type { Version } from '#a2a/versions.js'
import type { ResponseEvaluator } from '#policy/response/evaluator.js'
import { withExplicitNulls } from '#wire/protobuf/nulls.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import { ROWS } from '../differential/grpc/rows.js'
import { drive, HEAD, OK } from '../helpers/grpc-machine.js'
import { END_GROUP, field, GROUP, join, numberField, tag, varint } from '../helpers/protobuf-bytes.js'
import { grpcMessage } from '../helpers/grpc-raw.js'
import { ask, policyFor, rule, Style, URI } from '../policy/responses.js'

const VERSIONS: readonly Version[] = ['1.0', '0.3']
const MESSAGE_IN_REQUEST: Readonly<Record<Version, number>> = { '1.0': 2, 0.3: 1 }
const TASK = 1
const MESSAGE = 2
const STATUS_UPDATE = 3
const WORKING = 2
/** Clients ignore these fields, and read these numbers alike: they pass, and are recorded. */
const UNKNOWN = /^an unknown field|^an enum without a name|^a negative enum/

type Kind = 'reads' | 'unknown' | 'ambiguous' | 'either'
interface Row { readonly name: string, readonly bytes: Buffer, readonly kind: Kind }

/** The messages of the corpus: the rows that damage something within the message. */
function messagesOf (version: Version): Row[] {
  return ROWS[version].flatMap(({ name, bytes, ours }) => {
    const message = messageIn(bytes, MESSAGE_IN_REQUEST[version])
    const kind = UNKNOWN.test(name) ? 'unknown' : ours === 'accept' ? 'reads' : ours === 'reject' ? 'ambiguous' : 'either'
    return message === null ? [] : [{ name, bytes: message, kind }]
  })
}

/** The content of a request that is one well-formed field; null for any other. */
function messageIn (bytes: Buffer, number: number): Buffer | null {
  if (bytes[0] !== ((number << 3) | 2)) return null
  for (let width = 1; width <= 3; width++) {
    const length = bytes.length - 1 - width
    if (length >= 0 && varint(length).equals(bytes.subarray(1, 1 + width))) return bytes.subarray(1 + width)
  }
  return null
}

const statusOf = (message: Buffer): Buffer => field(3, join(numberField(1, WORKING), field(2, message)))
const taskOf = (message: Buffer): Buffer => join(field(1, 't1'), field(2, 'c1'), statusOf(message))
const PLACES: readonly (readonly [string, Operation, (message: Buffer) => Buffer])[] = [
  ['the message of a stream', 'SendStreamingMessage', message => field(MESSAGE, message)],
  ['a task of a stream', 'SendStreamingMessage', message => field(TASK, taskOf(message))],
  ['a status update', 'SendStreamingMessage', message => field(STATUS_UPDATE, taskOf(message))],
  ['a message', 'SendMessage', message => field(MESSAGE, message)],
  ['a task', 'SendMessage', message => field(TASK, taskOf(message))],
  ['GetTask', 'GetTask', taskOf]
]

/** Damage around the message, in a response of SendMessage or in one event. The two have the same fields for both versions. */
function envelopesOf (message: Buffer): Row[] {
  const whole = field(MESSAGE, message)
  const other = field(TASK, taskOf(message))
  const rows: readonly (readonly [string, Kind, Buffer])[] = [
    ['a message', 'reads', whole],
    ['an unknown field', 'unknown', join(whole, field(15, 'newer'))],
    ['message twice', 'ambiguous', join(whole, whole)],
    ['task twice', 'ambiguous', join(other, other)],
    ['task and message', 'ambiguous', join(other, whole)],
    ['message and task', 'ambiguous', join(whole, other)],
    ['tag 0, then a task', 'ambiguous', join(whole, Buffer.from([0]), other)],
    ['field number 0 with a length', 'ambiguous', join(whole, Buffer.from([2, 0]))],
    ['an end of a group, then a task', 'ambiguous', join(whole, tag(9, END_GROUP), other)],
    ['a group', 'ambiguous', join(whole, tag(9, GROUP), numberField(1, 1), tag(9, END_GROUP))],
    ['a number where a message belongs', 'ambiguous', join(numberField(MESSAGE, 1), whole)],
    ['a number where a task belongs', 'ambiguous', join(numberField(TASK, 1), whole)],
    ['a tag with a superfluous byte', 'ambiguous', join(varint((MESSAGE << 3) | 2, 1), varint(message.length), message)],
    ['a length with a superfluous byte', 'ambiguous', join(tag(MESSAGE, 2), varint(message.length, 1), message)],
    ['a length beyond the end', 'ambiguous', join(tag(MESSAGE, 2), varint(message.length + 1), message)],
    ['half a field at the end', 'ambiguous', whole.subarray(0, -3)],
    ['JSON', 'ambiguous', Buffer.from('{"message":{"messageId":"m"}}')]
  ]
  return rows.map(([name, kind, bytes]) => ({ name, kind, bytes }))
}

function evaluatorFor (responses: 'enforce' | 'observe', version: Version, operation: Operation): ResponseEvaluator {
  const never = rule({ select: { metadata: { in: ['task', 'message', 'event'], key: 'never' } }, schema: false })
  const style = new Style(version, 'GRPC')
  const { review } = ask(policyFor({ response: [never] }, { responses }), { style, operation, requested: [URI] })
  if (review === null) throw new Error('no rule reads the response')
  return review
}

interface Seen { readonly done: readonly string[], readonly sent: Buffer, readonly recorded: readonly string[] }

/** What becomes of a response: the frames, in one chunk. */
function responseTo (responses: 'enforce' | 'observe', version: Version, operation: Operation, bytes: Buffer): Seen {
  const recorded: string[] = []
  const driven = drive({
    operation,
    version,
    evaluator: evaluatorFor(responses, version, operation),
    limits: { response: 1_000_000, event: 1_000_000 },
    driver: { evaluated: ({ violations }) => { recorded.push(...violations.map(one => `${one.mode} ${one.rule}`)) } }
  })
  driven.machine.onHead(HEAD, false)
  driven.machine.onChunk(bytes)
  driven.machine.onTrailers(OK)
  return { done: driven.done.filter(one => /^(?:reject|trailers|fault)/.test(one)), sent: driven.sent, recorded }
}

/** The bytes with an explicit null for each Value without a kind, which `enforce` sends to clients. */
function explicitNulls (bytes: Buffer, version: Version, operation: Operation): Buffer {
  const read = readProtobuf(bytes, grpcMethodFor(operation, version)!.response, { depth: 1_000, members: 1_000_000 }, true)
  return read.ok && read.nulls !== undefined ? withExplicitNulls(bytes, read.nulls) : bytes
}

/** @returns what is wrong with the handling of the row */
function faultsOf (version: Version, operation: Operation, { bytes, kind }: Row): object[] {
  const frame = grpcMessage(bytes)
  const good = grpcMessage(field(MESSAGE, join(field(1, 'good'), numberField(4, 2), field(5, field(1, 'x')))))
  const streamed = operation === 'SendStreamingMessage'
  const explicit = grpcMessage(explicitNulls(bytes, version, operation))
  // In a stream, the message before the hostile one passes, and none after it.
  const [before, whole] = streamed ? [good, join(good, frame, good)] : [Buffer.alloc(0), frame]
  const faults: object[] = []
  const expect = (responses: string, { done, sent, recorded }: Seen, want: { done: string, sent: Buffer, recorded: string[] }): void => {
    if (done.join() === want.done && sent.equals(want.sent) && recorded.join() === want.recorded.join()) return
    faults.push({ responses, done, recorded, passed: sent.equals(whole) })
  }
  const enforced = responseTo('enforce', version, operation, whole)
  const observed = responseTo('observe', version, operation, whole)
  const rejects = kind === 'ambiguous' || (kind === 'either' && enforced.sent.length < whole.length)
  const unknown = kind === 'unknown' ? ['observe answer-unknown'] : []
  expect('enforce', enforced, rejects
    ? { done: 'reject gateway/answer-protobuf', sent: before, recorded: ['enforce answer-protobuf'] }
    : { done: 'trailers 0', sent: streamed ? join(good, explicit, good) : explicit, recorded: unknown })
  expect('observe', observed, { done: 'trailers 0', sent: whole, recorded: rejects ? ['observe answer-protobuf'] : unknown })
  return faults
}

for (const version of VERSIONS) {
  const rows = messagesOf(version)
  for (const [place, operation, within] of PLACES) {
    t.test(`${version}: ${place}`, async t => {
      t.ok(rows.filter(row => row.kind === 'ambiguous').length > 45 && rows.filter(row => row.kind === 'reads').length > 10, 'the rows are found')
      const wrong = rows.flatMap(({ name, bytes, kind }) =>
        faultsOf(version, operation, { name, bytes: within(bytes), kind }).map(fault => ({ name, ...fault })))
      t.same(wrong, [])
    })
  }
  t.test(`${version}: around the message`, async t => {
    const message = rows.find(row => row.name === 'a message')?.bytes ?? Buffer.alloc(0)
    for (const operation of ['SendStreamingMessage', 'SendMessage'] as const) {
      const wrong = envelopesOf(message).flatMap(row => faultsOf(version, operation, row).map(fault => ({ name: row.name, ...fault })))
      t.same(wrong, [], operation)
    }
  })
}
