/** A client that reads slowly: the gateway holds a bounded amount of data for the client, and all data arrives in the end. */
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { until } from '../helpers/http.js'
import { ALL, behind, requests, textOf } from './responses-kit.js'

const URI = 'https://x.test/ext/any/v1'
const ROOT = [
  'limits: {event: 4MiB}',
  'extensions:',
  `  any: {uri: "${URI}", mode: enforce, response: [{id: any, select: {event: first}, schema: true, verdict: reject}]}`
]
const ACTIVE = 'a2a_gateway_streams_active{agent="agent"}'

// Each SDK, each version and each binding.
for (const combination of [ALL[0], ALL[3]]) {
  if (combination === undefined) throw new Error('no such combination')
  for (const responses of ['observe', 'enforce'] as const) {
    t.test(`${responses}: ${combination.name}`, async t => {
      const [EVENTS, SIZE] = [34, 1_000_000]
      let stream: ServerResponse | null = null
      const { gateway, client } = await behind(t, combination, {
        agent: {
          behaviour: turn => {
            turn.task('working')
            for (let i = 0; i < EVENTS; i++) turn.artifact('a', [{ text: 'z'.repeat(SIZE) }])
            turn.status('completed')
          },
          // The SDKs wait for nobody: what the gateway does not take stays in the agent's own socket.
          tamper: response => { stream = response }
        },
        responses,
        policies: '[any]',
        root: ROOT
      })
      const caller = await client()
      const events = caller.stream('go')[Symbol.asyncIterator]()
      await events.next()
      const left = (): number => stream?.socket?.writableLength ?? 0
      await until(() => left() > 0, 'the agent to write more than anybody takes')
      for (let before = -1; before !== left();) {
        before = left()
        await sleep(150)
      }
      // What is neither with the agent nor with the client: in the gateway, and in four buffers of the kernel, of up to 6 MB each.
      t.ok(left() > EVENTS * SIZE - 28_000_000, `${left()} of ${EVENTS * SIZE} bytes stay with the agent`)
      t.equal(await gateway.metric(ACTIVE), 1)
      let count = 1
      let last: unknown = null
      for (let next = await events.next(); next.done !== true; next = await events.next()) {
        last = next.value
        count++
      }
      t.equal(count, EVENTS + 2, 'all of it comes, once it is read')
      t.match(textOf(last), /completed|"state":3/)
      await until(async () => await gateway.metric(requests(combination, 'SendStreamingMessage', 'forwarded')) === 1, 'its outcome')
      t.equal(await gateway.metric(ACTIVE), 0)
    })
  }
}
