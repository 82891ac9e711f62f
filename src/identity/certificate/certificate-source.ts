/** Callers by their client certificate. TLS, or the proxy, has verified the certificate; a source decides which name counts. */
import type { CertificateConfig } from '#config/model/model.js'
import { TrustedProxies } from '#wire/forwarded.js'
import type { CredentialProblem } from '../authentication.js'
import type { Principal } from '../principal.js'
import type { ClientCertificate } from './certificate.js'

export type CertificateResult = { readonly principal: Principal } | { readonly problem: CredentialProblem }

const MAX_NAME_CHARS = 1_024
/** A wildcard names many hosts. */
const HOST = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/
const VISIBLE = /^[\x21-\x7e]+$/
const MALFORMED: CertificateResult = { problem: 'malformed' }
const UNKNOWN: CertificateResult = { problem: 'unknown_key' }
const EXPIRED: CertificateResult = { problem: 'expired' }

export class CertificateSource {
  readonly name: string
  readonly config: CertificateConfig
  private readonly proxies: TrustedProxies
  /** A connection has one certificate for all its requests. */
  private readonly results = new WeakMap<ClientCertificate, CertificateResult>()

  constructor (name: string, config: CertificateConfig) {
    this.name = name
    this.config = config
    this.proxies = new TrustedProxies(config.proxies)
  }

  /** True when the source reads the header of a direct peer. */
  trusts (peer: string | undefined): boolean {
    return this.proxies.trusts(peer)
  }

  /** @param now milliseconds since the epoch: connections can outlive their certificates */
  verify (certificate: ClientCertificate, now: number): CertificateResult {
    if (now < certificate.from || now >= certificate.until) return EXPIRED
    let result = this.results.get(certificate)
    if (result === undefined) this.results.set(certificate, result = this.resultOf(certificate))
    return result
  }

  private resultOf ({ names }: ClientCertificate): CertificateResult {
    const { san, trustDomains } = this.config
    const [uri] = names.uri
    if (uri !== undefined && names.uri.some(isSpiffe)) {
      // X509-SVID §2: exactly one URI. A certificate with a SPIFFE ID is never accepted for another of its names.
      const domain = names.uri.length === 1 ? trustDomainOf(uri) : null
      if (domain === null) return MALFORMED
      return trustDomains.includes(domain) ? { principal: this.principalOf(uri, names, uri) } : UNKNOWN
    }
    if (san === null) return UNKNOWN
    const [name, second] = names[san]
    if (second !== undefined) return MALFORMED
    if (name === undefined || name.length > MAX_NAME_CHARS || !(san === 'dns' ? HOST : VISIBLE).test(name)) return UNKNOWN
    return { principal: this.principalOf(san === 'dns' ? name.toLowerCase() : name, names, null) }
  }

  private principalOf (subject: string, names: ClientCertificate['names'], spiffe: string | null): Principal {
    return Object.freeze({
      source: this.name,
      sources: [this.name],
      kind: 'certificate',
      subject,
      client: subject,
      scopes: [],
      groups: [],
      tenant: null,
      spiffe,
      claims: { uri: [...names.uri], dns: [...names.dns], email: [...names.email] }
    })
  }
}

/** SPIFFE IDs (SPIFFE-ID §2), such as `spiffe://prod.example.com/ns/jobs/sa/batch`. */

/** Lower case only: SPIFFE compares IDs byte by byte once they are in this form. A leaf certificate has a path (X509-SVID §2). */
const SPIFFE_ID = /^spiffe:\/\/([a-z0-9._-]{1,255})((?:\/[A-Za-z0-9._-]+)+)$/
const MAX_SPIFFE_ID_BYTES = 2_048

/** True for a URI with the scheme of SPIFFE, valid or not. */
function isSpiffe (uri: string): boolean {
  return /^spiffe:/i.test(uri)
}

/** @returns null when the URI is not a SPIFFE ID of a workload */
export function trustDomainOf (uri: string): string | null {
  if (uri.length > MAX_SPIFFE_ID_BYTES) return null
  const [, domain = '', path = ''] = SPIFFE_ID.exec(uri) ?? []
  return domain === '' || path.split('/').some(segment => segment === '.' || segment === '..') ? null : domain
}
