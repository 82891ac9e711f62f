/**
 * Keeps connections to addresses that others name (entries of catalogs, and their cards) away from private, local and reserved networks.
 * The guard looks at the addresses that are dialled: a name whose address changes later gets no other treatment.
 */
import dns from 'node:dns'
import type { LookupFunction } from 'node:net'
import type { AgentOrigin } from '#config/model/model.js'
import type { Network } from '#wire/ip.js'
import { contains, parseAddress, parseNetwork } from '#wire/ip.js'
import { isLocalName, isReservedAddress } from '#wire/reserved-address.js'
import { addressOf, withoutFinalDot } from '#wire/url-pattern.js'

/** Error of a connection that the guard has rejected. */
export const PRIVATE_ADDRESS = 'ERR_PRIVATE_ADDRESS'

export class AddressGuard {
  readonly #networks: readonly Network[]

  /** @param allowed private networks that are allowed, as addresses and CIDRs */
  constructor (allowed: readonly string[]) {
    this.#networks = allowed.map(parseNetwork).filter(network => network !== null)
  }

  /** @returns null for an agent of the file, and of a cluster: their addresses may be private */
  static of (origin: AgentOrigin | null): AddressGuard | null {
    return origin === null || origin.allowPrivate === null ? null : new AddressGuard(origin.allowPrivate)
  }

  /** True for a public address, and for an address in an allowed network. */
  allows (text: string): boolean {
    const address = parseAddress(text)
    if (address === null) return false
    return !isReservedAddress(address) || this.#networks.some(network => contains(network, address))
  }

  /**
   * Checks a URL before anything is resolved.
   * @returns the problem as the rest of a sentence that begins with the URL; null for none
   */
  problemOf ({ protocol, hostname }: URL): string | null {
    const address = addressOf(hostname)
    const some = this.#networks.length > 0
    if (protocol !== 'https:' && !some) return 'is not https (allowPrivate allows http in private networks)'
    if (address !== null) return this.allows(hostname.replace(/^\[|\]$/g, '')) ? null : PRIVATE
    return !some && isLocalName(withoutFinalDot(hostname)) ? 'names a host of a local network (allowPrivate)' : null
  }

  /** Resolves a name as Node does, for sockets. Fails when one of its addresses is not allowed. */
  readonly lookup: LookupFunction = (name, options, callback) => {
    dns.lookup(name, { ...options, all: true, verbatim: true }, (error, addresses) => {
      if (error !== null) return callback(error, '', 0)
      if (!addresses.every(({ address }) => this.allows(address))) {
        return callback(Object.assign(new Error(`the name ${PRIVATE}`), { code: PRIVATE_ADDRESS }), '', 0)
      }
      if (options.all === true) return callback(null, addresses)
      const [first] = addresses
      callback(null, first?.address ?? '', first?.family ?? 0)
    })
  }
}

const PRIVATE = 'has a private, local or reserved address (allowPrivate)'
