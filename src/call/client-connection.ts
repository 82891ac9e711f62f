/** The connection of a client: its address, and the certificate that TLS has verified. Read once, because reading a certificate is slow. */
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { ClientCertificate } from '#identity/certificate/certificate.js'
import { certificateOf } from '#identity/certificate/certificate.js'
import type { Connection } from '#identity/credentials.js'
import { LastCredential } from '#identity/last-credential.js'

const connections = new WeakMap<Socket, Connection>()

export function connectionOf (socket: Socket): Connection {
  let connection = connections.get(socket)
  if (connection === undefined) {
    connection = {
      peer: socket.remoteAddress,
      certificate: socket instanceof TLSSocket ? verifiedCertificate(socket) : null,
      last: new LastCredential()
    }
    connections.set(socket, connection)
  }
  return connection
}

/** A listener that does not reject invalid certificates itself has sockets that are not authorized. */
function verifiedCertificate (socket: TLSSocket): ClientCertificate | null {
  // Node authorizes a client without a certificate that resumes a session of TLS 1.3.
  const x509 = socket.authorized ? socket.getPeerX509Certificate() : undefined
  return x509 === undefined ? null : certificateOf(x509)
}
