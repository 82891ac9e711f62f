/** Functions over the head of a response. Headers are flat lists with lower-case names. */

/** Headers that only the gateway sends. */
export const OF_THE_GATEWAY: ReadonlySet<string> = new Set(['gateway-decision'])

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Headers that describe the agent's original body and are wrong for a changed body. */
const STALE: ReadonlySet<string> = new Set([
  'content-length',
  'etag',
  'last-modified',
  'content-md5',
  'digest',
  'content-digest',
  'repr-digest',
  'accept-ranges'
])

/** First value of a header, or null. */
export function valueOf (headers: readonly string[], name: string): string | null {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === name) return headers[i + 1] as string
  }
  return null
}

/** Returns the headers for a changed body of the given length. */
export function headersOfChanged (headers: readonly string[], length: number): string[] {
  const lines: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    if (!STALE.has(headers[i] as string)) lines.push(headers[i] as string, headers[i + 1] as string)
  }
  lines.push('content-length', String(length))
  return lines
}

/**
 * Identifies responses that no A2A client can read, so the gateway replaces them: a redirect, or the error page of the agent's framework.
 * An error page may contain a stack trace.
 */
export function replacedFor (status: number, type: string | null): 'redirect' | 'page' | null {
  if (REDIRECTS.has(status)) return 'redirect'
  return status >= 400 && type !== null && /^text\/html\b/i.test(type) ? 'page' : null
}

export function isEventStream (type: string | null): boolean {
  return type !== null && /^text\/event-stream\b/i.test(type)
}

/** True when there is no body, for example after a deletion. */
export function isEmpty (status: number, headers: readonly string[]): boolean {
  return status === 204 || status === 205 || valueOf(headers, 'content-length') === '0'
}

/** Adds the headers of an event stream that the agent has left out: caches and buffering proxies would delay events. */
export function streamHeaders (headers: string[]): string[] {
  if (valueOf(headers, 'cache-control') === null) headers.push('cache-control', 'no-cache')
  if (valueOf(headers, 'x-accel-buffering') === null) headers.push('x-accel-buffering', 'no')
  return headers
}
