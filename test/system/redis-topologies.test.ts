/**
 * State on the Redis topologies of operators: a cluster of several servers, and a primary that Sentinel replaces, behind HAProxy. Real
 * servers. Needs the Debian packages `redis-server`, `redis-sentinel` and `haproxy`.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import type { Taken } from '#state/limits/limit-store.js'
import { RedisLimits } from '#state/limits/redis-limits.js'
import { RedisStore } from '#state/redis-store.js'
import type { TaskKey } from '#state/store.js'
import { freePort, until } from '../helpers/http.js'
import { startRedis } from '../helpers/redis.js'

const key = (taskId: string): TaskKey => ({ agent: 'weather', tenant: null, taskId })
const record = (fields: Record<string, string>): Map<string, string> => new Map(Object.entries(fields))

interface Opened { readonly store: RedisStore, readonly limits: RedisLimits, readonly lines: string[] }

function open (t: Test, url: string, prefix: string): Opened {
  const lines: string[] = []
  const line = (fields: object, message: string): void => { lines.push(`${JSON.stringify(fields)} ${message}`) }
  const config = { store: url, maxTasks: 1, ttl: 60_000, timeout: 1_000, prefix }
  const log = { info: line, warn: line }
  const opened = { store: new RedisStore(config, log), limits: new RedisLimits(config, log), lines }
  t.teardown(async () => await Promise.all([opened.store.close(), opened.limits.close()]))
  return opened
}

const cli = (port: number, ...args: readonly string[]): string =>
  spawnSync('redis-cli', ['-p', String(port), ...args], { encoding: 'utf8' }).stdout.trim()

/** Everything that the gateway does with a store. */
async function useAll (t: Test, { store, limits }: Opened, id: string): Promise<void> {
  const rate = { key: id, rule: { count: 2, period: 60_000, burst: 2 } }
  t.equal(await store.write(key(id), record({ state: 'working' })), true)
  t.same(await store.read(key(id)), record({ state: 'working' }))
  const names = Array.from({ length: 20 }, (_none, i) => ({ kind: 'task', id: `${id}-${i}` } as const))
  t.same(await store.owners('weather', names, 'owner'), names.map(() => 'owner'), 'several keys in one command')
  t.same(await store.claim('weather', [{ key: `${id}-a`, window: 60_000 }, { key: `${id}-b`, window: 60_000 }]), ['new', 'new'])
  store.release('weather', [{ key: `${id}-a`, window: 60_000 }, { key: `${id}-b`, window: 60_000 }])
  await until(async () => (await store.claim('weather', [{ key: `${id}-a`, window: 60_000 }]))[0] === 'new', 'the claims to be released')
  const change = { agent: 'weather', taskId: id, kind: 'reserve', entries: ['x', 'y'], token: '1', max: 4 } as const
  t.same(await store.pushConfigs(change), [true, true])
  // The limits have a connection of their own.
  let taken: Taken | null = null
  await until(async () => (taken = await limits.take([rate])) !== null, 'the connection of the limits')
  t.match(taken, { rejected: -1 }, 'shared limits')
}

t.test('a cluster of three servers: one hash tag keeps the state on one shard', async t => {
  const ports = [await freePort(), await freePort(), await freePort()].sort((a, b) => a - b)
  const directory = mkdtempSync(join(tmpdir(), 'a2a-cluster-'))
  t.teardown(() => { rmSync(directory, { recursive: true, force: true }) })
  for (const port of ports) {
    // The bus of a cluster would use port + 10,000, which may be taken or too large.
    await startRedis(t, port, '--cluster-enabled', 'yes', '--cluster-config-file', join(directory, `${port}.conf`), '--cluster-port', String(await freePort()))
  }
  const [first = 0] = ports
  ports.forEach((port, i) => {
    cli(port, 'cluster', 'addslotsrange', String(Math.ceil(16_384 * i / 3)), String(Math.ceil(16_384 * (i + 1) / 3) - 1))
    cli(port, 'config', 'set', 'cluster-require-full-coverage', 'no')
    // Without this, two servers could have the same epoch.
    cli(port, 'cluster', 'set-config-epoch', String(i + 1))
  })
  const busOf = (port: number): string => /@(\d+)/.exec(cli(port, 'cluster', 'nodes'))?.[1] ?? ''
  for (const port of ports.slice(1)) cli(first, 'cluster', 'meet', '127.0.0.1', String(port), busOf(port))
  await until(() => ports.every(port => /cluster_known_nodes:3/.test(cli(port, 'cluster', 'info')) && /cluster_state:ok/.test(cli(port, 'cluster', 'info'))), 'the cluster')
  const slot = Number(cli(first, 'cluster', 'keyslot', '{gw}:x'))
  const owner = ports[Math.floor(slot * 3 / 16_384)] as number
  const other = ports.find(port => port !== owner) as number

  const own = open(t, `redis://127.0.0.1:${owner}`, '{gw}:')
  await until(async () => typeof await own.store.read(key('probe')) === 'string' && await own.store.read(key('probe')) !== 'unavailable', 'the connection')
  await useAll(t, own, 'cluster')

  const wrong = open(t, `redis://127.0.0.1:${other}`, '{gw}:')
  await until(() => wrong.lines.some(line => line.includes('"reason":"MOVED"')), 'the log to name the reason')
  t.equal(await wrong.store.read(key('cluster')), 'unavailable', 'another shard knows nothing, and says so')
  t.equal(await wrong.store.write(key('cluster'), record({ state: 'failed' })), false)
  t.same(await own.store.read(key('cluster')), record({ state: 'working' }))
})

const HAPROXY = `defaults
  mode tcp
  timeout connect 500ms
  timeout client 1h
  timeout server 1h
listen redis
  bind 127.0.0.1:PORT
  option tcp-check
  tcp-check connect
  tcp-check send info\\ replication\\r\\n
  tcp-check expect string role:master
  default-server check inter 100ms fall 1 rise 1 on-marked-down shutdown-sessions
`

t.test('a primary that Sentinel replaces, behind a proxy that follows the primary', async t => {
  const [primaryPort, replicaPort, sentinelPort, proxyPort] = [await freePort(), await freePort(), await freePort(), await freePort()]
  const directory = mkdtempSync(join(tmpdir(), 'a2a-sentinel-'))
  t.teardown(() => { rmSync(directory, { recursive: true, force: true }) })
  // The primary writes a file for its replica.
  const primary = await startRedis(t, primaryPort, '--dir', directory)
  await startRedis(t, replicaPort, '--dir', directory, '--replicaof', '127.0.0.1', String(primaryPort), '--repl-diskless-sync-delay', '0')
  await until(() => /master_link_status:up/.test(cli(replicaPort, 'info', 'replication')), 'the replica')
  const sentinelFile = join(directory, 'sentinel.conf')
  writeFileSync(sentinelFile, `port ${sentinelPort}
sentinel monitor store 127.0.0.1 ${primaryPort} 1
sentinel down-after-milliseconds store 500
sentinel failover-timeout store 2000
`)
  const proxyFile = join(directory, 'haproxy.cfg')
  writeFileSync(proxyFile, `${HAPROXY.replace('PORT', String(proxyPort))}  server a 127.0.0.1:${primaryPort}\n  server b 127.0.0.1:${replicaPort}\n`)
  for (const [program, ...args] of [['redis-server', sentinelFile, '--sentinel'], ['haproxy', '-db', '-f', proxyFile]] as const) {
    const child = spawn(program, args, { stdio: 'ignore' })
    t.teardown(() => { child.kill('SIGKILL') })
  }
  await until(() => cli(sentinelPort, 'sentinel', 'get-master-addr-by-name', 'store').includes(String(primaryPort)), 'Sentinel')
  await until(() => /slave\d+:/.test(cli(sentinelPort, 'info', 'sentinel')) || /slaves=1/.test(cli(sentinelPort, 'info', 'sentinel')), 'Sentinel to know the replica')

  const opened = open(t, `redis://127.0.0.1:${proxyPort}`, 'gw:')
  await until(async () => await opened.store.read(key('probe')) === 'unknown', 'the connection')
  await useAll(t, opened, 'before')
  await until(() => cli(replicaPort, 'dbsize') === cli(primaryPort, 'dbsize'), 'the copy')
  await primary.kill()
  await until(async () => await opened.store.read(key('before')) === 'unavailable', 'the loss to be seen')
  await until(async () => typeof await opened.store.read(key('before')) !== 'string', 'the new primary', 30_000)
  t.same(await opened.store.read(key('before')), record({ state: 'working' }), 'what the replica had')
  await useAll(t, opened, 'after')
})
