import type { Network } from './ip.js'
import { contains, parseAddress, parseNetwork, plainAddress } from './ip.js'

/** Peers that the gateway trusts to report the origin of a request. */
export class TrustedProxies {
  readonly #networks: readonly Network[]

  /**
   * @param cidrs IP addresses and CIDRs
   * @throws {RangeError} naming the entry that is neither an IP address nor a CIDR
   */
  constructor (cidrs: readonly string[]) {
    this.#networks = cidrs.map((cidr) => {
      const network = parseNetwork(cidr)
      if (network === null) throw new RangeError(`"${cidr}" is not an IP address or CIDR (an IPv4 network is written a.b.c.d/n)`)
      return network
    })
  }

  /** @param address the socket's remote address; undefined once the socket is closed, and then not trusted */
  trusts (address: string | undefined): boolean {
    if (this.#networks.length === 0 || address === undefined) return false
    const parsed = parseAddress(address)
    if (parsed === null) return false
    for (let i = 0; i < this.#networks.length; i++) {
      const network = this.#networks[i]
      if (network !== undefined && contains(network, parsed)) return true
    }
    return false
  }
}

/** True when a (lower-case) header reports the origin of a request. The gateway never copies such headers, see `forwardedHeaders`. */
export function isForwarding (name: string): boolean {
  return name.startsWith('x-forwarded-') || name === 'forwarded' || name === 'x-real-ip'
}

/** The connection on which a request arrived. */
export interface Hop {
  /** The socket's remote address; undefined once the socket is closed. */
  readonly peer: string | undefined
  /** `TrustedProxies.trusts(peer)`. */
  readonly trusted: boolean
  /** Scheme of the gateway's own listener. */
  readonly scheme: 'http' | 'https'
  /** The request's Host header. */
  readonly host: string | undefined
}

/**
 * Writes the X-Forwarded headers of the request to the agent. All such headers of an untrusted peer are dropped (CVE-2026-3635), including
 * `Forwarded` (RFC 7239) and X-Real-IP. The headers of a trusted peer are forwarded. The gateway then appends the peer to X-Forwarded-For
 * and adds the headers that the peer did not send.
 * @param rawHeaders the request's headers, name, value, name, value
 * @param out receives name, value, name, value, in lower case
 */
export function forwardedHeaders (rawHeaders: readonly string[], hop: Hop, out: string[]): void {
  let chain = ''
  let proto = false
  let host = false
  if (hop.trusted) {
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = rawHeaders[i]?.toLowerCase()
      const value = rawHeaders[i + 1]
      if (name === undefined || value === undefined || !isForwarding(name)) continue
      if (name === 'x-forwarded-for') {
        if (value !== '') chain = chain === '' ? value : `${chain}, ${value}`
        continue
      }
      if (name === 'x-forwarded-proto') proto = true
      else if (name === 'x-forwarded-host') host = true
      out.push(name, value)
    }
  }
  if (hop.peer !== undefined) {
    const peer = plainAddress(hop.peer)
    chain = chain === '' ? peer : `${chain}, ${peer}`
  }
  if (chain !== '') out.push('x-forwarded-for', chain)
  if (!proto) out.push('x-forwarded-proto', hop.scheme)
  if (!host && hop.host !== undefined) out.push('x-forwarded-host', hop.host)
}

/** Scheme and host, with an optional port, that the client used. */
export interface ClientAddress { readonly scheme: 'http' | 'https', readonly host: string | undefined }

/**
 * Returns the address that the client used. Of several values, the last counts: the nearest proxy wrote that value, and the client may have
 * written the others.
 * @param headers by lower-case name, with repeated lines joined by commas
 */
export function clientAddress (headers: Readonly<Record<string, string | readonly string[] | undefined>>, hop: Hop): ClientAddress {
  if (!hop.trusted) return hop
  const scheme = lastOf(headers['x-forwarded-proto']).toLowerCase()
  const host = lastOf(headers['x-forwarded-host'])
  return { scheme: scheme === 'http' || scheme === 'https' ? scheme : hop.scheme, host: host === '' ? hop.host : host }
}

/**
 * Returns the IP address of the client: the last one that no trusted proxy has.
 * @param peer the socket's remote address
 */
export function clientIp (
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  peer: string | undefined,
  trusted: TrustedProxies
): string | undefined {
  if (!trusted.trusts(peer)) return peer
  const chain = headers['x-forwarded-for']
  const hops = typeof chain === 'string' ? chain.split(',').map(hop => hop.trim()) : []
  const stranger = hops.findLast(hop => !trusted.trusts(hop))
  return stranger === undefined || parseAddress(stranger) === null ? peer : stranger
}

function lastOf (header: string | readonly string[] | undefined): string {
  return typeof header === 'string' ? header.slice(header.lastIndexOf(',') + 1).trim() : ''
}
