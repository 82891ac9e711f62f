/**
 * Addresses that no service on the public Internet has: private, shared, loopback, link-local, documentation, multicast and reserved
 * (IANA special-purpose registries, RFC 6890), and the IPv6 forms that contain IPv4 addresses (RFC 4291, 6052, 3056, 4380).
 */
import type { Address, Network } from './ip.js'
import { contains, parseNetwork } from './ip.js'

const RESERVED: readonly Network[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // ::, ::1 and IPv4-compatible addresses.
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  // Protocol assignments, with Teredo.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8'
].map(text => parseNetwork(text) as Network)

/** @param address as `parseAddress` returns it; an IPv4 address mapped into IPv6 is judged as the IPv4 address */
export function isReservedAddress (address: Address): boolean {
  return RESERVED.some(network => contains(network, address))
}

/** Top-level names of local networks (RFC 6761, 6762, 8375, ICANN's `.internal`), and names that routers use. */
const LOCAL = /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|private|corp|home|lan|home\.arpa)$/

/** @param name in lower case, without a final dot. A name of one label resolves in the local domain. */
export function isLocalName (name: string): boolean {
  return !name.includes('.') || LOCAL.test(name)
}
