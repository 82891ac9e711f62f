/** Decides which entries of a source become agents (`agentSources[].admit`). */
import type { Admission } from '#config/model/source-model.js'
import type { LockFile } from '../lock/lock-file.js'

/** What is known about an entry. */
export interface AdmissionFacts {
  /** Name of the agent, as the template makes it. */
  readonly name: string
  /** URL of the card. */
  readonly url: string
  /** Digest of the card; null while the card has not been read. */
  readonly digest: string | null
  /** The key that has signed the catalog or the card; null for none. */
  readonly signedBy: string | null
}

export type Admitted = { readonly admitted: true } | { readonly admitted: false, readonly reason: string }

const ADMITTED: Admitted = { admitted: true }

/** Pure: `lock` has been read before. */
export function isAdmitted (entry: AdmissionFacts, admit: Admission, lock: LockFile): Admitted {
  if (admit === 'all') return ADMITTED
  if (admit === 'signed') return entry.signedBy === null ? waits('no configured key has signed the catalog or the card') : ADMITTED
  const pin = Object.hasOwn(lock.agents, entry.name) ? lock.agents[entry.name] : undefined
  if (pin === undefined) return waits('the agent is not in agents.lock')
  if (pin.url !== entry.url) return waits('agents.lock has another address of the card')
  return pin.digest === entry.digest ? ADMITTED : waits('the card differs from the card in agents.lock')
}

function waits (reason: string): Admitted {
  return { admitted: false, reason }
}
