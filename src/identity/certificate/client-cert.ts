/** Reads `Client-Cert` (RFC 9440): the certificate of a proxy's client, as a byte sequence of RFC 8941. */
import { X509Certificate } from 'node:crypto'
import type { ClientCertificate } from './certificate.js'
import { certificateOf } from './certificate.js'

/** RFC 9440 §2.2 allows no parameters. */
const BYTES = /^:([A-Za-z0-9+/]+={0,2}):$/

/** @returns null for a header that is not exactly one certificate */
export function readClientCert (header: string): ClientCertificate | null {
  const text = BYTES.exec(header)?.[1]
  if (text === undefined) return null
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) return null
  try {
    const x509 = new X509Certificate(bytes)
    // OpenSSL also reads the PEM form, and ignores bytes behind a certificate.
    return x509.raw.equals(bytes) ? certificateOf(x509) : null
  } catch {
    return null
  }
}
