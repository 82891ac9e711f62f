/** PEM files that the configuration names, read once, so that later connections never mix an old certificate with a new key. */
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { OperatorError } from '#operator-errors.js'

export interface TlsFiles {
  readonly ca: Buffer | null
  readonly cert: Buffer | null
  readonly key: Buffer | null
  /** Changes when the contents change. */
  readonly fingerprint: string
}

/** A file that cannot be read or used. The message is the reason, without the file's name. */
export class TlsFileError extends OperatorError {
  /** Which of the files. */
  readonly setting: 'ca' | 'cert' | 'key'
  /** True when the file could not be read. */
  readonly unreadable: boolean

  constructor (setting: TlsFileError['setting'], cause: unknown) {
    super('A2AGW_ERR_CONFIG_FILE', cause instanceof Error ? cause.message : String(cause))
    this.setting = setting
    this.unreadable = cause instanceof Error && 'syscall' in cause
  }
}

/** @throws TlsFileError when a file cannot be read or used, or when key and certificate do not match */
export function readTlsFiles (tls: Readonly<Record<TlsFileError['setting'], string | null>>): TlsFiles {
  const [ca, cert, key] = [read(tls.ca, 'ca'), read(tls.cert, 'cert'), read(tls.key, 'key')]
  // OpenSSL treats a file without any certificate as an empty list, and then trusts no server.
  if (ca !== null) usable('ca', () => new X509Certificate(ca))
  if (cert !== null && key !== null) {
    const pair = usable('cert', () => new X509Certificate(cert))
    usable('key', () => { checkPair(pair, cert, key) })
  }
  const hash = createHash('sha256')
  for (const content of [ca, cert, key]) hash.update(content === null ? '-' : `${content.length}:`).update(content ?? '')
  return { ca, cert, key, fingerprint: hash.digest('hex') }
}

/**
 * Checks that key and certificate match. OpenSSL alone accepts a pair of different kinds, such as RSA and Ed25519, and then sends no
 * certificate.
 */
function checkPair (certificate: X509Certificate, cert: Buffer, key: Buffer): void {
  const own = createPrivateKey(key)
  if (!certificate.checkPrivateKey(own)) throw new Error('the key does not belong to the certificate')
  createSecureContext({ cert, key })
}

function read (file: string | null, setting: TlsFileError['setting']): Buffer | null {
  return file === null ? null : usable(setting, () => readFileSync(file))
}

function usable<T> (setting: TlsFileError['setting'], use: () => T): T {
  try {
    return use()
  } catch (error) {
    throw new TlsFileError(setting, error)
  }
}
