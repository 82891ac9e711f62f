/**
 * The policies of docs/how-to/check-responses.md, exactly as on the page, in a running gateway. The gateway behaves as the page
 * describes.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { packageRoot } from '#config/paths.js'
import type { TestGateway } from '../helpers/gateway.js'
import { gatewayFor } from '../helpers/gateway.js'
import type { Answer } from '../helpers/http.js'
import { call, JSON_TYPE, MESSAGE, rpc, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'

const PAGE = readFileSync(join(packageRoot(), 'docs', 'how-to/check-responses.md'), 'utf8')
const RECEIPTS = 'https://acme.example/ext/receipts/v1'
const PAYMENT = 'https://acme.example/ext/payment/v1'

/** A configuration that the page shows, by a word in it. */
function shown (word: string): string {
  const blocks = [...PAGE.matchAll(/^```yaml\n(version:.*?)^```$/gms)].map(([, block = '']) => block)
  const found = blocks.find(block => block.includes(word))
  if (found === undefined) throw new Error(`the page shows no configuration with ${word}`)
  return found.replace(/^version: 1\n/, '')
}

interface Shop { readonly gateway: TestGateway, answer: object, readonly calls: () => number }

/** `answer` is the result of the next call; in a stream its second event, after a task that works. */
async function shop (t: Test, word: string, uri: string, change = (yaml: string): string => yaml): Promise<Shop> {
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { streaming: true, extensions: [{ uri }] } }),
    answer: (request, response) => {
      const rest = request.url.startsWith('/rest')
      const wrapped = (result: object): string => JSON.stringify(rest ? result : { jsonrpc: '2.0', id: 1, result })
      if (!/stream/i.test(request.url) && !request.body.includes('Streaming')) {
        return response.writeHead(200, { 'content-type': 'application/json' }).end(wrapped(one.answer))
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end([task('TASK_STATE_WORKING'), one.answer].map(event => `data: ${wrapped(event)}\n\n`).join(''))
    }
  })
  const yaml = change(shown(word).replace('http://127.0.0.1:9999', agent.url))
  const one: Shop = { gateway: await gatewayFor(t, { yaml }), answer: {}, calls: () => agent.received.length }
  return one
}

const task = (state: string, metadata?: object): object => ({
  task: {
    id: 't1',
    contextId: 'c1',
    status: {
      state,
      ...(metadata === undefined ? {} : { message: { messageId: 'a1', role: 'ROLE_AGENT', parts: [{ text: 'so' }], metadata } })
    }
  }
})
const update = (state: string, metadata: object): object => ({
  statusUpdate: {
    taskId: 't1',
    contextId: 'c1',
    status: { state, message: { messageId: 'a1', role: 'ROLE_AGENT', parts: [{ text: 'so' }], metadata } }
  }
})
const send = ({ gateway }: Shop, method = 'SendMessage', message: object = {}): Promise<Answer> =>
  rpc(`${gateway.url}/rpc`, method, { message: { ...MESSAGE, ...message } })
const rest = ({ gateway }: Shop, operation: string): Promise<Answer> =>
  call(`${gateway.url}/rest/message:${operation}`, { headers: [...JSON_TYPE, ...V1], body: JSON.stringify({ message: MESSAGE }) })
const violations = (policy: string, rule: string, phase: string, mode: string): string =>
  `a2a_gateway_violations_total{agent="shop",extension="${policy}",rule="${rule}",phase="${phase}",mode="${mode}"}`

t.test('receipts: rejected in both bindings and in streams, with an audit line and a count', async t => {
  const one = await shop(t, 'receipts', RECEIPTS)
  one.answer = task('TASK_STATE_COMPLETED', { [RECEIPTS]: { number: 'R-1' } })
  const refused = await send(one)
  t.equal(refused.status, 200)
  t.equal(refused.headers['gateway-decision'], 'reject;rule="receipts/receipt-is-whole"')
  t.match(refused.json(), { error: { code: -32006, data: [{ reason: 'INVALID_AGENT_RESPONSE' }] } })
  t.equal((await rest(one, 'send')).status, 500)
  t.match((await rest(one, 'send')).json(), { error: { code: 500, details: [{ reason: 'INVALID_AGENT_RESPONSE' }] } })
  t.match(one.gateway.audits()[0], { phase: 'response', decision: 'rejected', extension: 'receipts', rule: 'receipt-is-whole' })
  t.equal(await one.gateway.metric(violations('receipts', 'receipt-is-whole', 'response', 'enforce')), 3)

  one.answer = update('TASK_STATE_COMPLETED', { [RECEIPTS]: { number: 'R-1' } })
  const events = (await send(one, 'SendStreamingMessage')).text.split('\n\n')
  t.ok(PAGE.includes(`\n${events[0] as string}\n`), `the page shows: ${events[0] as string}`)
  const error = events[1]?.replace(/,"data":.*/, '') ?? ''
  t.ok(PAGE.includes(`\n${error},…`), `the page shows: ${error}`)
  t.same(events.slice(2), [''], 'nothing comes after it')
  t.match((await rest(one, 'stream')).text, /\nevent: error\ndata: \{"error":\{"code":500,.*receipts\/receipt-is-whole.*\}\n\n$/)
})

t.test('receipts: annotated, and only recorded if the agent only observes', async t => {
  const one = await shop(t, 'receipts', RECEIPTS)
  one.answer = task('TASK_STATE_COMPLETED', {})
  const warned = await send(one)
  t.match(warned.json(), { result: one.answer })
  const note = 'gateway-decision: warn;rule="receipts/completed-tasks-have-one"'
  t.ok(PAGE.includes(`\`${note}\``))
  t.equal(`gateway-decision: ${warned.headers['gateway-decision'] as string}`, note)
  t.match((await send(one, 'SendStreamingMessage')).text, `\n\n: ${note}\ndata: {`)

  const observing = await shop(t, 'receipts', RECEIPTS, yaml => yaml.replace('responses: enforce', 'responses: observe'))
  observing.answer = task('TASK_STATE_COMPLETED', { [RECEIPTS]: { number: 'R-1' } })
  t.match((await send(observing)).json(), { result: observing.answer })
  t.equal(await observing.gateway.metric(violations('receipts', 'receipt-is-whole', 'response', 'observe')), 1)
  t.match(observing.gateway.audits(), [{ phase: 'response', decision: 'observed', rule: 'receipt-is-whole' }])
})

t.test('a payment in four steps, as on the page', async t => {
  const one = await shop(t, 'network-was-offered', PAYMENT)
  const pay = (network: string): Promise<Answer> =>
    send(one, 'SendMessage', {
      taskId: 't1',
      contextId: 'c1',
      metadata: { 'acme.payment.status': 'submitted', 'acme.payment.payload': { network } }
    })
  one.answer = task('TASK_STATE_INPUT_REQUIRED', {
    'acme.payment.status': 'required',
    'acme.payment.offer': { accepts: [{ network: 'base' }, { network: 'solana' }] }
  })
  t.match((await send(one)).json(), { result: { task: { id: 't1' } } }, '1: the offer')

  const refused = await pay('ethereum')
  t.equal(refused.headers['gateway-decision'], 'reject;rule="payment/network-was-offered"', '2: a network that was not offered')
  t.notMatch(refused.text, /base|solana/, 'what was offered is not told')
  t.equal(one.calls(), 1, 'the agent was not asked')

  one.answer = task('TASK_STATE_COMPLETED', { 'acme.payment.status': 'completed' })
  t.match((await pay('solana')).json(), { result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } } }, '3: one that was')

  const again = await pay('solana')
  t.equal(again.headers['gateway-decision'], 'reject;rule="payment/state"', '4: nothing may follow')
  t.match(again.json(), { error: { message: /the task is in its last state/ } })
  t.equal(one.calls(), 2)
  t.equal(await one.gateway.metric(violations('payment', 'state', 'request', 'enforce')), 1)
  t.match(
    one.gateway.audits().map(({ phase, rule }) => `${String(phase)} ${String(rule)}`),
    ['request network-was-offered', 'request state']
  )
  t.equal(await one.gateway.metric('a2a_gateway_task_lookups_total{agent="shop",outcome="known"}'), 3)
})

t.test('/agents lists the rules in force and whether tasks are remembered', async t => {
  const agents = async ({ gateway }: Shop): Promise<unknown> => (await call(`${gateway.adminUrl}/agents`)).json()
  t.match(await agents(await shop(t, 'network-was-offered', PAYMENT)), [{
    responses: 'enforce',
    extensions: {
      '1.0': {
        remembersTasks: true,
        checked: [{
          policy: 'payment',
          responses: 'enforce',
          responseRules: [],
          state: { request: 'enforce', response: 'enforce', onUnknown: 'allow' },
          correlate: [{ id: 'network-was-offered', remembers: 'response', checks: 'request', mode: 'enforce', onUnknown: 'allow' }]
        }]
      }
    }
  }])
  const rules = [{ id: 'receipt-is-whole', verdict: 'reject' }, { id: 'completed-tasks-have-one', verdict: 'annotate' }]
  for (const responses of ['enforce', 'observe', 'off']) {
    const one = await shop(t, 'receipts', RECEIPTS, yaml => yaml.replace('responses: enforce', `responses: ${responses}`))
    t.match(
      await agents(one),
      [
        {
          responses,
          extensions: {
            '1.0': {
              remembersTasks: false,
              checked: [{ policy: 'receipts', responses, responseRules: responses === 'off' ? [] : rules, state: null }]
            }
          }
        }
      ],
      responses
    )
  }
})
