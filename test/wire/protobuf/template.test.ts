/** `ProtobufTemplate` finds messages that differ in free texts only: the reader reads them as the same object but for these texts. */
import fc from 'fast-check'
import { deepStrictEqual as same, strictEqual as equal } from 'node:assert'
import t from 'tap'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { GrpcMethod } from '#a2a/grpc/methods.js'
import type { Version } from '#a2a/versions.js'
import { isUnread, unreadStrings } from '#wire/json/lazy-string.js'
import type { JsonObject } from '#wire/json/object.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import type { MessageTable } from '#wire/protobuf/table.js'
import { ProtobufTemplate } from '#wire/protobuf/template.js'
import { readProtobufUnread } from '#wire/protobuf/unread.js'
import { writeProtobuf } from '#wire/protobuf/write.js'
import { messages } from '../../helpers/protobuf-messages.js'
import { check, random } from '../../helpers/seed.js'

const LIMITS = { depth: 64, members: 100_000 }
const tableOf = (version: Version): MessageTable => (grpcMethodFor('SendStreamingMessage', version) as GrpcMethod).response
const V1 = tableOf('1.0')

interface Learned { readonly template: ProtobufTemplate, readonly value: JsonObject }

/** @param isRead called with the key of each text; a text that is read is not free */
function learn (bytes: Buffer, table: MessageTable, isRead: (key: string) => boolean): Learned {
  const found = readProtobufUnread(bytes, table, LIMITS, true)
  if (!found.ok) throw new Error(found.problem.message)
  const read = (node: JsonObject): void => {
    for (const key of Object.keys(node)) if (!isUnread(node, key) || isRead(key)) inside(node[key], read)
  }
  read(found.value)
  return { template: new ProtobufTemplate(bytes, unreadStrings(found.value)), value: found.value }
}

function inside (value: unknown, then: (node: JsonObject) => void): void {
  if (typeof value === 'object' && value !== null) then(value as JsonObject)
}

/** A copy with another text in the place of each free one. */
function replaced (value: unknown, text: () => string): unknown {
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.keys(value).map((key): [string, unknown] => {
    return [key, isUnread(value, key) ? text() : replaced((value as JsonObject)[key], text)]
  })
  return Array.isArray(value) ? entries.map(([, one]) => one) : Object.fromEntries(entries)
}

const EVENT = {
  artifactUpdate: { taskId: 't', artifact: { artifactId: 'a', parts: [{ text: 'piece' }, { data: { a: 'é', b: [1, 'x'] } }] }, append: true }
}
const BYTES = writeProtobuf(EVENT, V1)

t.test('free texts may have any content and length, but none', async t => {
  const { template, value } = learn(BYTES, V1, () => false)
  for (const text of ['x', 'é“😀', '\u0000', '\u007f', 'y'.repeat(20), 'y'.repeat(200), 'z'.repeat(3_000)]) {
    t.equal(template.matches(writeProtobuf(replaced(value, () => text) as JsonObject, V1)), true, text.slice(0, 20))
  }
  t.equal(template.matches(writeProtobuf(replaced(value, () => '') as JsonObject, V1)), false, 'ProtoJSON leaves out an empty taskId')
  t.equal(template.matches(writeProtobuf(replaced(value, () => 'x'.repeat(20_000)) as JsonObject, V1)), false, 'too long to be compared')
})

t.test('keys, numbers and texts that were read are compared', async t => {
  const { template } = learn(BYTES, V1, key => key === 'taskId')
  const other = (from: string, to: string): boolean => {
    return template.matches(writeProtobuf(JSON.parse(JSON.stringify(EVENT).replace(from, to)) as JsonObject, V1))
  }
  t.equal(other('piece', 'other'), true)
  t.equal(other('"t"', '"u"'), false)
  t.equal(other('"b"', '"c"'), false)
  t.equal(other('[1,', '[2,'), false)
  t.equal(other('[1,"x"]', '["x",1]'), false)
  t.equal(other('true', 'false'), false)
  t.equal(other('{"text":"piece"},', ''), false)
})

t.test('bytes that the reader rejects are not taken', async t => {
  const { template } = learn(BYTES, V1, () => false)
  for (let length = 0; length < BYTES.length; length++) t.equal(template.matches(BYTES.subarray(0, length)), false, `${length} bytes`)
  t.equal(template.matches(Buffer.concat([BYTES, Buffer.from([0])])), false)
  t.equal(template.matches(BYTES), true)
  const text = BYTES.indexOf('piece')
  const damaged = (from: number, to: number, by: readonly number[]): Buffer => {
    return Buffer.concat([BYTES.subarray(0, from), Buffer.from(by), BYTES.subarray(to)])
  }
  t.equal(template.matches(damaged(text, text + 1, [0xff])), false, 'no UTF-8')
  t.equal(template.matches(damaged(text, text + 5, [0xed, 0xa0, 0x80, 0x61, 0x61])), false, 'half a surrogate pair')
  // The message and those around it are one byte longer.
  const lengths = [1, 5, text - 4].filter(at => at < text && (BYTES[at] as number) < 0x7f)
  const superfluous = damaged(text - 1, text, [0x85, 0x00])
  for (const at of lengths) superfluous[at] = (superfluous[at] as number) + 1
  t.equal(template.matches(superfluous), false, 'a length with a superfluous byte')
})

t.test('no message with other texts is missed, and no other message is taken', async t => {
  let taken = 0
  const numbers = random('wire/protobuf/template')
  for (const version of ['1.0', '0.3'] as const) {
    const table = tableOf(version)
    check(`wire/protobuf/template/${version}`, fc.property(messages(table), message => {
      const bytes = writeProtobuf(message, table)
      const { template, value } = learn(bytes, table, () => numbers.chance(3))
      const other = writeProtobuf(replaced(value, () => numbers.pick(['x', 'é', 'long '.repeat(30)])) as JsonObject, table)
      equal(template.matches(other), true)
      const damaged = Buffer.from(other)
      for (let i = numbers.below(3); i >= 0 && damaged.length > 0; i--) {
        const at = numbers.below(damaged.length)
        damaged[at] = numbers.pick([0, 1, 0x0a, 0x12, 0x7f, 0x80, 0xff, (damaged[at] as number) ^ 1, (damaged[at] as number) + 1])
      }
      if (!template.matches(damaged)) return
      taken++
      const found = readProtobuf(damaged, table, LIMITS, true)
      equal(found.ok, true)
      if (!found.ok) return
      same(found.unknown, [])
      let texts = 0
      const blank = (one: unknown, by: unknown): void => {
        if (typeof one !== 'object' || one === null) return same(one, by)
        same(Object.keys(one), Object.keys(by as object))
        for (const key of Object.keys(one)) {
          if (isUnread(one, key)) texts++
          else blank((one as JsonObject)[key], (by as JsonObject)[key])
        }
      }
      blank(value, found.value)
      equal(texts > 0 || damaged.equals(bytes), true)
    }), { numRuns: 300 })
  }
  t.ok(taken > 20, `${taken} damaged messages were taken`)
})
