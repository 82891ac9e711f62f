import t from 'tap'
import type { SchemaSource } from '../../src/config/model.js'
import type { CompiledSource, SourceContext, UnusableSchema } from '../../src/policy/schema-source.js'
import { compileSource, MAX_SCHEMAS, MAX_VALUES, SchemaCache } from '../../src/policy/schema-source.js'
import { countValues, escapePointer, resolvePointer } from '../../src/policy/schema-lint.js'

type Raw = Readonly<Record<string, unknown>>
const compile = (source: SchemaSource, ...cards: readonly Raw[]): { source: CompiledSource, problems: UnusableSchema[] } => {
  const problems: UnusableSchema[] = []
  const context: SourceContext = { cards: cards.map((raw, self) => ({ raw, self })), cache: new SchemaCache(), report: problem => problems.push(problem) }
  return { source: compileSource(source, context), problems }
}
const find = (source: CompiledSource, schema?: string): unknown => {
  const found = source.find(new Map(schema === undefined ? [] : [['schema', schema]]))
  return found === null ? null : [found.name, found.entry.usable ? found.entry.schema.validate('text') === null : found.entry.pointer]
}
const NAMED = { fromCard: ['/schemas/{schema}', '/capabilities/extensions/{self}/params/schemas/{schema}'] }

t.test('inline: one schema for every capture', async t => {
  const { source, problems } = compile({ type: 'string' })
  t.same(find(source), [null, true])
  t.same(find(source, 'x'), [null, true])
  t.same(source.names, [])
  t.same(problems, [])
  t.same(find(compile(true).source), [null, true])
  t.same(find(compile(false).source), [null, false])
  t.same(find(compile({ fromCard: ['/a'], type: 'string' }).source), [null, true], 'a schema that has a keyword of that name is a schema')
})

t.test('from the card: the first template that resolves, by name', async t => {
  const { source } = compile(NAMED, { schemas: { a: { type: 'string' }, b: { type: 'number' } }, capabilities: { extensions: [{ params: { schemas: { b: true, c: true } } }] } })
  t.same(source.names, ['a', 'b', 'c'])
  t.same(['a', 'b', 'c', 'd', 'constructor', '__proto__'].map(name => find(source, name)), [['a', true], ['b', false], ['c', true], null, null, null])
  t.same(find(source), null, 'no name, no schema')
})

t.test('the agent\'s other card is searched after the first', async t => {
  const { source } = compile(NAMED, { schemas: { a: false } }, { schemas: { a: true, b: true } })
  t.same([find(source, 'a'), find(source, 'b')], [['a', false], ['b', true]])
})

t.test('a fixed pointer needs no capture, and does not repeat the client\'s name', async t => {
  const { source } = compile({ fromCard: ['/named/{schema}', '/one'] }, { one: { type: 'string' }, named: { x: false } })
  t.same([find(source), find(source, 'x'), find(source, 'client')], [[null, true], ['x', false], [null, true]])
  t.same(find(compile({ fromCard: ['/none'] }, {}).source), null)
})

t.test('unusable schemas are reported with their place in the card; containers that are none are skipped', async t => {
  const { source, problems } = compile({ fromCard: ['/a~1b/{schema}'] }, { 'a/b': { 'x~y': { properties: { p: { pattern: '(' } } }, ok: true } })
  t.match(problems, [{ pointer: '/a~1b/x~0y/properties/p/pattern' }])
  t.same([find(source, 'x~y'), find(source, 'ok')], [['x~y', '/a~1b/x~0y/properties/p/pattern'], ['ok', true]])
  for (const schemas of [null, [], [true], 'x', 7]) t.same(compile(NAMED, { schemas }).source.names, [])
  t.match(compile(NAMED, { schemas: { a: null, b: 'x', c: [] } }).problems, [{ pointer: '/schemas/a' }, { pointer: '/schemas/b' }, { pointer: '/schemas/c' }])
})

t.test('the cache compiles each schema once, and the next snapshot takes over what it uses again', async t => {
  const first = new SchemaCache()
  const one = first.compile({ type: 'string' })
  t.equal(first.compile({ type: 'string' }), one)
  t.notOk(first.compile({ type: 'number' }) === one)
  const second = new SchemaCache(first)
  t.equal(second.compile({ type: 'string' }), one)
  const third = new SchemaCache(second)
  t.equal(third.compile({ type: 'string' }), one)
  t.notOk(third.compile({ type: 'number' }) === first.compile({ type: 'number' }), 'what was not used was forgotten')
})

t.test('a card\'s schemas are bounded in number and in size together', async t => {
  const cache = new SchemaCache()
  for (let i = 0; i < MAX_SCHEMAS; i++) t.equal(cache.compile(i % 2 === 0 ? { const: i } : { enum: [i] }).ok, true)
  t.match(cache.compile({ const: -1 }), { ok: false, problem: { pointer: '', message: `the card holds more than ${MAX_SCHEMAS} different schemas` } })
  t.equal(cache.compile({ const: 0 }).ok, true, 'known ones still work')
  const large = (name: string): object => ({ enum: Array.from({ length: 4_000 }, (_, i) => `${name}${i}`) })
  const big = new SchemaCache()
  t.equal(big.compile(large('a')).ok, true)
  t.equal(big.compile(large('b')).ok, true)
  t.match(big.compile(large('c')), { ok: false, problem: { message: `the card holds schemas of more than ${MAX_VALUES} values together` } })
  t.equal(new SchemaCache(big).compile(large('a')).ok, true)
})

t.test('pointers: RFC 6901, own properties only', async t => {
  const root = JSON.parse('{"a":{"b/c":{"d~e":[1]}},"":2,"__proto__":{"x":3}}') as unknown
  const rows: readonly (readonly [string, unknown])[] = [['', root], ['/a/b~1c/d~0e/0', 1], ['/', 2], ['/__proto__/x', 3], ['/a/x', undefined], ['/constructor', undefined], ['/a/b~1c/d~0e/length', 1], ['/a/b~1c/d~0e/1', undefined]]
  for (const [pointer, expected] of rows) t.equal(resolvePointer(root, pointer), expected, pointer)
  for (const key of ['a', '~/', '~1', '', '__proto__']) t.equal(resolvePointer(JSON.parse(`{${JSON.stringify(key)}:1}`), `/${escapePointer(key)}`), 1, key)
  t.equal(countValues({ a: [1, { b: 2 }] }, 100), 5)
  t.equal(countValues(Array.from({ length: 100 }, () => 0), 10), 10)
})
