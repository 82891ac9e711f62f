/** Authenticates a request against the sources of the configuration, from its head alone. */
import type { Authentication, Carrier, Source, Verdict } from './authentication.js'
import type { Presented } from './credentials.js'
import { credentialOf } from './credentials.js'

/** Sources with the same carrier. */
interface Slot { readonly carrier: Carrier, readonly sources: readonly Source[] }

const MISSING: Authentication = { kind: 'missing' }

export class Authenticator {
  readonly carriers: readonly Carrier[]
  private readonly slots: readonly Slot[]

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
  }

  /** @param braked true when the client may not cause an expensive verification */
  authenticate (presented: Presented, now: number, braked: () => boolean): Authentication | Promise<Authentication> {
    let slot: Slot | null = null
    let credential = ''
    for (const one of this.slots) {
      const found = credentialOf(presented, one.carrier)
      if (found === null) continue
      // Which of two credentials counts must not depend on the order of the sources.
      if (slot !== null) return { kind: 'several', carriers: [slot.carrier, one.carrier] }
      slot = one
      credential = found
    }
    return slot === null ? MISSING : verified(slot, credential, now, braked)
  }
}

function verified (slot: Slot, credential: string, now: number, braked: () => boolean): Authentication | Promise<Authentication> {
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
