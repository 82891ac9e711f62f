/** Versions of Node.js with fixes for its HTTP/2 server, by major version: CVE-2026-21714 and limits of reset streams. */
const FIXED: Readonly<Record<number, readonly [minor: number, patch: number]>> = { 22: [22, 2], 24: [14, 1] }

/**
 * Tells whether a version of Node.js has an HTTP/2 server without known faults. Node.js 20 gets no fixes any more, and its server does not
 * limit reset streams (measured with 20.20.2).
 * @param version as in `process.versions.node`
 */
export function hasSafeHttp2Server (version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  const fixed = FIXED[major]
  return fixed === undefined ? major > 24 : minor > fixed[0] || (minor === fixed[0] && patch >= fixed[1])
}
