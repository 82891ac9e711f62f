/**
 * What the attacks share: a real gateway in front of an agent that counts, requests written byte by byte, and what a refusal must look
 * like in each binding and version.
 */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request as httpRequest } from 'node:http'
import type { Test } from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import type { FakeAgent } from '../helpers/raw.js'

export const SCHEMAS = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'
export const REQUIRED = 'https://example.com/ext/required/v1'
export const TAG = 'application/json;schema=fightComparison'
export const GOOD = '{"a":"Lion","b":"Tiger"}'
/** Breaks the schema: b is a number. */
export const BAD = '{"a":"Lion","b":7}'

export const FIGHT_SCHEMA = {
  type: 'object',
  properties: { a: { type: 'string' }, b: { type: 'string' } },
  required: ['a', 'b'],
  additionalProperties: false
}

/** A card that declares object-schemas with one schema, and whatever else. */
export function schemaCard (
  url: string,
  extra: Record<string, unknown> = {},
  extensions: readonly unknown[] = []
): Record<string, unknown> {
  return plainCard(url, {
    capabilities: { streaming: true, extensions: [{ uri: SCHEMAS }, ...extensions] },
    schemas: { fightComparison: FIGHT_SCHEMA },
    ...extra
  })
}

export interface Form { readonly binding: 'JSONRPC' | 'HTTP+JSON', readonly version: '1.0' | '0.3' }

export const FORMS: readonly Form[] = [
  { binding: 'JSONRPC', version: '1.0' },
  { binding: 'JSONRPC', version: '0.3' },
  { binding: 'HTTP+JSON', version: '1.0' },
  { binding: 'HTTP+JSON', version: '0.3' }
]

export const nameOf = ({ binding, version }: Form): string => `${binding} ${version}`

export type Header = readonly [string, string]

export interface Sending {
  readonly method?: string
  readonly path: string
  readonly headers?: readonly Header[]
  readonly body?: string | Buffer | null
}

export interface Answered {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
  /** The parsed answer, or the first event of a stream; null when it is not JSON. */
  readonly json: Readonly<Record<string, unknown>> | null
}

/** One request on a connection of its own; headers go out in the order and spelling given. */
export async function send (url: string, { method = 'POST', path, headers = [], body = null }: Sending): Promise<Answered> {
  const target = new URL(url)
  const lines: [string, string][] = [['Host', target.host], ...headers.map(([name, value]): [string, string] => [name, value])]
  if (body !== null && !headers.some(([name]) => /^(?:content-length|transfer-encoding)$/i.test(name))) {
    lines.push(['Content-Length', String(Buffer.byteLength(body))])
  }
  lines.push(['Connection', 'close'])
  const request = httpRequest({ host: target.hostname, port: target.port, method, path, headers: lines as never, agent: false })
  request.end(body ?? undefined)
  const [response] = await once(request, 'response') as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  return { status: response.statusCode ?? 0, headers: response.headers, text, json: parsed(text) }
}

function parsed (text: string): Answered['json'] {
  try {
    return JSON.parse(text.startsWith('data: ') ? text.slice(6) : text) as Record<string, unknown>
  } catch {
    return null
  }
}

/** Path, content type and version header of a send in one form. */
export function sending (form: Form, body: string | Buffer, more: Partial<Sending> & { readonly stream?: boolean } = {}): Sending {
  const v1 = form.version === '1.0'
  const verb = more.stream === true ? 'stream' : 'send'
  const path = form.binding === 'JSONRPC' ? '/rpc' : v1 ? `/rest/message:${verb}` : `/rest/v1/message:${verb}`
  const headers: Header[] = [...more.headers ?? []]
  if (!headers.some(([name]) => /^content-type$/i.test(name))) headers.push(['Content-Type', 'application/json'])
  if (v1 && !headers.some(([name]) => /^a2a-version$/i.test(name))) headers.push(['A2A-Version', '1.0'])
  return { method: more.method ?? 'POST', path: more.path ?? path, headers, body }
}

export function methodOf (form: Form, stream = false): string {
  return form.version === '1.0' ? (stream ? 'SendStreamingMessage' : 'SendMessage') : (stream ? 'message/stream' : 'message/send')
}

/** The text of a request body around the text of a message; `extra` are more members of the request object. */
export function bodyOf (form: Form, message: string, extra = '', stream = false): string {
  return form.binding === 'JSONRPC'
    ? `{"jsonrpc":"2.0","id":1,"method":"${methodOf(form, stream)}","params":{"message":${message}${extra}}}`
    : `{"message":${message}${extra}}`
}

/** Path of the message from the root of the request. */
export const rootOf = (form: Form): string => form.binding === 'JSONRPC' ? 'params.message' : 'message'

/** The name of the member that holds the parts. */
export const listOf = (form: Form): string => form.binding === 'HTTP+JSON' && form.version === '0.3' ? 'content' : 'parts'

/** The text of a message around the texts of its parts; `extra` are more members. */
export function messageOf (form: Form, parts: readonly string[], extra = ''): string {
  const head = form.version === '1.0'
    ? '"messageId":"m","role":"ROLE_USER"'
    : form.binding === 'JSONRPC' ? '"kind":"message","messageId":"m","role":"user"' : '"messageId":"m","role":"ROLE_USER"'
  return `{${head},"${listOf(form)}":[${parts.join(',')}]${extra}}`
}

/** The text of a tagged DataPart around the text of its data. */
export function dataPart (form: Form, data: string, tag = TAG): string {
  const text = JSON.stringify(tag)
  if (form.version === '1.0') return `{"data":${data},"mediaType":${text}}`
  if (form.binding === 'JSONRPC') return `{"kind":"data","data":${data},"metadata":{"mimeType":${text}}}`
  return `{"data":{"data":${data}},"metadata":{"mimeType":${text}}}`
}

export function textPart (form: Form, text = 'hello'): string {
  return form.version === '0.3' && form.binding === 'JSONRPC' ? `{"kind":"text","text":"${text}"}` : `{"text":"${text}"}`
}

/** Path of the data of part `index`. */
export function dataPathOf (form: Form, index = 0): string {
  const base = `${rootOf(form)}.${listOf(form)}[${index}].data`
  return listOf(form) === 'content' ? `${base}.data` : base
}

export interface Target {
  readonly agent: FakeAgent
  readonly gateway: TestGateway
  send (sending: Sending): Promise<Answered>
}

export interface TargetOptions {
  readonly card?: (url: string) => unknown
  /** More keys of the agent and more root keys, as YAML lines. */
  readonly agent?: readonly string[]
  readonly root?: readonly string[]
}

/** A gateway in front of a counting agent whose card declares object-schemas. */
export async function target (t: Test, options: TargetOptions = {}): Promise<Target> {
  const agent = await fakeAgent(t, { card: options.card ?? schemaCard })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, options.agent, options.root) })
  return { agent, gateway, send: (sending) => send(gateway.url, sending) }
}

export interface WireRefusal {
  readonly code: number | null
  readonly message: string
  readonly details: readonly Readonly<Record<string, unknown>>[]
  readonly reason: string
  readonly fields: readonly string[]
}

/** A refusal, out of whichever shape its binding and version give it. */
export function refusalIn ({ json }: Answered): WireRefusal {
  // 0.3 over HTTP+JSON has the error of 1.0 beside its own members; `code` is that of JSON-RPC there.
  const error = (typeof json?.code === 'number' ? json : (json?.error ?? {})) as {
    code?: number
    message?: string
    data?: unknown
    details?: unknown
  }
  const data = error.data as { details?: unknown } | undefined
  const details = (Array.isArray(data) ? data : data?.details ?? error.details ?? []) as Record<string, unknown>[]
  const infos = details.filter((one) => String(one['@type']).endsWith('ErrorInfo'))
  // The gateway's own reason is the more precise one.
  const info = infos.find(one => one['domain'] === 'a2a-extension-gateway') ?? infos[0]
  const bad = details.find((one) => String(one['@type']).endsWith('BadRequest'))
  const fields = (bad?.fieldViolations ?? []) as { field: string }[]
  return {
    code: error.code ?? null,
    message: error.message ?? '',
    details,
    reason: String(info?.reason),
    fields: fields.map(({ field }) => field)
  }
}

/** The gateway refused, said where, and nothing arrived. */
export function refused (t: Test, { agent }: Pick<Target, 'agent'>, answer: Answered, reason: string, place: RegExp, name: string): void {
  const refusal = refusalIn(answer)
  t.match(String(answer.headers['gateway-decision']), /^reject;rule="/, `${name}: the gateway says it refused`)
  t.equal(refusal.reason, reason, `${name}: ${reason}`)
  t.match(refusal.message, place, `${name}: the message names the place`)
  t.equal(agent.received.length, 0, `${name}: nothing arrived`)
  agent.received.length = 0
}

/** The agent got these very bytes, once. */
export function forwarded (t: Test, { agent }: Pick<Target, 'agent'>, answer: Answered, sent: string | Buffer | null, name: string): void {
  t.equal(answer.status, 200, `${name}: forwarded (${answer.text.slice(0, 300)})`)
  t.equal(agent.received.length, 1, `${name}: arrived once`)
  if (sent !== null) t.equal(agent.received[0]?.body.equals(Buffer.from(sent as string)), true, `${name}: the same bytes`)
  agent.received.length = 0
}
