/** Runs one scenario with a raw agent, a real gateway and raw clients. At the end, the test sends a healthy call on a new connection. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, until } from '../helpers/http.js'
import { plainCard } from '../helpers/raw.js'
import { HEALTHY, HEALTHY_ANSWER, hostileAgent } from './agent.js'
import type { HostileAgent } from './agent.js'
import { HostileClient, madeOf } from './client.js'
import { checkAgent, checkAnswers, shown } from './promises.js'
import type { GatewayPart, Promised, Scenario } from './scenario.js'

const MIB = 1024 * 1024

export async function runScenario (t: Test, scenario: Scenario): Promise<void> {
  const { promise, client: steps, clients: number } = scenario
  const limit = (promise.within ?? 30) * 1_000
  const agent = await hostileAgent(t, scenario.agent)
  const listen = await listenAt(scenario)
  agent.gatewayUrl = `http://${listen}`
  const placed = (text: string): string => text.replaceAll('{agent}', agent.url).replaceAll('{gateway}', agent.gatewayUrl)
  const yaml = placed(yamlOf(scenario.gateway, listen)).replaceAll('{cardFile}', () => cardFile(t, agent))
  const gateway = await gatewayFor(t, { yaml }, promise.noCard === undefined)
  const { noCard } = promise
  if (noCard !== undefined) {
    await until(
      async () => (await (await fetch(`${gateway.adminUrl}/readyz`)).text()).includes(noCard),
      `the gateway to say "${noCard}"`,
      limit
    )
  }

  const made = madeOf(steps, placed)
  const memory = promise.memory === undefined ? null : new Watch(() => process.memoryUsage().rss)
  const stall = promise.stall === undefined ? null : new Pulse(gateway, promise)
  t.teardown(() => { stall?.stop() })
  const clients = Array.from({ length: steps.length === 0 ? 0 : number }, () => new HostileClient(gateway.url))
  t.teardown(() => { for (const one of clients) one.socket.destroy() })
  await Promise.all(clients.map(one => one.run(steps, made, agent, number)))

  const wanted = promise.answers.length
  const waiting = (one: HostileClient): boolean =>
    !one.socket.destroyed && !one.closed && (one.answers().length < wanted || promise.closed === true)
  await until(() => !clients.some(waiting), '', limit).catch(() => {
    t.fail(
      `${wanted} answers${promise.closed === true ? ' and the end of the connection' : ''}; there are ${clients[0]
        ?.answers()
        .map(({ all }) => shown(all))
        .join('\n')}`
    )
  })
  const arriving = promise.agent === 'any' ? 0 : promise.agent.length * number
  await until(() => agent.requests.length >= arriving, '', limit).catch(() => { t.fail(`${arriving} requests at the agent`) })
  if (stall !== null) {
    t.ok(
      (await stall.longest()) < (promise.stall ?? 0) * 1_000,
      `other calls were answered within ${promise.stall} s: ${await stall.longest()} ms, ${stall.failure ?? 'without a failure'}`
    )
  }
  if (memory !== null) {
    t.ok(
      memory.growth() < (promise.memory ?? 0) * MIB,
      `memory grew by less than ${promise.memory} MiB: ${Math.round(memory.growth() / MIB)}`
    )
  }

  // This call also ensures that the test has read all data that was in transit when the last response arrived.
  if (noCard === undefined) await healthy(t, gateway, promise)
  else t.equal((await fetch(`${gateway.adminUrl}/livez`)).status, 200, 'it lives')

  for (const one of clients) {
    checkAnswers(t, one.answers(), promise.answers)
    if (promise.closed !== undefined) {
      t.equal(one.closed, promise.closed, promise.closed ? 'the connection is closed' : 'the connection stays open')
    }
  }
  await checkAgent(t, agent, promise, number, limit)
  for (const { sample, is, atLeast } of promise.metrics ?? []) {
    await until(async () => {
      const value = await gateway.metric(sample)
      return (is === undefined || value === is) && (atLeast === undefined || value >= atLeast)
    }, `${sample} to be ${is ?? `${atLeast} or more`}`, limit)
  }
}

/** A normal call on a connection of its own. */
async function healthy (t: Test, gateway: TestGateway, promise: Promised): Promise<void> {
  t.equal((await healthyCall(gateway, promise)).text, HEALTHY_ANSWER, 'a healthy call is answered')
}

function healthyCall (gateway: TestGateway, { healthy }: Promised): ReturnType<typeof call> {
  return call(`${gateway.url}/rest/message:send`, {
    headers: [
      'content-type',
      'application/json',
      'a2a-version',
      '1.0',
      'connection',
      'close',
      ...(healthy === undefined ? [] : ['a2a-extensions', healthy])
    ],
    body: `{"message":{"messageId":"${HEALTHY}","role":"ROLE_USER","parts":[{"text":"hello"}]}}`
  })
}

/** Sends healthy calls, one after another, until `stop`. */
class Pulse {
  private readonly ended: Promise<void>
  private slowest = 0
  /** What became of a call that failed; null while none has. */
  failure: string | null = null
  private beating = true

  constructor (gateway: TestGateway, promise: Promised) {
    this.ended = this.beat(gateway, promise)
  }

  private async beat (gateway: TestGateway, promise: Promised): Promise<void> {
    while (this.beating) {
      const from = performance.now()
      // The clients run in the process of the gateway, which may therefore shed calls on a busy machine: this is a response too.
      const failure = await healthyCall(gateway, promise).then(({ status, text }) =>
        status === 200 || (status === 503 && text.includes('The gateway is overloaded')) ? null : `${status} ${text}`, String)
      this.failure ??= failure
      this.slowest = Math.max(this.slowest, failure === null ? performance.now() - from : Infinity)
      await sleep(10)
    }
  }

  stop (): void {
    this.beating = false
  }

  /** Duration of the slowest call, ms. */
  async longest (): Promise<number> {
    this.stop()
    await this.ended
    return Math.round(this.slowest)
  }
}

/** Records the largest increase of a value since the start. */
class Watch {
  private readonly timer: NodeJS.Timeout
  private readonly read: () => number
  private readonly first: number
  private high: number

  constructor (read: () => number) {
    this.read = read
    this.first = this.high = read()
    this.timer = setInterval(() => { this.high = Math.max(this.high, read()) }, 25)
  }

  growth (): number {
    clearInterval(this.timer)
    return Math.max(this.high, this.read()) - this.first
  }
}

function yamlOf ({ agent, root, agents }: GatewayPart, listen: string): string {
  const { upstream, ...more } = agent ?? {}
  const all = {
    server: { listen, admin: '127.0.0.1:0', drainTimeout: '50ms' },
    ...root,
    agents: agents ?? [{ name: 'agent', upstream: { url: '{agent}', ...upstream as object }, ...more }]
  }
  return Object.entries(all).map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join('\n')
}

/** Any free port. When the scenario names the gateway's address, a port that is known beforehand. */
async function listenAt (scenario: Scenario): Promise<string> {
  if (!JSON.stringify(scenario).includes('{gateway}')) return '127.0.0.1:0'
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => { server.close(resolve) })
  return `127.0.0.1:${port}`
}

function cardFile (t: Test, agent: HostileAgent): string {
  const folder = mkdtempSync(join(tmpdir(), 'hostile-'))
  t.teardown(() => { rmSync(folder, { recursive: true }) })
  const file = join(folder, 'card.json')
  writeFileSync(file, JSON.stringify(plainCard(agent.url)))
  return file
}
