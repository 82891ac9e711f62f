/** A hundred reloads under load, alternately valid and invalid: no client notices them, and no resources stay in use. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { configOf, gatewayFor } from '../helpers/gateway.js'
import { JSON_TYPE, MESSAGE, open, readAnswer, rpcBody, until, untilAtMost, V1 } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { random } from '../helpers/seed.js'

const RELOADS = 100
const CALLERS = 20
const STREAMS = 5
const EXT = 'https://example.com/ext/demo/v1'
const UNARY = Buffer.from(rpcBody('SendMessage', { message: MESSAGE }))
const STREAM = rpcBody('SendStreamingMessage', { message: MESSAGE })
/** Of the callers' own: every extension header makes the policy's mode matter. */
const HEADERS = [...JSON_TYPE, ...V1, 'a2a-extensions', EXT]

/** Every one differs from the one before in the agent that is called; every other one brings or takes a second agent. */
function valid (url: string, i: number): string {
  return [
    'telemetry: {logs: {level: debug}}',
    'extensions:',
    '  demo:',
    `    uri: ${EXT}`,
    `    mode: ${i % 2 === 0 ? 'enforce' : 'observe'}`,
    '    activation: {required: always}',
    `    request: [{id: r${i}, select: {part: {data: true}}, count: {max: 1}}]`,
    'agents:',
    '  - name: main',
    `    upstream: {url: "${url}"}`,
    '    extensions: [demo]',
    '    card: {refresh: 1s}',
    ...(i % 2 === 0 ? [] : ['  - name: guest', '    path: /guest', `    upstream: {url: "${url}"}`])
  ].join('\n')
}

t.test('a reload storm under load', async t => {
  const load = new AbortController()
  const chance = random('gateway/reload-storm')
  let cards = 0
  const agent = await fakeAgent(t, {
    answer: (request, response: ServerResponse) => {
      if (!request.body.includes('SendStreamingMessage')) {
        setTimeout(() => {
          response.setHeader('content-type', 'application/json').end('{"jsonrpc":"2.0","id":1,"result":{}}')
        }, chance.below(20))
        return
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      let i = 0
      const timer = setInterval(() => {
        if (!load.signal.aborted) return response.write(`data: ${i++}\n\n`)
        clearInterval(timer)
        response.end(`data: last of ${i}\n\n`)
      }, 10)
      response.once('close', () => { clearInterval(timer) })
    }
  })
  agent.server.prependListener('request', (request: IncomingMessage) => { if (request.url?.includes('/.well-known/') === true) cards++ })
  let connections = 0
  agent.server.on('connection', () => { connections++ })
  const gateway = await gatewayFor(t, { yaml: valid(agent.url, 0) })

  const answers = new Map<string, number>()
  const count = (what: string): void => { answers.set(what, (answers.get(what) ?? 0) + 1) }
  const callers = Array.from({ length: CALLERS }, async () => {
    const keepAlive = new HttpAgent({ keepAlive: true, maxSockets: 1 })
    while (!load.signal.aborted) {
      try {
        const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
          httpRequest(
            `${gateway.url}/rpc`,
            {
              method: 'POST',
              agent: keepAlive,
              headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'a2a-extensions': EXT, 'content-length': UNARY.length }
            },
            resolve
          )
            .on('error', reject)
            .end(UNARY)
        })
        const { status, text } = await readAnswer(incoming)
        count(`${status} ${text}`)
      } catch (error) {
        count(String(error))
      }
    }
    keepAlive.destroy()
  })
  const streams: Promise<string>[] = []
  const stream = async (): Promise<string> => {
    const outgoing = open(`${gateway.url}/rpc`, { method: 'POST', headers: [...HEADERS, 'content-length', String(STREAM.length)] })
    outgoing.end(STREAM)
    const [incoming] = await once(outgoing, 'response') as [IncomingMessage]
    return (await readAnswer(incoming)).text
  }

  let retired = 0
  for (let i = 1; i <= RELOADS; i++) {
    if (i % (RELOADS / STREAMS) === 1) streams.push(stream())
    if (i % 2 === 0) {
      // What does not load, and what loads and cannot be used.
      const report = i % 4 === 0
        ? gateway.reject([{ file: 'gateway.yaml', line: i, col: 1, message: 'unknown key "x"' }])
        : await gateway.reload(configOf({ yaml: valid(agent.url, i).replace('count: {max: 1}', 'schema: {type: nonsense}') }))
      t.equal(report.ok, false)
    } else {
      const report = await gateway.reload(configOf({ yaml: valid(agent.url, (i + 1) / 2) }))
      if (!report.ok) throw new Error(report.problems.join('; '))
      t.match(report.agents, { changed: ['main'] })
      retired += report.agents.changed.length + report.agents.removed.length
    }
    await sleep(15)
  }
  load.abort()
  await Promise.all(callers)
  const texts = await Promise.all(streams)

  t.same([...answers.keys()], ['200 {"jsonrpc":"2.0","id":1,"result":{}}'], 'no failed request')
  const calls = [...answers.values()][0] ?? 0
  t.ok(calls > RELOADS, `${calls} calls`)
  t.equal(texts.length, STREAMS)
  for (const text of texts) {
    const events = text.split('\n\n').filter(event => event !== '')
    t.equal(events.at(-1), `data: last of ${events.length - 1}`)
    t.same(events.slice(0, -1), events.slice(0, -1).map((_, i) => `data: ${i}`), `a whole stream of ${events.length} events`)
  }
  t.equal(await gateway.metric('a2a_gateway_config_reloads_total{outcome="ok"}'), RELOADS / 2)
  t.equal(await gateway.metric('a2a_gateway_config_reloads_total{outcome="invalid"}'), RELOADS / 2)

  const closed = (): number => gateway.logs().filter(line => String(line.msg).includes('under an earlier configuration is over')).length
  t.ok(retired >= RELOADS / 2)
  await until(() => closed() === retired, 'every agent that was replaced to be closed')
  const most = CALLERS + STREAMS + 2
  t.ok(connections > 2 * most, `${connections} connections in all`)
  await untilAtMost(t, () => agent.sockets.size, most, 'only connections of one agent')
  cards = 0
  const begun = Date.now()
  await until(() => cards >= 6, 'three refreshes in two variants', 20_000)
  t.ok(Date.now() - begun >= 1_500, `one source refreshes, once a second: three refreshes in ${Date.now() - begun} ms`)
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  t.same(metrics.match(/card_age_seconds\{agent="[a-z]+"\}/g), ['card_age_seconds{agent="main"}'])
  t.equal(await gateway.metric('a2a_gateway_streams_active{agent="main"}'), 0)
  await gateway.close()
  await until(() => agent.sockets.size === 0, 'no connection to be left')
})
