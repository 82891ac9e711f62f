/** A client certificate (X.509), as far as it names its caller: from TLS, or from a header that a proxy writes. */
import type { X509Certificate } from 'node:crypto'
import { parseJson } from '#wire/json/parse-json.js'

export interface ClientCertificate {
  /** SHA-256 of the DER form in base64url, as `x5t#S256` of RFC 8705 §3.1. Null when the proxy does not send it. */
  readonly thumbprint: string | null
  /** Subject alternative names. All are empty for a certificate whose names cannot be read. */
  readonly names: Names
  /** Milliseconds since the epoch. 0 and Infinity when the proxy does not send them. */
  readonly from: number
  readonly until: number
}

export interface Names {
  readonly uri: readonly string[]
  readonly dns: readonly string[]
  readonly email: readonly string[]
}

export const NO_CERTIFICATE_NAMES: Names = { uri: [], dns: [], email: [] }

/** Values kept of each kind of name. A certificate with more names has none. */
const VALUES = 32

/** @returns null for a certificate whose dates cannot be read */
export function certificateOf (x509: X509Certificate): ClientCertificate | null {
  const [from, until] = [Date.parse(x509.validFrom), Date.parse(x509.validTo)]
  if (Number.isNaN(from) || Number.isNaN(until)) return null
  return {
    thumbprint: Buffer.from(x509.fingerprint256.replaceAll(':', ''), 'hex').toString('base64url'),
    names: readNames(x509.subjectAltName ?? '') ?? NO_CERTIFICATE_NAMES,
    from,
    until
  }
}

/** A name as Node prints it. A value with a delimiter or a quote is a JSON string (CVE-2021-44532). */
const NAME = /([^:",]+):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y
const KINDS: Readonly<Record<string, keyof Names>> = { URI: 'uri', DNS: 'dns', email: 'email' }

/**
 * Reads the subject alternative names of `X509Certificate`.
 * @returns null for a text that is not exactly a list of names
 */
export function readNames (text: string): Names | null {
  const names: Record<keyof Names, string[]> = { uri: [], dns: [], email: [] }
  for (let at = 0; at < text.length; at = NAME.lastIndex) {
    NAME.lastIndex = at
    const [, prefix = '', value = ''] = NAME.exec(text) ?? []
    if (prefix === '') return null
    const kind = Object.hasOwn(KINDS, prefix) ? KINDS[prefix] : undefined
    if (kind === undefined) continue
    const read = value.startsWith('"') ? unquoted(value) : value
    if (read === null || names[kind].push(read) > VALUES) return null
  }
  return names
}

function unquoted (text: string): string | null {
  try {
    return parseJson(text) as string
  } catch {
    return null
  }
}
