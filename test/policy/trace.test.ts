import t from 'tap'
import { readCall } from '#a2a/message/call.js'
import type { PolicyConfig } from '#config/model/model.js'
import type { Decision } from '#policy/request/decision.js'
import { decide } from '#policy/request/evaluate.js'
import { declaring, policyOf } from './fixtures.js'

// A tracer is told of every policy and every rule, once, and changes nothing.

const URI = 'https://ext.example/v1'

const rules: NonNullable<PolicyConfig['request']> = [
  { id: 'passes', select: { metadata: { key: 'a' } }, schema: { type: 'number' } },
  { id: 'breaks', select: { metadata: { key: 'a' } }, schema: { type: 'string' } },
  { id: 'warns', select: { metadata: { key: 'a' } }, schema: { type: 'string' }, verdict: 'warn' },
  { id: 'elsewhere', on: ['GetTask'], select: { metadata: { key: 'a' } } },
  { id: 'conditional', when: { taskId: 'present' }, select: { metadata: { key: 'a' } } }
]

function traced (
  policies: Readonly<Record<string, PolicyConfig>>,
  body: unknown,
  requested: readonly string[]
): { told: unknown[]; decision: Decision; plain: Decision } {
  const policy = policyOf(declaring(URI), policies)
  const call = readCall({
    bytes: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: body })),
    binding: 'JSONRPC',
    version: '1.0',
    contentType: 'application/json',
    restOperation: null,
    limits: { depth: 64, members: 1_000 }
  })
  const request = { call, requested, headerName: 'A2A-Extensions', pathTenant: null, extensionRoute: null, headers: [], record: null, caller: null }
  const told: unknown[] = []
  const decision = decide(request, policy, {
    policy: ({ policy: { name }, active, evidence }, judged) => {
      told.push([name, active, evidence, judged])
    },
    skipped: (_policy, rule, why) => {
      told.push([rule.id, why])
    },
    evaluated: (_policy, rule, selected, found) => {
      told.push([rule.id, selected, found.map(one => one.path)])
    }
  })
  return { told, decision, plain: decide(request, policy) }
}

t.test('each rule with its verdict', t => {
  const { told, decision, plain } = traced({ ext: { uri: URI, request: rules } }, { message: { metadata: { a: 1 }, parts: [] } }, [URI])
  t.same(told, [
    ['ext', true, null, true],
    ['passes', 1, []],
    ['breaks', 1, ['params.message.metadata.a']],
    ['warns', 1, ['params.message.metadata.a']],
    ['elsewhere', 'operation'],
    ['conditional', 'condition']
  ])
  t.same(decision, plain, 'the decision is the same without it')
  t.equal(decision.rejection?.rule, 'ext/breaks')
  t.end()
})

t.test('a policy that is not active', t => {
  const { told } = traced(
    { ext: { uri: URI, activation: { signals: ['header'] }, request: rules } },
    { message: { metadata: { a: 1 }, parts: [] } },
    []
  )
  t.same(told, [['ext', false, null, false]])
  t.end()
})

t.test('rules that are skipped because the maximum of violations is reached', t => {
  const parts = Array.from({ length: 30 }, () => ({ data: {} }))
  const many: PolicyConfig = {
    uri: URI,
    request: [
      { id: 'first', select: { part: { data: true } }, schema: false },
      { id: 'second', select: { part: { data: true } }, schema: false }
    ]
  }
  const { told } = traced({ ext: many }, { message: { parts } }, [URI])
  t.same((told[1] as unknown[]).slice(0, 2), ['first', 30])
  t.same(told[2], ['second', 'bound'])
  t.end()
})
