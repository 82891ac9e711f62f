/**
 * Measures a gateway whose agents come from a catalog: start, memory, a reading without changes, and one with a new agent.
 * `node dist/bench/sources.js [AGENTS]` after `npm run build` and `node scripts/build-tests.mjs`.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MAIN } from '../test/helpers/paths.js'
import { plainCard } from '../test/helpers/raw.js'

const agents = Number(process.argv[2] ?? 1_000)
/** Processor time of one tick of /proc, ms (getconf CLK_TCK is 100). */
const TICK = 10

let extra = 0
let cards = 0
const server = createServer((request, response) => {
  const at = `http://${request.headers.host ?? ''}`
  const [, name] = /^\/([^/]+)\/\.well-known\/agent-card\.json$/.exec(request.url ?? '') ?? []
  if (name !== undefined) cards++
  const entry = (id: string): object => ({ identifier: `urn:air:example.com:agent:${id}`, type: 'application/a2a-agent-card+json', url: `${at}/${id}/.well-known/agent-card.json` })
  const catalog = (): object => ({ specVersion: '1.0', entries: Array.from({ length: agents + extra }, (_, i) => entry(`agent-${i}`)) })
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(name === undefined ? catalog() : plainCard(`${at}/${name}`, { name })))
}).listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const dir = mkdtempSync(join(tmpdir(), 'bench-sources-'))
writeFileSync(join(dir, 'gateway.yaml'), [
  'version: 1',
  'server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0"}',
  'agents: []',
  `agentSources: [{name: many, catalog: "${url}/catalog.json", refresh: 10s, limit: 10000, admit: all, allowPrivate: [127.0.0.1], agent: {path: "/agents/{name}", card: {refresh: 1h}}}]`
].join('\n'))

const begin = performance.now()
const gateway = spawn(process.execPath, [MAIN, 'serve', '--config', join(dir, 'gateway.yaml')], { stdio: ['ignore', 'pipe', 'inherit'] })
let output = ''
gateway.stdout.on('data', (chunk: Buffer) => { output += chunk.toString() })
const until = async (done: () => boolean | Promise<boolean>): Promise<void> => {
  const end = performance.now() + 300_000
  for (; !await done(); await sleep(50)) if (performance.now() > end) throw new Error(output.slice(-2_000))
}
/** Processor time so far, ms, and resident memory, MB. */
const usage = (): { cpu: number, rss: number } => {
  const stat = readFileSync(`/proc/${gateway.pid ?? 0}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const rss = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid ?? 0}/status`, 'utf8'))?.[1]
  return { cpu: (Number(stat[11]) + Number(stat[12])) * TICK, rss: Number(rss) / 1_024 }
}
try {
  await until(() => /"admin":"([^"]+)"/.test(output))
  const admin = /"admin":"([^"]+)"/.exec(output)?.[1] ?? ''
  const listening = performance.now() - begin
  await until(async () => (await fetch(`${admin}/readyz`)).ok)
  const ready = performance.now() - begin
  await sleep(3_000)
  const started = usage()
  console.log(`${agents} agents: listening after ${(listening / 1_000).toFixed(1)} s, ready after ${(ready / 1_000).toFixed(1)} s, ${started.cpu} ms of processor time, ${started.rss.toFixed(0)} MB, ${cards} requests for cards`)
  await sleep(22_000)
  const idle = usage()
  console.log(`25 s with 2 readings without a change: ${idle.cpu - started.cpu} ms of processor time, ${idle.rss.toFixed(0)} MB`)
  const before = cards
  extra = 1
  await until(() => output.includes(`agents added: agent-${agents}`))
  await sleep(1_000)
  const after = usage()
  console.log(`one more agent: ${after.cpu - idle.cpu} ms of processor time, ${after.rss.toFixed(0)} MB, ${cards - before} requests for cards`)
} finally {
  gateway.kill('SIGTERM')
  server.closeAllConnections()
  server.close()
  rmSync(dir, { recursive: true })
}
