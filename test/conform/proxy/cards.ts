/** The cards that the faulty proxy serves: addresses rewritten, signatures removed, an entity tag of its own. */
import { createHash } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { parseJson } from '#wire/json/parse-json.js'
import { valueOf } from '#conform/http1.js'
import type { Line } from '#conform/model.js'
import { fetchAddress } from './changes.js'
import type { ClientRequest } from './http-side.js'
import type { ProxyState } from './proxy.js'

export const CARD_PATHS: ReadonlySet<string> = new Set(['/.well-known/agent-card.json', '/.well-known/agent.json'])

type Card = Record<string, unknown> & { supportedInterfaces: object[] }

export async function cardResponse (request: ClientRequest, state: ProxyState): Promise<{ status: number, headers: Line[], body: Buffer }> {
  const { has, agent, origin } = state
  const card = parseJson(await read(`${agent}/.well-known/agent-card.json`)) as Card
  if (has('fetches-addresses')) for (const url of [card['iconUrl'], card['documentationUrl']]) fetchAddress(String(url))
  const { signatures, ...rest } = card
  const changed = has('drops-unknown-members') ? Object.fromEntries(Object.entries(rest).filter(([name]) => !name.startsWith('x-'))) as Card : rest as Card
  if (has('sorts-interfaces')) changed.supportedInterfaces = [...changed.supportedInterfaces].reverse()
  let public_ = origin
  if (has('card-names-host')) {
    const host = valueOf(request.headers, 'x-forwarded-host') ?? valueOf(request.headers, 'host') ?? ''
    const stored = state.stored.get('host')?.toString() ?? (host.includes('spoofed') ? host : '')
    if (stored !== '') {
      state.stored.set('host', Buffer.from(stored))
      public_ = `http://${stored}`
    }
  }
  const plain = Buffer.from(JSON.stringify(has('keeps-signatures') || has('serves-card-unchanged') ? { ...changed, signatures } : changed))
  const body = has('serves-card-unchanged') ? plain : withoutAddresses(plain, { ...state, origin: public_ })
  const tag = `"${createHash('sha256').update(body).digest('hex').slice(0, 12)}"`
  const headers: Line[] = [['Cache-Control', 'max-age=60'], ...has('card-without-validator') ? [] : [['ETag', tag] as const]]
  const isSame = valueOf(request.headers, 'if-none-match') === tag && !has('card-without-validator')
  return isSame ? { status: 304, headers, body: Buffer.alloc(0) } : { status: 200, headers, body }
}

/** Replaces the addresses of interfaces. Those of documents and icons stay. */
export function withoutAddresses (body: Buffer, { agent, origin, has }: ProxyState): Buffer {
  if (has('serves-card-unchanged')) return body
  const [from, to] = [agent, origin].map(url => url.replace('http://', ''))
  const path = has('wrong-card-path') ? '/elsewhere' : ''
  const text = body.toString('utf8').replaceAll(new RegExp(`"(http://)?${from ?? ''}(/(?:jsonrpc|rest))?"`, 'g'), (_, scheme = '', rest = '') => `"${String(scheme)}${to ?? ''}${rest === '' ? '' : path + String(rest)}"`)
  return Buffer.from(text)
}

async function read (url: string): Promise<Buffer> {
  return await new Promise((resolve, reject) => {
    httpRequest(url, { agent: false }, response => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => { chunks.push(chunk) })
      response.on('end', () => resolve(Buffer.concat(chunks)))
    }).on('error', reject).end()
  })
}
