/**
 * Checks the host name of requests to the admin listener. A page under a foreign host name that resolves to this listener must not read its
 * data (DNS rebinding).
 */
import { isIP } from 'node:net'
import type { ServerConfig } from '#config/model/model.js'

export interface HostProblem { readonly status: number, readonly error: string }

/** Returns the accepted host names in lower case: the names of the settings, and the host of the admin listener itself. */
export function adminNames ({
  admin,
  adminHosts,
  console: { hosts }
}: Pick<ServerConfig, 'admin' | 'adminHosts' | 'console'>): ReadonlySet<string> {
  return new Set(
    [admin.host, ...adminHosts, ...hosts].map(name =>
      name
        .toLowerCase()
        .replace(/^\[(.*)\]$/, '$1')
        .replace(/\.$/, '')
    )
  )
}

/**
 * Returns the problem of a Host header, or null.
 * @param names in the form of {@link adminNames}
 */
export function hostProblem (host: string | undefined, names: ReadonlySet<string>): HostProblem | null {
  const name = nameOf(host)
  if (name === null) return { status: 400, error: 'the header Host is missing or not a host with an optional port' }
  // A foreign page's own host name can be made to resolve to this listener. An IP address cannot, and neither can a name that never leaves
  // the machine.
  if (isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost') || names.has(name)) return null
  return {
    status: 403,
    error: `the admin listener does not serve this under the name ${JSON.stringify(name.slice(0, 100))}; use the IP address or ` +
      'localhost, or add the name to server.adminHosts'
  }
}

/** Returns the host in lower case, without port, brackets and a final dot. */
function nameOf (host: string | undefined): string | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(host ?? '')
  return match === null ? null : (match[1] ?? match[2] ?? '').toLowerCase().replace(/\.$/, '')
}
