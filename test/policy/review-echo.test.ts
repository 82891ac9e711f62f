/** The activation report at the end of a response, and the list of extensions in the client's response header. */
import t from 'tap'
import type { ResponseEvaluator } from '#policy/response/evaluator.js'
import type { AgentConfig, PolicyConfig } from '#config/model/model.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import type { Asking } from './responses.js'
import { ask, EVERY_STYLE, URI, V1 } from './responses.js'
import { declaring, policyOf } from './fixtures.js'

const ALIAS = 'https://x.test/ext'
const OTHER = 'https://x.test/other'
const THIRD = 'https://x.test/third'

function policies (config: Partial<PolicyConfig>, more: Partial<AgentConfig> = {}): AgentPolicy {
  return policyOf(
    declaring(URI, OTHER),
    { ext: { uri: URI, aliases: [{ uri: ALIAS, relation: 'same' }], owns: { metadata: ['k'] }, ...config } },
    { responses: 'enforce', ...more }
  )
}

function reviewed (policy: AgentPolicy, asking: Asking): ResponseEvaluator {
  const { review } = ask(policy, asking)
  if (review === null) throw new Error('nobody looks at the answer')
  return review
}

t.test('proof: the header, extensions[], data that the extension owns', async t => {
  for (const style of EVERY_STYLE) {
    const truth = (requested: readonly string[], echoed: readonly string[], bytes: Buffer): unknown => {
      const review = reviewed(policies({}), { style, requested, operation: 'SendStreamingMessage' })
      review.echoed(echoed)
      review.evaluate(bytes, true)
      const { confirmed, absent, unexpected } = review.activationReport()
      return [confirmed, absent, unexpected]
    }
    const nothing = style.task_('working')
    t.same(truth([URI, THIRD], [], nothing), [[], [URI, THIRD], []], style.name)
    t.same(truth([URI, THIRD], [THIRD, URI, OTHER], nothing), [[URI, THIRD], [], [OTHER]])
    t.same(truth([ALIAS], [ALIAS], nothing), [[URI], [], []])
    t.same(truth([URI, OTHER], [], style.body('message', style.message([style.text('x')], { extensions: [OTHER, THIRD] }))), [
      [OTHER],
      [URI],
      [THIRD]
    ])
    t.same(truth([URI, OTHER], [], style.task_('working', { metadata: { k: 1 } })), [[URI], [OTHER], []])
    t.same(truth([OTHER], [], style.task_('working', { metadata: { k: 1 } })), [[], [OTHER], [URI]])
    t.same(
      truth([URI], [], style.status('working', { message: style.message([style.text('x')], { extensions: [URI] }, 'user') })),
      [[], [URI], []],
      'what the client wrote proves nothing'
    )
  }
})

t.test('active without a request is not unexpected', async t => {
  const review = reviewed(policies({ activation: { signals: ['always'] } }), { requested: [OTHER] })
  review.evaluate(V1.task_('working', { metadata: { k: 1 } }), false)
  t.same(review.activationReport(), { confirmed: [], absent: [OTHER], unexpected: [] })
})

t.test('nothing is read when everything is known', async t => {
  const policy = policies({})
  t.equal(ask(policy, {}).review, null, 'nothing is asked for')
  t.equal(ask(policy, { requested: [THIRD] }).review, null, 'nobody knows what is asked for')
  t.equal(ask(policies({}, { responses: 'off' }), { requested: [URI] }).review, null)
  const review = reviewed(policy, { requested: [URI, THIRD] })
  t.match(review, { readsBody: true, buffersBody: false, enforces: false, buffersHead: false })
  review.echoed([URI])
  t.equal(review.readsBody, false)
  t.same(review.evaluate(Buffer.from('not even JSON'), false).violations, [])
})

t.test('if only a list of extensions could prove activation, events without one are not read', async t => {
  const policy = policyOf(declaring(URI, OTHER), {}, { responses: 'observe' })
  const confirmed = (...events: (Buffer | string)[]): readonly string[] => {
    const review = reviewed(policy, { requested: [URI, OTHER], operation: 'SendStreamingMessage' })
    for (const event of events) review.evaluate(Buffer.from(event), true)
    return review.activationReport().confirmed
  }
  const review = reviewed(policy, { requested: [URI], operation: 'SendStreamingMessage' })
  t.equal(review.readsBody, true)
  t.same(review.evaluate(Buffer.from('{"not":"JSON'), true).violations, [])
  t.equal(review.evaluate(Buffer.from('{"not":"JSON, extensions'), true).violations.length, 1, 'and what may have one is')
  const listing = V1.status('working', { message: V1.message([V1.text('x')], { extensions: [URI] }) }).toString()
  t.same(confirmed(V1.task_('working'), listing, V1.task_('completed')), [URI])
  t.same(confirmed(listing.replace('"extensions"', '"extens\\u0069ons"')), [URI], 'an escape is a way to write it')
})

t.test('the header for the client', async t => {
  const shown = (
    policy: AgentPolicy,
    requested: readonly string[],
    echoed: readonly string[],
    bytes: Buffer | null = null
  ): readonly string[] => {
    const review = reviewed(policy, { requested })
    review.echoed(echoed)
    if (bytes !== null) review.evaluate(bytes, false)
    return review.shown()
  }
  const proof = V1.task_('working', { metadata: { k: 1 } })
  const listing = V1.body('message', V1.message([V1.text('x')], { extensions: [URI, OTHER] }))

  t.test('passthrough', async t => {
    t.same(shown(policies({}), [ALIAS], [URI, OTHER, URI, THIRD]), [ALIAS, OTHER, THIRD], 'each once, in the client\'s spelling')
    t.same(shown(policies({}), [URI], [], proof), [])
    const injected = policies({ activation: { default: 'inject' } })
    t.same(shown(injected, [OTHER], [URI, OTHER]), [OTHER], 'only the gateway asked for it')
    t.same(shown(injected, [URI], [URI]), [URI])
    t.same(shown(policies({ activation: { default: 'inject', expose: true } }), [OTHER], [URI]), [URI])
  })

  t.test('verify', async t => {
    const policy = policies({ echo: 'verify' })
    t.same(shown(policy, [OTHER], [URI, OTHER, THIRD]), [OTHER, THIRD], 'it was not asked for')
    t.same(shown(policy, [ALIAS], [URI], null), [ALIAS])
    t.same(shown(policy, [URI], [], proof), [])
    t.same(shown(policies({ echo: 'verify', activation: { default: 'inject', expose: true } }), [OTHER], [URI]), [URI])
    t.same(shown(policies({ echo: 'verify', activation: { default: 'inject' } }), [OTHER], [URI]), [])
    t.same(shown(policies({ uri: THIRD, aliases: [], echo: 'verify' }), [THIRD, URI], [THIRD, URI]), [URI], 'the card does not declare it')
    for (const off of [policies({ echo: 'verify' }, { responses: 'observe' }), policies({ echo: 'verify', mode: 'observe' })]) {
      t.same(shown(off, [OTHER], [URI]), [URI], 'only observed')
    }
    t.match(reviewed(policy, { requested: [] }), { readsBody: false, buffersBody: false })
  })

  t.test('synthesize', async t => {
    const policy = policies({ echo: 'synthesize' })
    t.same(shown(policy, [ALIAS, OTHER], [OTHER], proof), [OTHER, ALIAS], 'by its data')
    t.same(shown(policy, [URI], [], listing), [URI], 'by extensions[], and only its own')
    t.same(shown(policy, [URI], [], V1.task_('working')), [])
    t.same(shown(policy, [OTHER], [], proof), [], 'not asked for')
    t.same(shown(policy, [URI], [URI], proof), [URI])
    const review = reviewed(policy, { requested: [URI] })
    t.match(review, { buffersHead: true, buffersBody: true, enforces: false })
    review.echoed([URI])
    t.match(review, { buffersHead: false, buffersBody: false }, 'the header has it already')
    t.equal(reviewed(policy, { requested: [OTHER] }).buffersHead, false)
  })
})

t.test('an agent that lists unknown extensions without end', async t => {
  const review = reviewed(policies({}), { requested: [URI] })
  review.echoed(Array.from({ length: 10_000 }, (_, i) => `https://x.test/${i}`))
  t.ok(review.activationReport().unexpected.length < 100)
})
