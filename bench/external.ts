/**
 * CPU of a call with a decision of a policy server, as a ratio of one without: `node dist/bench/external.js [CALLS]`. Three gateways run at
 * once and get the same calls in turn, so that the load of the machine is the same for all of them. The server runs in this process.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer as createPlainServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'

const CALLS = Number(process.argv[2] ?? 3_000)
const ROUNDS = 10
const AT_ONCE = 8
const BODY = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x'.repeat(300) }] } } })
const RESULT = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { message: { messageId: 'a', role: 'ROLE_AGENT', parts: [{ text: 'ok' }] } } })

async function listen (listener: RequestListener): Promise<string> {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function freePort (): Promise<number> {
  const server = createPlainServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

const json = (text: () => string): RequestListener => (incoming, response) => {
  incoming.resume().on('end', () => {
    response.setHeader('content-type', 'application/json')
    response.end(text())
  })
}

let card = ''
const agent = await listen((incoming, response) => {
  json(() => incoming.url?.includes('.well-known') === true ? card : RESULT)(incoming, response)
})
card = JSON.stringify({
  name: 'a',
  description: 'd',
  version: '1',
  capabilities: {},
  defaultInputModes: [],
  defaultOutputModes: [],
  skills: [],
  supportedInterfaces: [{ url: `${agent}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
})
const server = await listen(json(() => '{"decision":true}'))
const folder = mkdtempSync(join(tmpdir(), 'a2a-bench-external-'))

interface Party { readonly name: string, readonly url: string, readonly pid: number, stop (): void, cpu (): Promise<number> }

async function start (name: string, extra: string, points: string): Promise<Party> {
  const [port, admin] = [await freePort(), await freePort()]
  const file = join(folder, `${name}.yaml`)
  writeFileSync(file, `version: 1
server: {listen: "127.0.0.1:${port}", admin: "127.0.0.1:${admin}"}
telemetry: {logs: {level: silent}, audit: {enabled: false}}
agents: [{name: a, upstream: {url: "${agent}"}${extra}}]
${points}
`)
  const child = spawn(process.execPath, [join(import.meta.dirname, '../src/main.js'), 'serve', file], { stdio: 'inherit' })
  const ready = async (): Promise<boolean> => await fetch(`http://127.0.0.1:${admin}/readyz`).then(response => response.ok, () => false)
  while (!await ready()) await sleep(50)
  const cpu = async (): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text()
    return Number(/^process_cpu_seconds_total(?:\{[^}]*\})? (\S+)$/m.exec(text)?.[1] ?? NaN)
  }
  return { name, url: `http://127.0.0.1:${port}/rpc`, pid: child.pid ?? 0, stop: () => { child.kill() }, cpu }
}

const asks = ', external: [{id: spend, use: corp}]'
const parties = [
  await start('none', '', ''),
  await start('cached', asks, `decisionPoints: {corp: {url: "${server}/x", timeout: 10s, cache: {ttl: 1h}}}`),
  await start('asked', asks, `decisionPoints: {corp: {url: "${server}/x", timeout: 10s}}`)
]
const dispatcher = new Agent({ connections: AT_ONCE })
try {
  const send = async (url: string, count: number): Promise<void> => {
    let left = count
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
      while (left-- > 0) {
        const { statusCode, body } = await request(url, { dispatcher, method: 'POST', body: BODY, headers: { 'content-type': 'application/json', 'a2a-version': '1.0' } })
        const text = await body.text()
        if (statusCode !== 200 || !text.includes('"ok"')) throw new Error(`${statusCode} ${text}`)
      }
    }))
  }
  for (const { url } of parties) await send(url, Math.ceil(CALLS / 2))
  const before = await Promise.all(parties.map(async party => await party.cpu()))
  for (let round = 0; round < ROUNDS; round++) for (const { url } of parties) await send(url, Math.ceil(CALLS / ROUNDS))
  const after = await Promise.all(parties.map(async party => await party.cpu()))
  const spent = parties.map((_, i) => ((after[i] ?? 0) - (before[i] ?? 0)) * 1e6 / CALLS)
  for (const [i, { name }] of parties.entries()) {
    console.log(`${name.padEnd(8)} ${(spent[i] ?? 0).toFixed(0).padStart(6)} us of CPU a call, ratio ${((spent[i] ?? 0) / (spent[0] ?? 1)).toFixed(2)}`)
  }
} finally {
  for (const { stop } of parties) stop()
  await dispatcher.destroy()
  rmSync(folder, { recursive: true })
}
