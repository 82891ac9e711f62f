/** Finds the client certificate of a request, and the sources that may accept it. */
import { hash, X509Certificate } from 'node:crypto'
import type { Carrier } from '../authentication.js'
import type { Presented } from '../credentials.js'
import type { ClientCertificate } from './certificate.js'
import type { CertificateSource } from './certificate-source.js'
import { readXfcc } from './xfcc.js'
import { certificateOf } from './certificate.js'

export type FoundCertificate =
  | { readonly certificate: ClientCertificate, readonly carrier: Carrier, readonly sources: readonly CertificateSource[] }
  /** A header of a trusted proxy that cannot be read. */
  | { readonly carrier: Carrier, readonly sources: readonly CertificateSource[], readonly certificate: null }
  | { readonly several: readonly Carrier[] }

const CONNECTION: Carrier = { in: 'connection', name: 'certificate', scheme: null }
const HEADERS = { xfcc: 'x-forwarded-client-cert', rfc9440: 'client-cert' } as const
/** Carries the issuers of the certificate (RFC 9440 §2.3). The gateway does not read it. */
const CHAIN = 'client-cert-chain'

/** Headers in memory, as read. */
const ENTRIES = 1_000

/** Sources that read one header in the same way. */
class Slot {
  readonly carrier: Carrier
  readonly sources: CertificateSource[] = []
  private readonly read: (header: string) => ClientCertificate | null
  private readonly known = new Map<string, ClientCertificate | null>()

  constructor (from: keyof typeof HEADERS, hops: number) {
    this.carrier = { in: 'proxy', name: HEADERS[from], scheme: null }
    this.read = from === 'xfcc' ? header => readXfcc(header, hops) : readClientCert
  }

  /** A proxy sends the same header with each request of a connection. */
  certificateIn (header: string): ClientCertificate | null {
    const digest = hash('sha256', header, 'base64')
    let knownCertificate = this.known.get(digest)
    if (knownCertificate === undefined) {
      this.known.set(digest, knownCertificate = this.read(header))
      if (this.known.size > ENTRIES) this.known.delete(this.known.keys().next().value ?? '')
    }
    return knownCertificate
  }
}

export class Certificates {
  /** Where the sources find certificates, each place once. */
  readonly carriers: readonly Carrier[]
  readonly bySource: ReadonlyMap<string, Carrier>
  private readonly direct: readonly CertificateSource[]
  private readonly slots: readonly Slot[]
  /** Headers that only a trusted proxy may write, in lower case. */
  readonly proxyHeaders: ReadonlySet<string>

  constructor (sources: readonly CertificateSource[]) {
    this.direct = sources.filter(({ config }) => config.from === 'tls')
    const slots = new Map<string, Slot>()
    for (const source of sources) {
      const { from, hops } = source.config
      if (from === 'tls') continue
      const key = `${from} ${hops}`
      let slot = slots.get(key)
      if (slot === undefined) slots.set(key, slot = new Slot(from, hops))
      slot.sources.push(source)
    }
    this.slots = [...slots.values()]
    const carriers = new Map(this.slots.map(({ carrier }) => [carrier.name, carrier]))
    this.carriers = [...(this.direct.length === 0 ? [] : [CONNECTION]), ...carriers.values()]
    const inHeaders = this.slots.flatMap(({ carrier, sources }) => sources.map(({ name }) => [name, carrier] as const))
    this.bySource = new Map([...this.direct.map(({ name }) => [name, CONNECTION] as const), ...inHeaders])
    this.proxyHeaders = new Set(this.slots.flatMap(namesOf))
  }

  /**
   * Finds the certificate of the caller. Behind a proxy of a source, only the header counts: the certificate of the connection is the
   * proxy's own, and a caller without a certificate must not get the proxy's identity.
   * @returns null for a request without a certificate; `sources` is empty where a certificate only binds tokens
   */
  find ({ headers, connection: { peer, certificate } }: Presented): FoundCertificate | null {
    let behindProxy = false
    let firstCertificate: FoundCertificate | null = null
    for (const slot of this.slots) {
      const sources = slot.sources.filter(source => source.trusts(peer))
      if (sources.length === 0) continue
      behindProxy = true
      const { carrier } = slot
      const header = headers[carrier.name]
      if (typeof header !== 'string') continue
      if (firstCertificate !== null && 'carrier' in firstCertificate) return { several: [firstCertificate.carrier, carrier] }
      firstCertificate = { certificate: slot.certificateIn(header), carrier, sources }
    }
    if (behindProxy) return firstCertificate
    return certificate === null ? null : { certificate, carrier: CONNECTION, sources: this.direct }
  }

  /** The headers that a peer may write. */
  writtenBy (peer: string | undefined): ReadonlySet<string> {
    return new Set(this.slots.filter(({ sources }) => sources.some(source => source.trusts(peer))).flatMap(namesOf))
  }
}

function namesOf ({ carrier: { name } }: Slot): string[] {
  return name === HEADERS.rfc9440 ? [name, CHAIN] : [name]
}

// Reads `Client-Cert` (RFC 9440): the certificate of a proxy's client, as a byte sequence of RFC 8941.

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
