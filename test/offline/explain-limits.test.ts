/** `explain` names the limits in which a request counts. */
import t from 'tap'
import { explanationText } from '#offline/explain/explain-text.js'
import { oneAgent } from '../helpers/gateway.js'
import { plainCard } from '../helpers/raw.js'
import { explaining, http, message10, rpc } from './explain-kit.js'

t.test('limits of a request', async t => {
  const baseDir = t.testdir({ 'card.json': JSON.stringify(plainCard('http://h')) })
  const yaml = (root: readonly string[]): string =>
    oneAgent('http://h', ['card: {file: card.json}', 'untaggedData: reject', 'extensions: [usage]'], [
      'extensions: {usage: {uri: "urn:u", observe: {metrics: [{name: tokens, type: counter, from: {metadata: {key: t}}}]}}}',
      ...root
    ])
  const rates = [
    'rates:',
    '  - {id: all, by: [address], rate: 1/1s}',
    '  - {id: sends, by: [address], rate: 1/1s, on: [messages]}',
    '  - {id: reads, by: [address], rate: 1/1s, on: [GetTask]}',
    'budgets: [{id: tokens, by: [agent], of: usage/tokens, limit: 1, window: 1h}]'
  ]
  const recorded = (params: object, method = 'SendMessage') =>
    http('r', 'POST /rpc', ['Content-Type: application/json', 'A2A-Version: 1.0'], rpc(method, params))
  const explain = explaining({ yaml: yaml(rates), baseDir })
  const sent = await explain(recorded(message10({}, {})))
  t.same([sent.decision, sent.limits], ['forward', ['all', 'sends', 'tokens']])
  t.match(explanationText(sent), /^limits +all, sends, tokens \(counts are known only to a running gateway\)$/m)
  t.same((await explain(recorded({ id: '1' }, 'GetTask'))).limits, ['all', 'reads'])
  const rejected = await explain(recorded({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ data: {} }] } }))
  t.same([rejected.decision, rejected.limits], ['reject', ['all']], 'the rest is asked after the rules')
  t.notOk('limits' in await explaining({ yaml: yaml([]), baseDir })(recorded(message10({}, {}))))
})
