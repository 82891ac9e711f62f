/** `pause` in the offline tools: policy tests expect a request that waits, and `explain` shows the question. */
import t from 'tap'
import { explanationText } from '#offline/explain/explain-text.js'
import { plainCard } from '../helpers/raw.js'
import { explaining, http } from './explain-kit.js'
import { runFiles } from './kit.js'

const URI = 'https://e.test/approval'
const POLICY = `
extensions:
  approval:
    uri: ${URI}
    request:
      - id: order
        select: {part: {data: true, path: /amount}}
        schema: {type: number, maximum: 10}
        pause: {state: auth-required, text: May I?, evidence: {select: {metadata: {key: $uri}}}}
`
const HEAD = `card: {capabilities: {extensions: [{uri: '${URI}'}]}}\nagent: {extensions: [approval]}${POLICY}`

function tested (amount: number, expect: string): string {
  return `${HEAD}tests:\n  - {name: an order, request: {message: {parts: [{data: {amount: ${amount}}}]}}, expect: ${expect}}\n`
}

t.test('policy tests', async t => {
  for (const [amount, expect, code] of [
    [11, '{decision: pause, rule: approval/order, path: "params.message.parts[0].data.amount", violations: [approval/order]}', 0],
    [11, '{decision: pause, rule: approval/other}', 1],
    [11, '{decision: reject}', 1],
    [10, '{decision: pause}', 1],
    [10, '{decision: forward}', 0],
    [11, '{decision: pause, status: 400}', 2],
    [11, '{decision: pause, unchanged: true}', 2]
  ] as const) {
    const ran = runFiles(t, { 'a.test.yaml': tested(amount, expect) })
    t.equal(ran.code, code, `${amount}: ${expect}\n${ran.out}${ran.err}`)
  }
})

t.test('explain', async t => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ data: { amount: 11 } }] } } })
  const card = JSON.stringify(plainCard('http://127.0.0.1:1', { capabilities: { extensions: [{ uri: URI }] } }))
  const directory = t.testdir({ 'card.json': card })
  const explain = explaining({
    yaml: `agents: [{name: a, upstream: {url: "http://127.0.0.1:1"}, card: {file: card.json}, extensions: [approval]}]${POLICY}`,
    baseDir: directory
  })
  const explanation = await explain(http('an order', 'POST /rpc', [['Content-Type', 'application/json'], ['A2A-Version', '1.0']].map(one => one.join(': ')), body))
  t.match(explanation, { decision: 'pause', rule: 'approval/order', pause: { state: 'auth-required', text: 'May I?' }, refusal: null, forwarded: null })
  t.match(explanationText(explanation), 'pause, by the rule approval/order: a task in the state auth-required asks "May I?"')
})
