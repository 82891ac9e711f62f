/** The PEM files of one agent, read once: connections opened later must not mix an old certificate with a new key. */
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { AgentConfig, UpstreamConfig } from '../config/model.js'

export interface TlsFiles {
  readonly ca: Buffer | null
  readonly cert: Buffer | null
  readonly key: Buffer | null
  /** Changes with the contents. */
  readonly fingerprint: string
}

/** @throws Error in plain words when a file cannot be read or used, or key and certificate do not belong together */
export function readTlsFiles (tls: UpstreamConfig['tls']): TlsFiles {
  const [ca, cert, key] = [read(tls.ca, 'ca'), read(tls.cert, 'cert'), read(tls.key, 'key')]
  // OpenSSL takes a file without any certificate for an empty list, and then trusts nobody.
  if (ca !== null) usable(`ca: ${tls.ca}`, () => new X509Certificate(ca))
  if (cert !== null && key !== null) usable(`cert: ${tls.cert}, key: ${tls.key}`, () => { checkPair(cert, key) })
  const hash = createHash('sha256')
  for (const content of [ca, cert, key]) hash.update(content === null ? '-' : `${content.length}:`).update(content ?? '')
  return { ca, cert, key, fingerprint: hash.digest('hex') }
}

/** OpenSSL alone takes a pair of different kinds, such as RSA and Ed25519, and then sends no certificate. */
function checkPair (cert: Buffer, key: Buffer): void {
  createSecureContext({ cert, key })
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) throw new Error('the key is not that of the certificate')
}

/** @returns one sentence per agent whose files cannot be used */
export function tlsProblems (agents: readonly AgentConfig[]): string[] {
  return agents.flatMap(({ name, upstream }) => {
    try {
      readTlsFiles(upstream.tls)
      return []
    } catch (error) {
      return [`agent ${name}: ${(error as Error).message}`]
    }
  })
}

function read (file: string | null, what: string): Buffer | null {
  return file === null ? null : usable(`${what}: ${file}`, () => readFileSync(file))
}

function usable<T> (what: string, use: () => T): T {
  try {
    return use()
  } catch (error) {
    throw new Error(`upstream.tls.${what}: ${error instanceof Error ? error.message : 'cannot be used'}`)
  }
}
