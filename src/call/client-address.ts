/** The address of the gateway that the client of a request used. */
import { hostName } from '#pipeline/agents.js'
import { schemeOf } from '#pipeline/upstream-headers.js'
import type { ClientAddress, TrustedProxies } from '#wire/forwarded.js'
import { clientAddress } from '#wire/forwarded.js'
import { plainAddress } from '#wire/ip.js'
import type { ClientRequest } from './client-streams.js'

/** A host with an optional port that can be part of a URL: stricter than RFC 3986 §3.2.2, which the guard of requests applies. */
const HOST = /^(?:\[[\da-f:.]+\]|[a-z\d._-]+)(?::\d{1,5})?$/i

function addressOf (request: ClientRequest, trusted: boolean): ClientAddress {
  const { socket, headers } = request
  return clientAddress(headers, { peer: undefined, trusted, scheme: schemeOf(socket), host: headers.host })
}

/** True when the host that the client used is one of `hosts`, which are in lower case and without port. */
export function isServed (request: ClientRequest, hosts: ReadonlySet<string>, trusted: TrustedProxies): boolean {
  const { host } = addressOf(request, trusted.trusts(request.socket.remoteAddress))
  return hosts.has(hostName(host).replace(/\.$/, ''))
}

export interface PublicOrigin {
  readonly url: string
  /** True when headers of a trusted proxy may decide the URL. */
  readonly proxied: boolean
}

/**
 * @returns scheme and host that the client used, as the beginning of a URL; null when its host cannot be part of a URL. For a gRPC call:
 * its host, with scheme and port of the main listener
 */
export function publicOriginOf (request: ClientRequest, trusted: TrustedProxies): PublicOrigin | null {
  if (request.main !== undefined) {
    const { scheme, port } = request.main()
    const name = `${hostName(request.headers.host)}:${port}`
    return HOST.test(name) ? { url: `${scheme}://${name}`, proxied: false } : null
  }
  const proxied = trusted.trusts(request.socket.remoteAddress)
  const { scheme, host } = addressOf(request, proxied)
  const name = host === undefined || host === '' ? ownAddress(request) : host.toLowerCase()
  return HOST.test(name) ? { url: `${scheme}://${name}`, proxied } : null
}

/** The address of the listener, for a client of HTTP/1.0 that names no host. */
function ownAddress ({ socket: { localAddress, localPort } }: ClientRequest): string {
  const address = plainAddress(localAddress ?? '')
  return `${address.includes(':') ? `[${address}]` : address}:${localPort ?? ''}`
}
