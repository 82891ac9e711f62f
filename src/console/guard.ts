/**
 * Restricts access to the console: rejects pages of other sites. The admin listener itself checks the host name, and is for operators only.
 */
import type { IncomingHttpHeaders } from 'node:http'

/** A rejection, and how to fix the request. */
export interface Rejected { readonly status: number, readonly error: string }

/** Headers of every response. */
export const HEADERS: readonly (readonly [string, string])[] = [
  ['cache-control', 'no-store'],
  [
    'content-security-policy',
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
      "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
  ],
  ['cross-origin-opener-policy', 'same-origin'],
  ['cross-origin-resource-policy', 'same-origin'],
  ['permissions-policy', 'camera=(), geolocation=(), microphone=()'],
  ['referrer-policy', 'no-referrer'],
  ['x-content-type-options', 'nosniff'],
  ['x-frame-options', 'DENY']
]

/**
 * Rejects reads by pages of other origins, which also must not keep connections open. Browsers send the origin of a request; other programs
 * do not.
 */
export function readProblem (headers: IncomingHttpHeaders): Rejected | null {
  const site = headers['sec-fetch-site']
  return site === undefined || site === 'same-origin' || site === 'none'
    ? null
    : { status: 403, error: "only the console's own page may use this" }
}

/** Rejects writes that do not come from the console's own page. A form or image of another site cannot send the required headers. */
export function writeProblem (headers: IncomingHttpHeaders): Rejected | null {
  const { origin, host } = headers
  const site = headers['sec-fetch-site']
  const same = origin !== undefined && (origin === `http://${host ?? ''}` || origin === `https://${host ?? ''}`)
  if (!same || (site !== undefined && site !== 'same-origin')) {
    return { status: 403, error: "only the console's own page may use this: send Origin with the scheme and host of the console" }
  }
  if (!/^application\/json(?:;\s*charset=utf-8)?$/i.test(headers['content-type'] ?? '')) {
    return { status: 415, error: 'send application/json' }
  }
  return null
}
