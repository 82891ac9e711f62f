/**
 * From one message of a task to the next, with policies of the catalogue: a pause for approvals, a payment, and the memory of a restarted
 * gateway.
 */
import t from 'tap'
import type { Turn } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { AgentClient, SendOptions } from '../helpers/sdk-clients.js'
import { connect, taskIdOf } from '../helpers/sdk-clients.js'
import type { Told } from './responses-kit.js'
import { ALL, behind, FOUR, textOf, told, violations } from './responses-kit.js'

const HITL = 'https://kagent.dev/extensions/hitl/v1'
const X402 = 'https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2'
const DECLARED = { extensions: [{ uri: HITL }, { uri: X402 }] }
const lookups = (outcome: string): string => `a2a_gateway_task_lookups_total{agent="agent",outcome="${outcome}"}`

/** Asks for approval or for payment at first, and is done when the client goes on. */
function behaviour (turn: Turn): void {
  turn.task('working')
  if (turn.continued && turn.text === 'pay') {
    return turn.status('completed', 'paid', {
      metadata: {
        'x402.payment.status': 'payment-completed',
        'x402.payment.receipts': [{ success: true, transaction: '0x1', network: 'base' }]
      }
    })
  }
  if (turn.continued) return turn.status('completed', 'all done')
  if (turn.text === 'buy') {
    const accepts = ['base', 'solana'].map(network => ({ scheme: 'exact', network, maxAmountRequired: '1' }))
    return turn.status('input-required', 'pay first', {
      metadata: { 'x402.payment.status': 'payment-required', 'x402.payment.required': { x402Version: 1, accepts } }
    })
  }
  const tools = [{ id: 'a1', name: 'delete_file', args: {} }, { id: 'a2', name: 'restart_pod', args: {} }]
  turn.status('input-required', 'allow?', { metadata: { [HITL]: { type: 'tool_approval_request', tools } }, extensions: [HITL] })
}

const setUp = {
  agent: { behaviour, card: DECLARED },
  responses: 'enforce',
  policies: '[{kagent-hitl: {mode: enforce}}, {x402: {mode: enforce}}]'
} as const

const approving = (taskId: string, ...ids: readonly string[]): SendOptions => ({
  taskId,
  message: {
    extensions: [HITL],
    metadata: { [HITL]: { type: 'tool_approval_response', approvals: ids.map(id => ({ id, approved: true })) } }
  }
})
const paying = (taskId: string, network: string): SendOptions => ({
  taskId,
  message: {
    metadata: {
      'x402.payment.status': 'payment-submitted',
      'x402.payment.payload': { x402Version: 1, scheme: 'exact', network, payload: { signature: 'signed-hush' } }
    }
  }
})

/** The same by either operation. */
const WAYS: Readonly<Record<string, (client: AgentClient, text: string, options?: SendOptions) => Promise<Told>>> = {
  unary: (client, text, options) => told(client.send(text, options)),
  streaming: (client, text, options) => told(client.stream(text, options))
}

for (const combination of ALL) {
  for (const [way, ask] of Object.entries(WAYS)) {
    t.test(`approvals, ${way}: ${combination.name}`, async t => {
      const { agent, gateway, client } = await behind(t, combination, setUp)
      const caller = await client({ extensions: [HITL] })
      const paused = await ask(caller, 'delete it')
      t.equal(paused.failure, null)
      t.match(textOf(paused.values.at(-1)), 'tool_approval_request')
      const id = taskIdOf(paused.values[0]) ?? 'none'
      for (const [ids, says] of [
        [['a1'], /leaves out 1/],
        [['a1', 'a2', 'a1'], /occurs twice/],
        [['a1', 'a2', 'a3'], /must be one of the values/]
      ] as const) {
        const refused = await ask(caller, 'yes', approving(id, ...ids))
        t.match(refused.failure?.text, says, ids.join())
        t.same(refused.values, [])
      }
      t.equal(agent.calls().length, 1, 'no wrong one arrives')
      t.equal(gateway.audits().filter(one => one['decision'] === 'rejected' && one['rule'] === 'every-approval-exactly-once').length, 3)
      const resumed = await ask(caller, 'yes', approving(id, 'a2', 'a1'))
      t.equal(resumed.failure, null, 'each exactly once')
      t.match(textOf(resumed.values.at(-1)), 'all done')
      t.equal(agent.calls().length, 2)
      t.equal(await gateway.metric(lookups('known')), 4)
    })

    t.test(`payment, ${way}: ${combination.name}`, async t => {
      const { agent, gateway, client } = await behind(t, combination, setUp)
      const caller = await client({ extensions: [X402] })
      const offered = await ask(caller, 'buy')
      t.equal(offered.failure, null)
      t.match(textOf(offered.values.at(-1)), 'accepts')
      const id = taskIdOf(offered.values[0]) ?? 'none'
      const refused = await ask(caller, 'pay', paying(id, 'polygon'))
      t.match(refused.failure?.text, /a network that the agent did not offer/)
      t.notMatch(refused.failure?.text, /polygon|signed-hush/, 'what the client sent is not said again')
      t.equal(agent.calls().length, 1)
      const paid = await ask(caller, 'pay', paying(id, 'base'))
      t.equal(paid.failure, null)
      t.match(textOf(paid.values.at(-1)), 'payment-completed')
      t.match(agent.calls()[1]?.body.toString(), 'signed-hush', 'the merchant gets it')
      t.notMatch(textOf(paid.values), 'signed-hush', 'the history does not show it again')
      t.equal(await gateway.metric(violations('x402', 'state', 'observe')), 0, 'all moves are allowed')
    })
  }
}

for (const combination of FOUR) {
  t.test(`a restarted gateway: ${combination.name}`, async t => {
    const { agent, gateway, client } = await behind(t, combination, setUp)
    const extensions = [HITL, X402]
    const first = await client({ extensions })
    const paused = taskIdOf(await first.send('delete it')) ?? 'none'
    const offered = taskIdOf(await first.send('buy')) ?? 'none'
    t.match((await told(first.send('yes', approving(paused, 'a1')))).failure?.text, /leaves out 1/)
    await gateway.close()

    const second = await gatewayFor(t, { yaml: oneAgent(agent.url, [`extensions: ${setUp.policies}`, 'responses: enforce']) })
    const caller = await connect({
      client: combination.client,
      transport: combination.transport,
      cardUrl: `${second.url}/.well-known/agent-card.json`,
      extensions
    })
    const approved = await told(caller.send('yes', approving(paused, 'a1')))
    t.equal(approved.failure, null, 'what nobody knows refuses no call')
    t.match(textOf(approved.values), 'all done')
    t.equal((await told(caller.send('pay', paying(offered, 'polygon')))).failure, null)
    t.equal(await second.metric(lookups('unknown')), 2)
    t.equal(await second.metric(lookups('known')), 0)
    // What it has seen since then it knows.
    const again = taskIdOf(await caller.send('delete it')) ?? 'none'
    t.match((await told(caller.send('yes', approving(again, 'a1')))).failure?.text, /leaves out 1/)
    t.equal(await second.metric(lookups('known')), 1)
  })
}

t.test('in observe, the same violations pass and are recorded', async t => {
  for (const combination of FOUR) {
    const { gateway, client } = await behind(t, combination, {
      ...setUp,
      policies: '[{kagent-hitl: {mode: observe}}, {x402: {mode: observe}}]',
      responses: 'observe'
    })
    const caller = await client({ extensions: [HITL, X402] })
    const paused = taskIdOf(await caller.send('delete it')) ?? 'none'
    t.equal((await told(caller.send('yes', approving(paused, 'a1')))).failure, null, combination.name)
    const offered = taskIdOf(await caller.send('buy')) ?? 'none'
    t.equal((await told(caller.send('pay', paying(offered, 'polygon')))).failure, null, combination.name)
    for (const [extension, rule] of [['kagent-hitl', 'every-approval-exactly-once'], ['x402', 'payload-matches-offer']]) {
      t.equal(
        await gateway.metric(
          `a2a_gateway_violations_total{agent="agent",extension="${extension}",rule="${rule}",phase="request",mode="observe"}`
        ),
        1
      )
    }
  }
})
