/** Digests of what cards say, for agreements about cards (`agents.lock`). */
import { createHash } from 'node:crypto'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import type { LoadedCards } from './loaded-cards.js'
import { canonicalize } from './signing/canonical.js'

/**
 * Names, in lower case and without `_`, of members at the root of a card, or of its `metadata`, that say when the card was made. Agents
 * that generate their card write them anew at every request.
 */
const TIME_MEMBERS: ReadonlySet<string> = new Set([
  'createdat', 'updatedat', 'modifiedat', 'generatedat', 'fetchedat', 'issuedat', 'expiresat', 'lastupdated', 'lastmodified', 'lastchecked',
  'timestamp'
])

/** A date, or a date with a time, of ISO 8601. Other texts could say something to a reader. */
const TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/

/**
 * Returns a card without its freshness fields, the members that may change with every fetch: `signatures`, and times under the names of
 * TIME_MEMBERS. A member with such a name and another kind of value stays.
 */
export function lastingPart (card: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(card).flatMap(([key, value]): [string, unknown][] => {
    if (key === 'signatures' || isTimeMember(key, value)) return []
    if (key !== 'metadata' || !isObject(value)) return [[key, value]]
    return [[key, Object.fromEntries(Object.entries(value).filter(([name, member]) => !isTimeMember(name, member)))]]
  }))
}

function isTimeMember (key: string, value: unknown): boolean {
  if (!TIME_MEMBERS.has(key.replaceAll('_', '').toLowerCase())) return false
  return typeof value === 'number' || (typeof value === 'string' && TIME.test(value))
}

/**
 * Returns `sha256:` and the digest, in hex, of the canonical form (RFC 8785) of a card without its freshness fields. The order of members
 * does not count.
 * @throws NoCanonicalForm for a card that has none
 */
export function cardDigest (card: JsonObject): string {
  return `sha256:${createHash('sha256').update(canonicalize(lastingPart(card))).digest('hex')}`
}

/** Digests of the cards of one agent. */
export interface CardDigests {
  readonly '1.0': string
  /** Null: the same as for 1.0. */
  readonly 0.3: string | null
  /** Null without an extended card. */
  readonly extended: string | null
}

/**
 * @param cards as the agent sent them
 * @throws NoCanonicalForm for cards that have none
 */
export function cardDigests ({ byVersion, extended = null }: Pick<LoadedCards, 'byVersion' | 'extended'>): CardDigests {
  const recent = cardDigest(byVersion['1.0'].card.raw)
  const old = byVersion['0.3'] === byVersion['1.0'] ? recent : cardDigest(byVersion['0.3'].card.raw)
  return { '1.0': recent, 0.3: old === recent ? null : old, extended: extended === null ? null : cardDigest(extended.raw) }
}

export function sameDigests (a: CardDigests, b: CardDigests): boolean {
  return a['1.0'] === b['1.0'] && a['0.3'] === b['0.3'] && a.extended === b.extended
}
