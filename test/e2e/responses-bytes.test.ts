/**
 * Responses that the gateway does not change arrive as the agent's bytes, for every operation of the official clients, with and without
 * evaluation.
 */
import t from 'tap'
import { connect } from '../helpers/sdk-clients.js'
import { behind, FOUR, wire } from './responses-kit.js'
import { runMatrix } from './matrix.js'

const URI = 'https://x.test/ext/known/v1'
/** Rules that everything breaks, and rules that nothing breaks. */
const rules = (broken: boolean): string[] => [
  'extensions:',
  '  known:',
  `    uri: ${URI}`,
  '    mode: enforce',
  '    owns: {metadata: [seen], dataKeys: [a]}',
  '    response:',
  `      - {id: every, select: {event: first}, schema: ${broken ? 'false' : 'true'}, verdict: ${broken ? 'reject' : 'annotate'}}`,
  `      - {id: last, select: {event: last}, schema: ${broken ? 'false' : 'true'}, verdict: reject}`,
  `      - {id: parts, select: {part: {}}, count: {max: ${broken ? 0 : 1000}}, verdict: strip}`,
  '    redact: [secret]',
  '    inactive: {response: strip}',
  '    state: {from: {metadata: {in: [message, status], key: seen, path: /0}}, onViolation: reject, transitions: {a: []}}',
  '    observe: {spanAttributes: {seen: {metadata: {in: [message], key: seen, path: /0}}}}'
]

const SETTINGS = [
  { name: 'off', responses: 'off', root: rules(true), policies: '[known]' },
  { name: 'no rule', responses: 'enforce', root: [], policies: '[]' },
  { name: 'observe', responses: 'observe', root: rules(true), policies: '[known]' },
  { name: 'enforce, and nothing is wrong', responses: 'enforce', root: rules(false), policies: '[known]' }
] as const

for (const combination of FOUR) {
  for (const { name, ...settings } of SETTINGS) {
    t.test(`${name}: ${combination.name}`, async t => {
      const { agent, gateway, cardUrl } = await behind(t, combination, { agent: { card: { extensions: [{ uri: URI }] } }, ...settings })
      const { client, transport } = combination
      const options = { client, transport, authorization: 'Bearer x', extensions: [URI] }
      const direct = await runMatrix({ ...options, cardUrl: agent.cardUrl })
      agent.received.length = 0

      const { fetch, exchanges } = wire()
      const through = await runMatrix({ ...options, cardUrl, fetch })
      t.same(through, direct, 'the client is told the same, with ids and times replaced')
      // The extended card is the one answer that the gateway writes anew.
      const notCard = (text: string): boolean => !text.includes('"defaultInputModes"')
      const sent = agent.calls().map(one => one.answer.toString()).filter(notCard)
      const got = (await Promise.all(exchanges.map(one => one.body))).filter(notCard)
      t.ok(got.length >= 20, `${got.length} answers`)
      // Two calls at a time may come in another order.
      t.same(got.sort(), sent.sort(), 'byte for byte')
      const found = await gateway.metric(
        'a2a_gateway_violations_total{agent="agent",extension="known",rule="every",phase="response",mode="observe"}'
      )
      t.ok(name === 'observe' ? found >= 10 : found === 0, `${found} found wrong`)
      t.equal(await gateway.metric('a2a_gateway_streams_active{agent="agent"}'), 0)
    })
  }
}

t.test('headers too, except those of one connection', async t => {
  for (const combination of FOUR) {
    const { agent, cardUrl } = await behind(t, combination, {
      agent: { card: { extensions: [{ uri: URI }] } },
      responses: 'observe',
      policies: '[known]',
      root: rules(true)
    })
    const seen: Record<string, string>[] = []
    for (const url of [agent.cardUrl, cardUrl]) {
      const { fetch, exchanges } = wire()
      const caller = await connect({ client: combination.client, transport: combination.transport, cardUrl: url, fetch, extensions: [URI] })
      await caller.send('message')
      for await (const event of caller.stream('message')) t.ok(event)
      for (const { headers } of exchanges) {
        seen.push(
          Object.fromEntries(
            [...headers].filter(
              ([name]) =>
                ![
                  'date',
                  'connection',
                  'keep-alive',
                  'content-length',
                  'etag',
                  'transfer-encoding',
                  'x-accel-buffering',
                  'cache-control'
                ].includes(name)
            )
          )
        )
      }
    }
    t.same(seen.slice(2), seen.slice(0, 2), combination.name)
  }
})
