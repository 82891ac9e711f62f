import t from 'tap'
import type { Test } from 'tap'
import type { PolicyConfig, RuleConfig } from '#config/model/model.js'
import { compileName, matchingKeys } from '#policy/compile/glob.js'
import { compileGlob } from '#wire/glob.js'
import type { Sent } from './fixtures.js'
import { declaring, policyOf, send } from './fixtures.js'

const URI = 'https://x.test/ext/v1'
const SIDES: readonly Sent[] = [
  { version: '1.0', binding: 'JSONRPC' },
  { version: '0.3', binding: 'JSONRPC' },
  { version: '1.0', binding: 'HTTP+JSON' },
  { version: '0.3', binding: 'HTTP+JSON' }
]
const ruleOf = (rule: Partial<RuleConfig> & Pick<RuleConfig, 'select'>): PolicyConfig => ({ uri: URI, request: [{ id: 'r', ...rule }] })
const fields = (rule: Partial<RuleConfig> & Pick<RuleConfig, 'select'>, body: unknown, sent: Sent): string[] =>
  (send(policyOf(declaring(URI), { ext: ruleOf(rule) }), body, sent).rejection?.fields ?? []).map(one => `${one.field} ${one.description}`)
/** Checks the rule in every binding and version, with the path as in JSON-RPC. */
const everywhere = (
  test: Test,
  rule: Partial<RuleConfig> & Pick<RuleConfig, 'select'>,
  body: unknown,
  expected: readonly string[],
  more: Sent = {}
): void => {
  for (const side of SIDES) {
    const paths = expected.map(one => (side.binding === 'JSONRPC' ? one : one.replace(/^params\./, '')))
    test.same(fields(rule, body, { ...side, ...more }), paths, `${side.binding} ${side.version} ${JSON.stringify(body)}`)
  }
}
const message = (more: object): object => ({ message: { parts: [], ...more } })
const FORBID = { count: { max: 0 } } as const

t.test('globs: only * is special, and no name takes long', async t => {
  for (const [pattern, name, expected] of [
    ['a', 'a', true],
    ['a', 'ab', false],
    ['*', '', true],
    ['a*', 'a', true],
    ['a*', 'abc', true],
    ['*c', 'abc', true],
    ['a*c', 'ac', true],
    ['a*a', 'a', false],
    ['a*b*c', 'a-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['a*bb*b', 'abb', false],
    ['a*bb*b', 'abbb', true],
    ['a.*', 'axb', false],
    ['[a]', 'a', false],
    ['a**b', 'ab', true]
  ] as const) { t.equal(compileGlob(pattern).test(name), expected, `${pattern} ${name}`) }
  const started = performance.now()
  t.equal(compileGlob('a*a*a*a*a*a*a*b').test('a'.repeat(1_000_000)), false)
  t.ok(performance.now() - started < 200)
  t.same(
    compileName('$uri/*', ['urn:a*', 'urn:b']).map(one => [one.test('urn:a*/x'), one.test('urn:ab/x'), one.test('urn:b/x')]),
    [
      [true, false, false],
      [false, false, true]
    ],
    'an asterisk of the URI is itself'
  )
  t.same(
    matchingKeys({ a1: 1, a2: 2, b: 3 }, [compileGlob('a1'), compileGlob('a*')]),
    [
      { key: 'a1', exact: true },
      { key: 'a2', exact: false }
    ],
    'each once'
  )
  t.same(
    matchingKeys(JSON.parse('{"__proto__":1}') as Record<string, unknown>, [compileGlob('__proto__'), compileGlob('toString')]),
    [{ key: '__proto__', exact: true }],
    'own members only'
  )
})

t.test('metadata of the message', async t => {
  const select = { metadata: { key: '$uri' } }
  everywhere(t, { select, ...FORBID }, message({ metadata: { [URI]: 1 } }), [`params.message.metadata["${URI}"] is not allowed here`])
  everywhere(t, { select, ...FORBID }, message({ metadata: { [`${URI}/`]: 1 } }), [])
  everywhere(t, { select, count: { min: 1 } }, message({ metadata: {} }), [`params.message.metadata["${URI}"] is required`])
  everywhere(t, { select, count: { min: 1 } }, message({}), [`params.message.metadata["${URI}"] is required`])
  everywhere(t, { select, count: { min: 1 } }, message({ metadata: 'x' }), [
    'params.message.metadata must be an object',
    `params.message.metadata["${URI}"] is required`
  ])
  everywhere(t, { select, schema: { required: ['a'] } }, message({ metadata: { [URI]: {} } }), [
    `params.message.metadata["${URI}"].a is required (the schema of the rule)`
  ])
  everywhere(t, { select, schema: { required: ['a'] } }, message({ metadata: { [URI]: { a: 1 } } }), [])
  everywhere(t, { select: { metadata: { key: 'pay.*' } }, count: { max: 1 } }, message({ metadata: { 'pay.a': 1, 'pay.b': 2, pay: 3 } }), [
    'params.message.metadata["pay.b"] is one too many: at most 1 allowed'
  ])
  everywhere(t, { select: { metadata: { key: '$uri/*' } }, ...FORBID }, message({ metadata: { [URI]: 1, [`${URI}/t`]: 1 } }), [
    `params.message.metadata["${URI}/t"] is not allowed here`
  ])
  everywhere(t, { select: { metadata: { key: 'constructor' } }, ...FORBID }, message({ metadata: {} }), [])
  const long = `${'k'.repeat(200)}`
  everywhere(t, { select: { metadata: { key: 'k*' } }, ...FORBID }, message({ metadata: { [long]: 1 } }), [
    `params.message.metadata["${'k'.repeat(61)}..."] is not allowed here`
  ])
})

t.test('metadata: nested values and equality', async t => {
  const at = { metadata: { key: 'm', path: '/a/0/b~1c' } }
  everywhere(t, { select: at, schema: { const: 1 } }, message({ metadata: { m: { a: [{ 'b/c': 2 }] } } }), [
    'params.message.metadata.m.a[0]["b/c"] must be 1 (the schema of the rule)'
  ])
  everywhere(t, { select: at, schema: { const: 1 } }, message({ metadata: { m: { a: [] } } }), [])
  everywhere(t, { select: at, count: { min: 1 } }, message({ metadata: { m: 1 } }), ['params.message.metadata.m.a[0]["b/c"] is required'])
  for (const [equals, other] of [['x', 'y'], [1, '1'], [true, 'true']] as const) {
    everywhere(t, { select: { metadata: { key: 'm', equals } }, ...FORBID }, message({ metadata: { m: equals } }), [
      'params.message.metadata.m is not allowed here'
    ])
    everywhere(t, { select: { metadata: { key: 'm', equals } }, ...FORBID }, message({ metadata: { m: other } }), [])
  }
})

t.test('metadata of request and parts', async t => {
  const inParams = { select: { metadata: { in: ['params'], key: 'm' } }, ...FORBID } as const
  everywhere(t, inParams, { ...message({ metadata: { m: 1 } }), metadata: { m: 1 } }, ['params.metadata.m is not allowed here'])
  everywhere(t, { ...inParams, on: ['GetTask'] }, { id: 't', metadata: { m: 1 } }, [])
  for (const method of ['GetTask', 'tasks/get'] as const) {
    t.same(
      fields({ ...inParams, on: ['GetTask'] }, { id: 't', metadata: { m: 1 } }, { version: method === 'GetTask' ? '1.0' : '0.3', method }),
      ['params.metadata.m is not allowed here']
    )
  }
  const inParts = { select: { metadata: { in: ['part', 'message'], key: 'm' } }, ...FORBID } as const
  for (const [side, part] of [
    [SIDES[0], { text: 'a', metadata: { m: 1 } }],
    [SIDES[1], { kind: 'text', text: 'a', metadata: { m: 1 } }]
  ] as const) {
    t.same(fields(inParts, { message: { parts: [{ text: 'b' }, part] } }, side as Sent), [
      'params.message.parts[1].metadata.m is not allowed here'
    ])
  }
})

t.test('headers: each line is a value', async t => {
  const select = { header: 'signature' }
  everywhere(t, { select, count: { min: 1 } }, message({}), ['header signature is required'])
  everywhere(t, { select, count: { min: 1 } }, message({}), [], { headers: ['Signature', 'x'] })
  everywhere(t, { select, schema: { pattern: '^sig' } }, message({}), ['header signature must match the pattern "^sig" (the schema of the rule)'], {
    headers: ['SIGNATURE', 'sig1', 'signature', 'evil']
  })
  everywhere(t, { select, count: { max: 1 } }, message({}), ['header signature is one too many: at most 1 allowed'], {
    headers: ['signature', 'a', 'Signature', 'b']
  })
  t.same(fields({ select, count: { min: 1 } }, { id: 't' }, { method: 'GetTask' }), [], 'other operations are not meant')
  t.same(fields({ select, count: { min: 1 }, on: ['GetTask'] }, { id: 't' }, { method: 'GetTask' }), ['header signature is required'])
  t.same(fields({ select, count: { min: 1 }, on: ['all'] }, '', { binding: 'HTTP+JSON', operation: 'ListTasks' }), [
    'header signature is required'
  ])
  const { rejection: refusal } = send(
    policyOf(declaring(URI), { ext: ruleOf({ select, count: { min: 1 }, error: { class: 'extensionRequired' } }) }),
    message({})
  )
  t.match(refusal, { reason: 'EXTENSION_SUPPORT_REQUIRED', message: 'header signature is required.' }, 'not mended by the extension header')
})

t.test('pointers: fields in any spelling, other names exactly', async t => {
  const select = { pointer: '/message/taskId' }
  everywhere(t, { select, ...FORBID }, message({ taskId: 't' }), ['params.message.taskId is not allowed here'])
  everywhere(t, { select: { pointer: '/message/referenceTaskIds' }, ...FORBID }, message({ reference_task_ids: ['t'] }), [
    'params.message.reference_task_ids is not allowed here'
  ])
  everywhere(t, { select, count: { min: 1 } }, message({}), ['params.message.taskId is required'])
  everywhere(t, { select: { pointer: '/configuration/x' }, schema: { type: 'string' } }, { ...message({}), configuration: { x: 1 } }, [
    'params.configuration.x must be a string (the schema of the rule)'
  ])
  everywhere(t, { select: { pointer: '/configuration/x_y' }, ...FORBID }, { ...message({}), configuration: { xY: 1 } }, [])
  t.same(
    fields(
      { select: { pointer: '/message/parts/0/mediaType' }, ...FORBID },
      { message: { parts: [{ text: 'a', media_type: 'a/b' }] } },
      {}
    ),
    ['params.message.parts[0].media_type is not allowed here']
  )
  t.same(
    fields(
      { select: { pointer: '/historyLength' }, schema: { maximum: 1 }, on: ['GetTask'] },
      { id: 't', historyLength: 9 },
      { method: 'GetTask' }
    ),
    ['params.historyLength must be at most 1 (the schema of the rule)']
  )
})

t.test('parts by keys of their data', async t => {
  const one = (data: unknown): object => message({ parts: [{ kind: 'data', data }] })
  const rule = { select: { part: { dataKey: 'ap2.*' } }, schema: { required: ['id'] } }
  for (const side of SIDES.slice(0, 2)) {
    t.same(fields(rule, one({ 'ap2.a': { id: 1 }, 'ap2.b': {}, other: {} }), side), [
      'params.message.parts[0].data["ap2.b"].id is required (the schema of the rule)'
    ])
    t.same(fields({ select: { part: { dataKey: 'ap2.*' } }, count: { max: 1 } }, one({ 'ap2.a': 1, 'ap2.b': 1 }), side), [
      'params.message.parts[0].data["ap2.b"] is one too many: at most 1 allowed'
    ])
    for (const data of [{ other: {} }, [], 'x', 1]) t.same(fields(rule, one(data), side), [])
  }
  t.same(fields(rule, { message: { content: [{ data: { data: { 'ap2.a': {} } } }] } }, { version: '0.3', binding: 'HTTP+JSON' }), [
    'message.content[0].data.data["ap2.a"].id is required (the schema of the rule)'
  ])
})

t.test('parts by a schema over their normalised shape', async t => {
  const rule = { select: { part: { match: { required: ['url'], properties: { url: { pattern: '^http:' } } } } }, ...FORBID }
  t.same(fields(rule, message({ parts: [{ text: 'a' }, { url: 'http://x' }] }), {}), ['params.message.parts[1] is not allowed here'])
  t.same(fields(rule, message({ parts: [{ kind: 'file', file: { uri: 'http://x' } }] }), { version: '0.3' }), [
    'params.message.parts[0] is not allowed here'
  ])
  t.same(fields(rule, message({ parts: [{ url: 'https://x' }] }), {}), [])
})
