/** A plain HTTP client and small parts of calls, for tests of bytes and raw headers. */
import { once } from 'node:events'
import { request } from 'node:http'
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'
import { plainCard } from './raw.js'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly bytes: Buffer
  readonly text: string
  json (): Json
}

/** JSON for tests: any member of any member. */
export interface Json { readonly [key: string]: Json }

export interface CallOptions {
  readonly method?: string
  /** Flat list of names and values; duplicates stay separate lines. */
  readonly headers?: readonly string[]
  /** A list is sent in chunks, without Content-Length. */
  readonly body?: Buffer | string | readonly (Buffer | string)[]
}

export const JSON_TYPE = ['content-type', 'application/json']
export const V1 = ['a2a-version', '1.0']

/** Sends one request on a connection of its own. */
export async function call (url: string, options: CallOptions = {}): Promise<Answer> {
  const outgoing = open(url, options)
  const { body } = options
  // Node's client stops sending once the response is complete, and then emits an error about this.
  outgoing.once('response', () => { outgoing.on('error', () => {}) })
  if (Array.isArray(body)) for (const chunk of body as (Buffer | string)[]) outgoing.write(chunk)
  // The text is sent as a buffer, because Node's client would write the head of a text request in UTF-8.
  outgoing.end(Array.isArray(body) || body === undefined ? undefined : Buffer.from(body as string))
  const [incoming] = await once(outgoing, 'response') as [IncomingMessage]
  return await readAnswer(incoming)
}

export async function readAnswer (incoming: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  const text = bytes.toString()
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    rawHeaders: incoming.rawHeaders,
    bytes,
    text,
    json: () => JSON.parse(text) as Json
  }
}

/** Opens the request without ending it. */
export function open (url: string, options: CallOptions = {}): ClientRequest {
  const { method = options.body === undefined ? 'GET' : 'POST', headers = [], body } = options
  const { hostname, port, host, pathname, search } = new URL(url)
  const all = [...headers]
  const has = (name: string): boolean => headers.some((one, i) => i % 2 === 0 && one.toLowerCase() === name)
  if (!has('host')) all.unshift('host', host)
  if (body !== undefined && !Array.isArray(body) && !has('content-length')) { all.push('content-length', String(Buffer.byteLength(body as string))) } else if (Array.isArray(body)) all.push('transfer-encoding', 'chunked')
  return request({ hostname, port, path: pathname + search, method, headers: all, agent: false })
}

/** A JSON-RPC request; `id` is the raw JSON token. */
export function rpcBody (method: string, params: unknown = {}, id = '1'): string {
  return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${JSON.stringify(params)}}`
}

export const MESSAGE = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hello' }] }
export const MESSAGE_03 = { messageId: 'm1', role: 'user', kind: 'message', parts: [{ kind: 'text', text: 'hello' }] }

/** Sends one JSON-RPC call in 1.0. */
export function rpc (
  url: string,
  method = 'SendMessage',
  params: unknown = { message: MESSAGE },
  headers: readonly string[] = [],
  id = '1'
): Promise<Answer> {
  return call(url, { method: 'POST', headers: [...JSON_TYPE, ...V1, ...headers], body: rpcBody(method, params, id) })
}

/** Values of a header as separate lines. */
export function lines (rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name)
}

/** What the condition of {@link until} has read since it was evaluated last: metrics, by their selectors. */
export const readings = new Map<string, number>()

/**
 * Waits for a condition, and looks less often the longer it takes. The timeout is long because machines are slow.
 * @throws {Error} with the condition and the last readings, after `timeout` milliseconds
 */
export async function until (done: () => boolean | Promise<boolean>, what = 'a condition', timeout = 10_000): Promise<void> {
  for (const begin = Date.now(); ; readings.clear()) {
    if (await done()) return
    const passed = Date.now() - begin
    if (passed > timeout) {
      const last = [...readings].map(([selector, value]) => `\n  ${selector} is ${value}`).join('')
      throw new Error(`waited ${timeout} ms in vain for ${what}: ${done.toString()}${last}`)
    }
    await sleep(Math.min(50, Math.max(5, passed / 10)))
  }
}

/**
 * Waits until a value equals the expected one, and asserts that: a failure shows the expected and the last value.
 * @param read returns the value now
 */
export async function untilSame<T> (t: Test, read: () => T | Promise<T>, expected: T, what = 'the expected value', timeout = 10_000): Promise<void> {
  let last = await read()
  for (const begin = Date.now(); !isDeepStrictEqual(last, expected) && Date.now() - begin < timeout; last = await read()) {
    await sleep(Math.min(50, Math.max(5, (Date.now() - begin) / 10)))
  }
  t.strictSame(last, expected, what)
}

/**
 * Waits until a number is at most `most` and has not grown for 200 ms, because it can be small before what makes it grow has arrived.
 * Asserts the last number.
 */
export async function untilAtMost (t: Test, read: () => number, most: number, what = 'the number', timeout = 10_000): Promise<void> {
  let last = read()
  let fitsSince = Date.now()
  // A pause of the event loop can be longer than the 200 ms.
  for (const begin = fitsSince; Date.now() - begin < timeout && (last > most || Date.now() - fitsSince < 200); await sleep(10)) {
    const now = read()
    if (now > most || now > last) fitsSince = Date.now()
    last = now
  }
  t.ok(last <= most, `${what}: ${last} of at most ${most}`)
}

export interface RawAgent {
  readonly url: string
  /** Heads and bodies as they arrived, one entry for each request except card requests. */
  readonly requests: string[]
  readonly sockets: ReadonlySet<Socket>
}

/** An agent on a bare socket. The agent serves its card, and calls `answer` to write any bytes once a request's head is complete. */
export async function rawAgent (t: Test, answer: (socket: Socket, head: string) => void): Promise<RawAgent> {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  let url = ''
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    let text = ''
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      if (end === -1) return
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (text.length < end + 4 + length) return
      const head = text
      text = ''
      if (head.startsWith('GET') && head.includes('/.well-known/')) {
        const card = JSON.stringify(plainCard(url))
        socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(card)}\r\n\r\n${card}`)
        return
      }
      requests.push(head)
      answer(socket, head)
    })
  })
  url = await listenFor(t, server, sockets)
  return { url, requests, sockets }
}

/** Listens until the test ends, and then cuts off open connections. @returns the URL of the server */
export async function listenFor (t: Test, server: Server, sockets: ReadonlySet<Socket>): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/**
 * Ports on which no process listens now, all different. Use this function only for a port that must be known before its server starts: a
 * port in a configuration, an environment or a page's command, or a port that rejects connections. Where possible, listen on port 0 and
 * read the port. The ports are below those that Linux gives to clients and to listeners on port 0, and each process begins elsewhere, so
 * that no other process takes a port in the meantime.
 */
export async function freePorts (count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    const port = FIRST_PORT + nextPort++ % PORTS
    const server = createServer().listen(port, '127.0.0.1')
    const free = await once(server, 'listening').then(() => true, () => false)
    if (!free) continue
    ports.push(port)
    await once(server.close(), 'close')
  }
  return ports
}

const [FIRST_PORT, PORTS] = [10_000, 20_000]
let nextPort = process.pid * 20

export async function freePort (): Promise<number> {
  return (await freePorts(1))[0] as number
}
