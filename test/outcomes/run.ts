/** The requests that `npm run outcomes` sends, and what one build of the gateway does with them. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Operation } from '#a2a/operations.js'
import { corpus as oddRequests, requestOf } from '../differential/requests.js'
import type { OddRequest } from '../differential/requests.js'
import { corpus as oddAnswers } from '../differential/responses/corpus.js'
import type { OddAnswer } from '../differential/responses/corpus.js'
import { RPC_ID } from '../differential/responses/words.js'
import { bytesOf } from '../hostile/bytes.js'
import { readScenario, scenarioFiles } from '../hostile/scenario.js'
import { until } from '../helpers/http.js'
import type { Outcome } from './differences.js'
import { plainCard } from '../helpers/raw.js'
import { FIGHT_SCHEMA, SCHEMAS } from '../security/kit.js'

/** One request, and the response of the agent; null for a healthy one. */
export interface Work {
  readonly name: string
  /** The whole request, head and body. */
  readonly bytes: Buffer
  readonly answer: OddAnswer | null
}

const EXTENSION = 'https://outcomes.example/ext/v1'
/** A connection that is silent for this long, ms, has brought everything that it will bring. */
const QUIET = 400
/** Time for the last lines of the log, ms. */
const LOG_TIME = 500

/** All requests, in a fixed order. */
export function workload (): Work[] {
  const hostile = scenarioFiles().flatMap(([name, yaml]): Work[] => {
    const { gateway, agent, client, clients } = readScenario(yaml)
    const plain = Object.keys(gateway).length === 0 && Object.keys(agent).length === 0 && clients === 1
    const sent = client.flatMap(step => 'send' in step ? [bytesOf(step.send)] : [])
    if (!plain || sent.length !== client.length) return []
    const text = Buffer.concat(sent).toString('latin1').replaceAll(' /rest', ' /a2a/rest').replaceAll(' /rpc', ' /a2a/jsonrpc')
    return [{ name: `hostile: ${name}`, bytes: Buffer.from(text, 'latin1'), answer: null }]
  })
  return [
    ...oddRequests().map(request => ({ name: `request, ${request.name}`, bytes: textOf(request), answer: null })),
    ...oddAnswers().map(answer => ({ name: `response, ${answer.name}`, bytes: textOf(requestFor(answer)), answer })),
    ...hostile
  ]
}

/** The bytes of a request. The connection closes after the response, so that the response has an end in all cases. */
function textOf ({ method, target, headers, body, chunked }: OddRequest): Buffer {
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: gateway.example']
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i] ?? ''}: ${headers[i + 1] ?? ''}`)
  lines.push('Connection: close')
  if (body !== null) lines.push(chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`)
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  if (body === null) return head
  if (!chunked) return Buffer.concat([head, body])
  return Buffer.concat([head, Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')])
}

const OPERATIONS: Readonly<Record<OddAnswer['call'], readonly [Operation, verb: string, path: string]>> = {
  send: ['SendMessage', 'POST', ''],
  stream: ['SendStreamingMessage', 'POST', ''],
  get: ['GetTask', 'GET', '/tasks/t'],
  list: ['ListTasks', 'GET', '/tasks'],
  cancel: ['CancelTask', 'POST', '/tasks/t:cancel'],
  subscribe: ['SubscribeToTask', 'GET', '/tasks/t:subscribe']
}

/** A healthy request of the call to which the response belongs. */
function requestFor ({ name, form, call }: OddAnswer): OddRequest {
  const [operation, method, path] = OPERATIONS[call]
  if (call === 'send' || call === 'stream') return requestOf(name, form, { stream: call === 'stream' })
  if (form.binding === 'JSONRPC') return requestOf(name, form, { call: operation, params: call === 'list' ? '{}' : '{"id":"t"}' })
  const base = form.version === '1.0' ? 'BASE' : 'BASE/v1'
  return requestOf(name, form, { method, path: base + path, body: method === 'GET' ? null : '{}' })
}

/**
 * Starts the gateway of a build, sends the requests one after another, and explains those that are text.
 * @param main path of main.js of the build
 * @param directory for the configuration
 */
export async function outcomesOf (main: string, works: readonly Work[], directory: string): Promise<Outcome[]> {
  const agent = await startAgent()
  const config = join(directory, 'gateway.yaml')
  writeFileSync(config, configuration(agent.url))
  const child = spawn(process.execPath, [main, 'serve', '--config', config], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: Record<string, unknown>[] = []
  try {
    const { url, admin } = await new Promise<{ url: string, admin: string }>((resolve, reject) => {
      child.once('exit', code => { reject(new Error(`the gateway of ${main} ended with exit code ${String(code)}`)) })
      createInterface({ input: child.stdout }).on('line', line => {
        const value = JSON.parse(line) as Record<string, unknown>
        lines.push(value)
        if (value['msg'] === 'listening') resolve(value as never)
      })
    })
    await until(async () => (await fetch(`${admin}/readyz`)).ok, 'the gateway is ready')
    const outcomes: Outcome[] = []
    for (const { name, bytes, answer } of works) {
      agent.next(answer)
      const response = await exchange(url, bytes)
      const status = /^HTTP\/1\.1 (\d{3})/.exec(response)?.[1] ?? 'none'
      outcomes.push({ name, facts: { status, response: constant(response), forwarded: constant(agent.taken()) } })
    }
    await sleep(LOG_TIME)
    const audits = lines.filter(line => line['audit'] !== undefined || line['decision'] !== undefined)
    return [
      ...outcomes,
      { name: 'audit lines', facts: { number: String(audits.length) } },
      ...audits.map((line, i) => ({ name: `audit line ${i + 1}`, facts: { line: constant(JSON.stringify(withoutTimes(line))) } })),
      ...await explained(main, works, directory, agent.url)
    ]
  } finally {
    child.kill()
    if (child.exitCode === null) await once(child, 'exit')
    agent.close()
  }
}

function configuration (agent: string): string {
  return `version: 1
server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0"}
shedding: {eventLoopDelay: 0s}
telemetry: {audit: {observedLines: 100000}}
agents:
  - name: agent
    upstream: {url: "${agent}"}
    responses: enforce
    extensions: [outcomes]
extensions:
  outcomes:
    uri: ${EXTENSION}
    request:
      - {id: few, select: {part: {data: true}}, count: {max: 2}}
      - {id: no-secret, select: {metadata: {in: [message, params], key: secret}}, count: {max: 0}}
    response:
      - {id: never, select: {metadata: {in: [task, event], key: never-there}}, count: {max: 0}, verdict: reject}
`
}

function cardOf (url: string): Record<string, unknown> {
  const interfaces = (['1.0', '0.3'] as const).flatMap(protocolVersion => [
    { url: `${url}/a2a/jsonrpc`, protocolBinding: 'JSONRPC', protocolVersion },
    { url: `${url}/a2a/rest`, protocolBinding: 'HTTP+JSON', protocolVersion }
  ])
  return plainCard(url, {
    supportedInterfaces: interfaces,
    capabilities: { streaming: true, pushNotifications: true, extensions: [{ uri: SCHEMAS }, { uri: EXTENSION }] },
    schemas: { fightComparison: FIGHT_SCHEMA }
  })
}

interface OutcomeAgent {
  readonly url: string
  /** The response to the next request; null for a healthy one. */
  next (answer: OddAnswer | null): void
  /** The requests since the last call, as the agent got them. */
  taken (): string
  close (): void
}

async function startAgent (): Promise<OutcomeAgent> {
  let next: OddAnswer | null = null
  let got: string[] = []
  let url = ''
  const server = createServer((request, response) => {
    if (request.url?.includes('/.well-known/') === true) {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(cardOf(url)))
      return
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => { chunks.push(chunk) })
    request.on('error', () => {})
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('latin1')
      got.push([`${request.method ?? ''} ${request.url ?? ''}`, ...pairs(request.rawHeaders), '', body].join('\n'))
      const healthy = request.url?.startsWith('/a2a/rest') === true ? HEALTHY : inEnvelope(HEALTHY)
      const { status, headers, text } = next === null
        ? { status: 200, headers: ['content-type', 'application/json'], text: healthy }
        : { status: next.status, headers: next.headers, text: Buffer.from(next.body.replaceAll(RPC_ID, '1'), next.encoding) }
      response.writeHead(status, [...headers])
      response.end(text)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    next (answer) { next = answer },
    taken () {
      // Requests of one client that come together may arrive in any order.
      const all = got.sort().join('\n\n')
      got = []
      return all
    },
    close () {
      server.closeAllConnections()
      server.close()
    }
  }
}

const HEALTHY = '{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"ok"}]}}'
const inEnvelope = (result: string): string => `{"jsonrpc":"2.0","id":1,"result":${result}}`

const pairs = (raw: readonly string[]): string[] => raw.flatMap((name, i) => i % 2 === 0 ? [`${name}: ${raw[i + 1] ?? ''}`] : [])

/** Sends bytes on a new connection. @returns everything that comes back until the connection closes or is silent, as Latin-1 */
async function exchange (url: string, bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => { chunks.push(chunk) })
  socket.on('error', () => {})
  socket.setTimeout(QUIET, () => { socket.destroy() })
  socket.write(bytes)
  await once(socket, 'close')
  return Buffer.concat(chunks).toString('latin1')
}

/** The text without dates, ports, and ids that differ in each run. */
function constant (text: string): string {
  return text
    .replace(/^date: .*\r?$/gim, 'date: DATE')
    .replace(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, 'TIME')
    .replace(/127\.0\.0\.1:\d+/g, 'ADDRESS')
    .replace(/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/g, 'UUID')
    .replace(/\ba2a-gateway-[0-9a-f]{12}\b/g, 'GATEWAY')
    .replace(/"request_id":"[0-9a-f]{8}-/g, '"request_id":"ID-')
    .replace(/\b[0-9a-f]{32}\b/g, 'TRACE')
    .replace(/\b[0-9a-f]{16}\b/g, 'SPAN')
}

const CHANGING = new Set(['time', 'pid', 'hostname', 'duration', 'durationMs', 'duration_ms'])

const withoutTimes = (line: Record<string, unknown>): unknown =>
  Object.fromEntries(Object.entries(line).filter(([name]) => !CHANGING.has(name)))

/** The output of `explain` for each request of one line of UTF-8. */
async function explained (main: string, works: readonly Work[], directory: string, agent: string): Promise<Outcome[]> {
  const texts = works.flatMap(({ name, bytes, answer }) => {
    const text = bytes.toString('utf8')
    const [head = '', body = ''] = text.split('\r\n\r\n')
    const [line = '', ...headers] = head.split('\r\n')
    const isLine = !/[\n\r\ufffd]|\{\{|###/.test(body) && Buffer.from(text).equals(bytes)
    const plain = answer === null && name.startsWith('request') && isLine && !/chunked/i.test(head)
    return plain ? [[`### ${name}`, line, ...headers.filter(one => !/^content-length:/i.test(one)), '', body].join('\n')] : []
  })
  const file = join(directory, 'requests.http')
  const card = join(directory, 'card.json')
  writeFileSync(file, `${texts.join('\n\n')}\n`)
  writeFileSync(card, JSON.stringify(cardOf(agent)))
  const args = [main, 'explain', '--config', join(directory, 'gateway.yaml'), '--card', card, '--json', file]
  const output = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, args, { maxBuffer: 2 ** 28 }, (error, stdout, stderr) => {
      if (stdout === '') reject(new Error(`explain failed: ${stderr}${error?.message ?? ''}`))
      else resolve(stdout)
    })
  })
  const { requests = [] } = JSON.parse(output) as { requests?: readonly unknown[] }
  if (requests.length === 0) throw new Error(`explain explained nothing: ${output.slice(0, 500)}`)
  return requests.map((request, i) => ({ name: `explain ${i + 1}`, facts: { explain: constant(JSON.stringify(request)) } }))
}
