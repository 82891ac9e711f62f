/** `server.mesh` of a valid file as the gateway uses it. */
import { parseHostPort } from './host-port.js'
import type { ListenerTlsFile } from './resolve-grpc.js'
import type { ListenerTlsConfig, MeshListenerConfig } from '../model/listener-model.js'

export interface MeshListenerFile {
  readonly listen: string | null
  readonly tls: ListenerTlsFile
}

/** @returns null when there is no listener for a mesh */
export function meshListener ({ listen }: MeshListenerFile, tls: ListenerTlsConfig | null): MeshListenerConfig | null {
  const at = listen === null ? null : parseHostPort(listen)
  return at === null ? null : { listen: at, tls }
}
