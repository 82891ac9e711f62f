/** `push.resolve`: which names of a request the front has to resolve, and the consequence of their addresses. */
import type { Call } from '#a2a/message/call.js'
import { isReservedAddress } from '#wire/reserved-address.js'
import { addressOf } from '#wire/url-pattern.js'
import type { Violation } from '../violation.js'
import type { CompiledPush } from './check.js'
import { addPushViolation } from './check.js'
import { pushConfigsOf } from './configs.js'
import { readPushUrl } from './url.js'

export interface NamedHost {
  readonly name: string
  /** Path of the URL from the root of the request. */
  readonly path: string
}

/** Addresses of a name; null when it does not resolve in time. */
export type AddressesOf = ReadonlyMap<string, readonly string[] | null>

/** @returns the names in URLs that no pattern names; addresses have been checked */
export function hostsToResolve (push: CompiledPush, call: Call): readonly NamedHost[] {
  if (!push.resolve) return NONE
  const hosts: NamedHost[] = []
  for (const config of pushConfigsOf(call) ?? NONE) {
    const text = config.get('url')
    const read = typeof text === 'string' ? readPushUrl(text) : null
    if (read === null || 'problem' in read || addressOf(read.url.hostname) !== null) continue
    if (push.allow?.some(pattern => pattern.namesHost && pattern.matches(read.url)) === true) continue
    hosts.push({ name: read.url.hostname, path: config.pathOf('url') })
  }
  return hosts
}

export function checkAddresses (push: CompiledPush, hosts: readonly NamedHost[], addresses: AddressesOf): readonly Violation[] {
  const violations: Violation[] = []
  for (const { name, path } of hosts) {
    const message = problemOf(addresses.get(name) ?? null)
    if (message === null) continue
    addPushViolation(push, path, message, violations)
  }
  return violations
}

function problemOf (addresses: readonly string[] | null): string | null {
  if (addresses === null || addresses.length === 0) return 'names a host that the gateway cannot resolve'
  const internal = addresses.some(text => {
    const address = addressOf(text.includes(':') ? `[${text}]` : text)
    return address === null || isReservedAddress(address)
  })
  return internal ? 'must not name a host with a private, local or reserved address' : null
}

const NONE: readonly never[] = []
