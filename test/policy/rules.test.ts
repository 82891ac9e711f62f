import t from 'tap'
import type { PolicyConfig, RuleConfig } from '#config/model/model.js'
import type { Decision } from '#policy/request/decision.js'
import { MAX_VIOLATIONS } from '#policy/violation.js'
import { declaring, message, policyOf, send } from './fixtures.js'

const URI = 'https://x.test/ext'
const policy = (...request: RuleConfig[]): PolicyConfig => ({ uri: URI, request })
const ask = (rules: PolicyConfig, ...parts: unknown[]): Decision => send(policyOf(declaring(URI), { ext: rules }), message(...parts))
const says = (rules: PolicyConfig, ...parts: unknown[]): string | null => {
  const { rejection: refusal } = ask(rules, ...parts)
  return refusal === null ? null : `${refusal.customReason ?? refusal.reason}: ${refusal.message}`
}
const DATA = { part: { data: true } } as const

t.test('count: bounds, the path, and the message of a rule', async t => {
  const atMost = policy({ id: 'r', select: DATA, count: { max: 1 } })
  t.equal(says(atMost, { data: 1 }), null)
  t.equal(
    says(atMost, { data: 1 }, { data: 2 }),
    'EXTENSION_DATA_INVALID: params.message.parts[1].data is one too many: at most 1 allowed.'
  )
  t.equal(
    says(policy({ id: 'r', select: DATA, count: { max: 0 } }), { data: 1 }),
    'EXTENSION_DATA_INVALID: params.message.parts[0].data is not allowed here.'
  )
  const atLeast = policy({ id: 'need-two', select: DATA, count: { min: 2 } })
  t.equal(
    says(atLeast, { data: 1 }),
    'EXTENSION_DATA_INVALID: params.message must contain at least 2 of the values that rule "need-two" selects.'
  )
  t.equal(says(atLeast, { data: 1 }, { data: 2 }), null)
  t.equal(
    says(policy({ id: 'r', select: DATA, count: { min: 1 }, schema: false }), { text: 'x' }),
    'EXTENSION_DATA_INVALID: params.message must contain at least 1 of the values that rule "r" selects.'
  )
  t.equal(
    says(policy({ id: 'r', select: DATA, count: { min: 1 }, error: { message: 'send a data part' } })),
    'EXTENSION_DATA_INVALID: params.message: send a data part.'
  )
})

t.test('error classes become the reasons of the contract', async t => {
  const rows = [
    ['invalid', 'EXTENSION_DATA_INVALID'],
    ['unsupportedContent', 'CONTENT_TYPE_NOT_SUPPORTED'],
    ['conflict', 'EXTENSION_CONFLICT'],
    ['extensionRequired', 'EXTENSION_SUPPORT_REQUIRED'],
    ['forbidden', 'EXTENSION_NOT_ALLOWED']
  ] as const
  for (const [errorClass, reason] of rows) {
    const { rejection: refusal } = ask(policy({ id: 'r', select: DATA, schema: false, error: { class: errorClass } }), { data: 1 })
    t.match(
      refusal,
      {
        reason,
        message: 'params.message.parts[0].data is not allowed here (the schema of the rule).',
        rule: 'ext/r',
        metadata: { rule: 'r', extension: URI },
        helpUri: URI
      },
      errorClass
    )
    t.equal(refusal?.metadata?.missingExtensions, undefined, 'data is no missing header')
  }
  t.match(
    ask(policy({ id: 'r', select: DATA, schema: false, error: { class: 'conflict', reason: 'OWN', message: 'not now' } }), { data: 1 })
      .rejection,
    { reason: 'EXTENSION_CONFLICT', customReason: 'OWN', message: 'params.message.parts[0].data: not now.' }
  )
  const says = (message: string): string | undefined =>
    ask(policy({ id: 'r', select: DATA, schema: false, error: { message } }), { data: 1 }, { data: 2 }).rejection?.message
  const [one, two] = ['params.message.parts[0].data:', 'params.message.parts[1].data:']
  t.equal(says('Not now.'), `${one} Not now; ${two} Not now.`, 'one full stop')
  t.equal(says('Wait...'), `${one} Wait...; ${two} Wait...`)
  t.equal(says('Why?'), `${one} Why?; ${two} Why?`)
})

t.test('inline schemas, several rules, several values', async t => {
  const rules = policy(
    { id: 'one', select: DATA, schema: { type: 'object', required: ['a'] } },
    { id: 'two', select: DATA, schema: { required: ['b'] } }
  )
  t.equal(says(rules, { data: { a: 1, b: 1 } }), null)
  const decision = ask(rules, { data: {} }, { data: { a: 1 } })
  t.same(decision.violations.map(found => `${found.rule} ${found.path} ${found.message}`), [
    'one params.message.parts[0].data.a is required (the schema of the rule)',
    'two params.message.parts[0].data.b is required (the schema of the rule)',
    'two params.message.parts[1].data.b is required (the schema of the rule)'
  ])
  t.equal(decision.rejection?.message, 'params.message.parts[0].data.a is required (the schema of the rule). 2 more problems in the details.')
  t.equal(decision.rejection?.fields?.length, 3)
})

t.test('an unusable inline schema rejects the selected values', async t => {
  t.match(
    says(policy({ id: 'r', select: DATA, schema: { pattern: '(?=x)' } }), { data: 1 }),
    /^SCHEMA_UNUSABLE: params\.message\.parts\[0\]\.data cannot be accepted: the schema of the rule is unusable \(\/pattern: /
  )
})

t.test('violations are limited, whatever causes them', async t => {
  const many = Array.from({ length: 50_000 }, () => ({ data: 1 }))
  const decision = ask(policy({ id: 'a', select: DATA, schema: false }, { id: 'b', select: DATA, count: { max: 0 } }), ...many)
  t.equal(decision.violations.length, MAX_VIOLATIONS)
  t.equal(decision.rejection?.fields?.length, MAX_VIOLATIONS)
})
