/** Headers of an answer, as flat lists with lower-case names. */

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

export function isEventStream (type: string | null): boolean {
  return type !== null && /^text\/event-stream\b/i.test(type)
}

/** Whether there is no body, such as after a deletion. */
export function isEmpty (status: number, headers: readonly string[]): boolean {
  return status === 204 || status === 205 || valueOf(headers, 'content-length') === '0'
}
