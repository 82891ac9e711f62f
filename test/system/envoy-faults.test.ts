/**
 * Faults between a real Envoy and the gateway that it asks: whatever fails, no call reaches the agent without a decision, and streams that
 * are under way survive where Envoy allows it.
 */
import { once } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Test } from 'tap'
import t from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import type { TestAgent, Turn } from '../helpers/agents.js'
import { NO_ENVOY, startEnvoy } from '../helpers/envoy.js'
import type { Envoy } from '../helpers/envoy.js'
import { call, freePorts, JSON_TYPE, open, readAnswer, rpcBody, until, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { serve } from '../helpers/serve.js'
import type { ServedGateway } from '../helpers/serve.js'

quietSdk()

const URI = 'https://example.com/ext/required/v1'
/** Of the listeners, in this order. */
const WAYS = ['ext_authz', 'ext_proc'] as const

/** Ends the streams of the agent. */
let release = (): void => {}
let held: Promise<void> = Promise.resolve()

function hold (): void {
  held = new Promise(resolve => { release = resolve })
}

async function behaviour (turn: Turn): Promise<void> {
  if (turn.text !== 'slow') return turn.message({ text: `echo: ${turn.text}` })
  turn.task('working')
  await held
  turn.status('completed')
}

const HEADERS = [...JSON_TYPE, ...V1, 'a2a-extensions', URI]
const bodyOf = (text: string, method = 'SendMessage'): string =>
  rpcBody(method, { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }] } })
const good = (url: string, text = 'hello'): Promise<Answer> => call(`${url}/a2a/jsonrpc`, { headers: HEADERS, body: bodyOf(text) })
/** Without the required extension. */
const bad = (url: string): Promise<Answer> => call(`${url}/a2a/jsonrpc`, { headers: [...JSON_TYPE, ...V1], body: bodyOf('forbidden') })

const inFlight = async ({ metric }: ServedGateway): Promise<number> =>
  await metric('a2a_gateway_requests_active') + await metric('a2a_gateway_streams_active')

interface SetUp {
  readonly agent: TestAgent
  readonly envoy: Envoy
  readonly ports: readonly number[]
  readonly start: (port: number) => Promise<ServedGateway>
}

async function setUp (t: Test, gateways: number): Promise<SetUp> {
  const agent = await startAgent({ kind: 'v1', card: { extensions: [{ uri: URI, required: true }] }, behaviour })
  t.teardown(() => agent.close())
  const ports = await freePorts(gateways)
  const envoy = await startEnvoy({
    listeners: [{ mode: 'ext-authz' }, { mode: 'ext-proc' }],
    gateways: ports,
    agent: { http: Number(new URL(agent.url).port) }
  })
  t.teardown(() => envoy.stop())
  const yaml = `agents:\n  - {name: agent, upstream: {url: "${agent.url}"}, responses: off}\ntelemetry: {logs: {level: info}, audit: {enabled: false}}\n`
  return { agent, envoy, ports, start: port => serve(t, yaml, {}, { server: [`mesh: {listen: "127.0.0.1:${port}"}`] }) }
}

/** Gateways to which Envoy sends calls. */
const HEALTHY = /^cluster\.a2a-gateway\.membership_healthy$/
/**
 * Calls that may fail with one of two gateways: those that it had, and those that Envoy gave to it before it knew. Without the retries of
 * the bootstraps, several hundred fail.
 */
const FEW = 24

/** Opens a stream that does not end, and returns when its head is there. */
async function streamFrom (url: string): Promise<{ readonly request: ClientRequest, readonly whole: Promise<Answer> }> {
  const body = bodyOf('slow', 'SendStreamingMessage')
  const request = open(`${url}/a2a/jsonrpc`, { headers: HEADERS, body })
  request.end(body)
  const [incoming] = await once(request, 'response') as [IncomingMessage]
  request.on('error', () => {})
  const whole = readAnswer(incoming)
  whole.catch(() => {})
  return { request, whole }
}

/** True when this many calls, one after another, pass. */
async function inRow (url: string, calls: number): Promise<boolean> {
  for (let i = 0; i < calls; i++) if (!passed(await good(url))) return false
  return true
}

const failed = (answer: Answer): boolean => answer.status >= 500 && answer.text === ''
const passed = (answer: Answer): boolean => answer.status === 200 && answer.text.includes('echo: hello')
const rejected = (answer: Answer): boolean => answer.text.includes('-32008')

t.test('the gateway absent, started, killed, restarted, and slow', { skip: NO_ENVOY }, async t => {
  const { agent, envoy, ports: [port = 0], start } = await setUp(t, 1)
  const urls = envoy.urls
  for (const [i, way] of WAYS.entries()) {
    const answer = await good(urls[i] ?? '')
    t.ok(failed(answer), `${way}: absent: ${answer.status} ${answer.text}`)
  }
  t.equal(agent.calls().length, 0)

  const first = await start(port)
  for (const [i, way] of WAYS.entries()) {
    const url = urls[i] ?? ''
    await until(async () => passed(await good(url)), `${way}: started`)
    t.ok(rejected(await bad(url)), way)
  }

  // Streams whose verdict is given survive a gateway that dies.
  hold()
  const streams = await Promise.all(urls.map(streamFrom))
  first.kill('SIGKILL')
  await first.exited
  const before = agent.calls().length
  for (const url of urls) t.ok(failed(await good(url)), 'no call without a decision')
  t.equal(agent.calls().length, before)
  release()
  for (const [i, stream] of streams.entries()) {
    const text = await stream.whole.then(answer => answer.text, String)
    t.match(text, /COMPLETED/, `${WAYS[i] ?? ''}: the stream goes on to its end`)
  }

  const second = await start(port)
  for (const url of urls) await until(async () => passed(await good(url)), 'the gateway to be back')

  process.kill(second.pid, 'SIGSTOP')
  const stopped = agent.calls().length
  const slow = await Promise.all(urls.map(url => good(url)))
  t.ok(slow.every(failed), JSON.stringify(slow.map(({ status, text }) => [status, text])))
  process.kill(second.pid, 'SIGCONT')
  for (const url of urls) await until(async () => passed(await good(url)), 'the gateway to go on')
  t.equal(agent.calls().length, stopped + urls.length, 'calls that timed out have not reached the agent')
})

t.test('two gateways behind one Envoy, one of them restarted under load, then Envoy itself', { skip: NO_ENVOY }, async t => {
  const { agent, envoy, ports, start } = await setUp(t, 2)
  const gateways = await Promise.all(ports.map(start))
  for (const url of envoy.urls) await until(async () => passed(await good(url)), 'the gateways')
  const counts = { passed: 0, rejected: 0, failed: 0, wrong: [] as string[], cut: 0 }
  const load = { running: true }
  const caller = async (i: number): Promise<void> => {
    const url = envoy.urls[i % envoy.urls.length] ?? ''
    const valid = i % 4 < 2
    while (load.running) {
      const answer = await (valid ? good(url) : bad(url)).catch(() => null)
      if (answer === null) counts.cut++
      else if (valid ? passed(answer) : rejected(answer)) counts[valid ? 'passed' : 'rejected']++
      else if (failed(answer)) counts.failed++
      else counts.wrong.push(`${answer.status} ${answer.text}`)
    }
  }
  const callers = Array.from({ length: 4 }, (_none, i) => caller(i))
  const [first, second] = gateways as [ServedGateway, ServedGateway]
  const bothKnown = (): Promise<void> => until(async () => await envoy.stats(HEALTHY) === 2, 'Envoy to know both gateways', 20_000)
  await bothKnown()
  first.kill('SIGKILL')
  await first.exited
  for (const url of envoy.urls) await until(async () => await inRow(url, 10), 'Envoy to leave out the gateway that is gone', 20_000)
  const again = await start(ports[0] ?? 0)
  for (const url of envoy.urls) await until(async () => await inRow(url, 10), 'both gateways', 20_000)
  await bothKnown()
  t.same([counts.wrong, counts.cut], [[], 0], 'no response but those of the agent and the gateway, and failures of Envoy')
  t.comment(`a gateway killed and restarted: ${JSON.stringify(counts)}`)
  t.ok(counts.failed <= FEW, `${counts.failed} calls failed when a gateway was killed`)
  const before = counts.failed

  // A regular stop: Envoy hears of it before the gateway is gone.
  second.kill('SIGTERM')
  t.equal(await second.exited, 0)
  for (const url of envoy.urls) await until(async () => await inRow(url, 10), 'the other gateway', 20_000)
  t.same([counts.wrong, counts.cut], [[], 0])
  t.comment(`a gateway stopped: ${JSON.stringify(counts)}`)
  t.ok(counts.failed - before <= FEW, `${counts.failed - before} calls failed when a gateway stopped`)

  await envoy.restart()
  for (const url of envoy.urls) await until(async () => await inRow(url, 5), 'Envoy', 20_000)
  load.running = false
  await Promise.all(callers)
  t.same(counts.wrong, [])
  t.notOk(agent.calls().some(({ body }) => body.includes('forbidden')), 'no call without a decision')
  t.ok(counts.passed > 20 && counts.rejected > 20, JSON.stringify(counts))
  t.equal(await inFlight(again), 0)
})

t.test('a body above the limit of Envoy, and a client that goes away', { skip: NO_ENVOY }, async t => {
  const agent = await startAgent({ kind: 'v1', card: { extensions: [{ uri: URI, required: true }] }, behaviour })
  t.teardown(() => agent.close())
  const [port = 0] = await freePorts(1)
  const limit = 64 * 1024
  const envoy = await startEnvoy({
    listeners: [
      { mode: 'ext-authz', filter: filter => { filter.with_request_body.max_request_bytes = limit } },
      { mode: 'ext-proc', listener: listener => { listener.per_connection_buffer_limit_bytes = limit } }
    ],
    gateways: [port],
    agent: { http: Number(new URL(agent.url).port) }
  })
  t.teardown(() => envoy.stop())
  const yaml = `agents:\n  - {name: agent, upstream: {url: "${agent.url}"}, responses: off}\ntelemetry: {logs: {level: info}, audit: {enabled: false}}\n`
  const gateway = await serve(t, yaml, {}, { server: [`mesh: {listen: "127.0.0.1:${port}"}`] })
  for (const [i, url] of envoy.urls.entries()) {
    await until(async () => passed(await good(url)), 'the gateway')
    const before = agent.calls().length
    const answer = await good(url, 'x'.repeat(2 * limit))
    t.equal(answer.status, 413, WAYS[i] ?? '')
    t.equal(agent.calls().length, before)

    hold()
    const stream = await streamFrom(url)
    stream.request.destroy()
    await stream.whole.catch(() => {})
    await until(() => agent.calls().at(-1)?.aborted === true, 'the agent to hear of it')
    await until(async () => await inFlight(gateway) === 0, 'the gateway to forget the call')
    release()
    t.ok(passed(await good(url)))
  }
})
