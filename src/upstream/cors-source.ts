/** The cross-origin policy (CORS) of an agent, for responses that the gateway writes itself. */
import type { Dispatcher } from 'undici'
import { ignoreErrors } from '#guard.js'
import { VIA } from './via.js'

/** Time for which the policy of an origin is used, ms. */
const FRESH = 60_000
/** The same after a request that failed. */
const FAILED = 5_000
/** Timeout of a request to the agent, ms. */
const TIMEOUT = 2_000
/** Largest number of origins whose policy is kept. The oldest is dropped first. */
const KEPT = 256
/** Requests in flight. Further origins get no headers, because a client may name any number of origins. */
const AT_ONCE = 8
/** Largest length of an origin and of a header of the agent, in characters. */
const MAX_HEADER_CHARS = 1_000

/** Response headers that the gateway copies. The headers of preflights are those of the agent's own responses. */
const COPIED = ['access-control-allow-origin', 'access-control-allow-credentials', 'access-control-expose-headers', 'timing-allow-origin']

interface Known { readonly headers: readonly string[], readonly until: number }

/** A request whose response shows the policy. */
export interface CorsQuestion {
  /** The header `Origin` of the client's request. */
  readonly origin: string
  readonly path: string
  /** `GET` for an address that a GET may read, `OPTIONS` (a preflight) for others: no other request is free of effects. */
  readonly method: 'GET' | 'OPTIONS'
}

const NO_HEADERS: readonly string[] = []

export class CorsSource {
  private readonly dispatcher: () => Dispatcher
  private readonly known = new Map<string, Known>()
  private readonly asking = new Map<string, Promise<readonly string[]>>()

  /** @param dispatcher returns connections to the origin of the agent */
  constructor (dispatcher: () => Dispatcher) {
    this.dispatcher = dispatcher
  }

  /**
   * Returns the headers for responses to that origin, as a flat list of names and values.
   * @returns a promise, which never rejects, when the agent has to be asked
   */
  headersFor (question: CorsQuestion): readonly string[] | Promise<readonly string[]> {
    const { origin, path, method } = question
    if (origin.length > MAX_HEADER_CHARS || !/^[\x21-\x7e]+$/.test(origin)) return NO_HEADERS
    const key = `${method} ${path} ${origin}`
    const entry = this.known.get(key)
    if (entry !== undefined && performance.now() < entry.until) return entry.headers
    const asking = this.asking.get(key)
    if (asking !== undefined) return asking
    if (this.asking.size >= AT_ONCE) return entry?.headers ?? NO_HEADERS
    const asked = this.ask(question).then(headers => {
      this.asking.delete(key)
      this.known.delete(key)
      this.known.set(key, { headers: headers ?? NO_HEADERS, until: performance.now() + (headers === null ? FAILED : FRESH) })
      if (this.known.size > KEPT) this.known.delete(this.known.keys().next().value as string)
      return headers ?? NO_HEADERS
    })
    this.asking.set(key, asked)
    return asked
  }

  /** @returns null when the agent does not respond */
  private async ask ({ origin, path, method }: CorsQuestion): Promise<readonly string[] | null> {
    const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'a2a-version,content-type' }
    try {
      const { headers, body } = await this.dispatcher().request({
        path,
        method,
        headers: { origin, via: VIA, ...(method === 'OPTIONS' ? preflight : {}) },
        headersTimeout: TIMEOUT,
        bodyTimeout: TIMEOUT,
        signal: AbortSignal.timeout(TIMEOUT)
      })
      ignoreErrors(body)
      body.destroy()
      return COPIED.flatMap(name => {
        const value = headers[name]
        return typeof value === 'string' && value.length <= MAX_HEADER_CHARS ? [name, value] : []
      })
    } catch {
      return null
    }
  }
}
