/** TLS of the main listener (`server.tls`): its options at start, and its files when they change. */
import type { Server as NetServer } from 'node:net'
import type { ServerOptions } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { Server as TlsServer } from 'node:tls'
import { X509Certificate } from 'node:crypto'
import { ownerOf, run } from '#guard.js'
import type { Log } from '#telemetry/log.js'
import type { TlsFiles } from '#upstream/tls.js'
import { readTlsFiles, TlsFileError } from '#upstream/tls.js'
import type { ListenerTlsConfig } from '#config/model/model.js'
import { errorAt } from '#operator-errors.js'

const MAIN = 'server.tls'

/** RFC 9325, section 3.1.1: no TLS before 1.2. */
const MINIMUM = 'TLSv1.2'

/** @param place in the configuration. @throws Error with a readable message when a file cannot be read or used */
function filesOf ({ cert, key, clientCa }: ListenerTlsConfig, place: string): TlsFiles {
  try {
    return readTlsFiles({ ca: clientCa, cert, key })
  } catch (error) {
    if (!(error instanceof TlsFileError)) throw error
    const file = { ca: clientCa, cert, key }[error.setting]
    throw errorAt(`${place}.${error.setting === 'ca' ? 'clientCa' : error.setting}: ${file}`, error, error.code)
  }
}

function contextOf ({ ca, cert, key }: TlsFiles): Pick<ServerOptions, 'ca' | 'cert' | 'key' | 'minVersion'> {
  return { ca: ca ?? undefined, cert: cert ?? undefined, key: key ?? undefined, minVersion: MINIMUM }
}

/**
 * Options of `https.createServer` at start. {@link ListenerCertificate} changes the files later.
 * @param handshakeTimeout milliseconds that a client has for the handshake
 * @throws Error with a readable message when a file cannot be read or used
 */
export function tlsOptions (tls: ListenerTlsConfig, handshakeTimeout: number, place = MAIN): ServerOptions {
  return {
    ...contextOf(filesOf(tls, place)),
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout,
    requestCert: tls.clientCertificate !== 'none',
    // Node would end a connection with an invalid certificate without any event: no log line, no count.
    rejectUnauthorized: false
  }
}

/**
 * Ends connections without an acceptable client certificate, before the gateway reads a byte of them.
 * @param onRejected called with the reason and the address of the client
 */
export function requireCertificates (
  server: TlsServer,
  mode: ListenerTlsConfig['clientCertificate'],
  onRejected: (reason: string, client: string | undefined) => void
): void {
  if (mode === 'none') return
  const check = (socket: TLSSocket): void => {
    const none = socket.getPeerX509Certificate() === undefined
    // Node authorizes a client without a certificate that resumes a session of TLS 1.3.
    if (none ? mode === 'request' : socket.authorized) return
    onRejected(none ? 'no client certificate' : `invalid client certificate: ${String(socket.authorizationError)}`, socket.remoteAddress)
    socket.destroy()
  }
  // eslint-disable-next-line no-restricted-syntax -- the listener guards itself: only it knows the socket
  server.on('secureConnection', socket => {
    run(ownerOf('http', () => { socket.destroy() }), () => { check(socket) })
  })
}

/** The certificate that new connections get. Open connections keep theirs. */
export class ListenerCertificate {
  private readonly server: TlsServer | null
  private readonly log: Log
  private readonly place: string
  private fingerprint: string | null = null

  /** @param place of the files in the configuration */
  constructor (server: NetServer, log: Log, place = MAIN) {
    this.server = server instanceof TlsServer ? server : null
    this.log = log
    this.place = place
  }

  /** Reads the files, and uses their contents from now on. Files that cannot be used leave the last good contents in force. */
  use (tls: ListenerTlsConfig | null): void {
    const { server, log, place } = this
    if (server === null || tls === null) return
    try {
      const files = filesOf(tls, place)
      if (files.fingerprint === this.fingerprint) return
      server.setSecureContext(contextOf(files))
      this.fingerprint = files.fingerprint
      if (files.cert === null) return
      const { subjectAltName, validTo } = new X509Certificate(files.cert)
      log.info(
        { certificate: subjectAltName ?? '', validTo },
        `${place === MAIN ? 'the main listener uses' : 'gRPC listeners use'} this certificate for new connections`
      )
    } catch (error) {
      log.error({ err: error }, `the files of ${place} cannot be used; the last good ones stay in use`)
    }
  }
}
