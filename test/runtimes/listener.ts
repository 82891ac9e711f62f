/**
 * The main listener of a gateway as a reader: what a client gets for its bytes, and what the agent gets. Both HTTP parsers, that of the
 * gateway and that of the agent, are Node's own.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { parseConfig } from '#config/load.js'
import { startGateway } from '#server/start.js'
import { until } from '../helpers/http.js'
import { plainCard } from '../helpers/raw.js'
import type { Reader } from '../fuzz/engine/target.js'

/** Milliseconds without a byte of the gateway after which a request counts as incomplete. */
const WAITS = 1_500
const LAST = Buffer.from('GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
const BODY = '{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"t"}]}}'
const HEAD = 'Host: h\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\n'
const post = (head: string, body = BODY, line = 'POST /rest/message:send HTTP/1.1'): string => `${line}\r\n${HEAD}${head}\r\n${body}`
const LENGTH = `Content-Length: ${BODY.length}\r\n`
const chunked = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`

const SEEDS = [
  post(LENGTH), post('Transfer-Encoding: chunked\r\n', chunked(BODY)), post(`${LENGTH}Connection: close\r\n`), post(LENGTH).repeat(2),
  post(`${LENGTH}Expect: 100-continue\r\n`), post(`Transfer-Encoding: chunked\r\n${LENGTH}`, chunked(BODY)), post(LENGTH).replaceAll('\r\n', '\n'),
  post(LENGTH, BODY, 'POST /rest/message:send HTTP/1.0'), post('Transfer-Encoding: chunked\r\nTrailer: x\r\n', `${BODY.length.toString(16)};a=b\r\n${BODY}\r\n0\r\nX: y\r\n\r\n`),
  'GET /.well-known/agent-card.json HTTP/1.1\r\nHost: h\r\n\r\n', 'GET /rest/tasks/t HTTP/1.1\r\nHost: h\r\nA2A-Version: 1.0\r\n\r\n', 'OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', `QUERY /rest HTTP/1.1\r\nHost: h\r\n${LENGTH}\r\n${BODY}`, 'GET http://h/rest/tasks/t HTTP/1.1\r\nHost: g\r\n\r\n', 'CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n',
  'GET /rest/tasks HTTP/1.1\r\nHost: h\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n', post(`Content-Length: +${BODY.length}\r\n`), post('Content-Length: 1,1\r\n', 'x'), post(`${LENGTH}X: a\r\n b\r\n`)
]

export async function listener (): Promise<Reader> {
  let received: unknown[] = []
  const agent = createServer((request, response) => {
    if (request.url?.includes('/.well-known/') === true) {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(plainCard(at(agent))))
      return
    }
    const chunks: Buffer[] = []
    const { method, url, rawHeaders } = request
    request.on('error', () => {})
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push([method, url, withoutRandom(rawHeaders), Buffer.concat(chunks)])
      response.setHeader('content-type', 'application/json')
      response.end('{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"ok"}]}}')
    })
  })
  agent.listen(0, '127.0.0.1')
  await once(agent, 'listening')
  const loaded = parseConfig(
    `version: 1\nserver: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 100ms}\ntelemetry: {logs: {level: silent}}\nagents: [{name: a, upstream: {url: "${at(agent)}"}}]\n`,
    { file: 'listener.yaml', baseDir: '/nowhere', env: {} }
  )
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const out = (): PassThrough => new PassThrough().resume()
  const gateway = await startGateway(loaded.config, { env: {}, audit: out(), logs: out(), traces: out(), processMetrics: false })
  await until(async () => (await fetch(`${gateway.adminUrl}/readyz`)).ok, 'the gateway to be ready')
  return {
    name: 'listener',
    maxBytes: 900,
    seeds: SEEDS,
    dictionary: [
      '\r\n', '\n', '\r', ' ', '\t', ':', ': ', 'POST ', 'GET ', ' HTTP/1.1\r\n', 'HTTP/1.0', 'HTTP/1.2', 'Content-Length: ', 'Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: ', 'chunked', 'identity', 'gzip',
      'Connection: close\r\n', 'Host: ', 'Expect: 100-continue\r\n', '0\r\n\r\n', '0x', '+', '-', ';a="b"', '\0', '\x0b', '\x7f', '\xff', 'Upgrade: websocket\r\n', ' \r\n', '//', '%2e', '..', 'QUERY', 'A2A-Version: 0.3\r\n'
    ],
    read: async bytes => {
      received = []
      const response = await exchange(Number(new URL(gateway.url).port), bytes)
      const replaced = (text: string): string => text.replaceAll(at(agent), 'http://agent').replaceAll(gateway.url, 'http://gateway')
      return [replaced(response.toString('latin1')).replace(/^(date|etag|last-modified|traceparent|via|x-request-id|gateway-[a-z-]*id): .*\r\n/gim, ''), received]
    },
    close: async () => {
      await gateway.close()
      agent.closeAllConnections()
      agent.close()
    }
  }
}

const at = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

function withoutRandom (rawHeaders: readonly string[]): [string, string][] {
  return Array
    .from({ length: rawHeaders.length / 2 }, (_, i): [string, string] => [rawHeaders[2 * i] as string, rawHeaders[2 * i + 1] as string])
    .filter(([name]) => !/^(?:host|traceparent|x-forwarded-host|via)$/i.test(name))
}

/**
 * Returns all bytes of the responses. The last request asks to close the connection. When its bytes became the body of an incomplete
 * request, the gateway waits for more: the client then ends the connection, which is a part of the outcome.
 */
async function exchange (port: number, bytes: Buffer): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const chunks: Buffer[] = []
  let timer: NodeJS.Timeout | undefined
  const wait = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      chunks.push(Buffer.from('\r\nthe gateway waits for more\r\n'))
      socket.end()
    }, WAITS)
  }
  socket.on('error', () => {})
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    wait()
  })
  const closed = new Promise(resolve => { socket.once('close', resolve).once('end', resolve) })
  socket.write(Buffer.concat([bytes, LAST]))
  wait()
  await closed
  clearTimeout(timer)
  socket.destroy()
  return Buffer.concat(chunks)
}
