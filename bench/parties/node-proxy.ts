/**
 * The bare proxy: node:http in front of undici's dispatch. The proxy forwards bytes and inspects nothing. The code is as fast as node:http
 * and undici allow, so that the comparison shows the cost of a gateway beyond forwarding. A short body is sent in one write together with
 * its head. A long body streams.
 *
 *     node node-proxy.js AGENT_URL
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'
import type { Dispatcher } from 'undici'
import { announce } from '../processes.js'

const SHORT_BODY = 65_536
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect'])

const pool = new Pool(process.argv[2] as string, {
  connections: 4_096,
  pipelining: 1,
  keepAliveTimeout: 4_000,
  headersTimeout: 120_000,
  bodyTimeout: 0
})

class Relay implements Dispatcher.DispatchHandler {
  private readonly response: ServerResponse
  private controller: Dispatcher.DispatchController | null = null

  constructor (response: ServerResponse) {
    this.response = response
    response.on('drain', () => { this.controller?.resume() })
    response.on('close', () => { if (!response.writableFinished) this.controller?.abort(new Error('the client has disconnected')) })
  }

  onRequestStart (controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.response.destroyed) controller.abort(new Error('the client has disconnected'))
  }

  onResponseStart (controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return
    const headers: string[] = []
    const raw = controller.rawHeaders as Buffer[]
    for (let i = 0; i < raw.length; i += 2) keep(headers, (raw[i] as Buffer).toString('latin1'), (raw[i + 1] as Buffer).toString('latin1'))
    this.response.writeHead(status, headers)
  }

  onResponseData (controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.response.write(chunk)) controller.pause()
  }

  onResponseEnd (): void {
    this.response.end()
  }

  onResponseError (): void {
    if (this.response.headersSent) this.response.destroy()
    else this.response.writeHead(502).end()
  }
}

function keep (headers: string[], name: string, value: string): void {
  if (!HOP_BY_HOP.has(name.toLowerCase())) headers.push(name, value)
}

function dispatch (request: IncomingMessage, response: ServerResponse, body: Buffer | IncomingMessage | null): void {
  const headers: string[] = []
  for (let i = 0; i < request.rawHeaders.length; i += 2) keep(headers, request.rawHeaders[i] as string, request.rawHeaders[i + 1] as string)
  pool.dispatch({ method: request.method as Dispatcher.HttpMethod, path: request.url as string, headers, body }, new Relay(response))
}

const server = createServer({ keepAliveTimeout: 72_000 }, (request, response) => {
  const length = Number(request.headers['content-length'] ?? (request.headers['transfer-encoding'] === undefined ? 0 : SHORT_BODY + 1))
  if (length === 0) return dispatch(request, response, null)
  if (length > SHORT_BODY) return dispatch(request, response, request)
  let first: Buffer | null = null
  const more: Buffer[] = []
  request.on('data', (chunk: Buffer) => { if (first === null) first = chunk; else more.push(chunk) })
  request.on('end', () => { dispatch(request, response, more.length === 0 ? first : Buffer.concat([first as Buffer, ...more])) })
})
server.listen(0, '127.0.0.1', 4_096, () => { announce((server.address() as AddressInfo).port) })
