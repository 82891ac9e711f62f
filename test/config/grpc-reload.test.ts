/** gRPC after a reload: listeners stay until a restart, and agents are served where one is open. */
import t from 'tap'
import { parseConfig } from '#config/load.js'
import type { Config } from '#config/model/model.js'
import { changesBetween, inEffect } from '#agents/changes.js'

function config (grpc: string, ...agents: readonly string[]): Config {
  const text = `version: 1\nserver: {grpc: {${grpc}}}\nagents:\n${agents.map((one, i) => `  - {name: ${'abc'[i] ?? ''}, ${one}}\n`).join('')}`
  const loaded = parseConfig(text, { file: 'g.yaml', baseDir: '/', env: {} })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded.config
}

const A = 'host: a.test, upstream: {url: "http://a"}'
const own = (port: number): string => `${A}, grpc: {listen: "127.0.0.1:${port}"}`
const SHARED = 'listen: ":9", publicAddress: "gate.test:443"'
const listeners = ({ server, agents }: Config): unknown[] =>
  [server.grpc?.listen?.port ?? null, ...agents.map(({ grpc }) => grpc?.publicAddress ?? null)]

t.test('settings of agents are in force at once; listeners need a restart', async t => {
  const rows: readonly [name: string, before: Config, after: Config, effective: unknown[], restart: string[]][] = [
    ['nothing', config(SHARED, A), config(SHARED, A), [9, 'a.test:443'], []],
    ['another upstream', config(SHARED, A), config(SHARED, `${A}, grpc: {upstream: "grpc://b:1"}`), [9, 'a.test:443'], []],
    ['switched on', config('', A), config(SHARED, A), [null, null], ['server.grpc', 'agents[].grpc.listen']],
    ['switched off', config(SHARED, A), config('', A), [9, null], ['server.grpc']],
    ['not enabled', config(SHARED, A), config(SHARED, `${A}, grpc: {enabled: false}`), [9, null], []],
    ['another port', config(SHARED, A), config(SHARED.replace('9', '8'), A), [9, 'a.test:443'], ['server.grpc']],
    ['another public port', config(SHARED, A), config(SHARED.replace('443', '8'), A), [9, 'a.test:8'], []],
    ['another port of the agent', config('', own(1)), config('', own(2)), [null, 'a.test:1'], ['agents[].grpc.listen']],
    ['from the shared listener', config(SHARED, A), config(SHARED, own(1)), [9, 'a.test:443'], ['agents[].grpc.listen']],
    ['to the shared listener', config('', own(1)), config(SHARED, A), [null, 'a.test:1'], ['server.grpc', 'agents[].grpc.listen']],
    ['another agent at an open listener', config('', own(1)), config('', own(1), own(1).replace('a.test', 'b.test')), [null, 'a.test:1', 'b.test:1'], []],
    ['another agent with a listener', config('', own(1)), config('', own(1), own(2).replace('a.test', 'b.test')), [null, 'a.test:1', null], ['agents[].grpc.listen']]
  ]
  for (const [name, before, after, effective, restart] of rows) {
    t.same(listeners(inEffect(before, after)), effective, name)
    t.same(changesBetween(before, after, []).needsRestart, restart, name)
  }
  const moved = inEffect(config(SHARED, A), config(SHARED.replace('9', '8'), `${A}, grpc: {upstream: "grpc://b:1"}`))
  t.match(moved.agents[0]?.grpc, { listen: null, upstream: { host: 'b', port: 1 } }, 'the rest is in force')
  const more = inEffect(config(SHARED, A), config(`${SHARED}, maxConcurrentStreams: 7`, A))
  t.equal(more.server.grpc?.maxConcurrentStreams, 128)
})
