/** `server.mesh` of a valid file as the gateway uses it. */
import { parseHostPort } from './host-port.js'
import type { MeshListenerKeys } from '../schema/server-schema.js'
import type { ListenerTlsConfig } from './tls-schema.js'
import type { MeshListenerConfig } from '../schema/server-schema.js'

/** @returns null when there is no listener for a mesh */
export function meshListener ({ listen }: MeshListenerKeys, tls: ListenerTlsConfig | null): MeshListenerConfig | null {
  const at = listen === null ? null : parseHostPort(listen)
  return at === null ? null : { listen: at, tls }
}
