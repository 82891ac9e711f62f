import fc from 'fast-check'
import { deepStrictEqual as same, strictEqual as equal } from 'node:assert'
import t from 'tap'
import { memberSpan } from '#wire/json/span.js'
import { parseSlowly } from '../fuzz/oracles/slow-json.js'
import { check } from '../helpers/seed.js'
import { anyJsonText } from './fixtures/json-text.js'

function slice (text: string, path: (string | number)[]): string | null {
  const bytes = Buffer.from(text)
  const span = memberSpan(bytes, path)
  return span === null ? null : bytes.toString('utf8', span.start, span.end)
}

function visit (value: unknown, path: (string | number)[], each: (value: unknown, path: (string | number)[]) => void): void {
  each(value, path)
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) visit(inner, [...path, Array.isArray(value) ? Number(name) : name], each)
}

t.test('the span of every value in a random document parses to that value, without space around it', async t => {
  t.ok(check('wire/json-span/found', fc.property(anyJsonText(), (text) => {
    visit(parseSlowly(text), [], (value, path) => {
      const found = slice(text, path)
      if (found === null) throw new Error(`nothing at ${JSON.stringify(path)}`)
      same(parseSlowly(found), value)
      equal(found, found.trim())
    })
  })) > 0, 'inputs')
})

t.test('absent values have no span', async (t) => {
  check('wire/json-span/absent', fc.property(anyJsonText(), fc.string(), fc.nat(20), (text, name, index) => {
    visit(parseSlowly(text), [], (value, path) => {
      const object = typeof value === 'object' && value !== null ? value : {}
      if (Array.isArray(object) || !Object.hasOwn(object, name)) equal(slice(text, [...path, name]), null)
      if (!Array.isArray(object) || index >= object.length) equal(slice(text, [...path, index]), null)
    })
  }))
  const rows: [string, (string | number)[]][] = [
    ['{"a":1}', ['b']],
    ['{"a":1}', ['']],
    ['{"ab":1}', ['a']],
    ['{"a":1}', ['ab']],
    ['[]', [0]],
    ['[ ]', [0]],
    ['[1]', [1]],
    ['[1]', [-1]],
    ['[1]', ['0']],
    ['{"0":1}', [0]],
    ['{"a":{"b":1}}', ['b']],
    ['"a"', ['a']],
    ['{}', ['a']],
    ['{"x":"a","a\\"":1}', ['a']]
  ]
  for (const [text, path] of rows) t.equal(slice(text, path), null, `${text} at ${path.join('/')}`)
})

t.test('an id keeps all its digits and its spelling', async (t) => {
  const rows: [string, string][] = [
    ['{"jsonrpc":"2.0","id":12345678901234567890,"method":"x"}', '12345678901234567890'],
    ['{"id" : 1.0e+2\n}', '1.0e+2'],
    ['{"id":-0}', '-0'],
    ['{"id":"\\u0061\\"b"}', '"\\u0061\\"b"'],
    ['{"params":{"id":1,"a":["}","]",{"id":2}]},"id":null}', 'null'],
    ['{"\\u0069d":7}', '7'],
    ['{"x":"\\\\","id":8}', '8']
  ]
  for (const [text, id] of rows) t.equal(slice(text, ['id']), id, text)
})
