/** Authenticates a request against the sources of the configuration, from its head alone. */
import type { Authentication, Carrier, Carriers, Circumstances, CredentialProblem, Source, CredentialResult } from './authentication.js'
import type { CertificateSource } from './certificate/certificate-source.js'
import type { FoundCertificate } from './certificate/certificates.js'
import { Certificates } from './certificate/certificates.js'
import type { Presented } from './credentials.js'
import { credentialOf } from './credentials.js'
import type { Principal } from './principal.js'
import { combined, required } from './requirement.js'
import { networkOf } from '#wire/ip.js'
import { whenAllReady, whenReady } from '#wire/when-ready.js'
import type { Requirement } from './schemes.js'

/** Sources with the same carrier. */
interface Slot { readonly carrier: Carrier, readonly sources: readonly Source[] }

type Readable = Exclude<FoundCertificate, { readonly several: unknown }>

const MISSING: Authentication = { kind: 'missing' }

export class Authenticator {
  readonly carriers: readonly Carrier[]
  readonly certificates: Certificates
  private readonly slots: readonly Slot[]
  private readonly bySource: ReadonlyMap<string, Carrier>
  /** The last principal of a token with a certificate, by the principal of the token alone. */
  private readonly joined = new WeakMap<Principal, { readonly certificate: Principal, readonly principal: Principal }>()

  constructor (sources: readonly Source[], certificates: readonly CertificateSource[] = []) {
    const slots = new Map<string, { carrier: Carrier, sources: Source[] }>()
    for (const source of sources) {
      const { in: place, name, scheme, metadata } = source.carrier
      const key = JSON.stringify([place, name, scheme, metadata?.namespace, metadata?.key])
      const slot = slots.get(key)
      if (slot === undefined) slots.set(key, { carrier: source.carrier, sources: [source] })
      else slot.sources.push(source)
    }
    this.slots = [...slots.values()]
    this.certificates = new Certificates(certificates)
    this.carriers = [...this.slots.map(({ carrier }) => carrier), ...this.certificates.carriers]
    this.bySource = new Map([...sources.map(({ name, carrier }) => [name, carrier] as const), ...this.certificates.bySource])
  }

  /** The carriers of alternatives of sources. Sources with one carrier make one alternative. */
  carriersOf (alternatives: readonly (readonly string[])[]): Carriers {
    const lists = alternatives.map(names => names.map(name => this.bySource.get(name)).filter(carrier => carrier !== undefined))
    const indexOf = (carrier: Carrier): number => this.carriers.findIndex(other => isSame(carrier, other))
    const keyOf = (carriers: readonly Carrier[]): string => carriers.map(indexOf).sort().join()
    return [...new Map(lists.map(carriers => [keyOf(carriers), carriers])).values()]
  }

  /**
   * A client certificate is no credential that a client chooses for a request. It may therefore come with a token or a key, whose caller
   * counts; that caller gets the SPIFFE ID of the certificate.
   * @param requirement what the agent requires
   * @param isThrottled true when the failures of the client's address are beyond a limit
   */
  authenticate (
    presented: Presented,
    requirement: Requirement,
    now: number,
    isThrottled: (pending?: number) => boolean
  ): Authentication | Promise<Authentication> {
    const verification = this.verified(presented, requirement, { now, isThrottled })
    return whenReady(verification, authentication => required(authentication, requirement, this))
  }

  private verified (
    presented: Presented,
    requirement: Requirement,
    { now, isThrottled }: Pick<Circumstances, 'now' | 'isThrottled'>
  ): Authentication | Promise<Authentication> {
    const outcome = this.certificates.find(presented)
    const { last } = presented.connection
    const network = (): string => networkOf(presented.address?.())
    const { audiences } = requirement
    if (outcome === null) return this.credentials(presented, requirement, { now, isThrottled, network, thumbprint: null, audiences, last })
    if ('several' in outcome) return { kind: 'several', carriers: outcome.several }
    const { certificate, carrier } = outcome
    if (certificate === null) return { kind: 'failed', problem: 'malformed', source: onlyOne(outcome), carrier }
    const { thumbprint } = certificate
    const result = this.credentials(presented, requirement, { now, isThrottled, network, thumbprint, audiences, last })
    if (outcome.sources.length === 0) return result
    return whenReady(result, authentication => this.joinedTo(authentication, outcome, now))
  }

  private credentials (presented: Presented, requirement: Requirement, how: Circumstances): Authentication | Promise<Authentication> {
    let slot: Slot | null = null
    let credential = ''
    for (const candidate of this.slots) {
      const presentedCredential = credentialOf(presented, candidate.carrier)
      if (presentedCredential === null) continue
      if (slot !== null) return this.several(presented, requirement, how)
      slot = candidate
      credential = presentedCredential
    }
    return slot === null ? MISSING : verified(slot, credential, how)
  }

  /** A certificate that no source accepts adds nothing: the caller of the token could also come without it. */
  private joinedTo (result: Authentication, reading: Readable, now: number): Authentication {
    if (result.kind === 'missing') return ofCertificate(reading, now)
    if (result.kind !== 'caller') return result
    const other = ofCertificate(reading, now)
    if (other.kind !== 'caller') return result
    const certificate = other.principal
    let joined = this.joined.get(result.principal)
    if (joined?.certificate !== certificate) {
      const { principal } = result
      const sources = [...principal.sources, certificate.source]
      joined = { certificate, principal: Object.freeze({ ...principal, sources, spiffe: certificate.spiffe }) }
      this.joined.set(principal, joined)
    }
    return { ...result, principal: joined.principal }
  }

  /** Which of two credentials counts must not depend on the order of the sources: they are rejected, unless the agent requires both. */
  private several (presented: Presented, requirement: Requirement, how: Circumstances): Authentication | Promise<Authentication> {
    const filled = this.slots.filter(({ carrier }) => credentialOf(presented, carrier) !== null)
    const fits = (names: readonly string[]): boolean => filled.every(({ sources }) => sources.some(({ name }) => names.includes(name)))
    if (!requirement.alternatives.some(fits)) return { kind: 'several', carriers: filled.map(({ carrier }) => carrier) }
    const results = filled.map(slot => verified(slot, credentialOf(presented, slot.carrier) ?? '', how))
    return whenAllReady(results, authentications => combined(authentications, requirement))
  }
}

function isSame (carrier: Carrier, other: Carrier): boolean {
  return carrier.in === other.in && carrier.name === other.name && carrier.scheme === other.scheme &&
    carrier.metadata?.namespace === other.metadata?.namespace && carrier.metadata?.key === other.metadata?.key
}

function verified (slot: Slot, credential: string, how: Circumstances): Authentication | Promise<Authentication> {
  const { carrier, sources } = slot
  for (const source of sources) {
    const result = source.verify(credential, how)
    // Only the source of the credential needs time: the others know at once that it is foreign.
    const isForeign = 'foreign' in result && result.foreign
    if (!isForeign || sources.length === 1) return whenReady(result, settled => resultOf(slot, source, settled))
  }
  return { kind: 'failed', problem: carrier.scheme === 'bearer' ? 'issuer' : 'unknown_key', source: null, carrier }
}

function resultOf ({ carrier }: Slot, { name }: Source, result: CredentialResult): Authentication {
  if ('principal' in result) return { kind: 'caller', principal: result.principal, carrier }
  if ('unavailable' in result) return { kind: 'unavailable', source: name, retryAfter: result.retryAfter }
  return 'throttled' in result ? { kind: 'throttled', source: name } : { kind: 'failed', problem: result.problem, source: name, carrier }
}

/** The first source that accepts the certificate decides. */
function ofCertificate (reading: Readable, now: number): Authentication {
  const { certificate, carrier, sources } = reading
  if (certificate === null || sources.length === 0) return MISSING
  let problem: CredentialProblem = 'unknown_key'
  for (const source of sources) {
    const result = source.verify(certificate, now)
    if ('principal' in result) return { kind: 'caller', principal: result.principal, carrier }
    if (result.problem !== 'unknown_key') problem = result.problem
  }
  return { kind: 'failed', problem, source: onlyOne(reading), carrier }
}

function onlyOne ({ sources }: Readable): string | null {
  const [first, second] = sources
  return second === undefined ? (first?.name ?? null) : null
}
