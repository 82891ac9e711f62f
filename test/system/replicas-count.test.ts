/**
 * What replicas cost their neighbours: the count of docs/contributing/benchmarks.md for 100 replicas, checked against two processes with
 * one real Redis server. Needs the Debian package `redis-server`.
 */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { approvalPolicy, approvals, callsOf, HITL, send } from '../helpers/approvals.js'
import { freePort, until, untilSame } from '../helpers/http.js'
import { startRedis } from '../helpers/redis.js'
import { serve } from '../helpers/serve.js'

quietSdk()

const CALLS = 20

/** Calls of commands by name, and connections of clients. */
function statistics (port: number): { readonly commands: Readonly<Record<string, number>>, readonly clients: number } {
  const { stdout } = spawnSync('redis-cli', ['-p', String(port), 'info', 'everything'], { encoding: 'utf8' })
  const counted = [...stdout.matchAll(/cmdstat_(hgetall|pexpire|hset|hdel|del|set|mget|evalsha|eval):calls=(\d+)/g)]
  return {
    commands: Object.fromEntries(counted.map(([, name = '', calls]) => [name, Number(calls)])),
    // One connection is that of redis-cli.
    clients: Number(/connected_clients:(\d+)/.exec(stdout)?.[1]) - 1
  }
}

t.test('two processes: connections, card requests, and commands of each call', async t => {
  const { port } = await startRedis(t, await freePort())
  const agent = await startAgent({ kind: 'v1', behaviour: approvals, card: { extensions: [{ uri: HITL }] } })
  t.teardown(() => agent.close())
  const yaml = [
    'agents:',
    `  - {name: tools, path: /, upstream: {url: "${agent.url}"}, responses: enforce, extensions: [hitl]}`,
    ...approvalPolicy('reject'),
    `state: {store: "redis://127.0.0.1:${port}", timeout: 5s}`
  ].join('\n')
  const gateways = await Promise.all([serve(t, yaml), serve(t, yaml)])
  for (const gateway of gateways) await gateway.heard(/connected to the store/, 1)
  await untilSame(t, () => statistics(port).clients, 2, 'one connection for each process')
  const cards = agent.received.filter(({ url }) => url.startsWith('/.well-known/')).length
  t.ok(cards >= 2 && cards <= 4, `${cards} requests for the card: one or two for each process`)

  const commandsOf = (): Readonly<Record<string, number>> => statistics(port).commands
  const paused = []
  const start = commandsOf()
  for (let i = 0; i < CALLS; i++) {
    const { url } = gateways[i % 2] as { readonly url: string }
    const { taskId, state } = await send(`${url}/a2a/jsonrpc`, { text: `n${i}` })
    t.equal(state, 'INPUT_REQUIRED')
    paused.push(taskId)
  }
  const since = (before: Readonly<Record<string, number>>): Record<string, number> => {
    const added = Object.entries(commandsOf()).map(([name, calls]) => [name, calls - (before[name] ?? 0)] as const)
    return Object.fromEntries(added.filter(([, calls]) => calls !== 0))
  }
  await untilSame(t, () => since(start), { hset: CALLS, pexpire: CALLS }, 'a new task: one write')

  const middle = commandsOf()
  for (const [i, taskId] of paused.entries()) {
    const { url } = gateways[(i + 1) % 2] as { readonly url: string }
    t.equal((await send(`${url}/a2a/jsonrpc`, { taskId, approved: callsOf(`n${i}`) })).state, 'COMPLETED')
  }
  await until(() => (since(middle).hset ?? 0) >= CALLS, 'the writes')
  t.comment('commands of a continued task', since(middle))
  t.same(since(middle), { hgetall: CALLS, hset: CALLS, pexpire: 2 * CALLS }, 'a known task: one look-up and one write')
})
