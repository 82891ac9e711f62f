/** Which names the admin listener may be asked by: what it shows is not for a page that a stranger's name leads here (DNS rebinding). */
import { isIP } from 'node:net'
import type { ServerConfig } from '../config/model/model.js'

export interface HostProblem { readonly status: number, readonly error: string }

/** Lower case: of the settings, and of the admin listener itself. */
export function adminNames ({ admin, adminHosts, console: { hosts } }: Pick<ServerConfig, 'admin' | 'adminHosts' | 'console'>): ReadonlySet<string> {
  return new Set([admin.host, ...adminHosts, ...hosts].map(name => name.toLowerCase().replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')))
}

/** @param known as {@link adminNames} has them */
export function hostProblem (host: string | undefined, known: ReadonlySet<string>): HostProblem | null {
  const name = nameOf(host)
  if (name === null) return { status: 400, error: 'the header Host is missing or not a host with an optional port' }
  // A name that a stranger's page is loaded from can be made to lead here; an address cannot, nor a name that never leaves the machine.
  if (isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost') || known.has(name)) return null
  return { status: 403, error: `the admin listener does not serve this under the name ${JSON.stringify(name.slice(0, 100))}; use the IP address or localhost, or add the name to server.adminHosts` }
}

/** Lower case, without port, brackets and the dot of a full name. */
function nameOf (host: string | undefined): string | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(host ?? '')
  return match === null ? null : (match[1] ?? match[2] ?? '').toLowerCase().replace(/\.$/, '')
}
