import t from 'tap'
import fc from 'fast-check'
import { writeRejection } from '#a2a/errors.js'
import type { AgentConfig, PolicyConfig, RuleConfig } from '#config/model/model.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import type { Decision } from '#policy/request/decision.js'
import { MAX_VIOLATIONS } from '#policy/violation.js'
import { anyText } from '../helpers/any-text.js'
import { check } from '../helpers/seed.js'
import type { Sent } from './fixtures.js'
import { declaring, message, OBJECT_SCHEMAS, objectSchemas, part10, policyOf, send } from './fixtures.js'

const U = 'https://x.test/one'
const V = 'https://x.test/two'
const W = 'https://x.test/three'
const required = (...uris: string[]): object => declaring(...uris.map(uri => ({ uri, required: true })))
const hello = message({ text: 'x' })
const outcome = ({ rejection: refusal }: Decision): string =>
  refusal === null ? 'forward' : `${refusal.customReason ?? refusal.reason}: ${refusal.message}`

t.test('a missing required extension: named, with the header to send', async t => {
  const policy = policyOf(required(U, V), {})
  const ask = (requested: string[], sent: Sent = {}): Decision => send(policy, hello, { requested, ...sent })
  t.same(ask([]), {
    rejection: {
      reason: 'EXTENSION_SUPPORT_REQUIRED',
      message: `This agent requires extensions that the request does not activate: ${U}, ${V}. Send the header "A2A-Extensions: ${U},${V}" with the request.`,
      rule: `${U}/required`,
      metadata: { rule: 'required', extension: U, missingExtensions: `${U},${V}` },
      fields: [
        { field: 'header A2A-Extensions', description: `must name the required extension ${U}` },
        { field: 'header A2A-Extensions', description: `must name the required extension ${V}` }
      ],
      helpUri: U
    },
    violations: [U, V].map(uri => ({
      mode: 'enforce',
      reason: 'EXTENSION_SUPPORT_REQUIRED',
      customReason: null,
      extension: uri,
      rule: 'required',
      path: 'header A2A-Extensions',
      message: `must name the required extension ${uri}`,
      uri,
      isStandalone: false,
      metadata: null,
      missing: uri,
      isAccess: false
    })),
    declared: [U, V],
    listed: [],
    evidenced: [],
    active: [],
    outbound: [],
    injected: [],
    missing: [U, V],
    verbatim: false,
    activity: [],
    matched: new Set(),
    pause: null,
    evidence: 'none',
    claims: [],
    asked: [],
    caller: null,
    owner: null,
    forbidden: null,
    unexamined: [],
    memory: null,
    edits: [],
    headers: null,
    edited: []
  })
  t.equal(
    outcome(ask([V])),
    `EXTENSION_SUPPORT_REQUIRED: This agent requires an extension that the request does not activate: ${U}. Send the header "A2A-Extensions: ${U}" with the request.`
  )
  t.match(outcome(ask([V], { version: '0.3' })), `Send the header "X-A2A-Extensions: ${U}"`)
  t.match(ask([V, U, W]), { rejection: null, violations: [], outbound: [V, U, W], missing: [] })
  for (const near of [`${U}/`, U.toUpperCase(), `${U}#`, ` ${U}`]) t.ok(ask([near, V]).rejection, `"${near}" is another URI`)
})

t.test('message.extensions is annotation, not activation', async t => {
  t.match(outcome(send(policyOf(required(U), {}), { message: { extensions: [U], parts: [] } })), /^EXTENSION_SUPPORT_REQUIRED/)
})

t.test('enforceOn: messages covers sends and unknown methods, all covers all but the extended card', async t => {
  const messages = policyOf(required(U), {}, { unknownMethods: 'forward' })
  const all = policyOf(required(U), {}, { enforceOn: 'all' })
  for (const method of ['SendMessage', 'SendStreamingMessage', 'x.exec']) {
    t.match(outcome(send(messages, hello, { method })), /^EXTENSION_SUPPORT_REQUIRED/, method)
  }
  for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask', 'GetExtendedAgentCard', 'ListTasks']) {
    t.equal(outcome(send(messages, {}, { method })), 'forward', method)
    if (method !== 'GetExtendedAgentCard') t.match(outcome(send(all, {}, { method })), /^EXTENSION_SUPPORT_REQUIRED/, method)
  }
  t.equal(outcome(send(all, {}, { method: 'GetExtendedAgentCard' })), 'forward', 'a client learns there what the agent requires')
  t.match(outcome(send(all, '', { binding: 'HTTP+JSON', operation: 'GetTask' })), /^EXTENSION_SUPPORT_REQUIRED/)
})

t.test('injection satisfies a requirement, on every operation, once', async t => {
  const policy = policyOf(required(U), { one: { uri: U, activation: { default: 'inject' } } })
  t.match(send(policy, hello), { rejection: null, outbound: [U], injected: [U], missing: [] })
  t.match(send(policy, hello, { requested: [V, U] }), { rejection: null, outbound: [V, U], injected: [] })
  t.match(send(policy, hello, { requested: [V] }), { outbound: [V, U], injected: [U] })
  t.match(send(policy, {}, { method: 'GetTask' }), { outbound: [U], injected: [U] })
})

t.test('unlisted extensions: forward, strip, reject', async t => {
  const with_ = (unlistedExtensions: AgentConfig['unlistedExtensions'], more: Partial<AgentConfig> = {}): AgentPolicy =>
    policyOf(declaring(U), { mine: { uri: V, activation: { default: 'inject' } } }, { unlistedExtensions, ...more })
  t.match(send(with_('forward'), hello, { requested: [W, U] }), { rejection: null, outbound: [W, U, V] })
  t.match(send(with_('strip'), hello, { requested: [W, U] }), { rejection: null, violations: [], outbound: [U, V] })
  t.match(send(with_('strip', { mode: 'observe' }), hello, { requested: [W, U] }), { outbound: [W, U, V] })
  t.equal(
    outcome(send(with_('reject'), hello, { requested: [U, 'https://Zq7Secret.test'] })),
    `EXTENSION_NOT_ALLOWED: header A2A-Extensions requests an extension that this agent does not list; this agent lists ${U}.`,
    'what was asked for is not repeated'
  )
  t.equal(outcome(send(with_('reject'), hello, { requested: [U, V] })), 'forward', 'a policy lists it too')
  t.equal(
    outcome(send(policyOf({}, {}, { unlistedExtensions: 'reject' }), hello, { requested: [U] })),
    'EXTENSION_NOT_ALLOWED: header A2A-Extensions requests an extension that this agent does not list; this agent lists none.'
  )
})

t.test('limits.extensions', async t => {
  const policy = policyOf(declaring(U), {})
  const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `https://x.test/${i}`)
  t.equal(outcome(send(policy, hello, { requested: many(8) })), 'forward')
  t.equal(
    outcome(send(policy, hello, { requested: many(9) })),
    "INVALID_REQUEST: header A2A-Extensions requests more than 8 extensions; request only those in the agent's card."
  )
})

t.test('an unreadable request is rejected at once; in observe, it is recorded and forwarded', async t => {
  const rows: readonly (readonly [string, unknown, Sent, string, string])[] = [
    ['not JSON', '{', {}, 'PARSE_ERROR', 'json'],
    ['batch', '[]', {}, 'INVALID_REQUEST', 'envelope'],
    ['version', hello, { version: '0.3', method: 'SendMessage' }, 'VERSION_NOT_SUPPORTED', 'version'],
    ['unknown method', hello, { method: 'x' }, 'METHOD_NOT_FOUND', 'unknown-method']
  ]
  for (const [name, body, sent, reason, rule] of rows) {
    const enforced = send(policyOf(required(U), {}), body, sent)
    t.match(
      enforced,
      { rejection: { reason, rule: `gateway/${rule}` }, violations: [{ extension: 'gateway', rule, mode: 'enforce' }], missing: [] },
      name
    )
    t.equal(enforced.violations.length, 1)
    t.equal(enforced.rejection?.message, enforced.violations[0]?.message, 'said in its own words')
    t.match(send(policyOf({}, {}, { mode: 'observe' }), body, sent), { rejection: null, violations: [{ mode: 'observe' }] }, name)
    t.match(
      send(policyOf(required(U), {}, { mode: 'off' }), body, { ...sent, requested: [W] }),
      { rejection: null, violations: [], outbound: [W] },
      name
    )
  }
  t.match(send(policyOf({}, {}, { unknownMethods: 'forward' }), hello, { method: 'x' }), { rejection: null, violations: [] })
  t.match(
    send(policyOf({}, {}, { unknownMethods: 'forward' }), hello, { method: 'message/send' }),
    { rejection: { reason: 'METHOD_NOT_FOUND', rule: 'gateway/method' } },
    'a method of the other version is not unknown'
  )
})

t.test('ambiguous fields and differing tenants', async t => {
  const policy = policyOf({}, {})
  t.equal(
    outcome(send(policy, message({ text: 'a', data: 1 }))),
    'INVALID_PARAMS: params.message.parts[0] contains both "text" and "data"; a part has exactly one of text, raw, url, data.'
  )
  t.equal(
    outcome(send(policy, { Message: {}, message: { task_id: 'a', taskId: 'b' } }, { binding: 'HTTP+JSON' })),
    'INVALID_PARAMS: Message is read as "message" by some agents; spell it "message" or leave it out; message.task_id occurs together with "taskId", another spelling of the same field; send only "taskId".'
  )
  t.equal(
    outcome(send(policy, { tenant: 'a', message: {} }, { binding: 'HTTP+JSON', pathTenant: 'b' })),
    'INVALID_PARAMS: tenant differs from the tenant of the request path; send the same tenant in both, or leave it out of the body.'
  )
  t.equal(outcome(send(policy, { tenant: 'a', message: {} }, { binding: 'HTTP+JSON', pathTenant: 'a' })), 'forward')
  t.equal(outcome(send(policy, { message: {} }, { binding: 'HTTP+JSON', pathTenant: 'a' })), 'forward')
})

const strict = (uri: string, mode?: PolicyConfig['mode']): PolicyConfig => ({
  uri,
  ...(mode === undefined ? {} : { mode }),
  request: [{ id: 'never', select: { part: { data: true } }, schema: false }]
})

t.test('each policy by its own mode: an observed violation does not reject', async t => {
  const observed = send(policyOf(declaring(U), { one: strict(U, 'observe') }), message({ data: 1 }))
  t.match(observed, { rejection: null, violations: [{ mode: 'observe', extension: 'one', rule: 'never' }] })
  const both = send(policyOf(declaring(U, V), { one: strict(U, 'observe'), two: strict(V) }), message({ data: 1 }))
  t.match(both, { rejection: { rule: 'two/never', fields: [{ field: 'params.message.parts[0].data' }] } })
  t.equal(both.rejection?.fields?.length, 1)
  t.equal(both.violations.length, 2)
  t.match(
    send(policyOf(declaring(U), { one: strict(U, 'enforce') }, { mode: 'observe' }), message({ data: 1 })),
    { rejection: { rule: 'one/never' } },
    'and an enforced one does, though the agent observes'
  )
  const required_ = policyOf(required(U, V), { one: { uri: U, mode: 'observe' } })
  t.match(send(required_, hello), { missing: [U, V], rejection: { metadata: { missingExtensions: V } } })
  t.match(send(required_, hello, { requested: [V] }), { missing: [U], rejection: null })
})

t.test('observed violations cannot crowd out enforced ones', async t => {
  const parts = Array.from({ length: 1_000 }, () => ({ data: 1 }))
  for (const policies of [{ one: strict(U, 'observe'), two: strict(V) }, { two: strict(V), one: strict(U, 'observe') }]) {
    const decision = send(policyOf(declaring(U, V), policies), message(...parts))
    t.match(decision.rejection, { rule: 'two/never' })
    t.equal(decision.violations.length, 2 * MAX_VIOLATIONS)
  }
})

t.test('a message of 50,000 invalid parts produces no more violations than one of twenty', async t => {
  const parts = Array.from({ length: 50_000 }, () => ({ text: 'a', data: 1, Data: 2, media_type: 'a/b', mediaType: 'a/c' }))
  for (const mode of ['enforce', 'observe'] as const) {
    const decision = send(policyOf(declaring(U), { one: strict(U) }, { mode }), message(...parts))
    t.equal(decision.violations.length, MAX_VIOLATIONS)
    t.ok((decision.rejection?.message.length ?? 0) < 1_000)
  }
})

t.test('the first enforced violation determines the error, all are listed', async t => {
  const policy = policyOf(
    { ...declaring({ uri: U, required: true }, OBJECT_SCHEMAS), schemas: { fight: { required: ['a'] } } },
    { 'object-schemas': objectSchemas }
  )
  const decision = send(policy, message(part10({})))
  t.equal(
    outcome(decision),
    `EXTENSION_SUPPORT_REQUIRED: This agent requires an extension that the request does not activate: ${U}. Send the header "A2A-Extensions: ${U}" with the request. 1 more problem in the details.`
  )
  t.same(decision.rejection?.fields?.map(one => one.field), ['header A2A-Extensions', 'params.message.parts[0].data.a'])
})

t.test('decide never throws, and every rejection can be written', async t => {
  const policy = policyOf(
    {
      ...required(U),
      ...declaring({ uri: U, required: true }, OBJECT_SCHEMAS),
      schemas: { fight: { type: 'object', properties: { a: { $ref: '#' } }, uniqueItems: true, unevaluatedProperties: false } }
    },
    { 'object-schemas': objectSchemas },
    { unlistedExtensions: 'reject', unknownMethods: 'forward' }
  )
  const name = fc.constantFrom(
    'message',
    'Message',
    'request',
    'parts',
    'content',
    'data',
    'text',
    'kind',
    'metadata',
    'mimeType',
    'mediaType',
    'media_type',
    'taskId',
    'task_id',
    'tenant',
    'jsonrpc',
    'id',
    'method',
    'params',
    '__proto__',
    'constructor',
    'a',
    '\u202e',
    'toString'
  )
  const leaf = fc.oneof(
    fc.constantFrom<unknown>(
      '2.0',
      'data',
      'text',
      'SendMessage',
      'message/send',
      'application/json;schema=fight',
      'application/json;schema',
      '',
      0,
      -1,
      1.5,
      true,
      null
    ),
    anyText()
  )
  const { value } = fc.letrec(tie => ({
    value: fc.oneof({ maxDepth: 7 }, leaf, fc.array(tie('value'), { maxLength: 3 }), fc.dictionary(name, tie('value'), { maxKeys: 6 }))
  }))
  const shaped = fc.oneof(
    value,
    fc.record({
      jsonrpc: fc.constant('2.0'),
      id: value,
      method: fc.oneof(fc.constantFrom('SendMessage', 'message/send', 'GetTask', 'x'), fc.string()),
      params: value
    }),
    fc.record({
      jsonrpc: fc.constant('2.0'),
      method: fc.constantFrom('SendMessage', 'message/send'),
      params: fc.record({
        message: fc.record({
          parts: fc.array(fc.record({ kind: value, data: value, mediaType: value, metadata: value }, { requiredKeys: [] }), {
            maxLength: 3
          })
        })
      })
    }),
    fc.record({ message: value, request: value }, { requiredKeys: [] })
  )
  t.ok(
    check(
      'policy/decide/never-throws',
      fc.property(
        shaped,
        fc.constantFrom('0.3' as const, '1.0' as const),
        fc.constantFrom('JSONRPC' as const, 'HTTP+JSON' as const),
        fc.array(fc.constantFrom(U, V, OBJECT_SCHEMAS, 'x'), { maxLength: 3 }),
        fc.option(fc.string()),
        (document, version, binding, requested, tenant) => {
          const { rejection: refusal, violations } = send(policy, JSON.stringify(document), {
            version,
            binding,
            requested,
            ...(tenant === null ? {} : { pathTenant: tenant })
          })
          if (violations.length > 2 * MAX_VIOLATIONS) throw new Error('too many violations')
          if (refusal === null) return
          if (refusal.message === '' || /\p{C}/u.test(refusal.message)) throw new Error(`message: ${JSON.stringify(refusal.message)}`)
          for (const [key, text] of Object.entries(refusal.metadata ?? {})) {
            if (typeof text !== 'string') throw new Error(`metadata.${key} is no string`)
          }
          JSON.parse(
            writeRejection(refusal, { binding, version, id: '1', eventStream: false, statedVersion: true, mediaType: null }).body.toString()
          )
        }
      ),
      { numRuns: 1_500 }
    ) > 0, 'inputs'
  )
})

t.test('an enforced policy under an agent that observes: unreadable or ambiguous requests are rejected', async t => {
  const rule: RuleConfig = { id: 'none', select: { metadata: { key: 'k' } }, count: { max: 0 } }
  const under = (mode: 'enforce' | 'observe'): AgentPolicy =>
    policyOf(declaring('urn:e'), { e: { uri: 'urn:e', mode, request: [rule] } }, { mode: 'observe' })
  const envelope = (params: string): string => `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${params}}`
  const unread: readonly (readonly [string, string])[] = [
    ['gateway/json', envelope('{"message":{"metadata":{"k":1},"metadata":{}}}')],
    ['gateway/envelope', '[]'],
    ['gateway/ambiguous-fields', envelope('{"message":{"parts":[{"text":"x"}],"Metadata":{"k":1}}}')]
  ]
  for (const [by, text] of unread) {
    t.match(send(under('enforce'), text).rejection, { rule: by }, by)
    t.equal(send(under('observe'), text).rejection, null, 'nothing is enforced, so nothing is refused')
  }
  t.equal(send(under('enforce'), '{}', { method: 'x' }).rejection?.rule ?? null, 'gateway/envelope')
  t.equal(
    send(under('enforce'), envelope('{}').replace('SendMessage', 'x/y')).rejection,
    null,
    "an unknown method is the agent's mode to judge"
  )
})
