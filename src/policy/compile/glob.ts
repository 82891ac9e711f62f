/** Patterns of names in which `*` represents any characters. No regular expression: the time is linear in the name. */
import { step } from '../../jsonschema/evaluation.js'

export interface Glob {
  /** The only name that matches, or null for a pattern with `*`. */
  readonly literal: string | null
  test (name: string): boolean
}

/** @param pieces the pattern, split at its `*`. The asterisks of a URI that is prepended to the first piece stay literal */
function fromPieces (pieces: readonly string[]): Glob {
  const head = pieces[0] ?? ''
  if (pieces.length === 1) return { literal: head, test: name => name === head }
  const tail = pieces[pieces.length - 1] ?? ''
  const middle = pieces.slice(1, -1).filter(piece => piece !== '')
  return {
    literal: null,
    test: name => {
      if (name.length < head.length + tail.length || !name.startsWith(head) || !name.endsWith(tail)) return false
      let at = head.length
      const end = name.length - tail.length
      for (const piece of middle) {
        const found = name.indexOf(piece, at)
        if (found < 0 || found + piece.length > end) return false
        at = found + piece.length
      }
      return true
    }
  }
}

export function compileGlob (pattern: string): Glob {
  return fromPieces(pattern.split('*'))
}

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
  const found: NameMatch[] = []
  const seen = new Set<string>()
  for (const pattern of patterns) {
    if (pattern.literal !== null) {
      if (Object.hasOwn(object, pattern.literal) && !seen.has(pattern.literal)) found.push({ key: pattern.literal, exact: true })
      seen.add(pattern.literal)
      continue
    }
    const keys = Object.keys(object)
    step(keys.length * KEY)
    for (const key of keys) {
      step(key.length * CHARACTER)
      if (seen.has(key) || !pattern.test(key)) continue
      seen.add(key)
      found.push({ key, exact: false })
    }
  }
  return found
}
