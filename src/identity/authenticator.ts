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

  authenticate (presented: Presented, now: number): Authentication {
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
    return slot === null ? MISSING : verified(slot, credential, now)
  }
}

function verified ({ carrier, sources }: Slot, credential: string, now: number): Authentication {
  let last: Verdict | null = null
  for (const source of sources) {
    last = source.verify(credential, now)
    if ('principal' in last) return { kind: 'caller', principal: last.principal, carrier }
    if (!last.foreign) return { kind: 'failed', problem: last.problem, source: source.name, carrier }
  }
  const problem = last === null || 'principal' in last ? 'malformed' : last.problem
  return { kind: 'failed', problem, source: sources.length === 1 ? (sources[0] as Source).name : null, carrier }
}
