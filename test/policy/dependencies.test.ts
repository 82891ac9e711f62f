/** Extensions that depend on other extensions: one rejection names all that are missing, and rules depend on what is active. */
import t from 'tap'
import type { ConditionConfig, PolicyConfig } from '#config/model/model.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import type { Decision } from '#policy/request/decision.js'
import { ask, judge, outcome, rule, EVERY_STYLE, STYLES, V1 } from './responses.js'
import { declaring, policyOf, send } from './fixtures.js'
import type { Sent } from './fixtures.js'

const [A, B, C, D] = ['urn:a', 'urn:b', 'urn:c', 'urn:d'] as const
const hello = { message: { parts: [] } }

/** a requires b, b requires c and d, and c requires d. */
function chain (more: Readonly<Record<string, Partial<PolicyConfig>>> = {}, required: readonly string[] = []): AgentPolicy {
  const one = (name: string, uri: string, requires: readonly string[]): readonly [string, PolicyConfig] => {
    const { activation, ...others } = more[name] ?? {}
    return [name, { uri, activation: { ...(requires.length === 0 ? {} : { requires }), ...activation }, ...others }]
  }
  return policyOf(
    declaring(...[A, B, C, D].map(uri => ({ uri, required: required.includes(uri) }))),
    Object.fromEntries([one('a', A, ['b']), one('b', B, ['c', 'd']), one('c', C, ['d']), one('d', D, [])])
  )
}

const missing = ({ rejection }: Decision): string | undefined => rejection?.metadata?.missingExtensions
const recorded = ({ violations }: Decision): string[] => violations.map(one => `${one.mode} ${one.extension}/${one.rule} ${one.missing ?? ''}`)

t.test('one rejection names all that is missing: who sends it gets no second rejection', async t => {
  for (const style of STYLES) {
    const sent: Sent = { version: style.version, binding: style.binding }
    for (const required of [[], [A], [B], [A, C], [D]]) {
      for (const requested of [[], [A], [B], [C], [A, C], [A, D], [A, B, C], [B, C, D]]) {
        const policy = chain({}, required)
        const where = JSON.stringify([style.name, required, requested])
        const first = send(policy, hello, { ...sent, requested })
        const all = [...requested, ...missing(first)?.split(',') ?? []]
        t.equal(send(policy, hello, { ...sent, requested: all }).rejection, null, where)
        t.equal(first.rejection === null, all.length === requested.length, where)
        t.equal(new Set(all).size, all.length, `${where}: each once, and none that was sent`)
      }
    }
  }
})

t.test('the message says who requires what', async t => {
  t.match(send(chain(), hello, { requested: [A] }).rejection, {
    reason: 'EXTENSION_DEPENDENCY_MISSING',
    message:
      'header A2A-Extensions must also name urn:b, which the extension urn:a requires; urn:c, which the extension urn:b requires; urn:d, which the extension urn:b requires; urn:d, which the extension urn:c requires.',
    metadata: { missingExtensions: 'urn:b,urn:c,urn:d' }
  })
  t.match(send(chain({}, [B]), hello).rejection, {
    reason: 'EXTENSION_SUPPORT_REQUIRED',
    message:
      'This agent requires extensions that the request does not activate: urn:b, urn:c (which urn:b requires), urn:d (which urn:b requires). Send the header "A2A-Extensions: urn:b,urn:c,urn:d" with the request.',
    metadata: { missingExtensions: 'urn:b,urn:c,urn:d' }
  })
  t.equal(
    send(chain({}, [C, D]), hello).rejection?.message,
    'This agent requires extensions that the request does not activate: urn:c, urn:d. Send the header "A2A-Extensions: urn:c,urn:d" with the request.',
    'an extension that is required anyway'
  )
})

t.test('what the gateway adds is not missing, and what it would add leads on', async t => {
  const adds = { b: { activation: { onMissing: 'add' as const } } }
  t.equal(missing(send(chain(adds), hello, { requested: [A] })), B)
  t.match(send(chain(adds), hello, { requested: [A, B] }), { rejection: null, injected: [C, D] })
  const partly = policyOf(declaring(A, B, C, D), {
    a: { uri: A, activation: { requires: ['b'] } },
    b: { uri: B, activation: { requires: ['c'], onMissing: 'add' } },
    c: { uri: C, activation: { requires: ['d'] } },
    d: { uri: D }
  })
  t.equal(missing(send(partly, hello, { requested: [A] })), `${B},${D}`)
  t.equal(send(partly, hello, { requested: [A, B, D] }).rejection, null)
})

t.test('a dependency that follows from an observed rule is observed', async t => {
  const seen = send(chain({ a: { mode: 'observe' } }), hello, { requested: [A] })
  t.equal(seen.rejection, null)
  t.same(recorded(seen), ['observe a/requires urn:b', 'observe b/requires urn:c', 'observe b/requires urn:d', 'observe c/requires urn:d'])
  const between = send(chain({ b: { mode: 'observe' } }, [A]), hello)
  t.equal(missing(between), `${A},${B}`)
  t.same(recorded(between).slice(2), ['observe b/requires urn:c', 'observe b/requires urn:d', 'observe c/requires urn:d'])
  // c follows from b, which is observed, and from a itself, which is enforced.
  const both = policyOf(declaring(A, B, C, D), {
    a: { uri: A, activation: { requires: ['b', 'c'] } },
    b: { uri: B, mode: 'observe', activation: { requires: ['c'] } },
    c: { uri: C, activation: { requires: ['d'] } },
    d: { uri: D }
  })
  t.equal(missing(send(both, hello, { requested: [A] })), `${B},${C},${D}`)
})

t.test('signals, scope and methods', async t => {
  const evidence = chain({ b: { owns: { metadata: ['b'] }, activation: { signals: ['evidence'] } } })
  t.equal(missing(send(evidence, hello, { requested: [A] })), B, 'naming b does not activate it, so nothing follows')
  t.equal(send(evidence, hello, { requested: [A, B] }).rejection, null)
  t.equal(missing(send(evidence, { message: { parts: [], metadata: { b: 1 } } }, { requested: [A] })), `${C},${D}`)
  t.equal(send(chain(), {}, { method: 'GetTask', requested: [A] }).rejection, null, 'checked on messages')
  t.equal(missing(send(chain({ a: { activation: { scope: 'all' } } }), {}, { method: 'GetTask', requested: [A] })), B, 'only a has its scope')
  const method = chain({ b: { methods: { 'b/run': {} } } })
  for (const requested of [[], [A], [D]]) {
    const all = [...requested, ...missing(send(method, {}, { method: 'b/run', requested }))?.split(',') ?? []]
    t.strictSame([...all].sort(), [...new Set([B, C, D, ...requested])].sort())
    t.equal(send(method, {}, { method: 'b/run', requested: all }).rejection, null)
  }
})

const OTHER = 'https://x.test/other/v1'
const OLD = 'https://x.test/other/v0'
const SATISFIES = 'https://x.test/another/v1'

/** The extension under test, another with a policy and an alias, and a third without a policy. */
function withOthers (policy: Partial<PolicyConfig>, other: Partial<PolicyConfig> = {}): AgentPolicy {
  return policyOf(
    declaring(A, OTHER, 'urn:bare'),
    {
      ext: { uri: A, ...policy },
      other: { uri: OTHER, aliases: [{ uri: OLD, relation: 'same' }, { uri: SATISFIES, relation: 'satisfies' }], ...other }
    },
    { responses: 'enforce' }
  )
}

/** Condition, requested URIs, and whether the condition holds. */
const CONDITIONS: readonly (readonly [ConditionConfig, readonly string[], boolean])[] = [
  [{ active: OTHER }, [OTHER], true],
  [{ active: OTHER }, [OLD], true],
  [{ active: OLD }, [OTHER], true],
  [{ active: OTHER }, [], false],
  [{ active: OTHER }, [A], false],
  [{ active: OTHER }, [SATISFIES], false],
  [{ active: A }, [A], true],
  [{ active: A }, [OTHER], false],
  [{ active: 'urn:bare' }, ['urn:bare'], true],
  [{ active: 'urn:bare' }, [A], false],
  [{ active: 'urn:unknown' }, ['urn:unknown'], false],
  [{ active: OTHER, taskId: 'present' }, [OTHER], false]
]

t.test('active: rules for requests depend on another extension', async t => {
  for (const [condition, requested, holds] of CONDITIONS) {
    for (const style of EVERY_STYLE) {
      const applies = (key: 'when' | 'unless'): boolean =>
        ask(withOthers({ request: [{ id: 'r', select: { metadata: { key: 'm' } }, count: { max: 0 }, [key]: condition }] }), {
          style,
          requested,
          message: { metadata: { m: 1 } }
        }).decision.rejection !== null
      t.same([applies('when'), applies('unless')], [holds, !holds], JSON.stringify([style.name, condition, requested]))
    }
  }
})

t.test('active: rules for responses depend on another extension of the request', async t => {
  for (const [{ taskId, ...condition }, requested, holds] of CONDITIONS) {
    if (taskId !== undefined) continue
    for (const style of EVERY_STYLE) {
      const bytes = style.task_('completed', { artifacts: [[style.part({ total: 'x' })]] })
      const applies = (key: 'when' | 'unless'): boolean =>
        outcome(judge(withOthers({ response: [rule({ [key]: condition })] }), bytes, { style, requested })).startsWith('refused')
      t.same([applies('when'), applies('unless')], [holds, !holds], JSON.stringify([style.name, condition, requested]))
    }
  }
  const stream = ask(withOthers({ response: [rule({ when: { active: OTHER } })] }), { operation: 'SendStreamingMessage', requested: [OTHER] })
  t.equal(stream.review?.evaluate(V1.task_('working'), true).rejection, null)
  t.match(stream.review?.evaluate(V1.artifact([V1.part({ total: 'x' })]), true).rejection, { rule: 'ext/r' }, 'and each event of a stream')
})

t.test('active: another extension that satisfies counts if the card declares it, because the rules of the policy run for it', async t => {
  const request = [{ id: 'r', select: { metadata: { key: 'm' } }, count: { max: 0 }, when: { active: OTHER } }]
  const other = { uri: OTHER, aliases: [{ uri: SATISFIES, relation: 'satisfies' as const }] }
  for (const declared of [[A, SATISFIES], [A, OTHER, SATISFIES]]) {
    const policy = policyOf(declaring(...declared), { ext: { uri: A, request }, other })
    const applies = (requested: readonly string[]): boolean =>
      send(policy, { message: { parts: [], metadata: { m: 1 } } }, { requested }).rejection !== null
    t.same([applies([SATISFIES]), applies([])], [true, false], declared.join())
  }
})

t.test('active: by data, by injection, in injections and in correlations', async t => {
  const request = [{ id: 'r', select: { metadata: { key: 'm' } }, count: { max: 0 }, when: { active: OTHER } }]
  const applies = (other: Partial<PolicyConfig>, more: object = {}): boolean =>
    send(withOthers({ request }, other), { message: { parts: [], metadata: { m: 1, ...more } } }).rejection !== null
  const evidence = { owns: { metadata: ['o'] }, activation: { signals: ['evidence' as const] } }
  t.equal(applies(evidence, { o: 1 }), true, 'active by its data')
  t.equal(applies(evidence), false)
  t.equal(applies({ activation: { default: 'inject' } }), true, 'requested by the gateway')

  const inject = withOthers({ activation: { signals: ['always'] }, inject: [{ metadata: 'k', value: 1, when: { active: OTHER } }] })
  t.equal(send(inject, hello, { requested: [OTHER] }).edits.length > 0, true)
  t.equal(send(inject, hello).edits.length, 0)

  const select = { metadata: { in: ['message' as const, 'status' as const], key: 'id' } }
  const correlated = withOthers({
    correlate: [
      {
        id: 'c',
        remember: { on: 'request', select },
        check: { on: 'response', select, relation: 'member' },
        when: { active: OTHER },
        onUnknown: 'reject'
      }
    ]
  })
  const echoed = V1.task_('working', { message: V1.message([V1.text('x')], { metadata: { id: 'other' } }) })
  const answered = (requested: readonly string[]): string =>
    outcome(judge(correlated, echoed, { requested, message: { metadata: { id: 'mine' } } }))
  t.match(answered([OTHER]), /^refused/)
  t.equal(answered([A]), '')
})
