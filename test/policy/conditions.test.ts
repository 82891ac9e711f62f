import t from 'tap'
import { readCall } from '#a2a/message/call.js'
import { normalise } from '#a2a/message/normalise.js'
import type { Binding, Version } from '#a2a/versions.js'
import type { ConditionConfig, PolicyConfig, RuleConfig } from '#config/model/model.js'
import type { Decision } from '#policy/request/decision.js'
import type { Sent } from './fixtures.js'
import { declaring, policyOf, send } from './fixtures.js'

const URI = 'https://x.test/ext/v1'
const policyFor = (rule: Partial<RuleConfig>): PolicyConfig => ({
  uri: URI,
  request: [{ id: 'r', select: { metadata: { key: 'm' } }, count: { max: 0 }, ...rule }]
})
const ask = (rule: Partial<RuleConfig>, body: unknown, sent: Sent = {}): Decision =>
  send(policyOf(declaring(URI), { ext: policyFor(rule) }), body, sent)

const normalised = (body: object, version: Version, binding: Binding, method: string): unknown => normalise(readCall({
  bytes: Buffer.from(JSON.stringify(binding === 'JSONRPC' ? { jsonrpc: '2.0', id: 1, method, params: body } : body)),
  binding,
  version,
  contentType: 'application/json',
  restOperation: binding === 'JSONRPC' ? null : 'SendMessage',
  limits: { depth: 64, members: 1_000 }
}))

t.test('one shape for both versions and bindings', async t => {
  const common = { metadata: { x: 1 }, extensions: ['u'] }
  const envelope = (version: Version, parts: object[]): object => ({
    operation: 'SendMessage',
    version,
    message: { role: 'user', taskId: 't', metadata: { x: 1 }, extensions: ['u'], parts },
    metadata: { y: 2 }
  })
  const v1 = {
    message: {
      role: 'ROLE_USER',
      taskId: 't',
      contextId: '',
      ...common,
      parts: [
        { text: 'a', mediaType: 'text/plain' },
        { data: [1], mediaType: 'application/json' },
        { url: 'u', filename: 'f', metadata: { z: 1 } },
        { raw: 'aa' }
      ]
    },
    metadata: { y: 2 }
  }
  const parts = [
    { text: 'a', mediaType: 'text/plain' },
    { data: [1], mediaType: 'application/json' },
    { url: 'u', filename: 'f', metadata: { z: 1 } },
    { raw: 'aa' }
  ]
  t.same(normalised(v1, '1.0', 'JSONRPC', 'SendMessage'), envelope('1.0', parts))
  t.same(normalised(v1, '1.0', 'HTTP+JSON', ''), envelope('1.0', parts))
  const snake = {
    message: { role: 'ROLE_USER', task_id: 't', ...common, parts: [{ text: 'a', media_type: 'text/plain' }] },
    metadata: { y: 2 }
  }
  t.same(normalised(snake, '1.0', 'HTTP+JSON', ''), envelope('1.0', [{ text: 'a', mediaType: 'text/plain' }]))
  const v03 = {
    message: {
      kind: 'message',
      role: 'user',
      taskId: 't',
      ...common,
      parts: [
        { kind: 'text', text: 'a' },
        { kind: 'data', data: [1], metadata: { mimeType: 'application/json' } },
        { kind: 'file', file: { uri: 'u', name: 'f', mimeType: 'a/b' } },
        { kind: 'file', file: { bytes: 'aa' } }
      ]
    },
    metadata: { y: 2 }
  }
  t.same(
    normalised(v03, '0.3', 'JSONRPC', 'message/send'),
    envelope('0.3', [
      { text: 'a' },
      { data: [1], mediaType: 'application/json', metadata: { mimeType: 'application/json' } },
      { url: 'u', filename: 'f', mediaType: 'a/b' },
      { raw: 'aa' }
    ])
  )
  const rest03 = {
    request: {
      role: 'ROLE_USER',
      task_id: 't',
      ...common,
      content: [{ text: 'a' }, { data: { data: { a: 1 } } }, { file: { file_with_uri: 'u' } }]
    },
    metadata: { y: 2 }
  }
  t.same(normalised(rest03, '0.3', 'HTTP+JSON', ''), envelope('0.3', [{ text: 'a' }, { data: { a: 1 } }, { url: 'u' }]))
  t.same(normalised({ id: 't', metadata: { y: 2 } }, '1.0', 'JSONRPC', 'GetTask'), {
    operation: 'GetTask',
    version: '1.0',
    metadata: { y: 2 }
  })
})

const message = (more: object): object => ({ message: { parts: [], metadata: { m: 1 }, ...more } })

t.test('listed, match, and all together, in both versions', async t => {
  const rows: readonly (readonly [ConditionConfig, object, boolean])[] = [
    [{ listed: true }, { extensions: [URI] }, true],
    [{ listed: true }, { extensions: [`${URI}/`] }, false],
    [{ listed: true }, {}, false],
    [{ listed: false }, {}, true],
    [{ listed: false }, { extensions: ['a', URI] }, false],
    [{ match: { properties: { message: { properties: { metadata: { required: ['n'] } } } } } }, { metadata: { m: 1, n: 1 } }, true],
    [{ match: { properties: { message: { properties: { metadata: { required: ['n'] } } } } } }, {}, false],
    [{ match: { properties: { message: { required: ['taskId'] } } } }, { taskId: 't' }, true],
    [{ match: true, taskId: 'present' }, {}, false],
    [{ match: false }, {}, false]
  ]
  for (const [condition, more, holds] of rows) {
    for (const sent of [{ version: '1.0' }, { version: '0.3' }, { version: '1.0', binding: 'HTTP+JSON' }] as const) {
      const name = JSON.stringify([condition, more, sent])
      t.equal(ask({ when: condition }, message(more), sent).rejection !== null, holds, `when ${name}`)
      t.equal(ask({ unless: condition }, message(more), sent).rejection !== null, !holds, `unless ${name}`)
    }
  }
})

t.test('if a schema cannot be evaluated, the rule applies', async t => {
  const match = {
    $defs: { a: { type: 'object', additionalProperties: { $ref: '#/$defs/a' } }, b: { anyOf: [{ $ref: '#/$defs/b' }] } },
    $ref: '#/$defs/b'
  }
  t.ok(ask({ when: { match } }, message({})).rejection)
  t.ok(ask({ unless: { match } }, message({})).rejection)
})

t.test('on: the operations a rule is for', async t => {
  t.ok(ask({}, message({}), { method: 'SendStreamingMessage' }).rejection)
  t.equal(ask({ on: ['SendMessage'] }, message({}), { method: 'SendStreamingMessage' }).rejection, null)
  t.ok(ask({ on: ['SendMessage'] }, message({})).rejection)
  t.ok(ask({ on: ['SendStreamingMessage'] }, message({}), { version: '0.3', method: 'message/stream' }).rejection)
  t.ok(
    send(policyOf(declaring(URI), { ext: policyFor({}) }, { unknownMethods: 'forward' }), message({}), { method: 'x.send' }).rejection,
    'a message in an unknown method'
  )
})

t.test('verdict: warn is observed, whatever the mode', async t => {
  const warned = ask({ verdict: 'warn' }, message({}))
  t.match(warned, { rejection: null, violations: [{ mode: 'observe', rule: 'r' }] })
  t.ok(ask({ verdict: 'reject' }, message({})).rejection)
  const { violations } = send(policyOf(declaring(URI), { ext: policyFor({ verdict: 'reject' }) }, { mode: 'observe' }), message({}))
  t.match(violations, [{ mode: 'observe' }])
})
