/**
 * Agents that die and clients that disconnect, with the official SDKs on both sides: no client takes a partial response for a complete one,
 * and no work continues without a client.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import type { TestGateway } from '../helpers/gateway.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { until } from '../helpers/http.js'
import { cutAtDeath, deadly, mortalAgent } from '../helpers/mortal-agent.js'
import type { AgentClient } from '../helpers/sdk-clients.js'
import { connect } from '../helpers/sdk-clients.js'
import type { Combination } from './responses-kit.js'
import { behind, FOUR, requests, textOf, told } from './responses-kit.js'

const URI = 'https://x.test/ext/any/v1'
/** Makes every answer be read, and wait where it is enforced. */
const ROOT = [
  'limits: {event: 4MiB, response: 4MiB}',
  'extensions:',
  `  any: {uri: "${URI}", mode: enforce, response: [{id: any, select: {event: first}, schema: true, verdict: reject}]}`
]
const ACTIVE = 'a2a_gateway_streams_active{agent="agent"}'

/** @param only one call, where the agent does not live longer */
async function isCutOff (t: Test, combination: Combination, gateway: TestGateway, caller: AgentClient, only = false): Promise<void> {
  for (const streamed of only ? [true] : [true, false]) {
    const seen = await told(streamed ? caller.stream('go') : caller.send('go'))
    t.ok(seen.failure, 'an error, no clean end')
    t.equal(seen.values.length, streamed ? 2 : 0, 'whole events only')
    t.notMatch(textOf(seen), 'xxx', 'no piece of what was cut')
    const operation = streamed ? 'SendStreamingMessage' : 'SendMessage'
    await until(async () => await gateway.metric(requests(combination, operation, 'upstream_error')) === 1, 'its outcome')
    t.equal(await gateway.metric(requests(combination, operation, 'forwarded')), 0)
    t.equal(await gateway.metric(ACTIVE), 0)
    t.equal(await gateway.metric('a2a_gateway_answers_unread_total{agent="agent",reason="malformed"}'), 0, 'a piece is not judged')
  }
}

for (const combination of FOUR) {
  t.test(`an agent that is killed: ${combination.name}`, async t => {
    const agent = await mortalAgent(t, combination.kind)
    const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['extensions: [any]', 'responses: enforce'], ROOT) })
    const caller = await connect({
      client: combination.client,
      transport: combination.transport,
      cardUrl: `${gateway.url}/.well-known/agent-card.json`
    })
    await isCutOff(t, combination, gateway, caller, true)
    t.equal(await agent.died, 'SIGKILL')
  })

  for (const responses of ['off', 'observe', 'enforce'] as const) {
    t.test(`an agent whose connection breaks, ${responses}: ${combination.name}`, async t => {
      const { gateway, client } = await behind(t, combination, {
        agent: {
          behaviour: deadly,
          tamper: response => {
            cutAtDeath(response, () => {
              response.socket?.destroy()
            })
          }
        },
        responses,
        policies: '[any]',
        root: ROOT
      })
      await isCutOff(t, combination, gateway, await client())
    })

    t.test(`a client that leaves, ${responses}: ${combination.name}`, async t => {
      const { agent, gateway, client } = await behind(t, combination, {
        agent: {
          behaviour: async turn => {
            turn.task('working')
            while (!turn.cancelled.aborted) {
              turn.artifact('a', [{ text: 'again' }])
              await sleep(5)
            }
          }
        },
        responses,
        policies: '[any]',
        root: ROOT
      })
      const caller = await client()
      const leaving = new AbortController()
      let events = 0
      try {
        for await (const event of caller.stream('go', { signal: leaving.signal })) {
          t.ok(event)
          if (++events === 3) {
            t.equal(await gateway.metric(ACTIVE), 1)
            leaving.abort()
          }
        }
        t.fail('it went on')
      } catch (error) {
        t.match((error as Error).name, /AbortError|Error/)
      }
      await until(() => agent.calls()[0]?.aborted === true, 'the agent to be let go')
      await until(async () => await gateway.metric(ACTIVE) === 0, 'no stream')
      await until(async () => await gateway.metric(requests(combination, 'SendStreamingMessage', 'client_aborted')) === 1, 'its outcome')
      for (const outcome of ['forwarded', 'upstream_error', 'rejected', 'gateway_error']) {
        t.equal(await gateway.metric(requests(combination, 'SendStreamingMessage', outcome)), 0, outcome)
      }
      t.equal((await told(caller.getTask('none'))).failure?.name, 'TaskNotFoundError', 'the gateway and the client go on')
    })
  }
}
