/**
 * Calls in every binding, and what came of them: the response as bytes, what the agent got, and the audit lines of the gateway. The same
 * calls go through the gateway itself and through Envoy, so that their results can be compared.
 */
import type { Operation } from '#a2a/operations.js'
import { readResponse, requestOf } from '../front/grpc-kit.js'
import { echo } from './agents.js'
import type { Turn } from './agents.js'
import type { TestGateway } from './gateway.js'
import type { GrpcAgent } from './grpc-agents.js'
import { grpcMessage, RawGrpc } from './grpc-raw.js'
import type { RawResponse } from './grpc-raw.js'
import { call, rpcBody, until } from './http.js'

export const REQUIRED = 'https://example.com/ext/required/v1'
export const ORDERS = 'https://example.com/ext/orders/v1'
export const WATCHED = 'https://example.com/ext/watched/v1'
export const HITL = 'https://kagent.dev/extensions/hitl/v1'

/** The agent's card declares these. */
export const DECLARED = [{ uri: REQUIRED, required: true }, { uri: ORDERS }, { uri: WATCHED }, { uri: HITL }]

/** Keys of the agent, as YAML lines. */
export const AGENT_LINES = ['responses: enforce', 'extensions: [orders, watched, {kagent-hitl: {mode: enforce}}]']
/** Keys of the root, as YAML lines. */
export const ROOT_LINES = [
  'telemetry: {logs: {level: silent}, audit: {forwarded: true}}',
  'extensions:',
  '  orders:',
  `    uri: ${ORDERS}`,
  '    mode: enforce',
  '    request:',
  '      - {id: count, select: {metadata: {key: $uri}}, required: false, schema: {type: object, required: [count]}}',
  '    response:',
  '      - {id: receipt, select: {metadata: {in: [message, status], key: receipt}}, schema: {type: object, required: [number]}, verdict: reject}',
  '      - {id: note, select: {metadata: {in: [message, status], key: note}}, schema: {type: string}, verdict: annotate}',
  '      - {id: internal, select: {metadata: {in: [message, status], key: internal}}, schema: false, verdict: strip}',
  '  watched:',
  `    uri: ${WATCHED}`,
  '    mode: observe',
  '    request:',
  '      - {id: owner, select: {metadata: {key: $uri}}, required: false, schema: {type: object, required: [owner]}}'
]

const approval = { type: 'tool_approval_request', tools: [{ id: 'a1', name: 'delete', args: {} }, { id: 'a2', name: 'restart', args: {} }] }

/** Words of the client's text choose the response. */
export function behaviour (turn: Turn): void | Promise<void> {
  const receipt = (number: object): { metadata: Record<string, unknown> } => ({ metadata: { receipt: number } })
  switch (turn.text) {
    case 'bad receipt': return turn.messageWith(receipt({}), { text: 'no number' })
    case 'bad note': return turn.messageWith({ metadata: { note: 7 } }, { text: 'a note' })
    case 'internal': return turn.messageWith({ metadata: { internal: 'hush', shown: 1 } }, { text: 'something internal' })
    case 'late bad receipt':
      turn.task('working')
      turn.status('working', 'still good', receipt({ number: 7 }))
      return turn.status('completed', 'no number', receipt({}))
    case 'ask':
      turn.task('working')
      return turn.status('input-required', 'allow?', { metadata: { [HITL]: approval }, extensions: [HITL] })
    default: return echo(turn)
  }
}

export type Binding = 'JSON-RPC' | 'HTTP+JSON' | 'gRPC'
export const BINDINGS: readonly Binding[] = ['JSON-RPC', 'HTTP+JSON', 'gRPC']

/** One call, in the words that all bindings share. */
export interface Call {
  readonly operation?: Operation
  readonly stream?: boolean
  readonly text?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly extensions?: readonly string[]
  /** Further headers or metadata. */
  readonly headers?: readonly string[]
  /** Sent instead of a message. */
  readonly bytes?: Buffer
  readonly taskId?: string | undefined
  /** For a method or path that A2A does not define. */
  readonly unknown?: boolean
  /** False: no rule rejects the call, so there is no audit line. */
  readonly recorded?: false
}

export interface Target {
  readonly url: string
  /** `127.0.0.1:PORT` for gRPC. */
  readonly grpc: string
  readonly gateway: TestGateway
}

export interface Seen {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly trailers?: Readonly<Record<string, string>>
  /** Requests that reached the agent: body and extensions. */
  readonly agent: readonly string[]
  /** Audit lines of decisions, without what differs for each call. */
  readonly audit: readonly string[]
  /** Id of the task in the response. */
  readonly task: string | undefined
}

/** Sends one call, and waits until the gateway has written its last audit line. */
export async function see (target: Target, agent: GrpcAgent, binding: Binding, one: Call): Promise<Seen> {
  agent.received.length = agent.grpcCalls.length = 0
  const before = target.gateway.audits().length
  const response = binding === 'gRPC' ? await overGrpc(target, one) : await overHttp(target, binding, one)
  if (one.recorded !== false) {
    await until(() => target.gateway.audits().slice(before).some(({ phase, decision }) => phase === 'call' || decision === 'rejected'), 'an audit line')
  }
  const ids = new Map<string, string>()
  const plain = (text: string): string => anonymous(text, ids)
  return {
    status: response.status,
    headers: mapped(response.headers, plain),
    body: plain(response.body),
    ...(response.trailers === undefined ? {} : { trailers: mapped(response.trailers, plain) }),
    agent: [
      ...agent.calls().map(({ method, url, headers, body }) =>
        plain(`${method} ${url} ${String(headers['a2a-extensions'] ?? '')} ${body.toString()}`)),
      ...agent.grpcCalls.map(({ path, metadata, read }) => plain(`${path} ${metadata.get('a2a-extensions').join()} ${JSON.stringify(read)}`))
    ],
    audit: target.gateway.audits().slice(before).filter(({ phase }) => phase !== 'call' && phase !== 'task').map(line => plain(auditOf(line))),
    task: /"taskId":"([^"]+)"|"task":\{"id":"([^"]+)"/.exec(response.body)?.slice(1).find(id => id !== undefined)
  }
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
  readonly trailers?: Readonly<Record<string, unknown>>
}

async function overHttp ({ url }: Target, binding: Binding, one: Call): Promise<Answer> {
  const headers = headersOf(one, 'application/json')
  const operation = one.operation ?? (one.stream === true ? 'SendStreamingMessage' : 'SendMessage')
  const message = paramsOf(one)
  const body = one.bytes ?? Buffer.from(binding === 'JSON-RPC' ? rpcBody(one.unknown === true ? 'NoSuchMethod' : operation, message, '"7"') : JSON.stringify(message))
  const path = binding === 'JSON-RPC' ? '/a2a/jsonrpc' : `/a2a/rest/${one.unknown === true ? 'no-such-path' : operation === 'GetTask' ? `tasks/${one.taskId ?? ''}` : one.stream === true ? 'message:stream' : 'message:send'}`
  const get = binding === 'HTTP+JSON' && operation === 'GetTask'
  const answer = await call(`${url}${path}`, get ? { headers } : { headers, body })
  return { status: answer.status, headers: answer.headers, body: answer.text }
}

async function overGrpc ({ grpc }: Target, one: Call): Promise<Answer> {
  const client = await RawGrpc.to(grpc)
  try {
    const operation = one.operation ?? (one.stream === true ? 'SendStreamingMessage' : 'SendMessage')
    const extensions = one.extensions === undefined || one.extensions.length === 0 ? {} : { 'a2a-extensions': [...one.extensions] }
    const got = await client.call({
      path: `/lf.a2a.v1.A2AService/${one.unknown === true ? 'NoSuchMethod' : operation}`,
      headers: { ...extensions, ...Object.fromEntries(pairs(one.headers ?? [])) },
      body: one.bytes === undefined ? requestOf(paramsOf(one), operation) : grpcMessage(one.bytes)
    })
    return { status: got.http ?? 0, headers: got.headers, trailers: got.trailersOnly ? {} : got.trailers, body: textOf(got, operation) }
  } finally {
    client.close()
  }
}

function textOf ({ messages, status, message, reset }: RawResponse, operation: Operation): string {
  const read = messages.map(bytes => {
    try {
      return JSON.stringify(readResponse(bytes, operation))
    } catch {
      return bytes.toString('hex')
    }
  })
  return [...read, `grpc-status ${String(status)}: ${message}`, ...(reset === 0 ? [] : [`reset ${reset}`])].join('\n')
}

function paramsOf ({ operation, text = 'go', metadata, taskId }: Call): object {
  if (operation === 'GetTask') return { id: taskId }
  return {
    message: {
      messageId: 'm1',
      role: 'ROLE_USER',
      parts: [{ text }],
      ...(metadata === undefined ? {} : { metadata }),
      ...(taskId === undefined ? {} : { taskId })
    }
  }
}

function headersOf ({ extensions = [REQUIRED], headers = [] }: Call, type: string): string[] {
  return ['content-type', type, 'a2a-version', '1.0', ...extensions.flatMap(uri => ['a2a-extensions', uri]), ...headers]
}

const pairs = (list: readonly string[]): [string, string][] =>
  list.flatMap((name, i) => i % 2 === 0 ? [[name, list[i + 1] ?? ''] as [string, string]] : [])

/** Differ for each call, whatever the way. */
const OWN = new Set(['time', 'request_id', 'trace_id', 'client', 'task_id', 'context_id', 'front'])

function auditOf (line: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.entries(line).filter(([name]) => !OWN.has(name)).sort(([a], [b]) => a < b ? -1 : 1))
}

function mapped (headers: Readonly<Record<string, unknown>>, plain: (text: string) => string): Record<string, string> {
  // The agent's ETag is a hash of a body with ids of its own.
  const entries = Object.entries(headers).filter(([name]) => name !== 'date' && name !== 'etag' && !name.startsWith(':'))
  return Object.fromEntries(entries.sort(([a], [b]) => a < b ? -1 : 1).map(([name, value]) => [name, plain(String(value))]))
}

function anonymous (text: string, ids: Map<string, string>): string {
  return text
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, id => {
      if (!ids.has(id)) ids.set(id, `<id-${ids.size + 1}>`)
      return ids.get(id) ?? ''
    })
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '<time>')
}
