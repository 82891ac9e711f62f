/** Completion and hover of the playground's editor: the place in a document, and what the schema says about it. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { packageRoot } from '#config/paths.js'
import { documentSchema } from '#console/playground/document-keys.js'

interface Context { readonly path: readonly (string | number)[], readonly kind: 'key' | 'value', readonly word: string, readonly present: readonly string[] }

const module = async (name: string): Promise<Record<string, (...args: never[]) => unknown>> =>
  await import(pathToFileURL(join(packageRoot(), 'src/console/editor', name)).href) as never
const { contextAt } = await module('context.js') as unknown as { contextAt: (text: string, at: number) => Context }
const { schemasAt, keysOf, valuesOf, describe } = await module('schema.js') as unknown as {
  schemasAt: (root: object, path: readonly (string | number)[]) => object[]
  keysOf: (schemas: object[], policies: object[]) => { name: string, required: boolean, info: string }[]
  valuesOf: (schemas: object[], policies: object[]) => { text: string }[]
  describe: (schemas: object[], path: readonly (string | number)[]) => { title: string, text: string, facts: string[] } | null
}

/** The context at the mark `|` of a text. */
function at (text: string): Context {
  const mark = text.indexOf('|')
  return contextAt(text.slice(0, mark) + text.slice(mark + 1), mark)
}

t.test('places in a document', t => {
  for (const [text, expected] of [
    ['ext|', { path: [], kind: 'key', word: 'ext' }],
    ['extensions:\n  |', { path: ['extensions'], kind: 'key', word: '' }],
    ['extensions:\n  timestamp:\n    mode: |', { path: ['extensions', 'timestamp', 'mode'], kind: 'value', word: '' }],
    ['extensions:\n  timestamp:\n    mode: enf|\n    echo: verify', { path: ['extensions', 'timestamp', 'mode'], kind: 'value', word: 'enf' }],
    ['extensions:\n  timestamp:\n    mode: observe\n    ec|', { path: ['extensions', 'timestamp'], kind: 'key', word: 'ec', present: ['mode'] }],
    ['extensions:\n  x:\n    a: 1\n  y:\n    |\n    b: 1\n', { path: ['extensions', 'y'], kind: 'key', present: ['b'] }],
    ['agents:\n  - name: a\n    mo|', { path: ['agents', 0], kind: 'key', word: 'mo', present: ['name'] }],
    ['agents:\n- name: a\n- name: b\n  mode: |', { path: ['agents', 1, 'mode'], kind: 'value' }],
    ['agents:\n  - name: a\n    extensions:\n      - x\n      - |', { path: ['agents', 0, 'extensions', 1], kind: 'key', word: '' }],
    ['agents:\n  - name: a\n    extensions: [x, ti|', { path: ['agents', 0, 'extensions', 1], kind: 'value', word: 'ti' }],
    ['agents:\n  - {name: a, mo|}', { path: ['agents', 0], kind: 'key', word: 'mo', present: ['name'] }],
    ['extensions: {timestamp: {mode: |}}', { path: ['extensions', 'timestamp', 'mode'], kind: 'value', word: '' }],
    ['extensions: {a: {mode: off}, b: {|', { path: ['extensions', 'b'], kind: 'key', present: [] }],
    ['extensions: {a: "}{", b: {m|', { path: ['extensions', 'b'], kind: 'key', word: 'm' }],
    ['# {\nextensions:\n  a:   # [\n    |', { path: ['extensions', 'a'], kind: 'key' }],
    ['extensions:\n  "a":\n    request:\n      - id: one\n        select: {\n          part: {da|\n', { path: ['extensions', 'a', 'request', 0, 'select', 'part'], kind: 'key', word: 'da' }],
    ['extensions:\n  a:\n    uri: https://example.com/{x}|', { path: ['extensions', 'a', 'uri'], kind: 'value', word: 'https://example.com/{x}' }]
  ] as const) t.match(at(text), expected, text)
  t.end()
})

t.test('any text has a place', t => {
  const broken = 'extensions: {a: [}\n - - : "x\n\t- {]: \'\n}}]] : # \n-'
  for (let i = 0; i <= broken.length; i++) t.ok(Array.isArray(contextAt(broken, i).path))
  t.end()
})

t.test('keys, values and descriptions', t => {
  const schema = documentSchema()
  const policies = [{ name: 'timestamp', title: 'Timestamps' }]
  const keys = (path: readonly (string | number)[]): string[] => keysOf(schemasAt(schema, path), policies).map(({ name }) => name)
  const values = (path: readonly (string | number)[]): string[] => valuesOf(schemasAt(schema, path), policies).map(({ text }) => text)
  t.same(keys([]), ['version', 'agents', 'extensions'])
  t.match(keys(['agents', 0]), ['name', 'mode'])
  t.notOk(keys(['agents', 0]).includes('upstream'), 'only what the playground uses')
  t.same(keys(['extensions']), ['timestamp'])
  for (const key of ['uri', 'mode', 'request', 'activation']) t.ok(keys(['extensions', 'x']).includes(key), key)
  t.ok(keys(['extensions', 'x', 'request', 0, 'select', 'part']).includes('mediaType'))
  t.equal(keysOf(schemasAt(schema, ['extensions', 'x', 'request', 0]), []).find(({ name }) => name === 'id')?.required, true)
  t.same(values(['extensions', 'x', 'mode']), ['enforce', 'observe', 'off'])
  t.ok(values(['agents', 0, 'extensions', 0]).includes('timestamp'))
  t.same(values(['extensions', 'x', 'request', 0, 'select', 'part', 'data']), ['true', 'false'])
  t.match(describe(schemasAt(schema, ['agents', 0, 'mode']), ['agents', 0, 'mode']), {
    title: 'agents[0].mode',
    text: /rejects violations/,
    facts: ['enforce | observe | off', 'default "enforce"']
  })
  t.equal(describe(schemasAt(schema, ['nowhere']), ['nowhere']), null)
  t.end()
})
