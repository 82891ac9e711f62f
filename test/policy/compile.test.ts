import t from 'tap'
import type { AgentConfig, Layer, PolicyConfig } from '#config/model/model.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import { card, declaring, policyOf, send } from './fixtures.js'

const U = 'https://x.test/ext'
const V = 'https://x.test/other'
const rule = { id: 'r', select: { part: {} }, schema: true } as const
const of = (
  required: boolean | undefined,
  activation: PolicyConfig['activation'],
  more: Partial<PolicyConfig> = {},
  agentMore = {}
): ReturnType<typeof policyOf> =>
  policyOf(
    required === undefined ? {} : declaring({ uri: U, required }),
    { ext: { uri: U, ...(activation === undefined ? {} : { activation }), ...more } },
    agentMore
  )

t.test('required: by the card, unless the policy has always or never', async t => {
  const rows: readonly (readonly [boolean | undefined, 'card' | 'always' | 'never' | undefined, boolean])[] = [
    [true, undefined, true], [false, undefined, false], [undefined, undefined, false],
    [true, 'card', true], [false, 'card', false], [undefined, 'card', false],
    [true, 'always', true], [false, 'always', true], [undefined, 'always', true],
    [true, 'never', false], [false, 'never', false]
  ]
  for (const [inCard, demand, expected] of rows) {
    t.same(
      of(inCard, demand === undefined ? undefined : { required: demand }).required,
      expected ? [{ uri: U, label: 'ext', mode: 'enforce' }] : [],
      `card ${String(inCard)}, policy ${String(demand)}`
    )
  }
})

t.test('card-required extensions need no policy', async t => {
  const policy = policyOf(declaring({ uri: U, required: true }, V), {})
  t.same(policy.required, [{ uri: U, label: U, mode: 'enforce' }])
  t.same(policy.declared, [U, V])
  t.same([...policy.labels], [[U, U], [V, V]])
  t.same(policyOf(declaring({ uri: U, required: true }), {}, { mode: 'observe' }).required, [{ uri: U, label: U, mode: 'observe' }])
  t.same(policyOf(declaring({ uri: U, required: true }), {}, { mode: 'off' }).required, [])
})

t.test('modes: a policy\'s own wins, except that an agent in off stays off', async t => {
  for (const [agentMode, own, expected] of [
    ['enforce', undefined, 'enforce'],
    ['enforce', 'observe', 'observe'],
    ['observe', 'enforce', 'enforce'],
    ['enforce', 'off', null],
    ['off', 'enforce', null],
    ['off', undefined, null]
  ] as const) {
    const policy = of(true, undefined, { request: [rule], ...(own === undefined ? {} : { mode: own }) }, { mode: agentMode })
    t.same(
      policy.policies.map(one => one.mode),
      expected === null ? [] : [expected],
      `${agentMode} ${String(own)}`
    )
    t.same(
      policy.required.map(one => one.mode),
      expected === null ? [] : [expected]
    )
    t.equal(policy.labels.get(U), 'ext', 'the label does not depend on the mode')
  }
})

t.test('injection: requested on every request, hidden unless exposed', async t => {
  t.match(of(true, { default: 'inject' }), { injected: [U], hidden: new Set([U]) })
  t.match(of(undefined, { default: 'inject' }), {
    injected: [U],
    warnings: [`policy "ext": the card does not declare ${U}, so its rules do not run`]
  })
  t.equal(of(true, { default: 'inject', expose: true }).hidden.size, 0)
  t.same(of(true, { default: 'none' }).injected, [])
})

t.test('rules run for extensions of the card only', async t => {
  t.same(of(undefined, undefined, { request: [rule] }).policies, [])
  t.match(of(false, undefined, { request: [rule] }).policies, [
    {
      name: 'ext',
      uri: U,
      rules: [
        { id: 'r', min: 0, max: Number.POSITIVE_INFINITY, errorClass: 'invalid', undeclaredClass: 'invalid', message: null, reason: null }
      ]
    }
  ])
  t.same(of(false, undefined, { request: [] }).policies, [])
})

t.test('a policy with keys for responses only', async t => {
  const answers = (more: Partial<PolicyConfig>, agentMore: Partial<AgentConfig> = {}): AgentPolicy => of(false, undefined, more, agentMore)
  for (const more of [
    { response: [rule] },
    { redact: ['a'] },
    { correlate: [] },
    { observe: {} },
    { state: { from: { metadata: { key: 'a' } } } }
  ] as const) {
    t.match(
      answers(more),
      { policies: [{ rules: [], responses: { acts: false, silent: false } }], reads: true, evaluates: true, idle: [{ active: false }] },
      Object.keys(more).join()
    )
    t.match(answers(more, { responses: 'off' }), { policies: [], reads: false, evaluates: false, remembers: false })
    t.match(answers(more, { mode: 'off', responses: 'enforce' }), { policies: [], responses: 'off', reads: false })
  }
  t.match(answers({ owns: { metadata: ['a'] } }), { policies: [{ responses: { silent: true } }], reads: true, evaluates: false })
  t.match(policyOf({}, {}), { reads: false, evaluates: false })
  const modes = (mode: PolicyConfig['mode'] & string, responses: AgentConfig['responses'], verdict?: 'reject' | 'strip'): unknown => {
    const found = answers({ mode, response: [{ ...rule, ...(verdict === undefined ? {} : { verdict }) }] }, { responses }).policies[0]
      ?.responses
    return [found?.acts, found?.rules[0]?.mode, found?.rules[0]?.verdict]
  }
  t.same(modes('enforce', 'enforce', 'reject'), [true, 'enforce', 'reject'])
  t.same(modes('enforce', 'enforce'), [true, 'observe', 'warn'])
  t.same(modes('enforce', 'enforce', 'strip'), [true, 'observe', 'strip'])
  t.same(modes('observe', 'enforce', 'reject'), [false, 'observe', 'reject'])
  t.same(modes('enforce', 'observe', 'reject'), [false, 'observe', 'reject'])
})

t.test('two policies of one URI: required once, in the strictest mode', async t => {
  const both = (a: PolicyConfig['mode'] & string, b: PolicyConfig['mode'] & string): ReturnType<typeof policyOf> =>
    policyOf(declaring({ uri: U, required: true }), {
      a: { uri: U, mode: a, activation: { default: 'inject' } },
      b: { uri: U, mode: b, activation: { default: 'inject' } }
    })
  t.same(both('observe', 'enforce').required, [{ uri: U, label: 'b', mode: 'enforce' }])
  t.same(both('enforce', 'observe').required, [{ uri: U, label: 'a', mode: 'enforce' }])
  t.same(both('observe', 'observe').injected, [U])
})

t.test('unusable schemas are listed once', async t => {
  const policy = policyOf(
    { ...declaring(U), schemas: { bad: { pattern: '(' } } },
    {
      ext: {
        uri: U,
        request: [1, 2].map(id => ({
          id: String(id),
          select: { part: { mediaType: 'application/json;schema=*' } },
          schema: { fromCard: ['/schemas/{schema}'] }
        }))
      }
    }
  )
  t.match(policy.unusable, [{ pointer: '/schemas/bad/pattern' }])
  t.equal(policy.unusable.length, 1)
})

t.test('the other card replaces what this one lost', async t => {
  const ext: PolicyConfig = {
    uri: U,
    request: [
      {
        id: 'r',
        select: { part: { mediaType: 'application/json;schema=*' } },
        schema: { fromCard: ['/capabilities/extensions/{self}/params/{schema}'] }
      }
    ]
  }
  const other = card(declaring(V, { uri: U, params: { a: false } }))
  const policy = policyOf(declaring(U), { ext }, {}, { otherCard: other })
  t.same(policy.policies[0]?.rules[0]?.schema?.names, ['a'], 'by the extension\'s index in that card')
})

t.test('an extension that the card requires stays enforced under a policy that only the catalogue sets to observe', async t => {
  const required = declaring({ uri: 'urn:e', required: true })
  const observing: PolicyConfig = {
    uri: 'urn:e',
    mode: 'observe',
    request: [{ id: 'r', select: { metadata: { key: 'k' } }, count: { max: 0 } }]
  }
  const under = (from: Readonly<Record<string, Layer>>): AgentPolicy =>
    policyOf(required, {}, { policies: [{ name: 'e', policy: observing, layers: ['catalogue'], from }] })
  const body = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }], metadata: { k: 1 } } }
  t.match(send(under({ mode: 'catalogue' }), body).rejection, { reason: 'EXTENSION_SUPPORT_REQUIRED', rule: 'e/required' })
  const asked = send(under({ mode: 'catalogue' }), body, { requested: ['urn:e'] })
  t.equal(asked.rejection, null)
  t.match(asked.violations, [{ mode: 'observe', rule: 'r' }], 'its own rules observe')
  for (const layer of ['file', 'agent'] as const) {
    t.equal(send(under({ mode: layer }), body).rejection, null, `the ${layer} said observe, and means it`)
  }
})
