/** Answers of policy servers in the console: bounded, and without data of a request or response. */
import t from 'tap'
import { decisionEntryOf } from '#console/entry.js'
import { matches } from '#console/filter.js'
import { maskedQuestion, withAnswers } from '#console/policy-answers.js'
import type { Settled } from '#pipeline/external/settle.js'
import { ended } from './decisions-kit.js'

const QUESTION = {
  subject: { type: 'identity', id: 'alice', properties: { groups: ['finance'] } },
  action: { name: 'SendMessage' },
  resource: { type: 'a2a_agent', id: 'billing', properties: { agent: 'billing', pushUrls: ['https://example.com/?token=SECRET'] } },
  context: { phase: 'request', rule: 'p/total', selected: [{ path: '/message/metadata/total', value: 'SECRET' }], request: { a: 'SECRET' }, result: ['SECRET'] }
}

const settled = (body: string, more: Partial<Settled> = {}): Settled => ({
  asking: { rule: 'p/total', policy: null, use: 'corp', phase: 'request', mode: 'enforce', body, unaskable: null },
  answer: {
    kind: 'decided',
    decision: false,
    id: 'd-1',
    reasonUser: 'Ask your manager.',
    reasonAdmin: 'policy 7',
    obligations: [{ id: 'o', type: 'custom', properties: { vendor: 'a2a', action: 'set', path: '/message/metadata/x', value: 'SECRET' } }],
    cached: true
  },
  outcome: 'deny',
  refused: null,
  ...more
})

t.test('names, paths and reasons are shown; values, messages and URLs are not', t => {
  const { answers } = decisionEntryOf('1', ended({ answers: withAnswers(null, [settled(JSON.stringify(QUESTION))]) }))
  t.match(answers, [{
    rule: 'p/total',
    use: 'corp',
    phase: 'request',
    mode: 'enforce',
    outcome: 'deny',
    problem: null,
    cached: true,
    id: 'd-1',
    reasonUser: 'Ask your manager.',
    reasonAdmin: 'policy 7',
    obligations: ['custom set /message/metadata/x']
  }])
  t.notMatch(JSON.stringify(answers), /SECRET/)
  t.match(JSON.parse(answers[0]?.question ?? ''), {
    subject: { id: 'alice', properties: { groups: ['finance'] } },
    resource: { id: 'billing', properties: { pushUrls: ['…'] } },
    context: { rule: 'p/total', selected: [{ path: '/message/metadata/total', value: '…' }], request: '…', result: '…' }
  })
  t.end()
})

t.test('a missing answer has its problem, and an obligation that cannot be fulfilled has its text', t => {
  const failed = settled('{}', { answer: { kind: 'failed', failure: 'timeout', problem: 'no answer in 300 ms', forward: false }, outcome: 'error' })
  t.match(withAnswers(null, [failed]), [{ outcome: 'error', problem: 'no answer in 300 ms', cached: false, id: null, obligations: [] }])
  t.match(withAnswers(null, [settled('{}', { refused: 'the obligation o is of an unknown type', outcome: 'obligation' })]), [{ problem: /unknown type/ }])
  t.end()
})

t.test('a stream with any number of answers, and questions of any size, cost bounded memory', t => {
  let kept = withAnswers(null, [settled('{}')])
  for (let i = 0; i < 100; i++) kept = withAnswers(kept, [settled('{}'), settled('{}')])
  t.equal(kept.length, 10)
  const large = withAnswers(null, [settled(JSON.stringify({ context: { request: 'x'.repeat(100_000) } }))])
  t.ok(JSON.stringify(large).length < 2_000)
  t.equal(decisionEntryOf('1', ended({ answers: large })).answers[0]?.question, null)
  t.end()
})

t.test('questions of any form', t => {
  for (const text of ['{}', '{"resource":1,"context":[]}', '{"resource":{},"context":{"selected":7}}', '{"context":{"selected":[1]}}']) {
    t.ok(JSON.parse(maskedQuestion(text)), text)
  }
  t.end()
})

t.test('the search finds servers, rules and reasons', t => {
  const entry = decisionEntryOf('1', ended({ answers: withAnswers(null, [settled('{}')]) }))
  for (const word of ['corp', 'p/total', 'policy', 'd-1', 'manager']) t.ok(matches(entry, { agent: '', outcome: '', words: [word] }), word)
  t.notOk(matches(entry, { agent: '', outcome: '', words: ['secret'] }))
  t.end()
})
