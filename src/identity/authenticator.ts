/** Authenticates a request against the sources of the configuration, from its head alone. */
import type { Authentication, Carrier, Carriers, Source, Verdict } from './authentication.js'
import type { Presented } from './credentials.js'
import { credentialOf } from './credentials.js'
import type { Requirement } from './requirement.js'
import { combined, required } from './requirement.js'

/** Sources with the same carrier. */
interface Slot { readonly carrier: Carrier, readonly sources: readonly Source[] }

const MISSING: Authentication = { kind: 'missing' }

export class Authenticator {
  readonly carriers: readonly Carrier[]
  private readonly slots: readonly Slot[]
  private readonly bySource: ReadonlyMap<string, Carrier>

  constructor (sources: readonly Source[]) {
    const slots = new Map<string, { carrier: Carrier, sources: Source[] }>()
    for (const source of sources) {
      const { in: place, name, scheme } = source.carrier
      const key = `${place} ${name} ${scheme ?? ''}`
      const slot = slots.get(key)
      if (slot === undefined) slots.set(key, { carrier: source.carrier, sources: [source] })
      else slot.sources.push(source)
    }
    this.slots = [...slots.values()]
    this.carriers = this.slots.map(({ carrier }) => carrier)
    this.bySource = new Map(sources.map(({ name, carrier }) => [name, carrier]))
  }

  /** The carriers of alternatives of sources. Sources with one carrier make one alternative. */
  carriersOf (alternatives: readonly (readonly string[])[]): Carriers {
    const lists = alternatives.map(names => names.map(name => this.bySource.get(name)).filter(carrier => carrier !== undefined))
    const indexOf = (one: Carrier): number => this.carriers.findIndex(other => isSame(one, other))
    const keyOf = (carriers: readonly Carrier[]): string => carriers.map(indexOf).sort().join()
    return [...new Map(lists.map(carriers => [keyOf(carriers), carriers])).values()]
  }

  /**
   * @param requirement what the agent requires
   * @param braked true when the client may not cause an expensive verification
   */
  authenticate (
    presented: Presented,
    requirement: Requirement,
    now: number,
    braked: () => boolean
  ): Authentication | Promise<Authentication> {
    const found = this.credentials(presented, requirement, { now, braked })
    const carriersOf = (names: readonly (readonly string[])[]): Carriers => this.carriersOf(names)
    return found instanceof Promise
      ? found.then(found => required(found, requirement, carriersOf))
      : required(found, requirement, carriersOf)
  }

  private credentials (presented: Presented, requirement: Requirement, how: Circumstances): Authentication | Promise<Authentication> {
    let slot: Slot | null = null
    let credential = ''
    for (const one of this.slots) {
      const found = credentialOf(presented, one.carrier)
      if (found === null) continue
      if (slot !== null) return this.several(presented, requirement, how)
      slot = one
      credential = found
    }
    return slot === null ? MISSING : verified(slot, credential, how)
  }

  /** Which of two credentials counts must not depend on the order of the sources: they are rejected, unless the agent requires both. */
  private several (presented: Presented, requirement: Requirement, how: Circumstances): Authentication | Promise<Authentication> {
    const filled = this.slots.filter(({ carrier }) => credentialOf(presented, carrier) !== null)
    const fits = (names: readonly string[]): boolean => filled.every(({ sources }) => sources.some(({ name }) => names.includes(name)))
    if (!requirement.alternatives.some(fits)) return { kind: 'several', carriers: filled.map(({ carrier }) => carrier) }
    const results = filled.map(slot => verified(slot, credentialOf(presented, slot.carrier) ?? '', how))
    return results.some(result => result instanceof Promise)
      ? Promise.all(results).then(results => combined(results, requirement))
      : combined(results as Authentication[], requirement)
  }
}

interface Circumstances {
  readonly now: number
  readonly braked: () => boolean
}

function isSame (one: Carrier, other: Carrier): boolean {
  return one.in === other.in && one.name === other.name && one.scheme === other.scheme
}

function verified (slot: Slot, credential: string, { now, braked }: Circumstances): Authentication | Promise<Authentication> {
  const { carrier, sources } = slot
  for (const source of sources) {
    const verdict = source.verify(credential, now, braked)
    // Only the source of the credential needs time: the others know at once that it is foreign.
    if (verdict instanceof Promise) return verdict.then(settled => resultOf(slot, source, settled))
    if (!('foreign' in verdict) || !verdict.foreign || sources.length === 1) return resultOf(slot, source, verdict)
  }
  return { kind: 'failed', problem: carrier.scheme === 'bearer' ? 'issuer' : 'unknown_key', source: null, carrier }
}

function resultOf ({ carrier }: Slot, { name }: Source, verdict: Verdict): Authentication {
  if ('principal' in verdict) return { kind: 'caller', principal: verdict.principal, carrier }
  if ('unavailable' in verdict) return { kind: 'unavailable', source: name, retryAfter: verdict.retryAfter }
  return 'braked' in verdict ? { kind: 'braked', source: name } : { kind: 'failed', problem: verdict.problem, source: name, carrier }
}
