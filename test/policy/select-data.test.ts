/** `where` and `path` of part selectors, and `owns.data`: data that is identified by a value. */
import t from 'tap'
import type { PartSelectorConfig, PolicyConfig, RuleConfig } from '#config/model/model.js'
import type { Sent } from './fixtures.js'
import { declaring, message, part03, part10, policyOf, send } from './fixtures.js'

const URI = 'https://x.test/ext/v1'
const WHERE = { path: '/type', equals: 'x/op' } as const
const SIDES: readonly [Sent, (data: unknown) => object, string][] = [
  [{ version: '1.0', binding: 'JSONRPC' }, data => part10(data, ''), 'params.message.parts[0].data'],
  [{ version: '0.3', binding: 'JSONRPC' }, data => part03(data, ''), 'params.message.parts[0].data'],
  [{ version: '1.0', binding: 'HTTP+JSON' }, data => part10(data, ''), 'message.parts[0].data'],
  [{ version: '0.3', binding: 'HTTP+JSON' }, data => part03(data, ''), 'message.parts[0].data']
]
const rule = (part: PartSelectorConfig, more: Partial<RuleConfig>): PolicyConfig => ({
  uri: URI,
  request: [{ id: 'r', select: { part }, ...more }]
})
/** Path of the rejected value from the data, in every version and binding; null when the request passes. */
const rejected = (policy: PolicyConfig, data: unknown): string | null => {
  const found = SIDES.map(([sent, part, root]) => {
    const field = send(policyOf(declaring(URI), { ext: policy }), message(part(data)), sent).rejection?.fields?.[0]?.field
    return field?.replace(root, 'data') ?? null
  })
  return found.every(one => one === found[0]) ? found[0] ?? null : `differs: ${found.join(', ')}`
}

t.test('where: only parts whose data has the value', async t => {
  const policy = rule({ where: WHERE }, { schema: { required: ['op'] } })
  t.equal(rejected(policy, { type: 'x/op' }), 'data.op')
  t.equal(rejected(policy, { type: 'x/op', op: 1 }), null)
  for (const other of [{ type: 'x/other' }, { type: ['x/op'] }, {}, [], null, 'x/op', { Type: 'x/op' }]) t.equal(rejected(policy, other), null)
  t.equal(rejected(rule({ where: { path: '/a/0/b', equals: false } }, { count: { max: 0 } }), { a: [{ b: false }] }), 'data')
  t.equal(rejected(rule({ where: { path: '/n', equals: 1 } }, { count: { max: 0 } }), { n: 1.0 }), 'data')
})

t.test('path: the value in the data, or in a member that dataKey selects', async t => {
  const schema = { type: 'string' }
  t.equal(rejected(rule({ where: WHERE, path: '/event/kind' }, { schema }), { type: 'x/op', event: { kind: 1 } }), 'data.event.kind')
  t.equal(rejected(rule({ path: '/list/1' }, { schema }), { list: ['a', 2] }), 'data.list[1]')
  t.equal(rejected(rule({ dataKey: 'acme.*', path: '/a' }, { schema }), { 'acme.x': { a: 'a' }, 'acme.y': { a: 1 } }), 'data["acme.y"].a')
  t.equal(rejected(rule({ path: '/a' }, { schema }), { b: 1 }), null, 'no value, nothing to evaluate')
  t.not(rejected(rule({ path: '/a' }, { schema, required: true }), { b: 1 }), null, 'unless the rule requires it')
  t.equal(rejected(rule({ path: '/length' }, { count: { max: 0 } }), [1]), null, 'only an index leads into a list')
})

t.test('strip removes the value at the path, or the part that where selects', async t => {
  const removed = (part: PartSelectorConfig, data: unknown): unknown => {
    const policy = policyOf(declaring(URI), { ext: rule(part, { count: { max: 0 }, verdict: 'strip' }) })
    return send(policy, message(part10(data, ''), { text: 'hi' }), { version: '1.0', binding: 'JSONRPC' }).edits.map(({ path }) => path)
  }
  t.same(removed({ path: '/list/0/secret' }, { list: [{ secret: 1 }], a: 2 }), [['params', 'message', 'parts', 0, 'data', 'list', 0, 'secret']])
  t.same(removed({ where: WHERE }, { type: 'x/op' }), [['params', 'message', 'parts', 0]])
})

t.test('owns.data: evidence, rejection of inactive data, and a claim on data', async t => {
  const owns: PolicyConfig = { uri: URI, owns: { data: [WHERE] }, activation: { signals: ['header', 'evidence'] } }
  for (const [sent, part] of SIDES) {
    const active = (data: unknown): readonly string[] => send(policyOf(declaring(URI), { ext: owns }), message(part(data)), sent).active
    t.same(active({ type: 'x/op' }), [URI])
    t.same(active({ type: 'x/other' }), [])
  }
  const inactive: PolicyConfig = { uri: URI, owns: { data: [WHERE] }, activation: { signals: ['header'] }, inactive: { request: 'reject' } }
  t.equal(rejected(inactive, { type: 'x/op' }), 'data')
  t.equal(rejected(inactive, { type: 'x/other' }), null)
  const strict = policyOf(declaring(URI), { ext: owns }, { untaggedData: 'reject' })
  for (const [sent, part] of SIDES) {
    t.equal(send(strict, message(part({ type: 'x/op' })), sent).rejection, null)
    t.match(send(strict, message(part({ a: 1 })), sent).rejection?.message, /value "x\/op" at \/type/)
  }
})
