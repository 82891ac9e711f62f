/** A policy server for tests: a plain HTTP server that answers as the test says, and keeps the questions. */
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Test } from 'tap'
import type { RawRequest } from '../helpers/raw.js'
import type { Json } from '../helpers/http.js'
import { listenFor } from '../helpers/http.js'

export interface Question extends Json {}

export interface Received { readonly path: string, readonly headers: IncomingHttpHeaders, readonly body: Question }

export interface PolicyServer {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  /** The evaluation endpoint. */
  readonly url: string
  readonly received: Received[]
  /** Questions whose client has closed the connection before the answer. */
  readonly cancelled: () => number
}

/** Answers a question: a JSON value, or by writing the response itself. */
export type Answering = (question: Question, response: ServerResponse, received: Received) => unknown

export async function policyServer (t: Test, answer: Answering): Promise<PolicyServer> {
  const received: Received[] = []
  const sockets = new Set<Socket>()
  let cancelled = 0
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => { text += chunk.toString() })
    request.on('end', () => {
      const one: Received = { path: request.url ?? '', headers: request.headers, body: (text === '' ? {} : JSON.parse(text)) as Question }
      received.push(one)
      response.on('close', () => { if (!response.writableFinished) cancelled++ })
      const value = answer(one.body, response, one)
      if (value === undefined) return
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(value))
    })
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => { sockets.delete(socket) })
  })
  const origin = await listenFor(t, server, sockets)
  return { origin, url: `${origin}/access/v1/evaluation`, received, cancelled: () => cancelled }
}

/** `decisionPoints` with one server, as a root line of a configuration. */
export function pointLine (url: string, more = ''): string {
  return `decisionPoints: {corp: {url: "${url}"${more === '' ? '' : `, ${more}`}}}`
}

export const PERMIT = { decision: true }
export const DENY = { decision: false }

/** A custom obligation of the binding. */
export function obligation (properties: object, id = 'o1'): object {
  return { type: 'custom', id, properties: { vendor: 'a2a', ...properties } }
}

export function permitWith (...obligations: object[]): object {
  return { decision: true, context: { obligations } }
}

/** Responds to each call with this result of JSON-RPC. */
export function responding (result: object): (request: RawRequest, response: ServerResponse) => void {
  return (_, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))
  }
}
