import t from 'tap'
import fc from 'fast-check'
import type { CorrelationConfig, Mode } from '#config/model/model.js'
import type { CompiledPolicy } from '#policy/compile/compiled.js'
import { compileCorrelation, correlate } from '#policy/task/correlate.js'
import { TaskMemory } from '#policy/task/memory.js'
import type { TaskRecord } from '#policy/task/memory.js'
import type { Violation } from '#policy/violation.js'
import { check } from '../helpers/seed.js'
import { compiled, context, request, status } from './task-fixtures.js'

type Relation = CorrelationConfig['check']['relation']
const OFFER = { on: 'response', select: { metadata: { in: ['status'], key: 'offer' } } } as const
const CHOICE = { on: 'request', select: { metadata: { key: 'choice' } } } as const

function policyOf (
  relation: Relation,
  more: { readonly remember?: object; readonly check?: object } & Partial<Omit<CorrelationConfig, 'remember' | 'check'>> = {},
  mode: Mode = 'enforce',
  responses: Mode = 'observe'
): CompiledPolicy {
  const config: CorrelationConfig = {
    id: 'c',
    ...more,
    remember: { ...OFFER, pick: '/*', ...more.remember },
    check: { ...CHOICE, pick: '/*', relation, ...more.check }
  }
  return compiled({ correlations: [compileCorrelation(config, mode, responses, context)] })
}

/** Checks an offer by the agent and a choice by the client; the offer passes through a store. */
function judge (policy: CompiledPolicy, offer: unknown, choice: unknown): Violation[] {
  const before = new TaskMemory(null)
  const violations: Violation[] = []
  correlate(policy, status(offer === undefined ? {} : { offer }), 'response', before, violations)
  const record: TaskRecord = new Map(before.take() ?? [])
  correlate(
    policy,
    request({ taskId: 't', metadata: choice === undefined ? {} : { choice } }),
    'request',
    new TaskMemory(record),
    violations
  )
  return violations
}

t.test('relations', async t => {
  const rows: [Relation, unknown, unknown, string | null][] = [
    ['subset', ['a', 'b'], ['b'], null],
    ['subset', ['a', 'b'], ['b', 'a', 'b'], null],
    ['subset', ['a', 'b'], [], null],
    ['subset', ['a', 'b'], ['a', 'c'], '[1]'],
    ['subset', [], ['a'], '[0]'],
    ['equalSet', ['a', 'b'], ['b', 'a'], null],
    ['equalSet', ['a', 'b', 'a'], ['b', 'a'], null],
    ['equalSet', [], [], null],
    ['equalSet', ['a', 'b'], ['a'], ''],
    ['equalSet', ['a', 'b'], [], ''],
    ['equalSet', ['a', 'b'], ['a', 'b', 'a'], '[2]'],
    ['equalSet', ['a', 'b'], ['a', 'b', 'c'], '[2]'],
    ['member', ['a', 'b'], ['b'], null],
    ['member', ['a', 'b'], ['c'], '[0]'],
    ['member', ['a', 'b'], ['a', 'b'], '[1]'],
    ['member', ['a', 'b'], [], null],
    ['sameLength', ['a', 'b'], [1, 2], null],
    ['sameLength', ['a', 'b'], [1], ''],
    ['sameLength', [], [], null],
    ['sameLength', ['a'], [], ''],
    // As JSON.
    ['subset', [{ a: 1, b: [2, null] }], [{ b: [2, null], a: 1 }], null],
    ['subset', [[1, 2]], [[2, 1]], '[0]'],
    ['subset', [1], ['1'], '[0]'],
    ['subset', [1], [1.0], null],
    ['subset', [null], [false], '[0]'],
    ['subset', ['\u00e9'], ['e\u0301'], '[0]'],
    ['subset', [{ a: undefined }], [{}], null],
    ['subset', [{ '': 1 }, { 2: 1, 1: 2 }], [{ 1: 2, 2: 1 }], null]
  ]
  for (const [relation, offer, choice, at] of rows) {
    const found = judge(policyOf(relation), offer, choice)
    t.same(
      found.map(one => one.path),
      at === null ? [] : [`params.message.metadata.choice${at}`],
      `${relation} ${JSON.stringify(offer)} ${JSON.stringify(choice)}`
    )
  }
  t.equal(judge(policyOf('subset'), JSON.parse('[{"__proto__":1}]'), [{}]).length, 1, '__proto__ is a member like any other')
})

t.test('the message for the caller, without a value', async t => {
  const secret = 'client-secret'
  const [found] = judge(policyOf('subset'), ['agent-secret'], [secret])
  t.match(found, {
    message: 'must be one of the values that the agent sent earlier in this task',
    reason: 'EXTENSION_DATA_INVALID',
    rule: 'c',
    extension: 'p',
    mode: 'enforce',
    uri: 'urn:ext'
  })
  t.equal(
    judge(policyOf('equalSet'), ['a', 'b', 'c'], ['a'])[0]?.message,
    'leaves out 2 of the values that the agent sent earlier in this task; send each exactly once'
  )
  t.equal(
    judge(policyOf('equalSet'), ['a'], ['a', 'a'])[0]?.message,
    'occurs twice; send each value that the agent sent earlier in this task exactly once'
  )
  t.equal(judge(policyOf('sameLength'), ['a'], [])[0]?.message, 'must have as many values as the agent sent earlier in this task: 1')
  t.equal(
    judge(policyOf('member'), ['a'], ['a', 'a'])[0]?.message,
    'is one too many: choose one of the values that the agent sent earlier in this task'
  )
  t.match(judge(policyOf('subset', { error: { class: 'conflict', message: 'Choose again.', reason: 'NOT_OFFERED' } }), [], ['x'])[0], {
    message: 'Choose again.',
    isStandalone: true,
    reason: 'EXTENSION_CONFLICT',
    customReason: 'NOT_OFFERED'
  })
})

t.test('values that pointers select', async t => {
  const tools = { nested: { tools: [{ id: 'a' }, { id: 'b' }] }, tools: [{ id: 'c' }] }
  const kagent = (first: boolean): CompiledPolicy =>
    policyOf('equalSet', { remember: { pick: ['/nested/tools/*/id', '/tools/*/id'], first }, check: { pick: '/approvals/*/id' } })
  const approving = (...ids: string[]): object => ({ approvals: ids.map(id => ({ id, approved: true })) })
  t.same(judge(kagent(true), tools, approving('b', 'a')), [])
  t.same(judge(kagent(true), { tools: tools.tools }, approving('c')), [], 'the first that leads anywhere')
  t.same(judge(kagent(true), tools, approving('a')).length, 1)
  t.same(judge(kagent(true), tools, approving('a', 'b', 'c')).map(one => one.path), ['params.message.metadata.choice.approvals[2].id'])
  t.same(judge(kagent(false), tools, approving('a', 'b', 'c')), [], 'all of them')
  t.same(
    judge(policyOf('member', { remember: { pick: '/*/id' }, check: { pick: '/1/x~1y' } }), { a: { id: 1 }, b: { id: 2 }, c: 3 }, [
      0,
      { 'x/y': 2 }
    ]),
    [],
    'members, items, escapes'
  )
  t.same(
    judge(
      compiled({
        correlations: [
          compileCorrelation({ id: 'c', remember: OFFER, check: { ...CHOICE, relation: 'member' } }, 'enforce', 'observe', context)
        ]
      }),
      { a: 1 },
      { a: 1 }
    ),
    [],
    'without a pointer the value itself'
  )
  t.same(judge(policyOf('subset', { check: { pick: '/constructor' } }), [], {}), [], 'own members only')
})

t.test('no values to check, and no known values', async t => {
  t.same(judge(policyOf('equalSet', { onUnknown: 'reject' }), ['a'], undefined), [], 'nothing is chosen')
  t.same(judge(policyOf('equalSet'), undefined, ['a']), [], 'nothing was offered')
  t.match(judge(policyOf('equalSet', { onUnknown: 'reject' }), undefined, ['a']), [
    { message: 'cannot be evaluated: the gateway does not know the values to compare it with', mode: 'enforce' }
  ])
  const violations: Violation[] = []
  const choice = request({ taskId: 't', metadata: { choice: ['a'] } })
  correlate(policyOf('equalSet'), choice, 'request', new TaskMemory(null), violations)
  t.same(violations, [])
  correlate(policyOf('equalSet', { onUnknown: 'reject' }), choice, 'request', new TaskMemory(null), violations)
  t.equal(violations.length, 1)
})

t.test('the last offer counts', async t => {
  const policy = policyOf('subset')
  const memory = new TaskMemory(null)
  const violations: Violation[] = []
  const choose = (one: string): number => {
    violations.length = 0
    correlate(policy, request({ metadata: { choice: [one] } }), 'request', memory, violations)
    return violations.length
  }
  for (const offer of [['a'], ['b']]) correlate(policy, status({ offer }), 'response', memory, [])
  correlate(policy, status({ else: 1 }), 'response', memory, [])
  t.same([choose('a'), choose('b')], [1, 0])
  correlate(policy, status({ offer: 'none' }), 'response', memory, [])
  t.equal(choose('b'), 1, 'an offer of nothing is one')
})

t.test('other directions', async t => {
  const memory = new TaskMemory(null)
  const violations: Violation[] = []
  const asked = { on: 'request', select: { metadata: { key: 'x' } } } as const
  const told = { on: 'response', select: { metadata: { in: ['status'], key: 'x' } } } as const
  const back = (mode: Mode, responses: Mode): CompiledPolicy =>
    compiled({
      correlations: [compileCorrelation({ id: 'c', remember: asked, check: { ...told, relation: 'member' } }, mode, responses, context)]
    })
  correlate(back('enforce', 'enforce'), request({ metadata: { x: 1 } }), 'request', memory, violations)
  for (const responses of ['enforce', 'observe', 'off'] as const) {
    correlate(back('enforce', responses), status({ x: 2 }), 'response', memory, violations)
  }
  t.match(violations, [
    { mode: 'enforce', reason: 'INVALID_AGENT_RESPONSE', message: 'must be one of the values that the client sent earlier in this task' },
    { mode: 'observe' }
  ])
  const same = compiled({
    correlations: [compileCorrelation({ id: 'd', remember: told, check: { ...told, relation: 'equalSet' } }, 'enforce', 'enforce', context)]
  })
  violations.length = 0
  for (const x of ['a', 'a', 'b']) correlate(same, status({ x }), 'response', memory, violations)
  t.equal(violations.length, 1, 'what is said is compared with what was said before')
})

t.test('conditions are of the check, verdicts and modes of its side', async t => {
  t.equal(judge(policyOf('subset', { when: { taskId: 'absent' } }), ['a'], ['b']).length, 0)
  t.equal(judge(policyOf('subset', { when: { taskId: 'present' } }), ['a'], ['b']).length, 1)
  t.equal(judge(policyOf('subset', { unless: { taskId: 'present' } }), ['a'], ['b']).length, 0)
  t.equal(judge(policyOf('subset', { verdict: 'warn' }), ['a'], ['b'])[0]?.mode, 'observe')
  t.equal(judge(policyOf('subset', {}, 'observe'), ['a'], ['b'])[0]?.mode, 'observe')
  t.equal(judge(policyOf('subset', {}, 'off'), ['a'], ['b']).length, 0)
})

t.test('lists that are too long to store', async t => {
  const many = (n: number): number[] => Array.from({ length: n }, (_, i) => i)
  t.same(judge(policyOf('equalSet'), many(1000), many(1000)), [])
  t.equal(judge(policyOf('equalSet'), many(1000), many(999)).length, 1)
  t.same(judge(policyOf('subset'), many(1001), [-1]), [], 'not known')
  t.match(judge(policyOf('subset', { onUnknown: 'reject' }), many(1001), [1]), [
    { message: 'cannot be evaluated: there are too many of the values to compare it with' }
  ])
  t.same(judge(policyOf('sameLength'), many(5000), many(5000)), [])
  t.equal(judge(policyOf('sameLength'), many(5000), many(4999)).length, 1)
  t.match(judge(policyOf('subset'), [1], many(1001)), [{ message: /^contains more than 1000 values/ }])
  const memory = new TaskMemory(null)
  correlate(policyOf('subset'), status({ offer: many(1000) }), 'response', memory, [])
  t.ok((memory.get('c:p/c') ?? '').length < 17_100)
  correlate(policyOf('subset'), status({ offer: many(100_000) }), 'response', memory, [])
  t.equal(memory.get('c:p/c'), '100000:')
})

t.test('property: subset and equalSet agree with a naive comparison', async t => {
  const value = fc.oneof(
    fc.constantFrom('a', 'b', 1, '1', true, null),
    fc.dictionary(fc.constantFrom('x', 'y'), fc.constantFrom(1, '1')),
    fc.array(fc.constantFrom(1, 2), { maxLength: 2 })
  )
  const equal = (one: unknown, other: unknown): boolean => {
    if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other
    if (Array.isArray(one) !== Array.isArray(other)) return false
    const keys = Object.keys(one)
    return (
      keys.length === Object.keys(other).length &&
      keys.every(key => Object.hasOwn(other, key) && equal((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key]))
    )
  }
  const among = (list: unknown[], one: unknown): boolean => list.some(other => equal(one, other))
  const policies = { subset: policyOf('subset'), equalSet: policyOf('equalSet') }
  t.ok(check('policy/correlate/sets', fc.property(fc.array(value, { maxLength: 5 }), fc.array(value, { maxLength: 5 }), (offer, choice) => {
    const subset = choice.every(one => among(offer, one))
    const once = choice.every((one, i) => !among(choice.slice(0, i), one))
    return (judge(policies.subset, offer, choice).length === 0) === subset &&
      (judge(policies.equalSet, offer, choice).length === 0) === (subset && once && offer.every(one => among(choice, one)))
  }), { numRuns: 500 }) > 0, 'inputs')
})
