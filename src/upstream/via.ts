/**
 * The `Via` entry of the gateway (RFC 9110 §7.6.3). It detects requests that return to the gateway, because an upstream URL may lead back
 * to it.
 */
import { randomBytes } from 'node:crypto'

/** A pseudonym, as the RFC allows: it identifies this process and reveals nothing about it. */
const PSEUDONYM = `a2a-gateway-${randomBytes(6).toString('hex')}`

/** Added to every request to an agent over HTTP/1.1. */
export const VIA = `1.1 ${PSEUDONYM}`
/** Added to every gRPC call. */
export const VIA_HTTP2 = `2 ${PSEUDONYM}`

/** @param via the request's header, all lines joined */
export function hasPassedHere (via: string | undefined): boolean {
  return via !== undefined && via.includes(PSEUDONYM)
}
