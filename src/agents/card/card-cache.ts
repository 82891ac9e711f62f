import type { IncomingHttpHeaders } from 'node:http'
import { headerValue } from '#upstream/bounded-request.js'

/** Validators of a conditional request, which lets the agent respond "not modified". */
export interface Validators {
  /** URL that sent the validators. They are not valid for another URL. */
  readonly from: string
  readonly etag: string | null
  readonly lastModified: string | null
}

export interface DelayOptions {
  /** Minimum delay, ms. */
  readonly refresh: number
  readonly maxStale: number
  readonly random: () => number
}

/** The first wait after a failure, ms. It is short, so that an agent that starts after the gateway is found quickly. */
const FIRST_RETRY = 500
const JITTER = 0.1
/** Maximum delay of setTimeout, ms. */
export const MAX_TIMER = 2 ** 31 - 1

export function readValidators (from: string, headers: IncomingHttpHeaders): Validators | null {
  const etag = sendable(headers['etag'])
  const lastModified = sendable(headers['last-modified'])
  return etag === null && lastModified === null ? null : { from, etag, lastModified }
}

/**
 * Milliseconds for which the response stays fresh, by RFC 9111 for a shared cache: `s-maxage` before `max-age`, minus `Age`; 0 when the
 * response must not be reused without validation. The code does not use http-cache-semantics, which ignores `Max-Age` and `No-Cache` in
 * capitals, and reads `max-age=1e9` as 1.
 * @returns null when the response states no lifetime
 */
export function cacheLifetime (headers: IncomingHttpHeaders): number | null {
  let maxAge: number | null = null
  let shared: number | null = null
  for (const directive of headerValue(headers['cache-control']).toLowerCase().split(',')) {
    const [name = '', value = ''] = directive.trim().split('=', 2).map((text) => text.trim())
    if (name === 'no-store' || name === 'no-cache' || name === 'private') return 0
    if (name !== 'max-age' && name !== 's-maxage') continue
    const seconds = /^"?(\d+)"?$/.exec(value)?.[1]
    // RFC 9111 §4.2.1: an unreadable value counts as stale; of two values the smaller one applies.
    const age = seconds === undefined ? 0 : Number(seconds) * 1000
    if (name === 'max-age') maxAge = Math.min(maxAge ?? age, age)
    else shared = Math.min(shared ?? age, age)
  }
  const lifetime = shared ?? maxAge
  if (lifetime === null) return null
  const age = /^\d+$/.test(headerValue(headers['age'])) ? Number(headerValue(headers['age'])) * 1000 : 0
  return Math.max(0, lifetime - age)
}

/**
 * Wait after a success: the lifetime that the agent allows, at least `refresh`, and at most half of `maxStale`. A first refresh that fails
 * then leaves time for more attempts before the card expires. Without this limit, the SDK's `max-age=3600` would use up 1 h of `maxStale`.
 */
export function nextRefresh (lifetime: number | null, options: DelayOptions): number {
  const wanted = Math.max(options.refresh, Math.min(lifetime ?? 0, options.maxStale / 2))
  return clamp(jitter(wanted, options.random))
}

/** Wait after the nth failure in a row, counted from 1. */
export function nextRetry (failures: number, options: DelayOptions): number {
  return clamp(jitter(Math.min(options.refresh, FIRST_RETRY * 2 ** Math.min(failures - 1, 30)), options.random))
}

function jitter (delay: number, random: () => number): number {
  return delay * (1 - JITTER + 2 * JITTER * random())
}

function clamp (delay: number): number {
  return Math.min(MAX_TIMER, Math.max(10, Math.round(delay)))
}

/** Returns a value that can be sent back unchanged: short, visible ASCII and blanks. Otherwise null. */
function sendable (value: string | string[] | undefined): string | null {
  return typeof value === 'string' && /^[\x20-\x7e]{1,256}$/.test(value) ? value : null
}
