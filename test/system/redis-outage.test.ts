/**
 * The effect of a Redis server's failures on the calls of two gateway processes: no lost response, and little delay. Needs `redis-server`
 * and `openssl`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { approvalPolicy, approvals, callsOf, HITL, send } from '../helpers/approvals.js'
import { freePort, until } from '../helpers/http.js'
import { startRedis } from '../helpers/redis.js'
import type { ServedGateway } from '../helpers/serve.js'
import { serve } from '../helpers/serve.js'

const CLIENTS = 8
/** `state.timeout`, ms. */
const TIMEOUT = 500
/** The same, ms, for a test in which no lookup of a running server may time out, also on a busy machine. */
const PATIENT = 2_000
/** What a call may take beside one timeout for its task and one for its answer, on a machine that is busy, ms. */
const BUSY = 1_500
/** What a process may grow by while the server is down, bytes. */
const GROWTH = 150 * 1024 * 1024

quietSdk()

const yamlOf = (agent: string, state: string): string => [
  'agents:', `  - {name: tools, upstream: {url: "${agent}"}, responses: enforce, extensions: [hitl]}`,
  ...approvalPolicy('allow'),
  `state: {${state}}`
].join('\n')

async function agentFor (t: Test): Promise<string> {
  const agent = await startAgent({ kind: 'v1', behaviour: approvals, card: { extensions: [{ uri: HITL }] } })
  t.teardown(() => agent.close())
  return agent.url
}

const CONNECTED = /state: connected to the store/
const LOST = /state: no connection to the store/
const rpcUrl = (gateway: ServedGateway): string => `${gateway.url}/a2a/jsonrpc`
const said = (gateways: readonly ServedGateway[], text: RegExp): number[] => gateways.map(gateway => gateway.said(text).length)
const lookups = (gateway: ServedGateway, outcome: string): Promise<number> =>
  gateway.metric(`a2a_gateway_task_lookups_total{outcome="${outcome}"}`)
const writes = (gateway: ServedGateway, outcome: string): Promise<number> =>
  gateway.metric(`a2a_gateway_task_writes_total{outcome="${outcome}"}`)

interface Load {
  readonly calls: () => number
  readonly failures: string[]
  /** Of each call, ms. */
  readonly times: number[]
  stop (): Promise<void>
}

/** Clients that pause and resume tasks, by turns through each gateway and streamed or not, until they are stopped. */
function loadOn (gateways: readonly ServedGateway[]): Load {
  const urls = gateways.map(rpcUrl)
  const failures: string[] = []
  const times: number[] = []
  const stopped = new AbortController()
  const timed = async (client: number, i: number, step: number, sent: Parameters<typeof send>[1], expected: string): Promise<string> => {
    const start = performance.now()
    const got = await send(urls[(client + i + step) % urls.length] ?? '', sent, i % 2 === 0).catch((error: unknown) => ({
      taskId: '',
      state: String(error),
      rule: null
    }))
    times.push(performance.now() - start)
    if (got.state !== expected) failures.push(`${step}: ${got.state} ${got.rule}`)
    return got.taskId
  }
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let i = 0; !stopped.signal.aborted; i++) {
      const name = `c${client}n${i}`
      const taskId = await timed(client, i, 0, { text: name }, 'INPUT_REQUIRED')
      await timed(client, i, 1, { taskId, text: `again: ${name}b`, approved: callsOf(name) }, 'INPUT_REQUIRED')
      await timed(client, i, 2, { taskId, approved: callsOf(`${name}b`) }, 'COMPLETED')
    }
  })
  return { calls: () => times.length, failures, times, async stop () { stopped.abort(); await Promise.all(clients) } }
}

t.test('a server that is killed under load and restarted: no call fails or hangs, and the log reports both once', async t => {
  const port = await freePort()
  const first = await startRedis(t, port)
  const yaml = yamlOf(await agentFor(t), `store: "redis://127.0.0.1:${port}", timeout: ${PATIENT}ms`)
  const gateways = await Promise.all([serve(t, yaml), serve(t, yaml)])
  await until(() => said(gateways, CONNECTED).every(n => n === 1))
  const load = loadOn(gateways)
  await sleep(1_500)
  const [one] = gateways
  const memory = (): Promise<number> => one.metric('process_resident_memory_bytes')
  const [before, healthy] = [await memory(), load.calls()]
  t.same(await Promise.all(gateways.map(gateway => lookups(gateway, 'unavailable'))), [0, 0])
  t.same(await Promise.all(gateways.map(gateway => writes(gateway, 'lost'))), [0, 0])

  await first.kill()
  await sleep(1_000)
  const early = await Promise.all(gateways.map(async gateway => [await lookups(gateway, 'unavailable'), await writes(gateway, 'lost')]))
  await sleep(5_000)
  const late = await Promise.all(gateways.map(async gateway => [await lookups(gateway, 'unavailable'), await writes(gateway, 'lost')]))
  const [down, after] = [load.calls() - healthy, await memory()]
  for (const [i, counts] of late.entries()) {
    for (const [j, count] of counts.entries()) t.ok(count > (early[i]?.[j] ?? Infinity), `${early[i]?.[j]} then ${count}`)
  }
  t.ok(down > 100, `${down} calls while it was down`)
  t.ok(after - before < GROWTH, `${before} then ${after} bytes`)
  for (const gateway of gateways) t.equal((await gateway.heard(LOST, 1)).length, 1)

  const known = await Promise.all(gateways.map(gateway => lookups(gateway, 'known')))
  await startRedis(t, port)
  await until(() => said(gateways, CONNECTED).every(n => n === 2), 'a connection', 20_000)
  await sleep(1_500)
  for (const [i, gateway] of gateways.entries()) t.ok(await lookups(gateway, 'known') > (known[i] ?? Infinity))
  const unavailable = await Promise.all(gateways.map(gateway => lookups(gateway, 'unavailable')))
  await sleep(500)
  t.same(await Promise.all(gateways.map(gateway => lookups(gateway, 'unavailable'))), unavailable)
  await load.stop()
  t.same(load.failures, [])
  const slow = load.times.filter(ms => ms > 2 * PATIENT + BUSY).length
  t.equal(slow, 0, `of ${load.calls()} calls the slowest took ${Math.max(...load.times)} ms`)
  t.comment(
    `${load.calls()} calls, ${down} of them without the server; slowest ${Math.round(Math.max(...load.times))} ms; ${load.times.filter(ms => ms > PATIENT).length} above the timeout; grew by ${Math.round((after - before) / 1024)} KiB`
  )
  for (const gateway of gateways) t.equal((await gateway.heard(LOST, 1)).length, 1)
  for (const gateway of gateways) t.equal((await gateway.heard(CONNECTED, 2)).length, 2)
})

t.test('a server that stops responding under load costs calls one timeout, and is used again afterwards', async t => {
  const redis = await startRedis(t, await freePort())
  const yaml = yamlOf(await agentFor(t), `store: "redis://127.0.0.1:${redis.port}", timeout: ${TIMEOUT}ms`)
  const gateways = await Promise.all([serve(t, yaml), serve(t, yaml)])
  await until(() => said(gateways, CONNECTED).every(n => n === 1))
  const load = loadOn(gateways)
  await sleep(1_000)
  redis.pause()
  const from = load.calls()
  await sleep(4_000)
  const down = load.calls() - from
  redis.resume()
  await until(() => said(gateways, CONNECTED).every(n => n === 2), 'a connection', 20_000)
  const known = await Promise.all(gateways.map(gateway => lookups(gateway, 'known')))
  await sleep(1_000)
  await load.stop()
  t.same(load.failures, [])
  t.ok(down > 50, `${down} calls`)
  t.equal(load.times.filter(ms => ms > 2 * TIMEOUT + BUSY).length, 0, `the slowest took ${Math.max(...load.times)} ms`)
  t.comment(`${load.calls()} calls, ${down} while it was paused; slowest ${Math.round(Math.max(...load.times))} ms`)
  for (const [i, gateway] of gateways.entries()) {
    t.ok(await lookups(gateway, 'known') > (known[i] ?? Infinity))
    t.same((await gateway.heard(LOST, 1)).map(line => line.reason), ['TIMEOUT'])
  }
})

t.test('after an outage, lost writes cause no rejections', async t => {
  const redis = await startRedis(t, await freePort())
  const yaml = yamlOf(await agentFor(t), `store: "redis://127.0.0.1:${redis.port}", timeout: ${PATIENT}ms`)
  const gateways = await Promise.all([serve(t, yaml), serve(t, yaml)])
  await until(() => said(gateways, CONNECTED).every(n => n === 1))
  const [a, b] = gateways
  const tasks = await Promise.all(Array.from({ length: 6 }, (_, i) => send(rpcUrl(a), { text: `t${i}` })))
  const healthy = await send(rpcUrl(a), { text: 'healthy' })
  redis.pause()
  for (const [i, { taskId }] of tasks.entries()) {
    t.equal((await send(rpcUrl(a), { taskId, text: `again: u${i}`, approved: callsOf(`t${i}`) }, i % 2 === 0)).state, 'INPUT_REQUIRED')
  }
  redis.resume()
  await until(() => said([a], CONNECTED)[0] === 2, 'a connection', 20_000)
  for (const [i, { taskId }] of tasks.entries()) {
    const got = await send(rpcUrl(i % 3 === 0 ? b : a), { taskId, approved: callsOf(`u${i}`) })
    t.equal(got.state, 'COMPLETED', `${i}: ${got.rule}`)
  }
  await until(() => said([b], LOST)[0] === 0 || said([b], CONNECTED)[0] === 2, 'the other gateway', 20_000)
  t.equal(
    (await send(rpcUrl(b), { taskId: healthy.taskId, approved: callsOf('other') })).rule,
    'hitl/every-call-once',
    'what was written before is still known'
  )
  t.equal((await send(rpcUrl(b), { taskId: healthy.taskId, approved: callsOf('healthy') })).state, 'COMPLETED')
})

t.test('a wrong password: the gateway starts and serves, reports it, and does not log the password', async t => {
  const { port } = await startRedis(t, await freePort(), '--requirepass', 'right-s3cret')
  const agent = await agentFor(t)
  const variable = '${STORE}' // eslint-disable-line no-template-curly-in-string
  const env = { STORE: `redis://:wr0ng-s3cret@127.0.0.1:${port}` }
  const gateway = await serve(t, yamlOf(agent, `store: "${variable}"`), env)
  t.match(await gateway.heard(LOST, 1), [{ reason: 'WRONGPASS' }])
  const paused = await send(rpcUrl(gateway), { text: 'x' })
  t.equal((await send(rpcUrl(gateway), { taskId: paused.taskId, approved: callsOf('x') }, true)).state, 'COMPLETED')
  t.ok(await lookups(gateway, 'unavailable') > 0)
  await sleep(1_000)
  t.equal((await gateway.heard(LOST, 1)).length, 1, 'once, however often it tries')
  t.equal((await fetch(`${gateway.adminUrl}/readyz`)).status, 200)
  t.notMatch(await (await fetch(`${gateway.adminUrl}/metrics`)).text(), /s3cret/)
  gateway.kill('SIGTERM')
  t.equal(await gateway.exited, 0)
  t.notMatch(gateway.output(), /s3cret/)
})

t.test('rediss: only with the authority that signed its certificate', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'redis-tls-'))
  t.teardown(() => { rmSync(directory, { recursive: true }) })
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')]
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-keyout',
      key,
      '-out',
      certificate,
      '-days',
      '2',
      '-subj',
      '/CN=localhost',
      '-addext',
      'subjectAltName=DNS:localhost,IP:127.0.0.1'
    ],
    { stdio: 'ignore' }
  )
  const tls = await freePort()
  await startRedis(
    t,
    await freePort(),
    '--tls-port',
    String(tls),
    '--tls-cert-file',
    certificate,
    '--tls-key-file',
    key,
    '--tls-auth-clients',
    'no'
  )
  const agent = await agentFor(t)
  const yaml = (host: string): string => yamlOf(agent, `store: "rediss://${host}:${tls}", timeout: 2s`)
  for (const host of ['localhost', '127.0.0.1']) {
    const gateway = await serve(t, yaml(host), { NODE_EXTRA_CA_CERTS: certificate })
    await until(() => gateway.said(CONNECTED).length === 1, gateway.output())
    const paused = await send(rpcUrl(gateway), { text: 'x' })
    t.equal((await send(rpcUrl(gateway), { taskId: paused.taskId, approved: ['y'] })).rule, 'hitl/every-call-once', host)
  }
  const stranger = await serve(t, yaml('localhost'))
  t.match(await stranger.heard(LOST, 1), [{ reason: /SELF_SIGNED|UNABLE_TO/ }])
  const paused = await send(rpcUrl(stranger), { text: 'x' })
  t.equal(
    (await send(rpcUrl(stranger), { taskId: paused.taskId, approved: ['y'] })).state,
    'COMPLETED',
    'nothing is known, so nothing is refused'
  )
  t.same(await stranger.heard(CONNECTED, 0), [])
})
