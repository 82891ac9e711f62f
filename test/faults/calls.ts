/** Calls with a token of their own, in each of the forms that callers use, and what comes of them. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Test } from 'tap'
import { oneAgent } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { JSON_TYPE, open, rpcBody, V1 } from '../helpers/http.js'
import type { CallOptions } from '../helpers/http.js'
import { EXTENSION } from './faulty-agent.js'

export const FORMS = ['unary JSON-RPC', 'REST', 'SSE', 'SSE over REST'] as const
export type Form = typeof FORMS[number]
export const RESPONSES = ['off', 'observe', 'enforce'] as const
export type Responses = typeof RESPONSES[number]

/** Makes every answer be read, and wait where that is enforced. */
export const READS = [
  'extensions:',
  `  any: {uri: "${EXTENSION}", mode: enforce, activation: {signals: [always]}, response: [{id: any, select: {part: {dataKey: never}}, schema: true, verdict: reject}]}`
]

export function faultsConfig (url: string, responses: Responses, upstream = ''): string {
  return oneAgent(url, ['extensions: [any]', `responses: ${responses}`], READS).replace(`"${url}"`, `"${url}"${upstream}`)
}

export interface Ended {
  readonly token: string
  readonly id: string
  /** Null where not even a head came. */
  readonly status: number | null
  readonly headers: IncomingMessage['headers']
  readonly text: string
  /** Whether the answer was whole, as HTTP tells. */
  readonly whole: boolean
}

/** @param padding bytes more in the message */
export function callOf (
  form: Form,
  padding = 0
): { readonly path: string; readonly options: CallOptions & { readonly body: string }; readonly token: string; readonly id: string } {
  const token = `token-${randomUUID()}`
  const id = `"${randomUUID()}"`
  const streams = form.startsWith('SSE')
  const message = {
    messageId: token,
    role: 'ROLE_USER',
    parts: [{ text: token }, ...(padding === 0 ? [] : [{ text: 'x'.repeat(padding) }])]
  }
  const rest = form.includes('REST')
  const body = rest ? JSON.stringify({ message }) : rpcBody(streams ? 'SendStreamingMessage' : 'SendMessage', { message }, id)
  return {
    path: rest ? `/rest/message:${streams ? 'stream' : 'send'}` : '/rpc',
    options: { headers: [...JSON_TYPE, ...V1, ...(streams ? ['accept', 'text/event-stream'] : [])], body },
    token,
    id
  }
}

export async function ask (gateway: { readonly url: string }, form: Form, padding = 0): Promise<Ended> {
  const { path, options, token, id } = callOf(form, padding)
  const outgoing = open(`${gateway.url}${path}`, options)
  outgoing.once('response', () => { outgoing.on('error', () => {}) })
  outgoing.end(options.body)
  let incoming: IncomingMessage
  try {
    [incoming] = await once(outgoing, 'response') as [IncomingMessage]
  } catch {
    return { token, id, status: null, headers: {}, text: '', whole: false }
  }
  let text = ''
  incoming.on('data', (chunk: Buffer) => { text += chunk.toString() }).on('error', () => {})
  await new Promise<void>(resolve => { incoming.once('close', resolve) })
  return { token, id, status: incoming.statusCode ?? 0, headers: incoming.headers, text, whole: incoming.complete }
}

/** The caller's own answer, whole, and nobody else's. */
export function isOwn (t: Test, ended: Ended, form: Form, what: string): void {
  t.equal(ended.status, 200, `${what}: status`)
  t.ok(ended.whole, `${what}: whole`)
  t.same([...new Set(ended.text.match(/token-[\w-]+/g))], [ended.token], `${what}: its own token`)
  if (!form.includes('REST')) {
    t.same([...new Set([...ended.text.matchAll(/"jsonrpc":"2.0","id":("[^"]*")/g)].map(([, id]) => id))], [ended.id], `${what}: its own id`)
  }
  if (form.startsWith('SSE')) t.equal(ended.text.split('\n\n').length, 4, `${what}: all events`)
}

export const OPERATION: Readonly<Record<Form, string>> = {
  'unary JSON-RPC': 'SendMessage',
  REST: 'SendMessage',
  SSE: 'SendStreamingMessage',
  'SSE over REST': 'SendStreamingMessage'
}

/** Of calls of one form, by how they ended. */
export function outcome (gateway: TestGateway, form: Form, which: string): Promise<number> {
  return gateway.metric(
    `a2a_gateway_requests_total{agent="agent",operation="${OPERATION[form]}",binding="${form.includes('REST') ? 'HTTP+JSON' : 'JSONRPC'}",version="1.0",outcome="${which}"}`
  )
}

export const errors = (gateway: TestGateway, kind: string): Promise<number> =>
  gateway.metric(`a2a_gateway_upstream_errors_total{agent="agent",kind="${kind}"}`)
