/** A gateway with the rule that a nonce is accepted once, and the same request many times at once. */
import { oneAgent } from './gateway.js'
import { rpc } from './http.js'
import type { Answer } from './http.js'
import { plainCard } from './raw.js'

export const NONCES = 'https://example.com/ext/nonces/v1'

export const nonceCard = (url: string): unknown => plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: NONCES }] } })

/** @param more further keys of the agent, and root keys of the configuration */
export function nonceGateway (
  upstream: string,
  { unique = '{window: 10m}', agent = [], root = [] }: { readonly unique?: string, readonly agent?: string[], readonly root?: string[] } = {}
): string {
  return oneAgent(upstream, ['extensions: [nonces]', ...agent], [...nonceRules(unique), ...root])
}

/** @returns lines of the configuration */
export function nonceRules (unique: string): string[] {
  return [
    'extensions:',
    '  nonces:',
    `    uri: ${NONCES}`,
    '    activation: {signals: [always]}',
    '    request:',
    `      - {id: once, select: {part: {data: true, path: /nonce}}, unique: ${unique}}`,
    '      - {id: text, select: {part: {data: true, path: /note}}, schema: {type: string}, required: false}'
  ]
}

export function nonceMessage (nonce: string, note: unknown = ''): object {
  return { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ data: { nonce, note } }] } }
}

export function sendNonce (url: string, nonce: string, note: unknown = ''): Promise<Answer> {
  return rpc(`${url}/rpc`, 'SendMessage', nonceMessage(nonce, note))
}

/** Sends the same request many times at once, each on a connection of its own. @returns number of results, and texts of rejections */
export async function sendAtOnce (urls: readonly string[], nonce: string, count = 50): Promise<{ passed: number, rejections: string[] }> {
  const responses = await Promise.all(Array.from({ length: count }, (_, i) => sendNonce(urls[i % urls.length] as string, nonce)))
  const rejections = responses.map(({ text }) => text).filter(text => text.includes('"error"'))
  return { passed: responses.filter(({ status, text }) => status === 200 && text.includes('"result"')).length, rejections }
}
