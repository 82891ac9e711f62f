/** The cross-origin headers of a response (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol). */

/** The cross-origin headers of a response. */
export interface Cors {
  /** Flat list of names and values. */
  readonly headers: readonly string[]
  /** True when the headers replace those of the agent. */
  readonly replaces: boolean
}

/** Replaces the cross-origin headers of an agent's response. Without an `Origin`, they are removed. */
export function withCors (headers: string[], { headers: own }: Cors): string[] {
  const out: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    if (!name.toLowerCase().startsWith('access-control-')) out.push(name, headers[i + 1] as string)
  }
  out.push(...own, 'vary', 'Origin')
  return out
}
