/** What the proxy, and its faults, change in requests and responses. */
import { request as httpRequest } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { valueOf } from '#conform/http1.js'
import type { Line } from '#conform/model.js'
import { parseJson } from '#wire/json/parse-json.js'
import type { ClientRequest } from './http-side.js'
import type { ProxyState } from './proxy.js'

const HOP = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'http2-settings', 'content-length', 'expect'])
const FORGED = new Set(['x-forwarded-for', 'forwarded', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'])
const CREDENTIALS = new Set(['authorization', 'cookie', 'x-api-key', 'www-authenticate'])
const KNOWN = /^(?:host|accept|accept-.*|content-.*|authorization|cookie|user-agent|a2a-.*|x-a2a-.*|etag|cache-control|date|www-authenticate|set-cookie|location|retry-after|vary|conform-call|last-event-id|via|x-forwarded-for)$/
const EXTENSIONS = /^(?:x-)?a2a-extensions$/

export function changedTarget (target: string, { has }: ProxyState): string {
  const [path = '', query] = target.split(/\?(.*)/s)
  let changed = path
  if (has('normalizes-paths')) {
    try {
      const [decoded = ''] = decodeURIComponent(path).replaceAll(/;[^/]*/g, '').split('\0')
      changed = new URL(decoded.replaceAll(/\/+/g, '/'), 'http://x').pathname
    } catch {
      changed = path
    }
  }
  const sorted = query !== undefined && has('sorts-queries') ? query.split('&').sort().join('&') : query
  return sorted === undefined ? changed : `${changed}?${sorted}`
}

export function changedRequest (request: ClientRequest, state: ProxyState): { body: Buffer, headers: readonly Line[] } {
  const { has } = state
  let { body, headers } = request
  if (has('fetches-addresses')) for (const url of body.toString('utf8').match(/http:\/\/[^"\s]*\/\.conform\/trap\/[^"\s]*/g) ?? []) fetchAddress(url)
  if (has('decodes-bodies') && valueOf(headers, 'content-encoding') === 'gzip') {
    body = gunzipSync(body)
    headers = headers.filter(([name]) => name.toLowerCase() !== 'content-encoding')
  }
  if (has('rewrites-requests') || has('drops-unknown-members')) body = rewritten(body, state)
  return { body, headers }
}

/** Requests an address, and forgets the response. */
export function fetchAddress (url: string): void {
  httpRequest(url, { agent: false }, response => response.resume()).on('error', () => {}).end()
}

function rewritten (body: Buffer, { has }: ProxyState): Buffer {
  try {
    return Buffer.from(JSON.stringify(parseJson(body), (name, value: unknown) => has('drops-unknown-members') && name.startsWith('x-') ? undefined : value))
  } catch {
    return body
  }
}

export function changedRequestLines (request: ClientRequest, headers: readonly Line[], body: Buffer, state: ProxyState): Line[] {
  const { has } = state
  const out = copied(headers, state)
    .filter(([name]) => {
      const key = name.toLowerCase()
      if (FORGED.has(key)) return has('forwards-forged-addresses')
      if (has('drops-version') && key === 'a2a-version') return false
      if (has('drops-extensions') && EXTENSIONS.test(key)) return false
      return !(has('drops-traces') && /^(?:traceparent|tracestate|baggage)$/.test(key))
    })
    .map(([name, value]): Line => {
      const key = name.toLowerCase()
      if (EXTENSIONS.test(key) && has('lower-case-uris')) return [name, value.toLowerCase()]
      if (EXTENSIONS.test(key) && has('first-extension')) return [name, value.split(',')[0] ?? '']
      if (has('cuts-values')) return [name, value.slice(0, 8_000)]
      return key === 'traceparent' ? [name, value.replace(/^(00-[0-9a-f]{32}-)[0-9a-f]{16}/, '$1b7ad6b7169203331')] : [name, value]
    })
  if (has('adds-version') && valueOf(out, 'a2a-version') === null) out.push(['A2A-Version', '1.0'])
  if (!has('hides-itself')) out.push(['Via', '1.1 conform'], ...has('forwards-forged-addresses') ? [] : [['X-Forwarded-For', '127.0.0.1'] as const])
  if (body.length > 0 || request.method === 'POST') out.push(['Content-Length', String(body.length)])
  return out
}

export function changedResponseLines (headers: readonly Line[], state: ProxyState): Line[] {
  const { has } = state
  const out = copied(headers, state).filter(([name]) => !(has('drops-echo') && EXTENSIONS.test(name.toLowerCase())))
  if (has('invents-echo')) out.push(['A2A-Extensions', 'urn:invented'])
  return out
}

/** All lines but those of the connection. */
function copied (headers: readonly Line[], { has }: ProxyState): Line[] {
  const named = new Set((valueOf(headers, 'connection') ?? '').toLowerCase().split(',').map(name => name.trim()))
  const out: Line[] = []
  for (const [name, value] of headers) {
    const key = name.toLowerCase()
    const isHop = HOP.has(key) || named.has(key)
    const isFraming = key === 'content-length' || key === 'transfer-encoding'
    if (isFraming || (isHop && !(has('keeps-hop-by-hop') && key !== 'connection' && key !== 'expect'))) continue
    if (has('drops-credentials') && CREDENTIALS.has(key)) continue
    if (has('drops-unknown-headers') && !KNOWN.test(key)) continue
    const before = out.findIndex(line => line[0].toLowerCase() === key)
    if (before >= 0 && has('drops-header-line')) continue
    if (before >= 0 && has('merges-lines')) out[before] = [name, `${out[before]?.[1] ?? ''}, ${value}`]
    else out.push([name, value])
  }
  return out
}

export function changedResponse (body: Buffer, state: ProxyState): Buffer {
  return state.has('rewrites-responses') || state.has('drops-unknown-members') ? rewritten(body, state) : body
}

export function changedEvents (body: Buffer, { has }: ProxyState): Buffer {
  let text = body.toString('utf8')
  if (has('normalizes-line-ends')) text = text.replaceAll(/\r\n?/g, '\n')
  if (has('loses-comments')) text = text.replaceAll(/^:.*\n/gm, '')
  if (has('loses-fields')) text = text.replaceAll(/^(?!data)[^\n]+\n/gm, '')
  if (has('cuts-events')) text = text.split('\n\n').filter(event => event.length < 65_536).join('\n\n')
  if (has('rewrites-responses')) text = text.replaceAll(/^data: (\{.*\})$/gm, (_, json: string) => `data: ${JSON.stringify(parseJson(json))}`)
  return Buffer.from(text)
}
