/** The part of a request that the gateway reads besides the body. */

/** The head of a request. Node's IncomingMessage has this shape. */
export interface RequestHead {
  readonly method?: string | undefined
  /** The client's connection. `encrypted` is true for TLS. */
  readonly socket?: object
  /** Flat list: name, value, name, value. */
  readonly rawHeaders: readonly string[]
  /** Headers by lower-case name, with repeated lines joined as Node joins them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> & {
    readonly host?: string | undefined
    readonly accept?: string | undefined
    readonly upgrade?: string | undefined
    readonly 'content-type'?: string | undefined
    readonly 'content-length'?: string | undefined
    readonly 'content-encoding'?: string | undefined
    readonly 'transfer-encoding'?: string | undefined
  }
}

/** Headers of which Node keeps only the first line (`IncomingMessage.headers`), as far as the gateway reads them. */
const FIRST_LINE: ReadonlySet<string> = new Set(['authorization', 'content-length', 'content-type', 'host', 'user-agent'])

/** Builds the head of a request that no server received: a recorded or a composed request. */
export function headOf (method: string, rawHeaders: readonly string[]): RequestHead {
  const headers = new Map<string, string>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? ''
    const value = rawHeaders[i + 1] ?? ''
    const before = headers.get(name)
    if (before === undefined) headers.set(name, value)
    else if (!FIRST_LINE.has(name)) headers.set(name, `${before}, ${value}`)
  }
  return { method, rawHeaders, headers: Object.fromEntries(headers) }
}
