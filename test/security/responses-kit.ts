/**
 * Agents that answer what no healthy agent would, behind a gateway that enforces what they may answer; and healthy ones that only look odd.
 */
import type { ServerResponse } from 'node:http'
import type { Test } from 'tap'
import type { TestGateway } from '../helpers/gateway.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, MESSAGE_03, rpcBody } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'

export const URI = 'https://x.test/ext/v1'
export const BAD = '"x":"EVIL"'
export const GOOD = '"x":1'

/** Every place of an answer: there `x` is a number, and data says so too. */
export const POLICY = [
  'extensions:',
  '  ext:',
  `    uri: ${URI}`,
  '    activation: {signals: [always]}',
  '    response:',
  '      - {id: x, select: {metadata: {in: [message, status, artifact, task, event, part], key: x}}, schema: {type: number}, verdict: reject}',
  '      - {id: data, select: {part: {dataKey: x}}, schema: {type: number}, verdict: reject}'
]

export interface Reply {
  readonly status?: number
  /** Flat list, as it goes out. */
  readonly headers?: readonly string[]
  readonly body: string | Buffer
}

export interface Ask {
  readonly binding?: 'JSONRPC' | 'HTTP+JSON'
  readonly version?: '1.0' | '0.3'
  readonly method?: string
  readonly params?: unknown
  /** The raw JSON token; null for a notification. */
  readonly id?: string | null
  readonly path?: string
}

export interface Target {
  readonly gateway: TestGateway
  ask (how: Ask, reply: Reply | ((response: ServerResponse) => void)): Promise<Answer>
}

export async function behind (t: Test, responses = 'enforce', policy: readonly string[] = POLICY): Promise<Target> {
  let reply: Reply | ((response: ServerResponse) => void) = { body: '' }
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: URI }] } }),
    answer: (_request, response) => {
      if (typeof reply === 'function') return reply(response)
      response.writeHead(reply.status ?? 200, [...reply.headers ?? JSON_TYPE])
      response.end(reply.body)
    }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['extensions: [ext]', `responses: ${responses}`], policy) })
  return {
    gateway,
    ask: async (
      { binding = 'JSONRPC', version = '1.0', method = version === '1.0' ? 'SendMessage' : 'message/send', params, id = '1', path },
      made
    ) => {
      reply = made
      const message = version === '1.0' ? MESSAGE : MESSAGE_03
      const headers = [...JSON_TYPE, 'a2a-version', version]
      if (binding === 'JSONRPC') {
        const whole = rpcBody(method, params ?? { message }, id ?? '1')
        return await call(`${gateway.url}/rpc`, { headers, body: id === null ? whole.replace('"id":1,', '') : whole })
      }
      if (path !== undefined) return await call(`${gateway.url}/rest${path}`, { headers: ['a2a-version', version] })
      const target = `${gateway.url}/rest${version === '0.3' ? '/v1' : ''}/message:${/stream/i.test(method) ? 'stream' : 'send'}`
      const rest =
        version === '1.0' ? { message: MESSAGE } : { message: { messageId: 'm1', role: 'ROLE_USER', content: [{ text: 'hello' }] } }
      return await call(target, { headers, body: JSON.stringify(rest) })
    }
  }
}

export function isRefused (answer: Answer): boolean {
  return String(answer.headers['gateway-decision']).startsWith('reject') || /-32006|INVALID_AGENT_RESPONSE/.test(answer.text)
}

export const rpcResult = (result: string, id = '1'): string => `{"jsonrpc":"2.0","id":${id},"result":${result}}`
export const EVENTS = ['content-type', 'text/event-stream']
