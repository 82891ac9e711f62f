/** The access lists alone: targets against entries, conditions that cannot be decided, scopes, and the cost of long lists. */
import t from 'tap'
import { readCall } from '#a2a/message/call.js'
import type { AccessEntry, AccessKeys } from '#config/model/model.js'
import { resolveAccess } from '#config/resolve.js'
import type { Principal } from '#identity/principal.js'
import type { AccessMatcher, AccessRequest, AccessDecision } from '#policy/access/access.js'
import { Access, compileAccess } from '#policy/access/access.js'
import type { Target } from '#policy/access/target.js'
import { PASSTHROUGH, UNKNOWN, UNREAD } from '#policy/access/target.js'
import { RequestSubject } from '#policy/selectors/subject.js'

const ADA: Principal = {
  source: 'corp',
  kind: 'jwt',
  sources: ['corp'],
  subject: 'ada',
  client: null,
  scopes: ['a2a.read'],
  groups: ['finance'],
  tenant: 'acme',
  spiffe: null,
  claims: { level: 3 }
}
const BOB: Principal = { ...ADA, subject: 'bob', scopes: [], groups: [], tenant: null }

const op = (operation: Extract<Target, { kind: 'operation' }>['operation']): Target => ({ kind: 'operation', operation })
const TARGETS: Readonly<Record<string, Target>> = {
  SendMessage: op('SendMessage'),
  SendStreamingMessage: op('SendStreamingMessage'),
  GetTask: op('GetTask'),
  'declared method': { kind: 'extension', method: 'windows/list', route: null },
  'declared route': { kind: 'extension', method: null, route: 'GET /commands/{}' },
  'route of an interface': { kind: 'extension', method: null, route: 'GET {interface}/commands/{}' },
  'named method': { kind: 'method', method: 'acme/own' },
  'other method': { kind: 'method', method: 'acme/other' },
  passthrough: PASSTHROUGH,
  unknown: UNKNOWN,
  unread: UNREAD
}

const never = (): never => { throw new Error('no match in these lists') }
const lists = (config: AccessKeys, matcher: AccessMatcher = never): Access => new Access(resolveAccess({}, config), matcher)
const asked = (target: Target, caller: Principal | null = ADA, more: Partial<AccessRequest> = {}): AccessRequest => ({
  caller,
  target,
  tenants: { named: [], complete: true },
  subject: null,
  ...more
})
const entry = (more: Partial<AccessEntry>): AccessEntry => ({ id: 'e', on: ['all'], ...more })
/** What becomes of a request that nothing else will decide. */
const final = ({ decision }: AccessDecision): boolean => decision === 'allow'

t.test('every target against every entry', async t => {
  // Allowed by an entry in `allow`; denied by the same entry in `deny`.
  const rows: readonly [Partial<AccessEntry>, readonly string[], readonly string[]][] = [
    [{ on: ['all'] }, Object.keys(TARGETS), Object.keys(TARGETS)],
    [{ on: ['messages'] }, ['SendMessage', 'SendStreamingMessage'], ['SendMessage', 'SendStreamingMessage', 'named method', 'other method', 'unknown', 'unread']],
    [{ on: ['SendMessage'] }, ['SendMessage'], ['SendMessage', 'named method', 'other method', 'unknown', 'unread']],
    [{ on: ['GetTask', 'passthrough'] }, ['GetTask', 'passthrough'], ['GetTask', 'named method', 'other method', 'passthrough', 'unknown', 'unread']],
    [{ on: ['passthrough'] }, ['passthrough'], ['passthrough', 'unknown']],
    [
      { on: ['Extension'] },
      ['declared method', 'declared route', 'route of an interface'],
      ['declared method', 'declared route', 'route of an interface', 'named method', 'other method', 'unknown', 'unread']
    ],
    [
      { on: ['Extension'], methods: ['windows/list', 'acme/own'] },
      ['declared method', 'named method'],
      ['declared method', 'named method', 'other method', 'unknown', 'unread']
    ],
    [{ on: ['Extension'], methods: ['Windows/list', 'ACME/OWN'] }, [], ['named method', 'other method', 'unknown', 'unread']],
    [
      { on: ['Extension'], routes: ['GET /commands/{name}'] },
      ['declared route', 'route of an interface'],
      ['declared route', 'route of an interface', 'named method', 'other method', 'unknown', 'unread']
    ],
    [{ on: ['Extension'], routes: ['POST /commands/{name}', 'GET /commands'] }, [], ['named method', 'other method', 'unknown', 'unread']]
  ]
  for (const [config, allowed, denied] of rows) {
    const names = Object.keys(TARGETS)
    const allow = lists({ allow: [entry(config)] })
    const deny = lists({ deny: [entry(config)] })
    t.same(names.filter(name => final(allow.decide(asked(TARGETS[name] as Target)))), allowed, `allow ${JSON.stringify(config)}`)
    t.same(names.filter(name => !final(deny.decide(asked(TARGETS[name] as Target)))), denied, `deny ${JSON.stringify(config)}`)
  }
})

t.test('deny wins, nothing allowed is denied, and the deciding entry is named', async t => {
  const both = lists({
    allow: [entry({ id: 'finance', caller: { groups: ['finance'] } }), entry({ id: 'readers', on: ['GetTask'] })],
    deny: [entry({ id: 'no-cancel', on: ['CancelTask'] })]
  })
  const rule = (target: Target, caller: Principal | null): readonly [string, string] => {
    const { decision, rule } = both.decide(asked(target, caller))
    return [decision, rule]
  }
  t.same(rule(op('SendMessage'), ADA), ['allow', 'finance'])
  t.same(rule(op('CancelTask'), ADA), ['deny', 'no-cancel'])
  t.same(rule(op('GetTask'), BOB), ['allow', 'readers'])
  t.same(rule(op('SendMessage'), BOB), ['deny', 'none'])
  t.same(rule(op('GetTask'), null), ['allow', 'readers'], 'an entry without caller is for everybody')
  t.same(rule(UNREAD, BOB), ['open', 'no-cancel'], 'the body will tell')
  t.same(lists({ allow: [] }).decide(asked(op('GetTask'))), { decision: 'deny', rule: 'none', scopes: null })
  t.same(lists({ deny: [] }).decide(asked(op('GetTask'))), { decision: 'allow', rule: 'none', scopes: null })
  t.equal(compileAccess(resolveAccess({}, {}), never), null, 'nothing to judge')
  t.not(compileAccess(resolveAccess({}, { allow: [] }), never), null)
})

t.test('a caller whom nothing in the body can help is denied before it', async t => {
  const access = lists({ allow: [entry({ id: 'a', caller: { groups: ['finance'] }, on: ['GetTask'] }), entry({ id: 'b', on: ['passthrough'] })] })
  t.equal(access.decide(asked(UNREAD, ADA)).decision, 'open')
  t.equal(access.decide(asked(UNREAD, BOB)).decision, 'deny')
  t.equal(access.decide(asked(UNREAD, null)).decision, 'deny')
  const banned = lists({ deny: [entry({ id: 'bob', caller: { subject: ['bob'] } })] })
  t.same(banned.decide(asked(UNREAD, BOB)), { decision: 'deny', rule: 'bob', scopes: null })
  t.equal(banned.decide(asked(UNREAD, ADA)).decision, 'allow')
})

t.test('tenant: own', async t => {
  const own = entry({ tenant: 'own' })
  const rows: readonly [Principal | null, AccessRequest['tenants'], AccessDecision['decision'], boolean][] = [
    [ADA, { named: ['acme'], complete: true }, 'allow', true],
    [ADA, { named: ['acme', 'acme'], complete: true }, 'allow', true],
    [ADA, { named: ['acme', 'other'], complete: true }, 'deny', false],
    [ADA, { named: ['other'], complete: false }, 'deny', false],
    [ADA, { named: ['Acme'], complete: true }, 'deny', false],
    [ADA, { named: [], complete: true }, 'deny', false],
    [ADA, { named: ['acme'], complete: false }, 'open', true],
    [ADA, { named: [], complete: false }, 'open', true],
    [BOB, { named: [], complete: true }, 'deny', false],
    [BOB, { named: ['acme'], complete: true }, 'deny', false],
    [null, { named: ['acme'], complete: true }, 'deny', false]
  ]
  for (const [caller, tenants, decision, denied] of rows) {
    const name = `${caller?.subject} ${JSON.stringify(tenants)}`
    t.equal(lists({ allow: [own] }).decide(asked(op('GetTask'), caller, { tenants })).decision, decision, name)
    t.equal(!final(lists({ deny: [own] }).decide(asked(op('GetTask'), caller, { tenants }))), denied, `deny, ${name}`)
  }
})

t.test('when and unless; what cannot be decided is true in deny and false in allow', async t => {
  const subject = (message: object): RequestSubject =>
    new RequestSubject(readCall({
      bytes: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: { messageId: 'm', parts: [], ...message } } })),
      binding: 'JSONRPC',
      version: '1.0',
      contentType: 'application/json',
      restOperation: null,
      limits: { depth: 64, members: 1_000 }
    }), [])
  const fresh = subject({})
  const known = subject({ taskId: 't', contextId: 'c' })
  const matcher = (schema: unknown) => (value: unknown): boolean | null => {
    t.match(value, { operation: 'SendMessage', message: {} })
    return (schema as { answer: boolean | null }).answer
  }
  const rows: readonly [Partial<AccessEntry>, RequestSubject | null, boolean, boolean][] = [
    [{ when: { taskId: 'absent' } }, fresh, true, true],
    [{ when: { taskId: 'absent' } }, known, false, false],
    [{ when: { contextId: 'present', taskId: 'present' } }, known, true, true],
    [{ unless: { taskId: 'present' } }, known, false, false],
    [{ unless: { taskId: 'present' } }, fresh, true, true],
    [{ when: { match: { answer: true } } }, fresh, true, true],
    [{ when: { match: { answer: false } } }, fresh, false, false],
    [{ when: { match: { answer: null } } }, fresh, false, true],
    [{ unless: { match: { answer: null } } }, fresh, false, true],
    [{ when: { match: { answer: null }, taskId: 'present' } }, fresh, false, false],
    [{ when: { taskId: 'absent' } }, null, false, true],
    [{ unless: { taskId: 'absent' } }, null, false, true]
  ]
  for (const [config, subject, allowed, denied] of rows) {
    const name = `${JSON.stringify(config)} ${subject === null ? 'unread' : subject.taskId}`
    const request = asked(op('SendMessage'), ADA, { subject })
    t.equal(final(lists({ allow: [entry(config)] }, matcher).decide(request)), allowed, `allow ${name}`)
    t.equal(!final(lists({ deny: [entry(config)] }, matcher).decide(request)), denied, `deny ${name}`)
  }
})

t.test('match of the caller, and one that cannot be decided', async t => {
  const access = (answer: boolean | null, list: 'allow' | 'deny'): boolean =>
    final(lists({ [list]: [entry({ caller: { match: {} } })] }, () => () => answer).decide(asked(op('GetTask'))))
  t.same([true, false, null].map(answer => access(answer, 'allow')), [true, false, false])
  t.same([true, false, null].map(answer => access(answer, 'deny')), [false, true, false])
  t.throws(() => lists({ allow: [entry({ caller: { match: {} } })] }, () => () => { throw new TypeError('a fault') }).decide(asked(op('GetTask'))), /a fault/)
})

t.test('missing scopes', async t => {
  const access = lists({
    allow: [
      entry({ id: 'write', on: ['SendMessage'], caller: { scopes: ['a2a.read', 'a2a.write'], groups: ['finance'] } }),
      entry({ id: 'cancel', on: ['CancelTask'], caller: { scopes: ['a2a.cancel'] } })
    ],
    deny: [entry({ id: 'banned', caller: { subject: ['eve'] } })]
  })
  const scopes = (target: Target, caller: Principal | null): unknown => access.decide(asked(target, caller)).scopes
  t.same(scopes(op('SendMessage'), ADA), { required: ['a2a.read', 'a2a.write'], missing: ['a2a.write'] })
  t.equal(scopes(op('SendMessage'), BOB), null, 'a group is missing too')
  t.same(scopes(op('CancelTask'), BOB), { required: ['a2a.cancel'], missing: ['a2a.cancel'] })
  t.equal(scopes(op('CancelTask'), null), null)
  t.equal(scopes(op('CancelTask'), { ...ADA, subject: 'eve' }), null, 'no scope helps')
  t.equal(scopes(op('GetTask'), ADA), null)
  t.equal(scopes(UNREAD, ADA), null, 'which scopes depends on the operation')
  t.same(scopes(UNREAD, BOB), { required: ['a2a.cancel'], missing: ['a2a.cancel'] }, 'the only entry that could match')
  t.equal(access.decide(asked(UNREAD, BOB)).decision, 'deny')
})

t.test('a thousand entries cost a caller no more than those that concern it', async t => {
  const many = Array.from({ length: 1_000 }, (_, i) => entry({ id: `e${i}`, on: ['SendMessage'], caller: { subject: [`user-${i}`] } }))
  const access = lists({ allow: [...many, entry({ id: 'ada', on: ['GetTask'], caller: { subject: ['ada'] } })], deny: many })
  /** Milliseconds of one run; the best of many rounds, because other processes take the processor. */
  const time = (run: () => void): number => Math.min(...Array.from({ length: 50 }, () => {
    const begin = performance.now()
    for (let i = 0; i < 100; i++) run()
    return (performance.now() - begin) / 100
  }))
  const request = asked(op('GetTask'))
  t.equal(access.decide(request).rule, 'ada')
  t.ok(time(() => access.decide(request)) < 0.01)
  t.equal(access.decide(asked(op('SendMessage'))).decision, 'deny')
  t.ok(time(() => access.decide(asked(op('SendMessage')))) < 0.01)
})

t.test('an agent replaces single keys of accessDefaults', async t => {
  const allow = [entry({ id: 'a' })]
  const deny = [entry({ id: 'd' })]
  t.same(resolveAccess({ mode: 'observe', allow, deny }, {}), { require: null, audience: null, mode: 'observe', allow, deny, tasks: null, delegation: null })
  t.same(resolveAccess({ mode: 'observe', allow, deny }, { mode: 'enforce', deny: [] }), { require: null, audience: null, mode: 'enforce', allow, deny: [], tasks: null, delegation: null })
  t.same(resolveAccess({ allow }, { allow: [] }), { require: null, audience: null, mode: 'enforce', allow: [], deny: [], tasks: null, delegation: null })
  t.equal(resolveAccess({ require: [['corp']] }, { allow }).require?.length, 1)
  t.equal(resolveAccess({ require: [['corp']] }, { require: null }).require, null, 'null is a value: any one source')
})
