/**
 * Keeps the last requests of each agent in memory for the playground, with `console.requests`. Credentials are not kept. Without the
 * setting, a request costs one comparison.
 */
import type { Binding, Version } from '#a2a/versions.js'
import type { Principal } from '#identity/principal.js'
import type { Outcome } from '#telemetry/metrics/metrics.js'
import { REDACTED, isSecretName } from '#telemetry/redact.js'
import { plainHeaderName } from '#wire/header-names.js'

/** A request as it arrived, without credentials. */
export interface ReceivedRequest {
  readonly method: string
  /** Path and query. */
  readonly target: string
  /** Flat list of names and values. Values of credentials are masked. */
  readonly headers: readonly string[]
  /** Null when the body was too large to keep. For gRPC: the message, without its prefix. */
  readonly body: Uint8Array | null
}

export interface KeptRequest {
  /** Id of the request in logs. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly agent: string
  readonly operation: string
  readonly binding: Binding
  readonly version: Version
  readonly outcome: Outcome
  /** Rule of the rejection, or null. */
  readonly rule: string | null
  readonly caller: Principal | null
  readonly received: ReceivedRequest
}

/** Largest body that is kept, bytes. */
export const KEPT_BODY = 64 * 1024
/** Largest total of bodies and headers in one process, bytes. Beyond it, the oldest requests of the same agent are dropped. */
const TOTAL = 8 * 1024 * 1024
/** Bytes of an entry besides its texts (estimated). */
const ENTRY = 400

export class RequestLog {
  private readonly size: number
  private readonly byAgent = new Map<string, KeptRequest[]>()
  private held = 0

  /** @param size number of requests of each agent, at least 1 */
  constructor (size: number) {
    this.size = size
  }

  add (request: KeptRequest): void {
    let list = this.byAgent.get(request.agent)
    if (list === undefined) this.byAgent.set(request.agent, list = [])
    const bytes = bytesOf(request)
    while (list.length > 0 && (list.length >= this.size || this.held + bytes > TOTAL)) this.held -= bytesOf(list.shift() as KeptRequest)
    if (this.held + bytes > TOTAL) return
    this.held += bytes
    list.push(request)
  }

  /** All requests; those of one agent are in the order of their ends. */
  all (): readonly KeptRequest[] {
    return [...this.byAgent.values()].flat()
  }
}

function bytesOf ({ received: { body, headers, target } }: KeptRequest): number {
  return ENTRY + (body?.length ?? 0) + target.length + headers.reduce((sum, text) => sum + text.length, 0)
}

/** The parts of a request that are kept. `body` is valid during the call only. */
export interface IncomingRequest extends ReceivedRequest {
  /** Lower-case names of headers and query parameters that carry credentials, besides those that logs redact. */
  readonly secret: ReadonlySet<string>
}

/** Copies a request without its credentials, and without the pseudo-headers of HTTP/2. */
export function receivedRequest ({ method, target, headers, body, secret }: IncomingRequest): ReceivedRequest {
  const isSecret = (name: string): boolean => isSecretName(name) || secret.has(name.toLowerCase())
  const lines: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? ''
    if (!name.startsWith(':')) lines.push(name, isSecret(plainHeaderName(name)) ? REDACTED : headers[i + 1] ?? '')
  }
  return { method, target: withoutSecrets(target, isSecret), headers: lines, body: body === null ? null : Uint8Array.from(body) }
}

/** Masks the values of parameters that carry credentials. */
function withoutSecrets (target: string, isSecret: (name: string) => boolean): string {
  const question = target.indexOf('?')
  if (question < 0) return target
  const parameters = target.slice(question + 1).split('&').map(parameter => {
    const [name = ''] = parameter.split('=', 1)
    return isSecret(decoded(name)) ? `${name}=${encodeURIComponent(REDACTED)}` : parameter
  })
  return `${target.slice(0, question)}?${parameters.join('&')}`
}

function decoded (name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
