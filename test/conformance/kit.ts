/** A gateway in front of a hand-made agent, and calls in both versions, for the tests that docs/contributing/conformance.md cites. */
import type { ServerResponse } from 'node:http'
import type { Test } from 'tap'
import type { TestGateway } from '../helpers/gateway.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { Answer } from '../helpers/http.js'
import { call, JSON_TYPE, MESSAGE, MESSAGE_03, rpcBody, V1 } from '../helpers/http.js'
import type { FakeAgent, RawRequest } from '../helpers/raw.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'

/** The extension of the examples in the specification. */
export const KONAMI = 'https://example.com/ext/konami-code/v1'

export interface BenchOptions {
  /** Members of the agent's card. */
  readonly card?: Record<string, unknown>
  /** Keys of the agent in the configuration, as lines of YAML. */
  readonly agent?: readonly string[]
  /** Root keys of the configuration, as lines of YAML. */
  readonly root?: readonly string[]
  /** The result in the response to a JSON-RPC call, or a function that writes the response. Default: a message. */
  readonly result?: unknown
  readonly answer?: (request: RawRequest, response: ServerResponse) => void
}

export interface Bench {
  readonly agent: FakeAgent
  readonly gateway: TestGateway
  /** Sends one JSON-RPC call in 1.0. Default: SendMessage with one text. */
  send (params?: unknown, headers?: readonly string[], method?: string): Promise<Answer>
  /** Sends one JSON-RPC call in 0.3, without `A2A-Version`. Default: message/send with one text. */
  send03 (params?: unknown, headers?: readonly string[], method?: string): Promise<Answer>
  /** Sends one HTTP+JSON call in 1.0; a GET if there is no body. */
  rest (path: string, body?: unknown, headers?: readonly string[]): Promise<Answer>
}

export async function bench (t: Test, options: BenchOptions = {}): Promise<Bench> {
  const { result = { message: { messageId: 'a', role: 'ROLE_AGENT', parts: [{ text: 'ok' }] } } } = options
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, options.card),
    answer: options.answer ?? ((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))
    })
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, options.agent, options.root) })
  return {
    agent,
    gateway,
    send: (params = { message: MESSAGE }, headers = [], method = 'SendMessage') =>
      call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1, ...headers], body: rpcBody(method, params) }),
    send03: (params = { message: MESSAGE_03 }, headers = [], method = 'message/send') =>
      call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...headers], body: rpcBody(method, params) }),
    rest: (path, body, headers = []) =>
      call(`${gateway.url}/rest${path}`, body === undefined
        ? { headers: [...V1, ...headers] }
        : { headers: [...JSON_TYPE, ...V1, ...headers], body: JSON.stringify(body) })
  }
}

/** A card that declares these extensions. */
export function declares (...extensions: ReadonlyArray<Record<string, unknown>>): Record<string, unknown> {
  return { capabilities: { streaming: true, extensions } }
}

/** Writes an event stream of JSON-RPC results. */
export function events (response: ServerResponse, ...results: readonly unknown[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(results.map(result => `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`).join(''))
}
