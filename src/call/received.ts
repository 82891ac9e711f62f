/** Copies of requests for the playground of the console, with `console.requests`. */
import { KEPT_BODY, receivedRequest } from '#console/playground/request-log.js'
import type { ReceivedRequest } from '#console/playground/request-log.js'
import type { Identity } from '#agents/identity/identity.js'
import { whole } from '#wire/chunked-buffer.js'
import { plainHeaderName } from '#wire/header-names.js'
import type { Work } from './work.js'
import type { Exchange } from './exchange.js'

const NONE: ReadonlySet<string> = new Set()

/** Copies a request whose body has arrived. */
export function receivedOf ({ request, identity, binding }: Exchange, { sent, bytes }: Pick<Work, 'sent' | 'bytes'>): ReceivedRequest {
  const { method = 'POST', url = '/', rawHeaders, headers: { host } } = request
  // A frame of gRPC has a prefix, and may be compressed.
  const body = binding === 'GRPC' ? bytes : sent
  const named = rawHeaders.some((name, i) => i % 2 === 0 && name.toLowerCase() === 'host')
  return receivedRequest({
    method,
    target: url,
    headers: named || host === undefined ? rawHeaders : ['host', host].concat(rawHeaders),
    body: body.length > KEPT_BODY ? null : whole(body),
    secret: identity === null ? NONE : secretNames(identity)
  })
}

/** Names of headers, in every spelling, and of query parameters that carry credentials. */
function secretNames ({ authenticator: { carriers } }: Identity): ReadonlySet<string> {
  return new Set(carriers.flatMap(({ name }) => [name.toLowerCase(), plainHeaderName(name)]))
}
