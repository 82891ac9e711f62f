/** The actors of a delegated token (RFC 8693 §4.1). Prior actors are for records, and can make a request too deep; they allow nothing. */
import { isObject } from '#wire/json/object.js'
import { hasToken } from './principal.js'
import type { Principal } from './principal.js'

/** Largest number of actors that a record names. */
const ACTORS = 8
/** Longest subject, as of a caller. */
const MAX_SUBJECT_CHARS = 1_024

/** Returns the subjects of the actors, the current one first. An actor without `sub` is named by `client_id`. */
export function actorsOf (principal: Principal): readonly string[] {
  const { claims } = principal
  if (!hasToken(principal) || claims['act'] === undefined) return NONE
  const actors: string[] = []
  for (let act: unknown = claims['act']; isObject(act) && actors.length < ACTORS; act = act['act']) {
    const name = act['sub'] ?? act['client_id']
    if (typeof name === 'string' && name !== '' && name.length <= MAX_SUBJECT_CHARS) actors.push(name)
  }
  return actors
}

const NONE: readonly never[] = []

/** Returns the number of actors, also of those without a name. */
export function actorDepth ({ claims, ...principal }: Pick<Principal, 'claims' | 'kind'>): number {
  let depth = 0
  if (hasToken(principal)) for (let act: unknown = claims['act']; isObject(act); act = act['act']) depth++
  return depth
}
