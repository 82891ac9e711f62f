/** `activation.callers`: no signal activates an extension for a caller who may not use it, and nothing of it reaches the agent. */
import t from 'tap'
import type { PolicyConfig } from '#config/model/model.js'
import { bodyOf } from '#pipeline/request.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import type { Decision } from '#policy/request/decision.js'
import type { Sent } from './fixtures.js'
import { declaring, policyOf, send } from './fixtures.js'
import { ADA, BOB } from './callers-kit.js'

const U = 'https://x.test/ext/pay/v1'
const SAME = 'https://old.test/ext/pay'
const OTHER = 'https://x.test/ext/pay/v2'
const V = 'https://x.test/ext/other/v1'
const SIDES: readonly Sent[] = [
  { version: '1.0' },
  { version: '0.3' },
  { version: '1.0', binding: 'HTTP+JSON' },
  { version: '0.3', binding: 'HTTP+JSON' }
]
const sideOf = ({ version = '1.0', binding = 'JSONRPC' }: Sent): string => `${version} ${binding}`
const callers = { groups: ['finance'] }

function pay (activation: PolicyConfig['activation'] = {}, more: Partial<PolicyConfig> = {}): PolicyConfig {
  return { uri: U, owns: { metadata: ['$uri'], dataKeys: ['payment'], headers: ['x-payment'] }, activation: { callers, ...activation }, ...more }
}
const one = (activation: PolicyConfig['activation'] = {}, more: Partial<PolicyConfig> = {}): AgentPolicy =>
  policyOf(declaring(U, V), { pay: pay(activation, more) })

const outcome = ({ rejection }: Decision): string | null => rejection === null ? null : `${rejection.rule} ${rejection.reason}`
const DENIED = 'pay/callers EXTENSION_NOT_ALLOWED'
const root = ({ binding }: Sent): string => binding === 'HTTP+JSON' ? '' : 'params.'
const hello = { message: { parts: [{ text: 'x' }] } }
const listing = { message: { parts: [{ text: 'x' }], extensions: [V, U, U] } }
const owning = { message: { parts: [{ text: 'x' }], metadata: { [U]: 1, other: 1 } } }
const dataOf = ({ version }: Sent): object =>
  ({ message: { parts: [{ ...(version === '0.3' ? { kind: 'data' } : {}), data: { payment: 1, other: 1 } }] } })

/** What the agent gets of a request. */
function forwarded (policy: AgentPolicy, body: object, sent: Sent): { decision: Decision, body: unknown } {
  const { version = '1.0', binding = 'JSONRPC' } = sent
  const method = sent.method ?? (version === '1.0' ? 'SendMessage' : 'message/send')
  const bytes = Buffer.from(JSON.stringify(binding === 'JSONRPC' ? { jsonrpc: '2.0', id: 1, method, params: body } : body))
  const decision = send(policy, bytes.toString(), sent)
  const value = JSON.parse(bodyOf({ decision }, bytes).toString()) as { params?: unknown }
  return { decision, body: binding === 'JSONRPC' ? value.params : value }
}

t.test('every signal, every treatment, every binding and version', async t => {
  const SIGNALS = ['header', 'listed', 'evidence', 'always'] as const
  for (const side of SIDES) {
    for (const signals of [undefined, ...SIGNALS.map(one => [one]), SIGNALS]) {
      for (const onForbidden of [undefined, 'strip'] as const) {
        for (const inactive of [undefined, 'strip', 'reject'] as const) {
          const where = JSON.stringify([sideOf(side), signals, onForbidden, inactive])
          const policy = one(
            { ...(signals === undefined ? {} : { signals }), ...(onForbidden === undefined ? {} : { onForbidden }) },
            inactive === undefined ? {} : { inactive: { request: inactive } }
          )
          const ask = (body: object, more: Sent = {}): { decision: Decision, body: unknown } =>
            forwarded(policy, body, { ...side, caller: BOB, ...more })
          for (const body of [hello, listing, owning, dataOf(side)]) {
            for (const requested of [[], [U]]) {
              const { decision } = ask(body, { requested })
              t.same(decision.active.includes(U), false, `${where}: never active`)
              t.same(decision.outbound.includes(U) && decision.rejection === null, false, `${where}: never requested from the agent`)
              t.same(decision.forbidden?.uris, [U])
              const may = send(policy, body, { ...side, caller: ADA, requested: [...requested, ...(signals === undefined ? [U] : [])] })
              t.equal(may.violations.some(({ rule }) => rule === 'callers'), false, `${where}: others are not concerned`)
              t.equal(may.forbidden, null)
            }
          }
          t.equal(outcome(ask(hello).decision), null, where)
          const header = ask(hello, { requested: [V, U] })
          const listed = ask(listing)
          const removes = onForbidden === 'strip'
          t.equal(outcome(header.decision), removes ? null : DENIED, where)
          t.equal(outcome(listed.decision), removes ? null : DENIED, where)
          if (removes) {
            t.same(header.decision.outbound, [V], where)
            t.same(header.body, hello, where)
            t.match(header.decision.violations, [{ mode: 'observe', rule: 'callers' }], where)
            t.same(listed.body, { message: { ...listing.message, extensions: [V] } }, where)
            t.same(listed.decision.edited, ['pay/callers'], where)
            t.same(listed.decision.listed, [V], where)
          }
          const metadata = ask(owning)
          const data = ask(dataOf(side))
          const line = ask(hello, { headers: ['X_Payment', '1', 'x-other', '2', 'x-payment', '3'] })
          if (inactive === 'strip') {
            t.same(metadata.body, { message: { ...owning.message, metadata: { other: 1 } } }, where)
            t.same((data.body as { message: { parts: { data: unknown }[] } }).message.parts[0]?.data, { other: 1 }, where)
            t.same(line.decision.headers, ['x-other', '2'], where)
            t.match(metadata.decision.violations, [{ mode: 'observe', rule: 'callers', reason: 'EXTENSION_NOT_ALLOWED' }], where)
          } else for (const { decision } of [metadata, data, line]) t.equal(outcome(decision), DENIED, `${where}: never forwarded`)
        }
      }
    }
  }
})

t.test('the message says what to do, and where', async t => {
  for (const side of SIDES) {
    const header = side.version === '0.3' ? 'X-A2A-Extensions' : 'A2A-Extensions'
    const text = (body: object, requested: readonly string[] = []): string | undefined =>
      send(one(), body, { ...side, requested, caller: BOB }).rejection?.message
    t.equal(
      text(hello, [U]),
      `header ${header} names the extension ${U}, which this caller may not use; leave it out, or call with credentials of a caller who may.`
    )
    t.match(text(listing), `${root(side)}message.extensions[1] names the extension ${U}, which this caller may not use; `)
    t.match(text(owning), `${root(side)}message.metadata["${U}"] belongs to the extension ${U}, which this caller may not use; `)
  }
  t.match(send(one(), hello, { requested: [U] }).rejection, {
    reason: 'EXTENSION_NOT_ALLOWED',
    rule: 'pay/callers',
    metadata: { extension: U, rule: 'callers' },
    helpUri: U
  }, 'the same without a caller')
})

t.test('nobody who may not use an extension learns its rules', async t => {
  const policy = one({}, {
    request: [{ id: 'secret-limit', select: { part: { dataKey: 'payment' } }, schema: { maximum: 0 } }, { id: 'all', select: { header: 'x-other' }, required: true, on: ['all'] }]
  })
  const decision = send(policy, dataOf({}), { caller: BOB, requested: [U] })
  t.same(decision.rejection?.fields?.map(({ field }) => field), ['header A2A-Extensions', 'params.message.parts[0].data.payment'])
  t.notMatch(JSON.stringify(decision.rejection), /secret-limit|must be|<=/)
  t.ok(decision.violations.some(({ rule }) => rule === 'secret-limit'), 'the record has them')
  t.equal(outcome(send(policy, hello, { caller: BOB })), 'pay/all EXTENSION_DATA_INVALID', 'the rules themselves still run')
})

t.test('required and forbidden', async t => {
  const card = declaring({ uri: U, required: true }, V)
  for (const side of SIDES) {
    for (const [more, declared] of [[{}, card], [{ required: 'always' }, declaring(V)], [{ required: 'always', onForbidden: 'strip' }, card]] as const) {
      const policy = policyOf(declared, { pay: pay(more) })
      const without = send(policy, hello, { ...side, caller: BOB })
      t.match(without.rejection, { reason: 'EXTENSION_NOT_ALLOWED', rule: 'pay/callers', message: `must name the required extension ${U}, which this caller may not use; call with` })
      t.equal(without.rejection?.metadata?.missingExtensions, undefined, 'the header would not help')
      const named = send(policy, hello, { ...side, caller: BOB, requested: [U] })
      t.equal(outcome(named), DENIED)
      t.equal(named.rejection?.fields?.length, 1, 'said once')
      t.equal(outcome(send(policy, hello, { ...side, caller: ADA, requested: [U] })), null)
    }
    t.equal(outcome(send(policyOf(card, { pay: pay() }), { id: '1' }, { ...side, method: 'GetTask', ...(side.binding === 'HTTP+JSON' ? { operation: 'GetTask' } : {}), version: '1.0', caller: BOB })), null)
  }
})

t.test('aliases', async t => {
  const aliased = pay({}, { aliases: [{ uri: SAME, relation: 'same' }, { uri: OTHER, relation: 'satisfies' }] })
  for (const side of SIDES) {
    for (const declared of [declaring(U), declaring(SAME), declaring(OTHER), declaring(U, SAME, OTHER), declaring()]) {
      for (const uri of [U, SAME, OTHER]) {
        for (const onForbidden of ['reject', 'strip'] as const) {
          const policy = policyOf(declared, { pay: { ...aliased, activation: { callers, onForbidden } } })
          const where = JSON.stringify([sideOf(side), declared, uri, onForbidden])
          const header = send(policy, hello, { ...side, caller: BOB, requested: [uri] })
          t.equal(outcome(header), onForbidden === 'strip' ? null : DENIED, where)
          if (onForbidden === 'strip') t.same(header.outbound, [], where)
          t.equal(outcome(send(policy, { message: { parts: [], extensions: [uri] } }, { ...side, caller: BOB })), onForbidden === 'strip' ? null : DENIED, where)
          t.equal(outcome(send(policy, hello, { ...side, caller: ADA, requested: [uri] })), null, where)
        }
      }
    }
    const claimed = policyOf(declaring(U, OTHER), { pay: aliased, other: { uri: OTHER } })
    t.match(send(claimed, hello, { ...side, caller: BOB, requested: [OTHER] }), { rejection: null, active: [OTHER] }, 'an alias with a policy of its own is not guarded')
    const satisfied = policyOf(declaring({ uri: U, required: true }, OTHER), { pay: aliased, other: { uri: OTHER } })
    t.equal(outcome(send(satisfied, hello, { ...side, caller: BOB, requested: [OTHER] })), null, 'and fulfils the requirement')
    const respelled = policyOf(declaring(U), { pay: pay({ onForbidden: 'strip' }), twin: { uri: U, aliases: [{ uri: SAME, relation: 'same' }] } })
    t.same(send(respelled, hello, { ...side, caller: BOB, requested: [SAME] }).outbound, [], 'a spelling that only another policy knows')
    const shared = policyOf(declaring(U), { pay: pay({ onForbidden: 'strip' }), twin: { uri: U, owns: { metadata: ['twin'] }, activation: { signals: ['evidence'] } } })
    const twin = send(shared, { message: { parts: [], metadata: { twin: 1 } } }, { ...side, caller: BOB })
    t.equal(outcome(twin), DENIED, 'the data of another policy for the same extension belongs to it')
  }
})

t.test('patterns', async t => {
  const all: PolicyConfig = { uriPattern: 'https://x.test/ext/*', owns: { metadata: ['$uri'] }, activation: { callers } }
  const policy = policyOf(declaring(U, V, 'urn:z'), { all })
  for (const uri of [U, V, 'https://x.test/ext/undeclared']) {
    t.equal(outcome(send(policy, hello, { caller: BOB, requested: [uri] })), 'all/callers EXTENSION_NOT_ALLOWED', uri)
    t.equal(outcome(send(policy, hello, { caller: ADA, requested: [uri] })), null, uri)
  }
  t.equal(outcome(send(policy, { message: { parts: [], metadata: { [V]: 1 } } }, { caller: BOB })), 'all/callers EXTENSION_NOT_ALLOWED')
  t.equal(outcome(send(policy, hello, { caller: BOB, requested: ['urn:z'] })), null)
  const none = send(policyOf(declaring('urn:z'), { all }), hello, { caller: BOB, requested: [U] })
  t.equal(none.rejection?.metadata?.extension, 'all', 'no extension of the card to name')
  t.notMatch(none.rejection?.message, U, 'the text of the client is not repeated')
})

t.test('an extension that the card does not declare is guarded too', async t => {
  for (const side of SIDES) {
    for (const onForbidden of ['reject', 'strip'] as const) {
      const policy = policyOf(declaring(V), { pay: pay({ onForbidden, default: 'inject' }, { inactive: { request: 'strip' }, methods: { 'pay.now': { need: 'none' }, 'pay.later': {} } }) }, { unknownMethods: 'forward' })
      const header = send(policy, hello, { ...side, caller: BOB, requested: [U] })
      t.equal(outcome(header), onForbidden === 'strip' ? null : DENIED)
      if (onForbidden === 'strip') t.same(header.outbound, [])
      t.same(forwarded(policy, owning, { ...side, caller: BOB }).body, { message: { ...owning.message, metadata: { other: 1 } } })
      if (side.binding === 'HTTP+JSON') continue
      for (const method of ['pay.now', 'pay.later']) t.equal(outcome(send(policy, {}, { ...side, method, caller: BOB })), DENIED, method)
      t.equal(outcome(send(policy, {}, { ...side, method: 'pay.now', caller: ADA })), null)
    }
  }
})

t.test('the gateway requests nothing for a caller who may not use it', async t => {
  const injecting = policyOf(declaring(U), { pay: pay({ default: 'inject' }, { inject: [{ metadata: '$uri/token', value: 1 }] }) })
  const dependent = (onMissing: 'add' | 'reject'): AgentPolicy =>
    policyOf(declaring(U, V), { other: { uri: V, activation: { requires: ['pay'], onMissing } }, pay: pay() })
  const unlisted = policyOf(declaring(U, V), { other: { uri: V, activation: { requires: ['pay'], onMissing: 'add' } } }, { dependencies: { pay: pay() } })
  for (const side of SIDES) {
    t.match(send(injecting, hello, { ...side, caller: ADA }), { rejection: null, outbound: [U], injected: [U], edited: ['pay/inject'] })
    const { rejection, outbound, injected, active, edits } = send(injecting, hello, { ...side, caller: BOB })
    t.same({ rejection, outbound, injected, active, edits }, { rejection: null, outbound: [], injected: [], active: [], edits: [] })
    for (const policy of [dependent('add'), unlisted]) {
      t.match(send(policy, hello, { ...side, caller: ADA, requested: [V] }), { rejection: null, outbound: [V, U] })
      const decision = send(policy, hello, { ...side, caller: BOB, requested: [V] })
      t.equal(outcome(decision), DENIED)
      t.match(decision.rejection?.message, `names the extension ${V}, which requires ${U}, which this caller may not use`)
      t.same(decision.injected, [])
      t.equal(outcome(send(policy, hello, { ...side, caller: BOB })), null)
    }
    t.equal(outcome(send(dependent('reject'), hello, { ...side, caller: BOB, requested: [V] })), DENIED)
  }
})

t.test('methods and routes', async t => {
  const needs = ['active', 'declared', 'none'] as const
  for (const onForbidden of ['reject', 'strip'] as const) {
    for (const need of needs) {
      const policy = one({ onForbidden }, {
        methods: { 'pay.now': { need, params: { type: 'object', required: ['amount'] } } },
        routes: [{ verb: 'POST', path: '/pay', need, body: { type: 'object' } }]
      })
      for (const version of ['1.0', '0.3'] as const) {
        for (const requested of [[], [U]]) {
          const method = send(policy, {}, { version, method: 'pay.now', requested, caller: BOB })
          t.equal(outcome(method), DENIED, need)
          t.notMatch(JSON.stringify(method.rejection), /amount/)
          t.equal(outcome(send(policy, {}, { version, binding: 'HTTP+JSON', route: 'POST /pay', requested, caller: BOB })), DENIED, need)
        }
        t.equal(outcome(send(policy, { amount: 1 }, { version, method: 'pay.now', requested: [U], caller: ADA })), null)
        t.equal(outcome(send(policy, {}, { version, binding: 'HTTP+JSON', route: 'POST /pay', requested: [U], caller: ADA })), null)
      }
    }
  }
  t.match(send(one({}, { methods: { 'pay.now': {} } }), {}, { method: 'pay.now', caller: BOB }).rejection, { message: `method belongs to the extension ${U}, which this caller may not use` })
})

t.test('verbatim: what must be removed cannot be', async t => {
  const SIGNED = 'urn:signed'
  const policy = policyOf(declaring(U, SIGNED), {
    signed: { uri: SIGNED, integrity: 'verbatim' },
    pay: pay({ onForbidden: 'strip' }, { inactive: { request: 'strip' } })
  })
  for (const side of SIDES) {
    for (const [body, requested] of [[hello, [SIGNED, U]], [listing, [SIGNED]], [owning, [SIGNED]]] as const) {
      t.equal(outcome(send(policy, body, { ...side, caller: BOB, requested })), 'pay/callers EXTENSION_CONFLICT')
    }
    t.match(send(policy, hello, { ...side, caller: BOB, requested: [SIGNED] }), { rejection: null, verbatim: true })
  }
  const own = policyOf(declaring(U), { pay: pay({ onForbidden: 'strip' }, { integrity: 'verbatim' }) })
  const unsigned = send(own, hello, { caller: BOB, requested: [U] })
  t.match(unsigned, { rejection: null, verbatim: false }, 'a forbidden extension demands nothing')
  t.same(unsigned.outbound, [])
})

t.test('observe records and changes nothing', async t => {
  const policy = (more: Partial<PolicyConfig> = {}): AgentPolicy =>
    policyOf(declaring({ uri: U, required: true }), { pay: pay({ default: 'inject' }, { mode: 'observe', inactive: { request: 'strip' }, ...more }) })
  for (const side of SIDES) {
    for (const [body, requested] of [[hello, [U]], [listing, []], [owning, []], [dataOf(side), []]] as const) {
      const { decision, body: got } = forwarded(policy(), body, { ...side, caller: BOB, requested })
      t.match(decision, { rejection: null, outbound: [U], active: [U], forbidden: null })
      t.same(got, body)
      t.match(decision.violations.find(({ rule }) => rule === 'callers'), { mode: 'observe', reason: 'EXTENSION_NOT_ALLOWED' })
    }
    const { rejection, violations } = send(policy({ mode: 'off' }), listing, { ...side, caller: BOB, requested: [U] })
    t.same({ rejection, violations }, { rejection: null, violations: [] })
  }
})

t.test('a condition that cannot be decided allows nobody', async t => {
  const policy = one({ callers: { match: { $ref: 'https://elsewhere.test/schema' } } })
  t.equal(outcome(send(policy, hello, { caller: ADA, requested: [U] })), DENIED)
  const byMatch = one({ callers: { match: { required: ['tenant'], properties: { tenant: { const: 'north' }, kind: false } } } })
  t.equal(outcome(send(byMatch, hello, { caller: ADA, requested: [U] })), null)
  t.equal(outcome(send(byMatch, hello, { caller: BOB, requested: [U] })), DENIED, 'a caller without a tenant has no such member')
  t.equal(outcome(send(one({ callers: { anonymous: true } }), hello, { requested: [U] })), null)
  t.equal(outcome(send(one({ callers: { anonymous: true } }), hello, { requested: [U], caller: ADA })), DENIED)
})

/** Spellings of `https://x.test/ext/pay/v1` that a lenient agent may read as the same URI. */
const SPELLINGS = [
  `${U}/`, `${U}#`, `${U}?`, `${U}?#`, 'HTTPS://x.test/ext/pay/v1', 'https://X.TEST/ext/pay/v1', 'https://x.test.:443/ext/pay/v1', 'https://x.test:/ext/pay/v1',
  'https://x.test/ext/%70ay/v1', 'https://x.test/ext/./pay/v1', 'https://x.test/ext/a/../pay/v1', 'https://x.test//ext//pay/v1', 'https://x.test/ext/%2e/pay/v1',
  'http://x.test/ext/pay/v1', 'http://x.test:80/ext/pay/v1', `"${U}"`, `<${U}>`, `'${U}'`, `${U};q=1`, `${U}; q=1`, `${V} ${U}`, `${V};${U}`, ` ${U} `, 'HTTP://X.test:80/ext//%50AY/../pay/v1/#'
]
const OTHER_URIS = ['https://x.test/ext/pay/v2', 'https://x.test/ext/PAY/v1', 'https://y.test/ext/pay/v1', 'https://x.test:8443/ext/pay/v1', `${U}/more`, `${U}?a`, 'urn:pay', 'pay', '', '%']

t.test('other spellings of a forbidden URI are reported, and rejected where the policy says so', async t => {
  for (const side of SIDES) {
    for (const equivalent of [undefined, 'report', 'reject'] as const) {
      for (const onForbidden of ['reject', 'strip'] as const) {
        const policy = one({ onForbidden, ...(equivalent === undefined ? {} : { equivalent }) })
        for (const uri of SPELLINGS) {
          for (const [where, decision] of Object.entries({
            header: send(policy, hello, { ...side, caller: BOB, requested: [uri] }),
            listed: send(policy, { message: { parts: [{ text: 'x' }], extensions: [V, uri] } }, { ...side, caller: BOB })
          })) {
            const what = `${sideOf(side)} ${String(equivalent)} ${onForbidden} ${where} ${uri}`
            t.same(decision.violations.map(({ rule, mode }) => [rule, mode]), [['equivalent', equivalent === 'reject' ? 'enforce' : 'observe']], what)
            t.equal(outcome(decision), equivalent === 'reject' ? 'pay/equivalent EXTENSION_NOT_ALLOWED' : null, what)
          }
          t.same(send(policy, hello, { ...side, caller: ADA, requested: [uri] }).violations, [], 'a caller who may use it')
        }
        for (const uri of OTHER_URIS) t.same(send(policy, hello, { ...side, caller: BOB, requested: [uri] }).violations, [], uri)
      }
    }
  }
})

t.test('a required extension under another spelling: the rejection names the exact URI', async t => {
  const policy = policyOf(declaring(V, { uri: U, required: true }), {})
  for (const side of SIDES) {
    for (const uri of SPELLINGS) {
      const { rejection, violations } = send(policy, hello, { ...side, requested: [uri] })
      t.equal(rejection?.reason, 'EXTENSION_SUPPORT_REQUIRED', uri)
      t.match(rejection?.message, `-Extensions: ${U}" with the request`, uri)
      t.match(violations.map(({ message }) => message).join(), `another spelling, and URIs of extensions are compared exactly: send "${U}"`, uri)
    }
    for (const uri of OTHER_URIS) t.notMatch(send(policy, hello, { ...side, requested: [uri] }).violations.map(one => one.message).join(), /another spelling/, uri)
  }
})
