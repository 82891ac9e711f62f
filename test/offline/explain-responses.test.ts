/** The output of `explain` about a response matches the proxy: an agent behind a real gateway sends the same bytes. */
import t from 'tap'
import type { Explanation } from '#offline/explain/explanation.js'
import { explanationText } from '#offline/explain/explain-text.js'
import { readResponse } from '#offline/recording/recorded-response.js'
import { compareHeaders } from '#offline/display.js'
import { gatewayFor } from '../helpers/gateway.js'
import { fakeAgent, plainCard, rawExchange } from '../helpers/raw.js'
import { explaining, http, readAnswer as readWire, rpc, SECRET, wire } from './explain-kit.js'

const PAY = 'https://pay.example/v1'

const yaml = (url: string): string => `
limits: {response: 4KiB}
agents:
${['enforce', 'observe', 'off'].map(mode => `  - {name: ${mode}, path: /${mode}, responses: "${mode}", extensions: [pay], upstream: {url: "${url}"}}`).join('\n')}
extensions:
  pay:
    uri: ${PAY}
    owns: {metadata: [amount]}
    response:
      - {id: number, select: {metadata: {in: [message, status, task, event], key: amount}}, schema: {type: number}, verdict: reject}
      - {id: private, select: {metadata: {in: [message, status, task, event], key: trace}}, count: {max: 0}, verdict: strip}
      - {id: high, select: {metadata: {in: [message, status, task, event], key: amount}}, schema: {maximum: 10}, verdict: annotate}
`

const card = (url: string): Record<string, unknown> => plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: PAY }] } })

const result = (value: object): string => JSON.stringify({ jsonrpc: '2.0', id: 17, result: value })
const message = (metadata: object): object => ({ message: { messageId: 'a', role: 'ROLE_AGENT', parts: [{ text: SECRET }], metadata } })
const task = (metadata: object): object => ({ task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' }, metadata } })
const events = (...list: object[]): string => list.map(one => `data: ${result(one)}\n\n`).join('')
const json = (body: string, more = ''): string =>
  `HTTP/1.1 200 OK\nContent-Type: application/json\n${more}Content-Length: ${Buffer.byteLength(body)}\n\n${body}`
const sse = (body: string): string =>
  `HTTP/1.1 200 OK\nContent-Type: text/event-stream\nContent-Length: ${Buffer.byteLength(body)}\n\n${body}`

const ANSWERS: readonly (readonly [name: string, answer: string, stream: boolean])[] = [
  ['fine', json(result(message({ amount: 3 })), `A2A-Extensions: ${PAY}\n`), false],
  ['refused', json(result(message({ amount: SECRET }))), false],
  ['stripped', json(result(message({ trace: SECRET }))), false],
  ['annotated', json(result(message({ amount: 30 }))), false],
  ['an error', json('{"jsonrpc":"2.0","id":17,"error":{"code":-32001,"message":"no"}}'), false],
  ['not JSON', json(`{"${SECRET}"`), false],
  ['text', json('hello').replace('application/json', 'text/plain'), false],
  ['encoded', json('hello', 'Content-Encoding: br\n'), false],
  ['too large', json(result(message({ filler: 'x'.repeat(5_000) }))), false],
  ['an error status', json('{}').replace('200 OK', '500 Oops'), false],
  ['a stream', sse(`: hi\n\n${events(task({ amount: 1 }), task({}))}`), true],
  ['a stream that is refused', sse(events(task({ trace: 1 }), task({ amount: 30 }), task({ amount: SECRET }), task({}))), true],
  ['a stream refused at once', sse(events(task({ amount: SECRET }))), true]
]

t.test('for the whole corpus, the explanation of the response matches what the client gets', async t => {
  let answer = ''
  const agent = await fakeAgent(t, {
    card,
    answer (_request, response, incoming) {
      incoming.socket.end(
        answer
          .replaceAll(/^([^\n]*)\n/g, '$1\r\n')
          .replace(/^[^]*?\n\n/, head => `${head.trimEnd().replaceAll(/\r?\n/g, '\r\n')}\r\nConnection: close\r\n\r\n`)
      )
      response.destroy()
    }
  })
  const options = { yaml: yaml(agent.url) }
  const gateway = await gatewayFor(t, options)
  const explain = explaining(options)
  const decisions = new Set<string>()
  for (const mode of ['enforce', 'observe', 'off']) {
    for (const [name, text, stream] of ANSWERS) {
      answer = text
      const method = stream ? 'SendStreamingMessage' : 'SendMessage'
      const recorded = http(
        name,
        `POST /${mode}/rpc`,
        ['Content-Type: application/json', 'A2A-Version: 1.0', `A2A-Extensions: ${PAY}`, ...(stream ? ['Accept: text/event-stream'] : [])],
        rpc(method, { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } })
      )
      const received = readResponse(Buffer.from(text), 'answer.http')
      const explanation: Explanation = await explain(recorded, received)
      const said = explanation.answer
      t.notMatch(
        explanationText(explanation) + JSON.stringify(explanation),
        SECRET,
        `${mode} ${name}: nothing of the agent's own is printed`
      )
      if (said === null) throw new Error('no answer')
      decisions.add(`${said.decision} ${said.read}`)
      const got = readWire(await rawExchange(gateway.url, wire(recorded.text)))
      const body = got.headers.some(one => one.name.toLowerCase() === 'transfer-encoding') ? unchunked(got.body) : got.body
      const what = `${mode} ${name}`
      if (said.delivered === null) {
        t.same(
          { line: got.line, headers: got.headers, body },
          { line: `HTTP/1.1 ${said.refusal?.status} ${said.refusal?.phrase}`, headers: said.refusal?.headers, body: said.refusal?.body },
          `${what}: refused with the same bytes`
        )
        continue
      }
      t.equal(Number(got.line.split(' ')[1]), said.delivered.status, what)
      t.equal(Buffer.byteLength(body), said.delivered.body.bytes, `${what}: body`)
      if (said.refusal !== null) t.ok(body.endsWith(said.refusal.body), `${what}: the last event`)
      const flat = got.headers
        .filter(one => !['transfer-encoding', 'content-length'].includes(one.name.toLowerCase()))
        .flatMap(one => [one.name, one.value])
      t.same(
        compareHeaders(received.headers, flat, ['gateway-decision']).headers,
        said.delivered.headers.filter(one => one.name !== 'content-length'),
        `${what}: headers`
      )
    }
  }
  t.same([...decisions].sort(), ['forward false', 'forward true', 'reject false', 'reject true'])
})

function unchunked (text: string): string {
  let out = ''
  for (let at = 0; ;) {
    const end = text.indexOf('\r\n', at)
    const size = parseInt(text.slice(at, end), 16)
    if (!(size > 0)) return out
    out += text.slice(end + 2, end + 2 + size)
    at = end + 2 + size + 2
  }
}
