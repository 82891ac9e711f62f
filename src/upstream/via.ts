/** What the gateway puts into `Via` (RFC 9110 §7.6.3), and how it knows its own requests again: an upstream URL may lead back to it. */
import { randomBytes } from 'node:crypto'

/** A pseudonym, as the RFC allows: names this process and tells nothing of it. */
const PSEUDONYM = `a2a-gateway-${randomBytes(6).toString('hex')}`

/** Added to every request that is dialled. */
export const VIA = `1.1 ${PSEUDONYM}`

/** @param via the request's header, all lines joined */
export function hasPassedHere (via: string | undefined): boolean {
  return via !== undefined && via.includes(PSEUDONYM)
}
