/** Data that nobody reads: calls, decisions and problems are those of data that is read. */
import { deepStrictEqual as same, ok } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { normaliseResult } from '#a2a/message/normalise-result.js'
import { viewResponse } from '#a2a/message/read-result.js'
import type { ResultView } from '#a2a/message/result.js'
import type { RuleConfig } from '#config/model/model.js'
import { DataValidator } from '#jsonschema/bytes/data-validator.js'
import { ANYTHING } from '#jsonschema/bytes/program.js'
import { ChunkedBuffer } from '#wire/chunked-buffer.js'
import { parseValidated, parseStrict } from '#wire/json/json.js'
import { isUnread } from '#wire/json/lazy-string.js'
import type { UnreadValue, ValueValidator } from '#wire/json/unread-value.js'
import { unreadValue } from '#wire/json/unread-value.js'
import { Random } from '../fuzz/engine/random.js'
import { check } from '../helpers/seed.js'
import { damaged } from './bytes-fixtures.js'
import { declaring, message, OBJECT_SCHEMAS, objectSchemas, part03, part10, policyOf, send } from './fixtures.js'
import { ask, STYLES, V1 } from './responses.js'
import type { JsonLimits, JsonResult } from '#wire/json/json-result.js'

const LIMITS: JsonLimits = { depth: 64, members: 100_000 }

const row = (i: number): object => ({ sku: `B-${i}`, quantity: i + 1, note: 'with the others', price: i * 1.5 })
const rows = (count: number): object[] => Array.from({ length: count }, (_none, i) => row(i))

const parsed = (text: string | Buffer, limits = LIMITS): JsonResult => parseValidated(Buffer.from(text as string), limits, new DataValidator('data', () => []))

const NUMBERS = [0.1, 1e21, Number('12345678901234567')]

/** The value with everything read. JSON shows `-0` as 0. */
const shown = (result: JsonResult): unknown => result.ok
  ? [JSON.stringify(result.value), result.backslashName, NUMBERS.map(one => result.inexact?.has(one))]
  : result.problem

function compare (text: string | Buffer, limits = LIMITS): void {
  const bytes = Buffer.from(text as string)
  same(shown(parsed(bytes, limits)), shown(parseStrict(bytes, limits)), bytes.toString('latin1').slice(0, 300))
}

const unreadOf = (result: JsonResult): UnreadValue | null => {
  ok(result.ok)
  return unreadValue(result.value as object, 'data')
}

t.test('data of many small values stays unread until somebody reads it', async t => {
  const text = JSON.stringify({ id: 'a', data: { items: rows(100) }, text: 'b' })
  const result = parsed(text)
  const unread = unreadOf(result)
  t.equal(unread?.isRead, false)
  t.equal(unread?.bytes().toString(), JSON.stringify({ items: rows(100) }))
  t.ok(result.ok)
  const value = result.ok ? result.value as { data: unknown } : null
  t.same(Object.keys(value as object), ['id', 'data', 'text'], 'the members keep their order')
  t.same(value?.data, { items: rows(100) })
  t.equal(value?.data, value?.data, 'read once')
  t.equal(unread?.isRead, true)
  t.equal(unreadOf(result), null)
  t.same(JSON.stringify(value), text)
})

t.test('chunks are read as one buffer is', async t => {
  const bytes = Buffer.from(JSON.stringify({ data: rows(2_000), more: 'x' }))
  const chunks = [bytes.subarray(0, 777), bytes.subarray(777, 50_001), bytes.subarray(50_001)]
  const result = parseValidated(new ChunkedBuffer(chunks, bytes.length), LIMITS, new DataValidator('data', () => []))
  t.equal(unreadOf(result)?.isRead, false)
  t.same(shown(result), shown(parseStrict(bytes, LIMITS)))
})

t.test('texts that mislead, and limits', async t => {
  const data = JSON.stringify(rows(60))
  const texts = [
    `{"data":${data}}`, ` { "data" : ${data} } `, `{"a":{"data":${data}},"data":${data}}`, `[{"data":${data}},{"data":1},{"data":[]}]`,
    `{"data":${data},"data":1}`, `{"data":1,"data":${data}}`, `{"data":${data},"d\\u0061ta":1}`, `{"data":${data},"b\\u0000":1}`,
    `{"data":${data},"\\\\u00":1}`, `{"a":"\\"data\\":","data":${data}}`, `{"a\\"data":${data}}`, `{"a":"x"data":${data}}`, `"data":${data}`,
    `{"data":${data}x}`, `{"data":${data}"x"}`, `{"data":${data}`, `{"data":${data},}`, `["data":${data}]`, `{"a":"data":${data}}`,
    `{"a":"unread value 0","data":${data}}`, `{"data":${data},"b":{"data":"unread value 0"}}`, `{"b":{"data":"unread value 0"},"data":${data}}`,
    `{"b":{"data":"unread value 7"},"data":${data}}`, `{"x":12345678901234567,"data":${data.replace('1.5', '1e21')}}`,
    `{"x":"${'y'.repeat(900)}","data":${data.replace('1.5', '0.10000000000000000001')}}`, `{"x":0.10000000000000000001,"data":${data}}`,
    `{"data":${data.replace('B-7', 'é😀')},"é":"😀"}`, `{"data":${data.replace('"B-7"', '"\\u00e9\\ud800"')}}`, `{"data":${data.replace('"sku"', '"sk\\u0075"')}}`,
    `{"data":${data.replace('"quantity":1,', '"quantity":1,"sku":1,')}}`, `{"data":${data.replace('"quantity":1,', '"quantity":01,')}}`,
    `\ufeff{"data":${data}}`, `{"data":${data}} {"data":${data}}`, `{"text":"${'z'.repeat(9_000)}","data":${data.repeat(1)}}`
  ]
  for (const text of texts) compare(text)
  const bytes = Buffer.from(`{"data":${data}}`)
  for (const at of [10, 100, 1_000]) compare(Buffer.concat([bytes.subarray(0, at), Buffer.from([0xff]), bytes.subarray(at)]))
  // 60 rows of four members, the rows, and the member itself.
  for (const members of [300, 301, 302]) compare(bytes, { depth: 64, members })
  for (const depth of [1, 2, 3, 4]) compare(bytes, { depth, members: 1_000 })
  t.equal(texts.length, 34)
})

t.test('damaged texts are read and rejected as without the judge', async t => {
  let unread = 0
  t.ok(check('policy/unread-data/damaged', fc.property(fc.nat(), seed => {
    const random = new Random(seed)
    const data = { data: rows(12 + random.below(30)), more: random.chance(2) ? { data: [] } : 'x' }
    const bytes = Buffer.from(JSON.stringify(random.chance(3) ? [data, 1] : data, null, random.chance(3) ? 1 : undefined))
    for (let i = 0; i < 8; i++) {
      const text = damaged(random, bytes)
      compare(text)
      if (new DataValidator('data', () => []).validate(text, LIMITS) !== null) unread++
    }
  }), { numRuns: 100 }) > 0, 'inputs')
  t.ok(unread > 100, `${unread} texts had unread values`)
})

const ITEM = {
  type: 'object',
  required: ['sku', 'quantity'],
  properties: {
    sku: { type: 'string' },
    quantity: { type: 'integer', minimum: 1, maximum: 1_000 },
    note: { type: 'string' },
    price: { type: 'number' }
  },
  additionalProperties: false
}
const ORDER = { type: 'object', required: ['items'], properties: { items: { type: 'array', items: ITEM } } }
const NAMES = { type: 'array', items: { type: 'string' }, contains: { pattern: '^n' } }

t.test('rules decide about unread data as they decide about data that is read', async t => {
  const card = { ...declaring(OBJECT_SCHEMAS), schemas: { order: ORDER, rows: { type: 'array', items: true }, names: NAMES } }
  const policy = policyOf(card, { 'object-schemas': objectSchemas })
  const broken = { ...row(3), quantity: 0 }
  const documents: readonly (readonly [string, unknown])[] = [
    ['order', { items: rows(100) }], ['order', { items: [...rows(100), broken] }], ['rows', rows(100)], ['order', rows(100)], ['rows', { items: rows(100) }],
    ['names', Array.from({ length: 400 }, (_none, i) => `n${i}`)], ['names', Array.from({ length: 400 }, (_none, i) => `${i}`)], ['unknown', rows(100)],
    ['order', { items: rows(2) }], ['order', { items: [...rows(50), { ...row(1), sku: 'é' }] }]
  ]
  let left = 0
  let read = 0
  const counting: ValueValidator = {
    name: policy.validator.name,
    validate: (bytes, limits) => {
      const judged = policy.validator.validate(bytes, limits)
      left += judged?.values.length ?? 0
      return judged
    },
    onRead: () => {
      read++
      policy.validator.onRead()
    },
    prefer: note => { policy.validator.prefer(note) }
  }
  let rejected = 0
  for (const [schema, data] of [...documents, ...documents]) {
    for (const version of ['1.0', '0.3'] as const) {
      const type = `application/json;schema=${schema}`
      const body = message(version === '1.0' ? part10(data, type) : part03(data, type))
      const judged = send(policy, body, { version, judge: counting })
      same(judged, send(policy, body, { version, judge: null }), `${version} ${schema}`)
      if (judged.rejection !== null) rejected++
    }
  }
  t.equal(rejected, 20, 'of 40 requests')
  t.ok(left >= 24, `${left} values were left`)
  t.equal(read, 16, 'by a schema without a program, or by one that rejects what another one accepts')
})

t.test('a rule for the whole result, and a condition, leave data and long texts unread', async t => {
  const card = { ...declaring(OBJECT_SCHEMAS), schemas: { order: ORDER } }
  const matchesRole: RuleConfig = {
    id: 'role', select: { part: { data: true } }, when: { match: { properties: { message: { required: ['role'] } } } }, schema: ORDER
  }
  const policy = policyOf(
    card,
    { 'object-schemas': { ...objectSchemas, request: [...objectSchemas.request ?? [], matchesRole] } },
    { responses: 'enforce' }
  )
  let left = 0
  let read = 0
  const { validator } = policy
  const validate = validator.validate.bind(validator)
  validator.validate = (bytes, limits) => {
    const validated = validate(bytes, limits)
    left += validated?.values.length ?? 0
    return validated
  }
  validator.onRead = () => { read++ }
  const structured = V1.part({ items: rows(100) }, 'application/json;schema=order')
  const long = 'x'.repeat(5_000)
  t.equal(send(policy, { message: V1.message([structured], {}, 'user') }).rejection, null)
  t.same([left, read], [1, 0], 'a request')
  const message = { parts: [V1.part({ items: [] }, 'application/json;schema=order')] }
  const response = V1.task_('completed', { artifacts: [[structured]] })
  const decision = ask(policy, { message }).review?.evaluate(response, false)
  t.same(decision?.violations, [])
  t.same([left, read], [2, 0], 'a response')
  t.match(ask(policy, { message }).review?.evaluate(V1.body('message', V1.message([structured])), false).rejection?.message, /must be|requires a task/)

  const asked = { operation: 'SendMessage', id: 1, stream: false } as const
  for (const style of STYLES) {
    const result = parseValidated(style.task_('completed', { artifacts: [[style.part({ items: rows(300) }), style.text(long)]] }), LIMITS, validator)
    ok(result.ok)
    const view = viewResponse(result.value, { ...asked, binding: style.binding, version: style.version }).results[0]
    const normalised = normaliseResult(view as ResultView)
    const [data, text] = view?.artifacts[0]?.parts ?? []
    const isNested = style.version === '0.3' && style.binding !== 'JSONRPC'
    if (!isNested) t.ok(unreadValue(data?.fields.object as object, 'data'), style.name)
    t.ok(isUnread(text?.fields.object as object, 'text'))
    const copies = (normalised.artifacts as { parts: Record<string, unknown>[] }[])[0]?.parts
    t.same(copies?.[1]?.text, long)
    t.notOk(isUnread(text?.fields.object as object, 'text'), 'the original shows the read')
    t.same(copies?.[0]?.data, { items: rows(300) })
    t.equal(copies?.[0]?.data, data?.data, 'read once')
    t.equal(unreadValue(data?.fields.object as object, 'data'), null)
  }
})

t.test('numbers that cannot be compared exactly, elsewhere in the request or in the data', async t => {
  const policy = policyOf({ ...declaring(OBJECT_SCHEMAS), schemas: { order: ORDER } }, { 'object-schemas': objectSchemas })
  const text = (quantity: string, more: string): string => {
    const items = JSON.stringify(rows(60)).replace('"quantity":8', `"quantity":${quantity}`)
    return `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"parts":[
      {"data":{"items":${items}},"mediaType":"application/json;schema=order"}${more}]}}}`
  }
  for (const [quantity, more, rejected] of [
    ['8', '', false], ['8', ',{"text":"x","metadata":{"a":1e400}}', false], ['8', ',{"text":"x","metadata":{"a":8.0000000000000000001}}', true],
    ['8.0000000000000000001', '', true], ['1e2', '', false], ['12345678901234567', '', true]
  ] as const) {
    const judged = send(policy, text(quantity, more))
    same(judged, send(policy, text(quantity, more), { judge: null }), quantity + more)
    t.equal(judged.rejection !== null, rejected, quantity + more)
  }
})

t.test('the judge pauses while its values are read after all', async t => {
  const judge = new DataValidator('data', () => [ANYTHING])
  const bytes = Buffer.from(JSON.stringify({ data: rows(100) }))
  const isLeft = (): boolean => unreadOf(parseValidated(bytes, LIMITS, judge)) !== null
  t.equal(isLeft(), true)
  for (let i = 0; i < 40 && isLeft(); i++) JSON.stringify(parseValidated(bytes, LIMITS, judge))
  t.equal(isLeft(), false)
  let pause = 0
  while (!isLeft() && pause < 10_000) pause++
  t.ok(pause > 100 && pause < 1_000, 'then it tries again')
})
