/** What the tests of limits share: an agent that answers when it is told to, and clients of every binding and version. */
import { once } from 'node:events'
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import type { Test } from 'tap'
import type { TestGateway } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, MESSAGE_03, open, rpcBody, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import type { FakeAgent } from '../helpers/raw.js'
import { fakeAgent } from '../helpers/raw.js'

export interface HoldingAgent extends FakeAgent {
  /** Answers that wait, oldest first. */
  readonly held: ServerResponse[]
  /** Ends the oldest of them. */
  release (): void
}

/** Holds every answer; those to streaming operations have begun. */
export async function holdingAgent (t: Test): Promise<HoldingAgent> {
  const held: ServerResponse[] = []
  const agent = await fakeAgent(t, {
    answer: (request, response) => {
      held.push(response)
      response.once('close', () => { if (held.includes(response)) held.splice(held.indexOf(response), 1) })
      if (!/stream|subscribe/i.test(request.url + request.body.toString())) return
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {}\n\n')
    }
  })
  return { ...agent, held, release: () => { held.shift()?.end() } }
}

const SENDS = { '1.0': ['SendMessage', 'SendStreamingMessage', MESSAGE], 0.3: ['message/send', 'message/stream', MESSAGE_03] } as const

export type Form = readonly ['JSONRPC' | 'HTTP+JSON', '0.3' | '1.0']

export const FORMS: readonly Form[] = [['JSONRPC', '1.0'], ['JSONRPC', '0.3'], ['HTTP+JSON', '1.0'], ['HTTP+JSON', '0.3']]

/** Where and how a message is sent; ids of JSON-RPC are 7. */
export function sending (
  [binding, version]: Form,
  stream = false
): { readonly path: string; readonly headers: readonly string[]; readonly body: string } {
  const [unary, streaming, message] = SENDS[version]
  const headers = [...JSON_TYPE, ...(version === '1.0' ? V1 : [])]
  if (binding === 'JSONRPC') return { path: '/rpc', headers, body: rpcBody(stream ? streaming : unary, { message }, '7') }
  return {
    path: `/rest${version === '0.3' ? '/v1' : ''}/message:${stream ? 'stream' : 'send'}`,
    headers,
    body: JSON.stringify({ message })
  }
}

export function send (gateway: TestGateway, form: Form = ['JSONRPC', '1.0'], stream = false): Promise<Answer> {
  const { path, headers, body } = sending(form, stream)
  return call(gateway.url + path, { headers, body })
}

/** A call that nobody waits for; `destroy()` leaves it. */
export function begin (gateway: TestGateway, stream = false, form: Form = ['JSONRPC', '1.0']): ClientRequest {
  const { path, headers, body } = sending(form, stream)
  const request = open(gateway.url + path, { headers, body })
  request.on('error', () => {})
  request.on('response', (response: IncomingMessage) => { response.on('error', () => {}).resume() })
  request.end(body)
  return request
}

/** Looks at a refusal with 503 in the caller's shape. */
export function refusedForNow (t: Test, got: Answer, [binding, version]: Form, rule: string, id: string, seconds = '5'): void {
  const name = `${rule}, ${binding} ${version}`
  t.equal(got.status, 503, name)
  t.equal(got.headers['retry-after'], seconds, name)
  t.equal(got.headers['gateway-decision'], `reject;rule="gateway/${rule}"`, name)
  if (binding === 'JSONRPC') { t.match(got.text, new RegExp(`^\\{"jsonrpc":"2\\.0","id":${id},"error":\\{"code":-32603,"message":"[^"]*try again later`), name) } else if (version === '1.0') {
    t.match(
      got.json(),
      { error: { code: 503, status: 'UNAVAILABLE', message: /try again later/, details: [{ reason: 'OVERLOADED' }] } },
      name
    )
  } else t.match(got.json(), { code: -32603, message: /try again later/, error: { code: 503 } }, name)
}

export interface RawClient { readonly socket: Socket, text (): string }

/** A connection that says these bytes. */
export async function rawClient (t: Test, url: string, bytes = ''): Promise<RawClient> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  let text = ''
  socket.on('error', () => {})
  socket.on('data', (chunk: Buffer) => { text += chunk.toString('latin1') })
  t.teardown(() => { socket.destroy() })
  await once(socket, 'connect')
  socket.write(bytes)
  return { socket, text: () => text }
}

export const clientErrors = (gateway: TestGateway, kind: string): Promise<number> =>
  gateway.metric(`a2a_gateway_client_errors_total{kind="${kind}"}`)
export const refusals = (gateway: TestGateway, rule: string, agent = 'agent'): Promise<number> =>
  gateway.metric(`a2a_gateway_refusals_total{agent="${agent}",rule="${rule}"}`)
export const active = (gateway: TestGateway): Promise<number> => gateway.metric('a2a_gateway_requests_active{agent="agent"}')
