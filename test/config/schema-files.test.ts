/* eslint no-template-curly-in-string: off -- a $ in a schema is a $ */
/**
 * Schemas in files: the gateway reads them once per load and validates them with the rest of the configuration. Each fault has the place of
 * the key that names the file.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CHECKS } from '#offline/configuration.js'
import { readPolicy } from '#config/catalogue.js'
import type { LoadResult } from '#config/load.js'
import { formatDiagnostic, parseConfig } from '#config/load.js'
import type { SchemaRef } from '#config/model/model.js'
import { compileRef } from '#jsonschema/schema-set.js'

const HEAD = 'version: 1\nagents: [{name: a, upstream: {url: "http://h"}, extensions: [p]}]\n'
const rule = (schema: string): string =>
  `${HEAD}extensions:\n  p:\n    uri: urn:p\n    request: [{id: r, select: {part: {}}, schema: ${schema}, required: true}]\n`
const bundle = (more = '', ref = 'https://x.test/s/order.json'): string =>
  `${rule(`{ref: "${ref}"}`)}bundles:\n  b: {base: "https://x.test/s/", dir: set${more}}\n`

const load = (text: string, baseDir: string): LoadResult => parseConfig(text, { file: 'g.yaml', baseDir, env: {}, checks: CHECKS })
const lines = (text: string, baseDir: string): string[] => {
  const result = load(text, baseDir)
  return (result.ok ? result.warnings : result.problems).map(formatDiagnostic)
}
const hash = (text: string, baseDir: string): string => {
  const result = load(text, baseDir)
  if (!result.ok) throw new Error(lines(text, baseDir).join('\n'))
  return result.config.hash
}

const ORDER = { $id: 'https://elsewhere.test/wrong', $ref: 'common.json#/$defs/id' }
const COMMON = { $defs: { id: { type: 'string' }, 'a/b': { type: 'number' } } }
const json = JSON.stringify

t.test('a JSON or YAML file replaces the schema; it is watched, and its content is part of the configuration', async t => {
  const directory = t.testdir({ 'a.json': json({ type: 'string' }), 'b.yaml': 'type: string\npattern: ^${HOME}$\n' })
  for (const [name, schema] of [['a.json', { type: 'string' }], ['b.yaml', { type: 'string', pattern: '^${HOME}$' }]] as const) {
    const result = load(rule(`{file: ${name}}`), directory)
    t.match(result, { ok: true, files: [join(directory, name)] })
    const source = result.ok ? result.config.agents[0]?.policies[0]?.policy.request?.[0]?.schema as SchemaRef : null
    t.same([...source?.set.documents.values() ?? []], [{ file: name, schema, authored: true }])
  }
  const before = hash(rule('{file: a.json}'), directory)
  writeFileSync(join(directory, 'a.json'), json({ type: 'number' }))
  t.not(hash(rule('{file: a.json}'), directory), before)
})

t.test('the body of a route takes a file; it was once a schema with an unknown keyword, which lets everything pass', async t => {
  const directory = t.testdir({ 'a.json': json({ type: 'object', required: ['command'] }) })
  const route = (file: string): string =>
    `${HEAD}extensions:\n  p:\n    uri: urn:p\n    routes: [{verb: POST, path: /run, body: {file: ${file}}}]\n`
  const result = load(route('a.json'), directory)
  const body = result.ok ? result.config.agents[0]?.policies[0]?.policy.routes?.[0]?.body as SchemaRef : null
  t.same([...body?.set.documents.values() ?? []], [{ file: 'a.json', schema: { type: 'object', required: ['command'] }, authored: true }])
  t.same(lines(route('b.json'), directory), [
    'g.yaml:6:52: extensions.p.routes[0].body.file: cannot read "b.json": no such file (paths are relative to the configuration file)'
  ])
})

t.test('rules for responses accept files and bundles, in every layer', async t => {
  const directory = t.testdir({
    'a.json': json({ type: 'string' }),
    'bad.json': json({ type: 'strin' }),
    set: { 'order.json': json({ type: 'number' }) }
  })
  const response = (schema: string): string => `response: [{id: r, select: {event: first}, schema: ${schema}}]`
  const text = (agent: string, file: string): string =>
    `${HEAD.replace('[p]', `[{p: {${response(agent)}}}, q]`)}extensions: {p: {uri: "urn:p"}, q: {uri: "urn:q", ${response(file)}}}\nbundles: {b: {base: "https://x.test/s/", dir: set}}\n`
  const result = load(text('{ref: "https://x.test/s/order.json"}', '{file: a.json}'), directory)
  const held = result.ok
    ? result.config.agents[0]?.policies.map(({ policy }) =>
      [...(policy.response?.[0]?.schema as SchemaRef).set.documents.values()].map(({ schema }) => schema)
    )
    : lines(text('{}', '{}'), directory)
  t.same(held, [[{ type: 'number' }], [{ type: 'string' }]])
  t.match(lines(text('{file: bad.json}', '{ref: "https://x.test/s/none.json"}'), directory), [
    /^g\.yaml:2:\d+: agents\[0\]\.extensions\[0\]\.p\.response\[0\]\.schema cannot be used: /,
    /^g\.yaml:3:\d+: extensions\.q\.response\[0\]\.schema\.ref: no bundle contains /
  ])
})

t.test('every place for a schema of the operator accepts a file: methods, cards, overlays', async t => {
  const directory = t.testdir({ 'a.json': json({ type: 'strin' }) })
  const text =
    HEAD.replace('[p]', '[{p: {methods: {m: {params: {file: a.json}}}}}]') +
    'extensions: {p: {uri: "urn:p", card: {params: {file: a.json}, schema: {file: a.json}}}}\n'
  t.same(lines(text, directory).map(line => line.replace(/cannot be used.*/, '')), [
    'g.yaml:2:89: agents[0].extensions[0].p.methods.m.params ',
    'g.yaml:3:47: extensions.p.card.params ',
    'g.yaml:3:71: extensions.p.card.schema '
  ])
})

t.test('problems of a file', async t => {
  const directory = t.testdir({
    'cut.json': '{"type":\n "string"',
    'twice.json': '{\n  "type": 1,\n  "type": 2}',
    'bad.json': json({ properties: { a: { type: 'x' } } }),
    'list.json': '[]',
    'bad.yaml': 'a: [\n',
    'slow.json': json({ pattern: '(?=x)' }),
    'out.json': json({ $ref: 'other.json' }),
    'large.json': `"${'x'.repeat(1024 * 1024)}"`,
    'draft.json': json({ $schema: 'urn:x' }),
    dir: {}
  })
  const CASES: readonly [string, string][] = [
    [
      'nope.json',
      '6:58: extensions.p.request[0].schema.file: cannot read "nope.json": no such file (paths are relative to the configuration file)'
    ],
    ['dir', '6:58: extensions.p.request[0].schema.file: cannot read "dir": not a file (paths are relative to the configuration file)'],
    ['cut.json', '6:58: extensions.p.request[0].schema.file: cut.json:2:10: the JSON ends at byte 18, where a comma or "}" was expected'],
    ['twice.json', '6:58: extensions.p.request[0].schema.file: twice.json:3:3: duplicate member "type" in the root object'],
    [
      'bad.yaml',
      '6:58: extensions.p.request[0].schema.file: bad.yaml:2:1: the "[" is not closed, or a line before its "]" is not indented'
    ],
    ['large.json', '6:58: extensions.p.request[0].schema.file: "large.json" is larger than 1 MiB'],
    [
      'bad.json',
      '6:51: extensions.p.request[0].schema cannot be used: bad.json#/properties/a/type: not valid against its meta-schema: must be equal to one of the allowed values'
    ],
    ['list.json', '6:51: extensions.p.request[0].schema cannot be used: list.json#: a JSON Schema is an object or a boolean'],
    [
      'slow.json',
      '6:51: extensions.p.request[0].schema cannot be used: slow.json#/pattern: the pattern "(?=x)" cannot run in linear time: look-ahead (?= is not supported'
    ],
    [
      'out.json',
      '6:51: extensions.p.request[0].schema cannot be used: out.json#/$ref: the reference "other.json" points outside the schema; the gateway fetches nothing, so copy the target into "$defs"'
    ],
    [
      'draft.json',
      '6:51: extensions.p.request[0].schema cannot be used: draft.json#/$schema: the "$schema" is not one of draft-07, 2019-09 and 2020-12'
    ]
  ]
  for (const [file, expected] of CASES) t.same(lines(rule(`{file: ${file}}`), directory), [`g.yaml:${expected}`], file)
  t.same(lines(rule('{file: bad.json, type: object}'), directory), [
    'g.yaml:6:68: unknown key "type" in extensions.p.request[0].schema (known keys: file)'
  ])
  t.same(lines(rule('{ref: order.json}'), directory), [
    'g.yaml:6:57: extensions.p.request[0].schema.ref must be an absolute URI (such as "https://example.com/schemas/order.json")'
  ])
  t.same(lines(rule('{ref: "urn:order"}'), directory), [
    'g.yaml:6:57: extensions.p.request[0].schema.ref: no bundle contains "urn:order" (define the available schemas in bundles)'
  ])
  t.same(lines(rule('{enumFromCard: skills}'), directory), [
    'g.yaml:6:66: extensions.p.request[0].schema.enumFromCard must be a JSON Pointer into the card (it starts with "/"; "~" is written "~0")'
  ])
})

t.test('a bundle: each file by base and name, whatever its $id; references between them resolve, a pointer may follow', async t => {
  const directory = t.testdir({ set: { 'order.json': json(ORDER), 'common.json': json(COMMON), 'readme.txt': '{' } })
  t.same(lines(bundle(), directory), [])
  t.same(lines(bundle('', 'https://x.test/s/common.json#/$defs/a~1b'), directory), [])
  const result = load(bundle(', draft: draft-07'), directory)
  t.match(result, { ok: true, files: [join(directory, 'set'), join(directory, 'set/common.json'), join(directory, 'set/order.json')] })
  t.match(result.ok && result.config.bundles.b, { draft: 'draft-07' })
  t.same(result.ok && [...result.config.bundles.b?.documents.keys() ?? []], ['https://x.test/s/common.json', 'https://x.test/s/order.json'])
  const before = hash(bundle(), directory)
  writeFileSync(join(directory, 'set/common.json'), json({ $defs: { id: { type: 'number' } } }))
  t.not(hash(bundle(), directory), before)
})

t.test('mistakes of the author are errors in a file, and annotations in a bundle, which others may have written', async t => {
  const directory = t.testdir({ 'own.json': json({ properties: { a: { formt: 'uri' } } }), set: { 'order.json': json({ formt: 'uri' }) } })
  t.same(lines(rule('{file: own.json}'), directory), [
    'g.yaml:6:43: extensions.p.request[0].schema cannot be used: own.json#/properties/a/formt: "formt" is not a keyword of JSON Schema 2020-12 (did you mean "format"?)'
  ])
  t.same(lines(bundle(), directory), [])
})

t.test('an inline schema refers to files and bundles', async t => {
  const directory = t.testdir({
    'id.json': json({ type: 'string', pattern: '^[a-z]+$' }),
    'bad.json': json({ type: 'x' }),
    set: { 'order.json': json(ORDER), 'common.json': json(COMMON), 'odd.json': json({ required: ['constructor'] }) }
  })
  const whole = (schema: string): string => `${rule(schema)}bundles:\n  b: {base: "https://x.test/s/", dir: set}\n`
  const validates = (schema: string, value: unknown): boolean => {
    const result = load(whole(schema), directory)
    if (!result.ok) throw new Error(result.problems.map(formatDiagnostic).join('\n'))
    const compiled = compileRef(result.config.extensions.p?.request?.[0]?.schema as SchemaRef)
    if (!compiled.ok) throw new Error(compiled.problem.message)
    return compiled.schema.validate(value) === null
  }
  const nested = '{type: object, properties: {id: {file: id.json}, total: {$ref: "https://x.test/s/common.json#/$defs/a~1b"}, own: {$ref: "#/$defs/o"}}, $defs: {o: {const: 1}}}'
  t.equal(validates(nested, { id: 'a', total: 1, own: 1 }), true)
  for (const wrong of [{ id: 'A' }, { total: 'x' }, { own: 2 }]) t.equal(validates(nested, wrong), false, json(wrong))
  t.equal(validates('{items: {$ref: "https://x.test/s/order.json"}}', ['a']), true)
  t.equal(validates('{$ref: "https://x.test/s/odd.json"}', {}), false, 'an inherited property is none, also in a schema of the bundle')
  t.equal(validates('{anyOf: [{file: id.json}, {const: {file: id.json}}]}', { file: 'id.json' }), true, 'a constant is data')
  t.equal(validates('{properties: {const: {file: id.json}}}', { const: 1 }), false, 'a property of any name')
  const result = load(whole(nested), directory)
  t.ok(result.files.includes(join(directory, 'id.json')), 'the file is watched')
  const before = hash(whole(nested), directory)
  writeFileSync(join(directory, 'id.json'), json({ type: 'number' }))
  t.not(hash(whole(nested), directory), before, 'its content is part of the configuration')

  t.same(lines(whole('{items: {file: nope.json}}'), directory), [
    'g.yaml:6:66: extensions.p.request[0].schema.items.file: cannot read "nope.json": no such file (paths are relative to the configuration file)'
  ])
  t.same(lines(whole('{items: {$ref: "https://x.test/s/comon.json"}}'), directory), [
    'g.yaml:6:66: extensions.p.request[0].schema.items["$ref"]: no bundle contains "https://x.test/s/comon.json" (did you mean "common.json"?)'
  ])
  t.same(lines(whole('{properties: {a: {file: bad.json}}}'), directory), [
    'g.yaml:6:51: extensions.p.request[0].schema cannot be used: bad.json#/type: not valid against its meta-schema: must be equal to one of the allowed values'
  ])
  t.same(lines(whole('{properties: {a: {file: id.json}, b: {requird: []}}}'), directory), [
    'g.yaml:6:89: extensions.p.request[0].schema cannot be used: /properties/b/requird: "requird" is not a keyword of JSON Schema 2020-12 (did you mean "required"?)'
  ])
})

t.test('problems of a bundle', async t => {
  const directory = t.testdir({
    set: { 'order.json': json(ORDER), 'common.json': json({ $defs: { id: { type: 'x' } } }) },
    cut: { 'a.json': '{' },
    empty: {},
    mixed: { 'order.json': json(ORDER), 'common.json': json({ ...COMMON, $schema: 'http://json-schema.org/draft-07/schema#' }) },
    out: { 'order.json': json({ $ref: 'https://json.test/x.json' }) }
  })
  t.same(lines(bundle(), directory), [
    'g.yaml:6:51: extensions.p.request[0].schema cannot be used: set/common.json#/$defs/id/type: not valid against its meta-schema: must be equal to one of the allowed values'
  ])
  t.same(lines(bundle('', 'https://x.test/s/ordr.json'), directory), [
    'g.yaml:6:57: extensions.p.request[0].schema.ref: no bundle contains "https://x.test/s/ordr.json" (did you mean "order.json"?)'
  ])
  t.same(lines(bundle('', 'https://x.test/order.json'), directory), [
    'g.yaml:6:57: extensions.p.request[0].schema.ref: no bundle contains "https://x.test/order.json" (did you mean "https://x.test/s/order.json"?)'
  ])
  t.same(lines(bundle('', 'https://x.test/s/order.json#/nope'), directory), [
    'g.yaml:6:51: extensions.p.request[0].schema cannot be used: set/order.json#/nope: the pointer does not resolve'
  ])
  const other = (dir: string): string => bundle().replace('dir: set', `dir: ${dir}`)
  t.match(lines(other('mixed'), directory), [
    / mixed\/common\.json#\/\$schema: does not use the draft of mixed\/order\.json, 2020-12; give the bundle a draft, or the files the same "\$schema"$/
  ])
  t.same(lines(other('mixed, draft: 2020-12'), directory), [])
  t.match(lines(other('out'), directory), [
    / out\/order\.json#\/\$ref: the reference "https:\/\/json\.test\/x\.json" points outside the schema; the gateway fetches nothing/
  ])
  t.match(lines(other('empty'), directory), ['g.yaml:8:39: bundles.b.dir: "empty" contains no *.json'])
  t.match(lines(other('nope'), directory), [
    'g.yaml:8:39: bundles.b.dir: cannot read "nope": no such file (paths are relative to the configuration file)'
  ])
  t.match(lines(other('cut'), directory), [
    'g.yaml:8:39: bundles.b.dir: cut/a.json:1:2: the JSON ends at byte 1, where a member name or "}" was expected'
  ])
  t.match(lines(bundle().replace('/s/", dir', '/s", dir').replace('s/order', 'sorder'), directory), [
    'g.yaml:6:51: extensions.p.request[0].schema cannot be used: set/order.json#/$ref: the reference "common.json#/$defs/id" points outside the bundle; the gateway fetches nothing, so copy the target into "$defs"',
    'g.yaml:8:13: bundles.b.base must be an absolute URI that ends with "/" (file names are appended to it)'
  ])
  t.same(
    lines(`${bundle()}  c: {base: "https://x.test/s/", dir: set}\n`, directory).filter(line => line.includes('bundles')),
    ['g.yaml:9:39: bundles.c and bundles.b contain schemas with the same URI (give each its own base)']
  )
})

t.test('a policy of the catalogue names files relative to itself', async t => {
  const directory = t.testdir({
    'p.yaml': 'uri: urn:p\nrequest: [{id: r, select: {part: {}}, schema: {file: s/a.json}}]\n',
    'q.yaml': 'uri: urn:p\nmethods: {m: {params: {file: no.json}}}\n',
    s: { 'a.json': '{}' }
  })
  t.match(readPolicy(join(directory, 'p.yaml')), { request: [{ schema: { set: { documents: Map } } }] })
  t.throws(() => readPolicy(join(directory, 'q.yaml')), /q\.yaml:2:30: methods\.m\.params\.file: cannot read "no\.json": no such file/)
})
