/**
 * Budgets across agents: what is left goes with the call, and holds at each of three gateways. Agents and clients are of the official SDK.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { untilSame } from '../helpers/http.js'
import { accessOf, claimsIn, HEADER, headersOf, lineOf, metadataOf } from './kit.js'
import type { Name, Transport } from './kit.js'

const LIMITS: Readonly<Record<Name, number>> = { a: 50, b: 1_000, c: 100 }
const budgetOf = (name: Name, more = ''): string[] => [`budgets: [{id: tokens, by: [chain], of: usage/tokens, limit: ${LIMITS[name]}, window: 1h${more}}]`]
const SPENT = /The budget "tokens" of this call, and of the calls that agents make for it, is spent/
const FORMS: readonly Transport[] = ['JSONRPC', 'HTTP+JSON', 'GRPC']

t.test('never more than the caller had', async t => {
  const line = await lineOf(t, { tokens: { a: 1, b: 40, c: 40 }, root: budgetOf, further: { c: { other: accessOf('as: {client: c}') } } })
  const { agents, gateways, send } = line
  for (const transport of FORMS) {
    t.equal(await send('alice', 'a b*2', transport), 'b was reached | b was reached', transport)
    t.match(headersOf(agents.b)['a2a-budget'], /^tokens=10$/, `${transport}: what is left after the first call`)
    t.match(claimsIn(headersOf(agents.b)[HEADER] ?? ''), { budgets: { tokens: [50, 10] } })
    // Gateway b itself allows 1000; the call has 50, the limit of gateway a.
    t.match(await send('alice', 'a b*3', transport), SPENT, transport)
    t.match(await send('alice', 'a b*3', transport, { 'a2a-budget': 'tokens=30' }), /b was reached \| a: .*The budget .* \| a: .*The budget/, `${transport}: what the caller asks for`)
    t.equal(await send('alice', 'a b*2', transport, { 'a2a-budget': 'tokens=5000' }), 'b was reached | b was reached', `${transport}: no more than the limit`)
    t.match(await send('alice', 'a b', transport, { 'a2a-budget': 'tokens=0' }), SPENT, `${transport}: nothing`)
  }
  // The agent lowers what the next one has.
  t.match(await send('alice', 'a b c*3', 'JSONRPC', { 'a2a-budget': 'tokens=45, credits=7' }), /c was reached \| c was reached \| b: The budget/)
  t.match(claimsIn(headersOf(agents.c)[HEADER] ?? ''), { budgets: { tokens: [45, 5], credits: [7, 7] } }, 'amounts without a budget of the gateway go on')
  t.match(await send('alice', 'a', 'JSONRPC', { 'a2a-budget': 'tokens=many' }), /The header a2a-budget cannot be read/)
  t.equal(await gateways.b.metric('a2a_gateway_rate_limited_total{agent="b",limit="tokens"}'), 9)
  t.ok(await gateways.c.metric('a2a_gateway_budget_spent_total{budget="tokens"}') >= 80)
  await untilSame(t, () => gateways.c.audits().some(one => one['reason'] === 'BUDGET_EXHAUSTED'), true, 'the audit line')
  t.match(gateways.c.audits().find(one => one['reason'] === 'BUDGET_EXHAUSTED'), {
    limit: 'tokens', delegation: { depth: 2, budgets: { tokens: 45, credits: 7 }, initiator: { id: 'alice' } }
  })
})

t.test('time', async t => {
  const line = await lineOf(t, {
    further: { a: { fast: accessOf('as: {client: a}, maxTime: 400ms') } },
    last: async turn => {
      await sleep(turn.text === 'end' ? 3_000 : 0, undefined, { signal: turn.cancelled }).catch(() => {})
      turn.message({ text: 'too late' })
    }
  })
  const { agents, send } = line
  for (const transport of FORMS) {
    const startedAt = performance.now()
    t.notMatch(await send('alice', 'a/fast b', transport === 'GRPC' ? 'JSONRPC' : transport), /too late/, transport)
    t.ok(performance.now() - startedAt < 2_500, 'the call ends in time')
    const left = Number(/time=([\d.]+)/.exec(headersOf(agents.b)['a2a-budget'] ?? '')?.[1])
    t.ok(left > 0 && left <= 0.4, `${transport}: ${left} s are left`)
    t.match(await send('alice', 'b', transport, { 'a2a-budget': 'time=0' }), /time for the call of the initiator is over/, transport)
    t.notMatch(await send('alice', 'b', transport, { 'a2a-budget': 'time=0.2' }), /too late/, `${transport}: the time of the caller`)
  }
})

t.test('an amount in the request', async t => {
  const { agents, send } = await lineOf(t, { tokens: { a: 1, b: 40, c: 40 }, root: name => budgetOf(name, ', remaining: /metadata/tokens_left') })
  const amountAt = (transport: Transport): unknown => transport === 'GRPC'
    ? JSON.stringify(agents.a.grpcCalls.at(-1)?.read)
    : agents.a.calls().at(-1)?.body.toString()
  for (const transport of FORMS) {
    t.equal(await send('alice', 'a', transport, {}, { metadata: { tokens_left: 5_000, other: 1 } }), 'a was reached', transport)
    t.match(amountAt(transport), /"tokens_left":50[,}]/, `${transport}: the agent reads what is left`)
    t.match(amountAt(transport), /"other":1/)
    t.match(headersOf(agents.a)['a2a-budget'], 'tokens=50')
    t.equal(await send('alice', 'a', transport, {}, { metadata: { tokens_left: 20 } }), 'a was reached')
    t.match([amountAt(transport), headersOf(agents.a)['a2a-budget']], [/"tokens_left":20[,}]/, 'tokens=20'], `${transport}: a lower amount counts`)
    t.match(await send('alice', 'a b*2', transport, {}, { metadata: { tokens_left: 20 } }), /b was reached \| a: .*The budget/, `${transport}: and goes on`)
    t.match(await send('alice', 'a', transport, {}, { metadata: { tokens_left: 0 } }), SPENT, transport)
    t.equal(await send('alice', 'a', transport, {}, { metadata: { tokens_left: 'many' } }), 'a was reached', `${transport}: a text is no amount`)
  }
})

const PLACE = '/message/metadata/datalayer/budget'
/** As docs/how-to/budgets-across-agents.md has it. */
const IN_DOLLARS = '{datalayer-orchestration: {mode: enforce, request: [{id: dollars, select: {metadata: {in: [message], key: datalayer, path: /budget/currency}}, required: false, schema: {const: USD}}]}}'

t.test('amounts of an extension: the caller sends them, agents report theirs, and each agent reads what is left', async t => {
  const { agents, send } = await lineOf(t, {
    reports: {
      policy: IN_DOLLARS,
      uri: 'https://datalayer.ai/extensions/orchestration/v1',
      metadata: name => ({ datalayer: { usage: { currency: 'USD', inputTokens: 7, outputTokens: name === 'b' ? 40 : 1, cost: name === 'b' ? 0.15 : 0.01 } } })
    },
    root: [
      'budgets:',
      `  - {id: output, by: [chain], of: datalayer-orchestration/output_tokens, limit: 1000, window: 1h, remaining: ${PLACE}/outputTokens}`,
      `  - {id: cost, by: [chain], of: datalayer-orchestration/cost, limit: 2.5, window: 1h, remaining: ${PLACE}/cost}`
    ]
  })
  for (const transport of FORMS) {
    const execution = { executionId: 'exec_1', rootExecutionId: 'exec_1', depth: 0 }
    const by = async (route: string, budget: object): Promise<string> =>
      await send('alice', route, transport, {}, { message: { metadata: { datalayer: { execution, budget } } } })
    const read = (name: Name): unknown => metadataOf(agents[name], transport)['datalayer']

    t.equal(await by('a b*2', { currency: 'USD', outputTokens: 60, cost: 0.5 }), 'b was reached | b was reached', transport)
    t.same(read('a'), { execution, budget: { currency: 'USD', outputTokens: 60, cost: 0.5 } }, `${transport}: the first agent reads what the caller sent`)
    // The first agent has sent 60 and 0.5 again. The agent behind the second gateway has reported 40 and 0.15 since.
    t.same(read('b'), { execution, budget: { currency: 'USD', outputTokens: 20, cost: 0.35 } }, `${transport}: the gateway lowers what an agent passes on`)
    t.match(claimsIn(headersOf(agents.b)[HEADER] ?? ''), { budgets: { output: [60, 20], cost: [0.5, 0.35] } }, `${transport}: the chain says the same`)
    t.match(await by('a b*3', { currency: 'USD', outputTokens: 60, cost: 9 }), /b was reached \| b was reached \| a: .*The budget "output"/, `${transport}: tokens`)
    t.match(await by('a b*2', { currency: 'USD', cost: 0.1 }), /b was reached \| a: .*The budget "cost"/, `${transport}: cost`)
    t.same(read('b'), { execution, budget: { currency: 'USD', cost: 0.1 } }, `${transport}: no amount that the caller did not send`)

    t.equal(await by('a', { currency: 'USD', outputTokens: 5_000, cost: 9 }), 'a was reached', transport)
    t.same(read('a'), { execution, budget: { currency: 'USD', outputTokens: 1_000, cost: 2.5 } }, `${transport}: no more than the budget of the gateway`)
    t.match(await by('a', { currency: 'EUR', cost: 9 }), /budget.currency must be "USD"/, `${transport}: another currency is no amount of this budget`)
  }
})
