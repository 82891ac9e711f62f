/** Names and metadata keys of policies, as patterns. */
import { spendBudget } from '#jsonschema/evaluation.js'
import type { Glob } from '#wire/glob.js'
import { compileGlob, fromPieces } from '#wire/glob.js'

const URI = '$uri'

/**
 * Compiles a metadata key or other name of a policy. The name is a glob, or `$uri`, alone or followed by a slash and more text. `$uri`
 * represents each URI of the extension.
 * @returns one pattern per URI
 */
export function compileName (pattern: string, uris: readonly string[]): Glob[] {
  if (pattern !== URI && !pattern.startsWith(`${URI}/`)) return [compileGlob(pattern)]
  const [first = '', ...rest] = pattern.slice(URI.length).split('*')
  return uris.map(uri => fromPieces([uri + first, ...rest]))
}

/** Steps of a key of the data that a pattern is compared with, and of one character of the key. */
const KEY = 0.2
const CHARACTER = 1 / 100

export interface NameMatch { readonly key: string, readonly exact: boolean }

/** Returns the object's own keys that any of the patterns matches. `exact` is true when the policy itself contains the key. */
export function matchingKeys (object: Readonly<Record<string, unknown>>, patterns: readonly Glob[]): NameMatch[] {
  const matches: NameMatch[] = []
  const names = new Set<string>()
  for (const pattern of patterns) {
    if (pattern.literal !== null) {
      if (Object.hasOwn(object, pattern.literal) && !names.has(pattern.literal)) matches.push({ key: pattern.literal, exact: true })
      names.add(pattern.literal)
      continue
    }
    const keys = Object.keys(object)
    spendBudget(keys.length * KEY)
    for (const key of keys) {
      spendBudget(key.length * CHARACTER)
      if (names.has(key) || !pattern.test(key)) continue
      names.add(key)
      matches.push({ key, exact: false })
    }
  }
  return matches
}
