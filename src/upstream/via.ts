/**
 * The `Via` entry of the gateway (RFC 9110 §7.6.3). It detects requests that return to the gateway, because an upstream URL may lead back
 * to it.
 */
import { randomBytes } from 'node:crypto'

/** A pseudonym, as the RFC allows: it identifies this process and reveals nothing about it. */
const PSEUDONYM = `a2a-gateway-${randomBytes(6).toString('hex')}`

/** Added to every request to an agent. */
export const VIA = `1.1 ${PSEUDONYM}`

/** @param via the request's header, all lines joined */
export function hasPassedHere (via: string | undefined): boolean {
  return via !== undefined && via.includes(PSEUDONYM)
}
