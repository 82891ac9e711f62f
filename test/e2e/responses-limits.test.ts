/**
 * Responses and events that are too large to evaluate: the gateway forwards them when it only observes, and rejects them when it enforces
 * rules. The test covers both sides of each limit.
 */
import t from 'tap'
import type { Turn } from '../helpers/agents.js'
import { behind, FOUR, isRefusedAnswer, requests, told, wire } from './responses-kit.js'

const URI = 'https://x.test/ext/sizes/v1'
const TOO_LARGE = 'a2a_gateway_answers_unread_total{agent="agent",reason="too_large"}'

/** The text says how many characters the answer has beside what the SDK writes around it. */
function behaviour (turn: Turn): void {
  const [how = '', size = '0'] = turn.text.split(' ')
  const text = 'x'.repeat(Number(size))
  if (how === 'message') return turn.message({ text })
  turn.task('working')
  turn.artifact('a', [{ text: 'first' }])
  turn.artifact('b', [{ text }])
  turn.status('completed')
}

for (const combination of FOUR) {
  for (const responses of ['observe', 'enforce'] as const) {
    t.test(`${responses}: ${combination.name}`, async t => {
      const probe = await behind(t, combination, { agent: { behaviour }, responses: 'off', policies: '[]' })
      const { fetch, exchanges } = wire()
      const prober = await probe.client({ fetch })
      await prober.send('message 1000')
      for await (const event of prober.stream('task 1000')) t.ok(event)
      const answer = Buffer.byteLength(await exchanges[0]?.body ?? '') - 1000
      const stream = await exchanges[1]?.body ?? ''
      const event = Buffer.byteLength(/^data: (.*x{1000}.*)$/m.exec(stream)?.[1] ?? '') - 1000
      t.ok(answer > 0 && event > 0, 'what the SDK writes around the text')

      const LIMIT = 4_000
      const { client, gateway } = await behind(t, combination, {
        agent: { behaviour, card: { extensions: [{ uri: URI }] } },
        responses,
        policies: '[sizes]',
        root: [
          `limits: {response: ${LIMIT}B, event: ${LIMIT}B}`,
          'extensions:',
          `  sizes: {uri: "${URI}", mode: enforce, response: [{id: any, select: {event: first}, schema: true, verdict: reject}]}`
        ]
      })
      const caller = await client()
      // SDK 1.3.0 counts the ids of JSON-RPC upwards from 1; they stay of one digit.
      const fits = await told(caller.send(`message ${LIMIT - answer}`))
      t.equal(fits.failure, null, 'an answer of just the limit')
      t.equal(await gateway.metric(TOO_LARGE), 0)
      const over = await told(caller.send(`message ${LIMIT - answer + 1}`))
      t.equal(await gateway.metric(TOO_LARGE), 1)
      const fitting = await told(caller.stream(`task ${LIMIT - event - 20}`))
      t.equal(fitting.failure, null, 'an event below the limit')
      t.equal(fitting.values.length, 4)
      t.equal(await gateway.metric(TOO_LARGE), 1)
      const larger = await told(caller.stream(`task ${LIMIT - event + 20}`))
      t.equal(await gateway.metric(TOO_LARGE), 2)
      const huge = await told(caller.stream('task 300000'))
      t.equal(await gateway.metric(TOO_LARGE), 3, 'in pieces')
      if (responses === 'observe') {
        t.same([over.failure, larger.failure, huge.failure], [null, null, null], 'forwarded unread')
        t.match(JSON.stringify(over.values), 'x'.repeat(LIMIT - answer + 1))
        t.same([larger.values.length, huge.values.length], [4, 4])
        t.match(JSON.stringify(huge.values), 'x'.repeat(300_000))
      } else {
        isRefusedAnswer(t, combination, over.failure, '4000', 'an answer above the limit')
        for (const { failure, values } of [larger, huge]) {
          isRefusedAnswer(t, combination, failure, '4000', 'an event above the limit')
          t.equal(values.length, 2, 'the events before it')
        }
        t.equal(await gateway.metric(requests(combination, 'SendStreamingMessage', 'rejected')), 2)
      }
    })
  }
}
