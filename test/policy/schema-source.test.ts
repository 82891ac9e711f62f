import t from 'tap'
import type { SchemaSet, SchemaSource } from '#config/model/model.js'
import type { CompiledSource, SourceContext, UnusableSchema } from '#policy/compile/schema-source.js'
import { compileSource, MAX_SCHEMAS, MAX_VALUES, SchemaCache } from '#policy/compile/schema-source.js'
import { countValues } from '#jsonschema/lint.js'
import { escapePointer, resolvePointer } from '#wire/json/pointer.js'

type Raw = Readonly<Record<string, unknown>>
const compile = (source: SchemaSource, ...cards: readonly Raw[]): { source: CompiledSource, problems: UnusableSchema[] } => {
  const problems: UnusableSchema[] = []
  const context: SourceContext = {
    cards: cards.map((raw, self) => ({ raw, self })),
    cache: new SchemaCache(),
    report: problem => problems.push(problem)
  }
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

t.test('agents share equal schemas of the operator, and no schemas of cards', async t => {
  const schema = (): object => ({ type: 'string', pattern: '^shared$' })
  const [one, two] = [new SchemaCache(), new SchemaCache()]
  t.equal(one.compile(schema()), two.compile(schema()))
  t.not(one.compile({ ...schema(), minLength: 1 }), two.compile(schema()))
  t.not(one.compile({ format: 'date' }), new SchemaCache({ formats: 'annotate' }).compile({ $schema: 'https://json-schema.org/draft/2020-12/schema', format: 'date' }))
  t.not(new SchemaCache().compile(schema(), true), new SchemaCache().compile(schema(), true))
})

t.test('from the card: the first template that resolves, by name', async t => {
  const { source } = compile(NAMED, {
    schemas: { a: { type: 'string' }, b: { type: 'number' } },
    capabilities: { extensions: [{ params: { schemas: { b: true, c: true } } }] }
  })
  t.same(source.names, ['a', 'b', 'c'])
  t.same(
    ['a', 'b', 'c', 'd', 'constructor', '__proto__'].map(name => find(source, name)),
    [['a', true], ['b', false], ['c', true], null, null, null]
  )
  t.same(find(source), null, 'no name, no schema')
})

t.test('the agent\'s other card is searched after the first', async t => {
  const { source } = compile(NAMED, { schemas: { a: false } }, { schemas: { a: true, b: true } })
  t.same([find(source, 'a'), find(source, 'b')], [['a', false], ['b', true]])
})

t.test('a fixed pointer needs no capture, and does not contain the client\'s name', async t => {
  const { source } = compile({ fromCard: ['/named/{schema}', '/one'] }, { one: { type: 'string' }, named: { x: false } })
  t.same([find(source), find(source, 'x'), find(source, 'client')], [[null, true], ['x', false], [null, true]])
  t.same(find(compile({ fromCard: ['/none'] }, {}).source), null)
})

t.test('unusable schemas are reported with their place in the card; invalid containers are skipped', async t => {
  const { source, problems } = compile(
    { fromCard: ['/a~1b/{schema}'] },
    { 'a/b': { 'x~y': { properties: { p: { pattern: '(' } } }, ok: true } }
  )
  t.match(problems, [{ pointer: '/a~1b/x~0y/properties/p/pattern' }])
  t.same([find(source, 'x~y'), find(source, 'ok')], [['x~y', '/a~1b/x~0y/properties/p/pattern'], ['ok', true]])
  for (const schemas of [null, [], [true], 'x', 7]) t.same(compile(NAMED, { schemas }).source.names, [])
  t.match(compile(NAMED, { schemas: { a: null, b: 'x', c: [] } }).problems, [
    { pointer: '/schemas/a' },
    { pointer: '/schemas/b' },
    { pointer: '/schemas/c' }
  ])
})

t.test('the cache compiles each schema once, and the next snapshot reuses it', async t => {
  const first = new SchemaCache()
  const one = first.compile({ type: 'string' }, true)
  t.equal(first.compile({ type: 'string' }, true), one)
  t.notOk(first.compile({ type: 'number' }, true) === one)
  const second = new SchemaCache({ previous: first })
  t.equal(second.compile({ type: 'string' }, true), one)
  const third = new SchemaCache({ previous: second })
  t.equal(third.compile({ type: 'string' }, true), one)
  t.notOk(third.compile({ type: 'number' }, true) === first.compile({ type: 'number' }, true), 'what was not used was forgotten')
})

t.test('a card\'s schemas are limited in number and in total size', async t => {
  const cache = new SchemaCache()
  for (let i = 0; i < MAX_SCHEMAS; i++) t.equal(cache.compile(i % 2 === 0 ? { const: i } : { enum: [i] }).ok, true)
  t.match(cache.compile({ const: -1 }), {
    ok: false,
    problem: { pointer: '', message: `the card has more than ${MAX_SCHEMAS} different schemas` }
  })
  t.equal(cache.compile({ const: 0 }).ok, true, 'known ones still work')
  const large = (name: string): object => ({ enum: Array.from({ length: 4_000 }, (_, i) => `${name}${i}`) })
  const big = new SchemaCache()
  t.equal(big.compile(large('a')).ok, true)
  t.equal(big.compile(large('b')).ok, true)
  t.match(big.compile(large('c')), { ok: false, problem: { message: `the card has schemas of more than ${MAX_VALUES} values together` } })
  t.equal(new SchemaCache({ previous: big }).compile(large('a')).ok, true)
})

t.test('pointers: RFC 6901, own properties only', async t => {
  const root = JSON.parse('{"a":{"b/c":{"d~e":[1]}},"":2,"__proto__":{"x":3}}') as unknown
  const rows: readonly (readonly [string, unknown])[] = [
    ['', root],
    ['/a/b~1c/d~0e/0', 1],
    ['/', 2],
    ['/__proto__/x', 3],
    ['/a/x', undefined],
    ['/constructor', undefined],
    ['/a/b~1c/d~0e/length', 1],
    ['/a/b~1c/d~0e/1', undefined]
  ]
  for (const [pointer, expected] of rows) t.equal(resolvePointer(root, pointer), expected, pointer)
  for (const key of ['a', '~/', '~1', '', '__proto__']) {
    t.equal(resolvePointer(JSON.parse(`{${JSON.stringify(key)}:1}`), `/${escapePointer(key)}`), 1, key)
  }
  t.equal(countValues({ a: [1, { b: 2 }] }, 100), 5)
  t.equal(countValues(Array.from({ length: 100 }, () => 0), 10), 10)
})

const set = (documents: Readonly<Record<string, unknown>>, draft: SchemaSet['draft'] = null): SchemaSet => ({
  draft,
  documents: new Map(Object.entries(documents).map(([file, schema]) => [`https://x.test/${file}`, { file: `s/${file}`, schema, authored: false }]))
})

t.test('from a file: references into the other files of its set, relative, absolute, by pointer, in circles', async t => {
  const documents = {
    'order.json': {
      $id: 'urn:wrong',
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      properties: {
        id: { $ref: 'common.json#/$defs/id' },
        total: { $ref: 'https://x.test/common.json#/$defs/a~1b' },
        parent: { $ref: '#' },
        more: { $ref: 'order.json' }
      }
    },
    'common.json': {
      $defs: { id: { type: 'string', pattern: '^o' }, 'a/b': { type: 'number' }, back: { $ref: 'order.json#/properties/id' } }
    },
    'never.json': { type: 'nonsense' }
  }
  const check = (ref: string, value: unknown, draft: SchemaSet['draft'] = null): unknown => {
    const { source, problems } = compile({ ref: `https://x.test/${ref}`, set: set(documents, draft) })
    const found = source.find(new Map())?.entry
    return found?.usable === true ? found.schema.validate(value) : problems
  }
  t.equal(check('order.json', { id: 'o1', total: 1, parent: { id: 'o' }, more: { total: 2 } }), null)
  t.match(check('order.json', { id: 'x', total: 1 }), [{ path: '.id' }])
  t.match(check('order.json', { more: { parent: { total: 'x' } } }), [{ path: '.more.parent.total', message: 'must be a number' }])
  t.match(check('common.json#/$defs/back', 'x'), [{ path: '' }])
  t.equal(check('common.json#/%24defs/id', 'o'), null)
  t.match(check('common.json#/$defs/id', 7), [{ message: 'must be a string' }])
  t.match(check('never.json', 7), [{ pointer: 's/never.json#/type' }], 'looked at only where it is needed')
  t.same(check('order.json', {}, 'draft-07'), null, 'the set\'s draft wins')
})

t.test('from a file: a schema that refers outside of its set, or unfolds endlessly, is unusable', async t => {
  const problem = (documents: Readonly<Record<string, unknown>>): unknown =>
    compile({ ref: 'https://x.test/a.json', set: set(documents) }).problems
  t.match(problem({ 'a.json': { $ref: 'b.json' }, 'b.json': { items: { $ref: 'http://169.254.169.254/x' } } }), [
    { pointer: 's/b.json#/items/$ref', message: /points outside the bundle; the gateway fetches nothing/ }
  ])
  const doubling = Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => [
      `${i === 0 ? 'a' : i}.json`,
      i === 29 ? { type: 'string' } : { allOf: [{ $ref: `${i + 1}.json` }, { $ref: `${i + 1}.json` }] }
    ])
  )
  t.match(problem(doubling), [{ pointer: 's/a.json#', message: /unfolds to more than 200000 steps/ }])
  t.match(problem({ 'a.json': { $ref: 'b.json' }, 'b.json': { pattern: '(a)\\1' } }), [
    { pointer: 's/b.json#/pattern', message: /linear time/ }
  ])
  t.match(problem({ 'a.json': { $ref: 'b.json#/nowhere' }, 'b.json': {} }), [{ pointer: 's/a.json#' }])
})

t.test('from a file: compiled once for all agents', async t => {
  const source = { ref: 'https://x.test/a.json', set: set({ 'a.json': { type: 'string' } }) }
  const [one, two] = [compile(source), compile(source)].map(({ source }) => source.find(new Map())?.entry)
  t.equal(one?.usable === true && one.schema, two?.usable === true && two.schema)
})

t.test('values that the card lists: every item or member under *, in the first card that has any', async t => {
  const skills = {
    skills: [{ id: 'a' }, { id: 'b' }, { name: 'c' }, { id: { no: 1 } }, 7],
    capabilities: { extensions: [{}, { params: { kinds: { x: 'p', y: 'q' } } }] }
  }
  const allows = (pointer: string, value: unknown, ...cards: readonly Raw[]): unknown => {
    const { source, problems } = compile({ enumFromCard: pointer }, ...cards)
    const entry = source.find(new Map())?.entry
    return entry?.usable === true ? entry.schema.validate(value) === null : [entry, problems]
  }
  t.same(['a', 'b', 'c', 7, undefined].map(value => allows('/skills/*/id', value, skills)), [true, true, false, false, false])
  t.same(
    ['p', 'q', 'x'].map(value => allows('/capabilities/extensions/{self}/params/kinds/*', value, {}, skills)),
    [true, true, false],
    'of the second card, with its own index'
  )
  t.same(allows('/skills/*/id', 'b', { skills: [{ id: 'z' }] }, skills), false)
  const none = { pointer: '/skills/*/id', message: 'the card lists no values there' }
  t.same(allows('/skills/*/id', 'a', { skills: [] }), [{ usable: false, ...none }, [none]])
  t.same(allows('/constructor/*', 'a', {}), [
    { usable: false, ...none, pointer: '/constructor/*' },
    [{ ...none, pointer: '/constructor/*' }]
  ])
})

t.test('items of lists by their members, several of them, and a rest that may be absent', async t => {
  const card = {
    list: [
      { id: 'a', kinds: [{ id: 'x', type: 'application/json', schema: { inline: { type: 'string' } } }, { id: 'y', type: 'text/plain' }] },
      { id: 'b', kinds: [{ id: 'x', type: 'application/json', schema: { inline: { type: 'number' } } }] },
      { id: 'none' }, { kinds: [] }, 7, null
    ]
  }
  const template = (end: string): string => `/list/{id=one}/kinds/{id=two,type=three}${end}`
  const find = (end: string, ...values: readonly string[]) => compile({ fromCard: [template(end)] }, card).source
    .find(new Map(['one', 'two', 'three'].flatMap((name, i) => values[i] === undefined ? [] : [[name, values[i]]])))
  const json = 'application/json'
  const valid = (found: ReturnType<typeof find>, value: unknown): unknown =>
    found?.entry.usable === true ? found.entry.schema.validate(value) === null : found
  t.same([valid(find('/schema/inline', 'a', 'x', json), 'text'), valid(find('/schema/inline', 'a', 'x', json), 1)], [true, false])
  t.equal(valid(find('/schema/inline', 'b', 'x', json), 1), true, 'the same id in another item')
  for (const other of [['a', 'x', 'text/plain'], ['a', 'z', json], ['c', 'x', json], ['none', 'x', json], ['a', 'x'], []]) {
    t.equal(find('?/schema/inline', ...other), null, `${other.join()}: names no schema`)
  }
  t.equal(find('/schema/inline', 'a', 'y', 'text/plain'), null, 'has no schema')
  t.equal(valid(find('?/schema/inline', 'a', 'y', 'text/plain'), { any: 1 }), true, 'needs no schema')
  t.equal(valid(find('?/schema/inline', 'a', 'x', json), 1), false, 'a schema that is there counts')
  t.same(compile({ fromCard: [template('?/schema/inline')] }, card).source.names, ['a, x, application/json', 'a, y, text/plain', 'b, x, application/json'])
})
