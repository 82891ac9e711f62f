/** What docs/extensions/ says of a rule, for keys that no policy of the catalogue may use yet. */
import t from 'tap'
import { responseRuleWords, ruleWords } from '../../scripts/rule-words.js'

const sentences = (words: string): string[] => words.split('\n').filter(line => line !== '' && !line.startsWith('#'))

t.test('a rule for requests', async t => {
  t.same(sentences(ruleWords({ id: 'r', select: { part: {} }, when: { taskState: ['working', 'submitted'] }, unless: { match: true }, count: { max: 0 }, onUnknown: 'reject' })), [
    'Looks at the parts.', 'Applies where the task is `working` or `submitted`.', 'Does not apply where the request matches:', '```yaml', 'true', '```', 'There must be none.',
    'Where nobody can tell the state of the task, it applies.', 'Otherwise it is refused as `invalid`.'
  ])
})

t.test('a rule for answers', async t => {
  t.same(sentences(responseRuleWords({ id: 'r', on: ['GetTask'], select: { part: { data: true, dataKey: 'k' } }, when: { requestMatched: 'q', match: true }, count: { min: 1 }, verdict: 'reject', chunked: false, error: { reason: 'NO', message: 'no' } })), [
    'Looks at `k` in the data of the data parts of the message or the status message or each artifact, in answers to `GetTask`.',
    'Applies where `q` found something in the request, and the result matches:', '```yaml', 'true', '```', 'There must be at least 1.',
    'What a stream appends to an artifact is held to it too.', 'Otherwise the answer is refused, reason `NO`. It reads: no.'
  ])
  t.same(sentences(responseRuleWords({ id: 'r', select: { metadata: { key: '$uri' } }, count: { max: 0 } })), [
    'Looks at `$uri` in the metadata of the message or the status message or each artifact or the task or the update.', 'There must be none.', 'Otherwise: `warn`.'
  ])
  t.match(responseRuleWords({ id: 'r', select: { event: 'terminal' }, schema: true, verdict: 'annotate' }), /Looks at each result that is a message or ends its task\./)
})
