/** Recorded requests in each version and binding, explained and sent through a real gateway: what is compared. */
import type { AgentConfig } from '#config/model/model.js'
import { buildAgentState } from '#pipeline/agent-snapshot.js'
import type { ExplainOptions } from '#offline/explain/explain.js'
import { explainRequest } from '#offline/explain/explain.js'
import type { Explanation } from '#offline/explain/explanation.js'
import { sentHeaders } from '#offline/place.js'
import type { RecordedResponse } from '#offline/recording/recorded-response.js'
import type { RecordedRequest } from '#offline/recording/recording.js'
import { readRecording } from '#offline/recording/recording.js'
import { compareHeaders } from '#offline/display.js'
import { SECRET_HIDDEN } from '#policy/request/inject.js'
import { loadCardsOnce } from '#agents/card/card-once.js'
import { readTlsFiles } from '#upstream/tls.js'
import type { GatewayOptions } from '../helpers/gateway.js'
import { configOf } from '../helpers/gateway.js'

/** In every recorded request, and in no explanation. */
export const SECRET = 'hush-4711'

export interface Spelling {
  readonly name: string
  readonly lines: readonly string[]
  readonly path: string
  readonly extensions: string
  readonly body: (metadata: object, more?: object) => string
}

export const message10 = (metadata: object, more: object): object => ({
  message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: SECRET }], metadata, ...more }
})
const message03 = (metadata: object, more: object): object => ({
  message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: SECRET }], metadata, ...more }
})
const rest03 = (metadata: object, more: object): object => ({
  message: { messageId: 'm', role: 'ROLE_USER', content: [{ text: SECRET }], metadata, ...more }
})
export const rpc = (method: string, params: object): string => JSON.stringify({ jsonrpc: '2.0', id: 17, method, params })

export const SPELLINGS: readonly Spelling[] = [
  {
    name: '1.0 JSONRPC',
    lines: ['Content-Type: application/json', 'A2A-Version: 1.0'],
    path: '/rpc',
    extensions: 'A2A-Extensions',
    body: (metadata, more = {}) => rpc('SendMessage', message10(metadata, more))
  },
  {
    name: '1.0 HTTP+JSON',
    lines: ['Content-Type: application/a2a+json', 'A2A-Version: 1.0'],
    path: '/rest/message:send',
    extensions: 'A2A-Extensions',
    body: (metadata, more = {}) => JSON.stringify(message10(metadata, more))
  },
  {
    name: '0.3 JSONRPC',
    lines: ['Content-Type: application/json'],
    path: '/rpc',
    extensions: 'X-A2A-Extensions',
    body: (metadata, more = {}) => rpc('message/send', message03(metadata, more))
  },
  {
    name: '0.3 HTTP+JSON',
    lines: ['Content-Type: application/json', 'A2A-Version: 0.3'],
    path: '/rest/v1/message:send',
    extensions: 'X-A2A-Extensions',
    body: (metadata, more = {}) => JSON.stringify(rest03(metadata, more))
  }
]

export interface Recorded { readonly name: string, readonly text: string }

/** As it would stand in a file; the first line and the headers go to the gateway as they are. */
export function http (name: string, line: string, headers: readonly string[], body = ''): Recorded {
  return {
    name,
    text: [line, 'Host: gw.example', 'User-Agent: test', `Authorization: Bearer ${SECRET}`, 'Connection: close', ...headers, '', body].join(
      '\n'
    )
  }
}

/** @returns a function that explains a request, with its answer where there is one */
export function explaining (options: GatewayOptions): (recorded: Recorded, answer?: RecordedResponse) => Promise<Explanation> {
  const config = configOf(options)
  const known: ExplainOptions['known'] = async (agent: AgentConfig) => {
    const loaded = await loadCardsOnce(agent, config.limits, readTlsFiles(agent.upstream.tls), {})
    if (!loaded.ok) throw new Error(loaded.problem)
    return {
      state: buildAgentState(loaded.cards, {
        agent,
        maxExtensions: config.limits.extensions,
        previous: null,
        secretOf: SECRET_HIDDEN
      }),
      card: loaded.cards.origin
    }
  }
  return async (recorded, answer) =>
    await explainRequest(
      { ...requestIn(recorded), response: answer ?? null },
      { file: 'corpus.http', number: 1 },
      { config, agent: null, headers: [], known }
    )
}

export function requestIn ({ text }: Recorded): RecordedRequest {
  const [request] = readRecording(Buffer.from(text), 'corpus.http', () => Buffer.alloc(0)).requests
  if (request === undefined) throw new Error('no request')
  return request
}

/** The bytes that a client would send: the recording, with the line ends of HTTP and a length. */
export function wire (text: string): string {
  const at = text.indexOf('\n\n')
  const body = text.slice(at + 2)
  const [line = '', ...headers] = text.slice(0, at).split('\n')
  if (body !== '' && !headers.some(one => /^content-length:/i.test(one))) headers.push(`Content-Length: ${Buffer.byteLength(body)}`)
  return [`${line} HTTP/1.1`, ...headers, '', body].join('\r\n')
}

export interface WireAnswer { readonly line: string, readonly headers: { name: string, value: string }[], readonly body: string }

export function readAnswer (text: string): WireAnswer {
  const at = text.indexOf('\r\n\r\n')
  const [line = '', ...headers] = text.slice(0, at).split('\r\n')
  const pairs = headers.map(one => ({ name: one.slice(0, one.indexOf(':')), value: one.slice(one.indexOf(':') + 2) }))
  return { line, headers: pairs.filter(({ name }) => !['date', 'connection'].includes(name.toLowerCase())), body: text.slice(at + 4) }
}

/** As the explanation has them: `connection` is between gateway and agent, the client's address is that of the test. */
export function asShown (recorded: RecordedRequest, rawHeaders: readonly string[]): ReturnType<typeof compareHeaders> {
  const named = rawHeaders.flatMap((name, i) =>
    i % 2 === 1 || name === 'connection' || name === 'via'
      ? []
      : [name, name === 'x-forwarded-for' ? "(the client's address)" : (rawHeaders[i + 1] ?? '')]
  )
  return compareHeaders(sentHeaders(recorded, []), named)
}
