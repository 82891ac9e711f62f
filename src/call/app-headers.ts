/** Headers that an app's own hooks set on a reply, such as CORS and rate limits. The gateway writes responses past Fastify's reply. */
import type { FastifyReply } from 'fastify'
import type { ClientResponse } from './client-streams.js'

const KEY = Symbol('a2a-gateway.app-headers')
type Kept = ClientResponse & { [KEY]?: readonly (readonly [string, string])[] }

/** Headers of which a response has the lines of the app and of the agent. The app's line replaces every other header of the agent. */
const ADDED: ReadonlySet<string> = new Set(['vary', 'set-cookie', 'link', 'server-timing', 'cache-status'])

/** Keeps the headers of the reply so far for the response of the gateway. */
export function keepAppHeaders (reply: FastifyReply): void {
  const pairs: [string, string][] = []
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value === undefined) continue
    for (const line of Array.isArray(value) ? value : [value]) pairs.push([name, String(line)])
    // Node would merge a header of the raw response by its own rules.
    reply.raw.removeHeader(name)
  }
  if (pairs.length > 0) (reply.raw as Kept)[KEY] = pairs
}

/** @param headers flat list of names and values @returns the list with the headers of the app */
export function withAppHeaders (response: ClientResponse, headers: string[]): string[] {
  const pairs = (response as Kept)[KEY]
  if (pairs === undefined) return headers
  const replaced = new Set(pairs.map(([name]) => name).filter(name => !ADDED.has(name) && !OF_THE_MESSAGE.has(name)))
  const merged: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    if (!replaced.has((headers[i] as string).toLowerCase())) merged.push(headers[i] as string, headers[i + 1] as string)
  }
  for (const [name, value] of pairs) if (!OF_THE_MESSAGE.has(name)) merged.push(name, value)
  return merged
}

/** Headers that describe the gateway's own response. */
const OF_THE_MESSAGE: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'connection',
  'date'
])
