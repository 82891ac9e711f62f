/** The head of an answer; headers are flat lists with lower-case names. */

/** Headers that are the gateway's own to send. */
export const OF_THE_GATEWAY: ReadonlySet<string> = new Set(['gateway-decision'])

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Would name the agent's own representation, not one that the gateway has changed. */
const STALE: ReadonlySet<string> = new Set(['content-length', 'etag', 'last-modified', 'content-md5', 'digest', 'content-digest', 'repr-digest', 'accept-ranges'])

/** First value of a header, or null. */
export function valueOf (headers: readonly string[], name: string): string | null {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === name) return headers[i + 1] as string
  }
  return null
}

/** The headers of a body that the gateway has changed, which is now so long. */
export function headersOfChanged (headers: readonly string[], length: number): string[] {
  const kept: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    if (!STALE.has(headers[i] as string)) kept.push(headers[i] as string, headers[i + 1] as string)
  }
  kept.push('content-length', String(length))
  return kept
}

/** What no client of A2A can read, in whose place the gateway answers: a redirect, or the error page of the agent's framework, which may hold a stack trace. */
export function replacedFor (status: number, type: string | null): 'redirect' | 'page' | null {
  if (REDIRECTS.has(status)) return 'redirect'
  return status >= 400 && type !== null && /^text\/html\b/i.test(type) ? 'page' : null
}

export function isEventStream (type: string | null): boolean {
  return type !== null && /^text\/event-stream\b/i.test(type)
}

/** Whether there is no body, such as after a deletion. */
export function isEmpty (status: number, headers: readonly string[]): boolean {
  return status === 204 || status === 205 || valueOf(headers, 'content-length') === '0'
}
