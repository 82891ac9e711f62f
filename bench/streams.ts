/**
 * What event streams cost: CPU time of the gateway per event, and the time a batch of streams takes, side by side in one run. The first two
 * rows are the promise: a stream that no rule looks at costs what one costs whose answers are not read at all. The others tell what reading costs.
 *
 *     npm run bench:streams -- [--rounds 8] [--streams 40] [--events 2000] [--size 400]
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent as Connections, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const OBJECT_SCHEMAS = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'
const OTHER = 'https://example.com/ext/of-no-policy/v1'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '8' }, streams: { type: 'string', default: '40' }, events: { type: 'string', default: '2000' }, size: { type: 'string', default: '400' } } })
const ROUNDS = Number(values.rounds)
const STREAMS = Number(values.streams)
const EVENTS = Number(values.events)

/** A row of the table: a gateway with these lines in its agent's configuration. */
interface Party { readonly name: string, readonly card: string, readonly lines: readonly string[] }

const PARTIES: readonly Party[] = [
  { name: 'answers not read (responses: off)', card: 'with-schemas', lines: ['responses: off'] },
  { name: 'no rule looks (responses: observe)', card: 'plain', lines: ['responses: observe'] },
  { name: 'object-schemas observes each event', card: 'with-schemas', lines: ['responses: observe'] },
  { name: 'object-schemas enforced on each event', card: 'with-schemas', lines: ['responses: enforce'] }
]

interface Running { readonly party: Party, readonly url: string, readonly admin: string, readonly child: ChildProcess }
interface Sample { readonly cpu: number, readonly seconds: number }

const BODY = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } } })

const agent = await startAgent(Number(values.size))
const directory = mkdtempSync(join(tmpdir(), 'a2a-bench-'))
const running: Running[] = []
try {
  for (const party of PARTIES) running.push(await startGateway(party, agent.url))
  const samples = new Map<Running, Sample[]>(running.map(one => [one, []]))
  for (const one of running) await measure(one)
  for (let round = 0; round < ROUNDS; round++) {
    // Each goes first as often as the others.
    for (let i = 0; i < running.length; i++) {
      const one = running[(round + i) % running.length] as Running
      samples.get(one)?.push(await measure(one))
    }
  }
  report(samples)
} finally {
  for (const { child } of running) child.kill()
  agent.close()
  rmSync(directory, { recursive: true })
}

/** Sends each stream's events as fast as they are taken, several in one write, as agents do that stream tokens. */
async function startAgent (size: number): Promise<{ url: string, close: () => void }> {
  const server = createServer((incoming, response) => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    if (incoming.method === 'GET') {
      const withSchemas = incoming.url?.startsWith('/with-schemas') === true
      const base = withSchemas ? '/with-schemas' : '/plain'
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({
        name: 'bench',
        description: '',
        version: '1',
        supportedInterfaces: [{ url: `${url}${base}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
        capabilities: { streaming: true, extensions: [{ uri: withSchemas ? OBJECT_SCHEMAS : OTHER }] },
        defaultInputModes: ['text/plain'],
        defaultOutputModes: ['text/plain'],
        skills: [],
        ...(withSchemas ? { schemas: { reading: { type: 'object', required: ['text'] } } } : {})
      }))
      return
    }
    incoming.resume()
    incoming.on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const padding = 'x'.repeat(Math.max(1, size - 250))
      const result = { statusUpdate: { taskId: 'task-1', contextId: 'context-1', status: { state: 'TASK_STATE_WORKING', message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: padding }] } } } }
      const event = `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`
      let left = EVENTS
      const more = (): void => {
        while (left > 0) {
          left--
          if (!response.write(event)) {
            response.once('drain', more)
            return
          }
        }
        response.end()
      }
      more()
    })
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => { server.closeAllConnections(); server.close() } }
}

async function startGateway (party: Party, agentUrl: string): Promise<Running> {
  const port = await freePort()
  const adminPort = await freePort()
  const file = join(directory, `${running.length}.yaml`)
  writeFileSync(file, [
    'version: 1',
    `server: {listen: "127.0.0.1:${port}", admin: "127.0.0.1:${adminPort}"}`,
    'telemetry: {logs: {level: warn}, audit: {enabled: false}}',
    'agents:',
    '  - name: bench',
    `    upstream: {url: "${agentUrl}/${party.card}"}`,
    ...party.lines.map(line => `    ${line}`)
  ].join('\n'))
  const child = spawn(process.execPath, [fileURLToPath(new URL('../src/main.js', import.meta.url)), 'serve', '--config', file], { stdio: ['ignore', 'inherit', 'inherit'] })
  const admin = `http://127.0.0.1:${adminPort}`
  for (const end = Date.now() + 20_000; ;) {
    const ready = await fetch(`${admin}/readyz`).then(response => response.ok, () => false)
    if (ready) break
    if (Date.now() > end) throw new Error(`the gateway "${party.name}" does not become ready`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  return { party, url: `http://127.0.0.1:${port}`, admin, child }
}

async function freePort (): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

async function measure ({ url, admin }: Running): Promise<Sample> {
  const connections = new Connections({ keepAlive: true, maxSockets: 8 })
  const before = await cpuSeconds(admin)
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: STREAMS }, () => stream(url, connections)))
  const seconds = (performance.now() - startedAt) / 1_000
  const cpu = await cpuSeconds(admin) - before
  connections.destroy()
  return { cpu, seconds }
}

/** @returns CPU seconds of the gateway's process so far */
async function cpuSeconds (admin: string): Promise<number> {
  const text = await (await fetch(`${admin}/metrics`)).text()
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1])
}

async function stream (url: string, agent: Connections): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const outgoing = request(`${url}/rpc`, { method: 'POST', agent, headers: { 'content-type': 'application/json', 'a2a-version': '1.0', accept: 'text/event-stream' } }, response => {
      let ends = 0
      let last = 0
      response.on('data', (chunk: Buffer) => {
        for (const byte of chunk) {
          if (byte === 10 && last === 10) ends++
          last = byte
        }
      })
      response.on('end', () => {
        if (response.statusCode === 200 && ends === EVENTS) resolve()
        else reject(new Error(`a stream of status ${response.statusCode ?? 0} brought ${ends} of ${EVENTS} events`))
      })
      response.on('error', reject)
    })
    outgoing.on('error', reject)
    outgoing.end(BODY)
  })
}

function report (samples: ReadonlyMap<Running, readonly Sample[]>): void {
  const perEvent = (sample: Sample): number => sample.cpu / (STREAMS * EVENTS) * 1e6
  const [base] = [...samples.values()]
  if (base === undefined) return
  console.log(`${ROUNDS} rounds of ${STREAMS} streams of ${EVENTS} events of ${values.size} B, Node ${process.version}; medians, with the quartiles of the ratio`)
  console.log('| gateway | CPU µs per event | CPU, against the first | time, against the first |')
  console.log('|---|---|---|---|')
  for (const [{ party }, rounds] of samples) {
    const cpu = rounds.map((sample, i) => perEvent(sample) / perEvent(base[i] as Sample))
    const time = rounds.map((sample, i) => sample.seconds / (base[i] as Sample).seconds)
    console.log(`| ${party.name} | ${quantile(rounds.map(perEvent), 0.5).toFixed(2)} | ${spread(cpu)} | ${spread(time)} |`)
  }
}

function spread (ratios: readonly number[]): string {
  return `${quantile(ratios, 0.5).toFixed(2)} (${quantile(ratios, 0.25).toFixed(2)}-${quantile(ratios, 0.75).toFixed(2)})`
}

function quantile (numbers: readonly number[], q: number): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.round(q * (sorted.length - 1))] ?? Number.NaN
}
