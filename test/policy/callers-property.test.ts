/**
 * Property: for a caller who may not use an extension, no request that reaches the agent names the extension or carries its data, whatever
 * the card, the policies and the request.
 */
import fc from 'fast-check'
import { deepStrictEqual as same } from 'node:assert'
import t from 'tap'
import type { PolicyConfig } from '#config/model/model.js'
import { bodyOf } from '#pipeline/request.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import { check } from '../helpers/seed.js'
import { ADA, BOB } from './callers-kit.js'
import { declaring, policyOf, send } from './fixtures.js'

const U = 'https://x.test/ext/pay/v1'
const SAME = 'https://old.test/ext/pay'
const OTHER = 'https://x.test/ext/pay/v2'
const V = 'https://x.test/ext/other/v1'
const GUARDED = [U, SAME, OTHER]
const TYPE = 'application/x-pay'
const HEADER = 'x-pay'

const optional = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(of, { nil: undefined })
const defined = (value: object): object => Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined))

const guarded = fc
  .record({
    signals: optional(fc.subarray(['header', 'listed', 'evidence', 'always'] as const, { minLength: 1 })),
    onForbidden: fc.constantFrom(undefined, 'strip', 'strip'),
    default: optional(fc.constantFrom('inject', 'none')),
    required: fc.constantFrom(undefined, 'card', 'never', 'never', 'always'),
    inactive: fc.constantFrom(undefined, 'strip', 'strip', 'reject'),
    inject: fc.boolean(),
    verbatim: fc.constantFrom(false, false, true)
  })
  .map(({ inactive, inject, verbatim, ...activation }): PolicyConfig => ({
    uri: U,
    aliases: [{ uri: SAME, relation: 'same' }, { uri: OTHER, relation: 'satisfies' }],
    owns: { metadata: ['$uri', '$uri/*', 'pay.*'], dataKeys: ['payment'], data: [{ path: '/type', equals: 'pay' }], mediaTypes: [TYPE], headers: [HEADER] },
    activation: { callers: { groups: ['finance'] }, ...defined(activation) },
    ...(inactive === undefined ? {} : { inactive: { request: inactive } }),
    ...(inject && !verbatim ? { inject: [{ metadata: '$uri/token', value: 'platform' }, { metadata: 'pay.by', fromCaller: 'subject' }] } : {}),
    ...(verbatim ? { integrity: 'verbatim' } : {}),
    methods: { 'pay.now': { need: 'none' } },
    request: [{ id: 'r', select: { part: { dataKey: 'payment' } }, schema: { type: 'number' }, verdict: 'strip' }]
  }))
const other = fc
  .record({ onMissing: optional(fc.constantFrom('add', 'reject')), verbatim: fc.boolean(), requires: fc.boolean(), inject: fc.boolean() })
  .map(({ onMissing, verbatim, requires, inject }): PolicyConfig => ({
    uri: V,
    activation: {
      ...(requires ? { requires: ['pay'] } : {}),
      ...(onMissing === undefined || !requires ? {} : { onMissing }),
      ...(inject ? { default: 'inject' } : {})
    },
    ...(verbatim ? { integrity: 'verbatim' } : {})
  }))
const agent = fc.record({
  declared: fc.subarray([U, SAME, OTHER, V]),
  required: fc.constantFrom(false, false, true),
  pay: guarded,
  other: optional(other),
  unlisted: fc.constantFrom('forward', 'strip', 'strip', 'reject'),
  enforceOn: fc.constantFrom('messages', 'all')
})

const uri = fc.constantFrom(U, SAME, OTHER, V, 'urn:unknown', `${U}/`, U.toUpperCase())
const metadata = optional(fc.uniqueArray(fc.constantFrom(U, SAME, `${U}/x`, `${SAME}/x`, 'pay.by', 'pay.', 'payment', V, 'x'), { maxLength: 3 })
  .map(names => Object.fromEntries(names.map(name => [name, 1]))))
const data = fc.constantFrom({ payment: 1 }, { payment: 'x', a: 1 }, { type: 'pay' }, { type: 'other' }, { a: { payment: 1 } })
const part = fc
  .record({ data, mediaType: optional(fc.constantFrom(TYPE, `${TYPE};v=1`, 'application/json')), metadata, text: fc.boolean() })
  .map(({ data, mediaType, metadata, text }) => (text ? defined({ text: 'x', metadata }) : defined({ data, mediaType, metadata })))
const request = fc.record({
  requested: fc.array(uri, { maxLength: 4 }),
  headers: fc.subarray([HEADER, 'X_Pay', 'X-Other']),
  version: fc.constantFrom('1.0' as const, '0.3' as const),
  binding: fc.constantFrom('JSONRPC' as const, 'HTTP+JSON' as const),
  method: fc.constantFrom(undefined, undefined, undefined, undefined, 'pay.now'),
  extensions: optional(fc.array(uri, { maxLength: 4 })),
  parts: fc.array(part, { minLength: 1, maxLength: 3 }),
  metadata,
  own: metadata
})

type Request = typeof request extends fc.Arbitrary<infer T> ? T : never

interface Part { data?: Record<string, unknown>, mediaType?: string, metadata?: object, kind?: string }

interface Body { message?: { extensions?: string[], parts?: Part[], metadata?: object }, metadata?: object }

/** What of the extension is in the request that the agent gets: found without the code under test. */
function traces (body: Body, outbound: readonly string[], headers: readonly string[]): string[] {
  const { message } = body
  const parts = message?.parts ?? []
  const names = [body, message ?? {}, ...parts].flatMap(holder => Object.keys(('metadata' in holder ? holder.metadata : undefined) ?? {}))
  const types = parts.flatMap(({ mediaType, metadata }) => [mediaType, (metadata as { mimeType?: string } | undefined)?.mimeType])
  return [
    ...outbound.filter(one => GUARDED.includes(one)).map(one => `header ${one}`),
    ...(message?.extensions ?? []).filter(one => GUARDED.includes(one)).map(one => `listed ${one}`),
    ...names.filter(name => name.startsWith('pay.') || GUARDED.some(one => name === one || name.startsWith(`${one}/`))).map(name => `metadata ${name}`),
    ...parts.flatMap(({ data = {} }) => 'payment' in data || data.type === 'pay' ? ['data'] : []),
    ...types.filter(type => type?.startsWith(TYPE) === true).map(type => `type ${type}`),
    ...headers.filter((name, i) => i % 2 === 0 && name.toLowerCase().replaceAll('_', '-') === HEADER).map(name => `line ${name}`)
  ]
}

t.test('no trace of a forbidden extension reaches the agent', async t => {
  let forwards = 0
  let edits = 0
  let allowed = 0
  const requests = fc.array(request, { minLength: 10, maxLength: 10 })
  const property = fc.property(agent, requests, ({ declared, required, pay, other, unlisted, enforceOn }, requests) => {
    const policy = policyOf(
      declaring(...declared.map(uri => ({ uri, required }))),
      { pay, ...(other === undefined ? {} : { other }) },
      { unlistedExtensions: unlisted, enforceOn, unknownMethods: 'forward' } as object
    )
    for (const sent of requests) one(policy, sent)
  })
  function one (policy: AgentPolicy, sent: Request): void {
    const { version, binding } = sent
    const method = binding === 'HTTP+JSON' ? undefined : sent.method
    const spell = (one: Part): Part => {
      if (version === '1.0') return one
      const { mediaType, ...rest } = one
      const metadata = mediaType === undefined ? rest.metadata : { ...rest.metadata, mimeType: mediaType }
      return { kind: 'data' in one ? 'data' : 'text', ...rest, ...(metadata === undefined ? {} : { metadata }) }
    }
    const body = defined({
      message: defined({ messageId: 'm', role: 'user', extensions: sent.extensions, parts: sent.parts.map(one => spell(one as Part)), metadata: sent.metadata }),
      metadata: sent.own
    })
    const name = method ?? (version === '1.0' ? 'SendMessage' : 'message/send')
    const bytes = Buffer.from(JSON.stringify(binding === 'JSONRPC' ? { jsonrpc: '2.0', id: 1, method: name, params: body } : body))
    const headers = sent.headers.flatMap(one => [one, '1'])
    const run = (caller: typeof ADA | undefined): string[] | null => {
      const requested = [...new Set(sent.requested)]
      const more = { ...(method === undefined ? {} : { method }), ...(caller === undefined ? {} : { caller }) }
      const decision = send(policy, bytes.toString(), { version, binding, requested, headers, ...more })
      if (decision.rejection !== null) return null
      if (decision.edits.length > 0) edits++
      if (method === 'pay.now' && caller !== ADA) return ['method']
      const value = JSON.parse(bodyOf({ decision }, bytes).toString()) as { params?: object }
      const lines = decision.headers ?? headers
      // A verbatim request keeps the extension headers of the client.
      const outbound = decision.verbatim ? requested : decision.outbound
      return traces((binding === 'JSONRPC' ? value.params : value) as Body, outbound, lines)
    }
    for (const caller of [BOB, undefined]) {
      const found = run(caller)
      if (found === null) continue
      forwards++
      same(found, [])
    }
    if ((run(ADA)?.length ?? 0) > 0) allowed++
  }
  check('policy/callers-property/no-trace', property, { numRuns: 100 })
  t.ok(forwards > 200, `${forwards} requests were forwarded`)
  t.ok(edits > 50, `${edits} of them edited`)
  t.ok(allowed > 100, `${allowed} requests of an allowed caller carried the extension`)
})
