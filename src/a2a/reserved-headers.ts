/** Headers that no key of the configuration may set on requests to the agent. */
import { HOP_BY_HOP } from '#wire/headers.js'
import { plainHeaderName } from '#wire/header-names.js'

/**
 * Headers that frame or describe the message, that the gateway writes itself, or that some agents read instead of method and address:
 * another value would make the agent read another request than the one that the gateway has evaluated.
 */
const RESERVED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'host', 'content-length', 'content-type', 'content-encoding', 'content-range', 'accept', 'accept-encoding', 'cookie', 'origin', 'range', 'via',
  'forwarded', 'x-real-ip', 'traceparent', 'tracestate', 'gateway-decision', 'x-http-method-override', 'x-http-method',
  'x-method-override', 'x-original-url', 'x-rewrite-url', 'if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'
])
const PREFIXES = ['a2a-', 'x-a2a-', 'x-forwarded-', 'sec-'] as const

/** @param name in any spelling */
export function isReservedHeader (name: string): boolean {
  const plain = plainHeaderName(name)
  return RESERVED.has(plain) || PREFIXES.some(prefix => plain.startsWith(prefix))
}
