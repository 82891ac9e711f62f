/** The description of a rule in docs/extensions/, for keys that no policy of the catalogue may use yet. */
import t from 'tap'
import { responseRuleWords, ruleWords } from '../../scripts/rule-words.js'

const sentences = (words: string): string[] => words.split('\n').filter(line => line !== '' && !line.startsWith('#'))

t.test('a rule for requests', async t => {
  t.same(
    sentences(
      ruleWords({
        id: 'r',
        select: { part: {} },
        when: { taskState: ['working', 'submitted'] },
        unless: { active: 'urn:other', match: true },
        count: { max: 0 },
        unique: { window: '10m', onUnknown: 'allow' },
        onUnknown: 'reject'
      })
    ),
    [
      'Selects the parts.',
      'Applies if the task is `working` or `submitted`.',
      'Does not apply if the extension `urn:other` is active, and the request matches:',
      '```yaml',
      'true',
      '```',
      'There must be no such value.',
      'None may have been accepted within 10m before. If the gateway cannot tell, the value passes.',
      'If the state of the task is unknown, the rule applies.',
      'Otherwise the request is rejected as `invalid`.'
    ]
  )
})

t.test('a rule for responses', async t => {
  t.same(
    sentences(
      responseRuleWords({
        id: 'r',
        on: ['GetTask'],
        select: { part: { data: true, dataKey: 'k' } },
        when: { requestMatched: 'q', match: true },
        count: { min: 1 },
        verdict: 'reject',
        chunked: false,
        error: { reason: 'NO', message: 'no' }
      })
    ),
    [
      'Selects `k` in the data of the data parts of the message or the status message or each artifact, in responses to `GetTask`.',
      'Applies if the rule `q` selected something in the request, and the result matches:',
      '```yaml',
      'true',
      '```',
      'There must be at least 1.',
      'It also applies to data that a stream appends to an artifact.',
      'Otherwise the response is rejected, reason `NO`. Message: no.'
    ]
  )
  t.same(sentences(responseRuleWords({ id: 'r', select: { metadata: { key: '$uri' } }, count: { max: 0 } })), [
    'Selects `$uri` in the metadata of the message or the status message or each artifact or the task or the update.',
    'There must be no such value.',
    'Otherwise: `warn`.'
  ])
  t.match(
    responseRuleWords({ id: 'r', select: { event: 'terminal' }, schema: true, verdict: 'annotate' }),
    /Selects each result that is a message or ends its task\./
  )
})
