import { isBlank, tokenEnd } from './tokens.js'

export interface MediaType {
  /** `type/subtype` in lower case. */
  readonly essence: string
  /** Names in lower case; values as given, quotes and quoting backslashes taken off. */
  readonly parameters: ReadonlyMap<string, string>
}

export interface MediaTypePattern {
  /** `type/subtype` in lower case. */
  readonly essence: string
  /** @returns the values that the pattern's `*` stood for, by parameter name; null when the type does not match */
  match (type: MediaType): Map<string, string> | null
}

const NO_PARAMETERS: ReadonlyMap<string, string> = new Map()

/**
 * Reads a media type by RFC 9110 §8.3.1 and nothing looser: no white space at either end or around `=`, nothing after the
 * last parameter (CVE-2026-3419). Empty parameters (`a/b;;c=d;`) are part of the grammar. A parameter that is named
 * twice makes the whole unreadable, because readers differ on which one counts.
 * @returns null when it is not one; whoever decides on types must treat that as refused, not as absent
 */
export function parseMediaType (text: string): MediaType | null {
  const slash = tokenEnd(text, 0)
  if (slash === 0 || text.charCodeAt(slash) !== SLASH) return null
  let i = tokenEnd(text, slash + 1)
  if (i === slash + 1) return null
  const essence = text.slice(0, i).toLowerCase()
  if (i === text.length) return { essence, parameters: NO_PARAMETERS }

  const parameters = new Map<string, string>()
  while (i < text.length) {
    i = skipBlanks(text, i)
    if (text.charCodeAt(i) !== SEMICOLON) return null
    i = skipBlanks(text, i + 1)
    const equals = tokenEnd(text, i)
    if (equals === i) continue // an empty parameter: the end or the next semicolon follows, or the loop refuses
    if (text.charCodeAt(equals) !== EQUALS) return null
    const name = text.slice(i, equals).toLowerCase()
    if (parameters.has(name)) return null
    const start = equals + 1
    if (text.charCodeAt(start) === QUOTE) {
      i = quotedEnd(text, start)
      if (i === -1) return null
      parameters.set(name, unquote(text, start + 1, i - 1))
    } else {
      i = tokenEnd(text, start)
      if (i === start) return null
      parameters.set(name, text.slice(start, i))
    }
  }
  return { essence, parameters }
}

/**
 * Compiles a pattern such as `application/json;schema=*`: the essence must be equal, every parameter of the pattern must
 * be present with the same value, or with any value where the pattern says `*`. Other parameters do not count.
 * @throws {SyntaxError} when the pattern is not a media type, or has `*` in its type or subtype
 */
export function compileMediaTypePattern (pattern: string): MediaTypePattern {
  const type = parseMediaType(pattern)
  if (type === null) throw new SyntaxError('not a media type: expected type/subtype, then ";name=value" parameters, each name once')
  if (type.essence.includes('*')) throw new SyntaxError('only the value of a parameter may be "*" in a media type pattern')
  return new CompiledPattern(type)
}

class CompiledPattern implements MediaTypePattern {
  readonly essence: string
  readonly #parameters: readonly (readonly [string, string])[]

  constructor (type: MediaType) {
    this.essence = type.essence
    this.#parameters = [...type.parameters]
  }

  match (type: MediaType): Map<string, string> | null {
    if (type.essence !== this.essence) return null
    const captured = new Map<string, string>()
    for (let i = 0; i < this.#parameters.length; i++) {
      const parameter = this.#parameters[i]
      if (parameter === undefined) continue
      const value = type.parameters.get(parameter[0])
      if (value === undefined) return null
      if (parameter[1] === '*') captured.set(parameter[0], value)
      else if (parameter[1] !== value) return null
    }
    return captured
  }
}

/**
 * Whether a Content-Type announces JSON that this gateway reads: `application/json` in UTF-8, with any other parameters.
 * @param value the header's value as Node gives it, without the blanks around it
 * @param alsoA2a whether `application/a2a+json` (A2A 1.0.1 §11.1) is JSON too
 */
export function isJsonContentType (value: string | undefined, alsoA2a: boolean): boolean {
  if (value === 'application/json') return true // nearly every request
  if (value === undefined) return false
  const type = parseMediaType(value)
  if (type === null || !(type.essence === 'application/json' || (alsoA2a && type.essence === 'application/a2a+json'))) return false
  const charset = type.parameters.get('charset')
  return charset === undefined || charset.toLowerCase() === 'utf-8'
}

/**
 * Whether an answer says that it is of one of these types, in UTF-8. A well-known misspelling of that is understood: no client stumbles over it.
 * @param value as `isJsonContentType` has it
 * @param essences in lower case
 */
export function isUtf8Of (value: string, essences: readonly string[]): boolean {
  if (essences.includes(value)) return true
  const type = parseMediaType(value)
  return type !== null && essences.includes(type.essence) && /^utf-?8$/i.test(type.parameters.get('charset') ?? 'utf-8')
}

const QUOTE = 0x22
const SLASH = 0x2f
const SEMICOLON = 0x3b
const EQUALS = 0x3d
const BACKSLASH = 0x5c

function skipBlanks (text: string, at: number): number {
  let i = at
  while (isBlank(text.charCodeAt(i))) i++
  return i
}

/** RFC 9110 §5.6.4. @returns the index after the closing quote, or -1 when there is none or a control character is inside */
function quotedEnd (text: string, open: number): number {
  for (let i = open + 1; i < text.length; i++) {
    let code = text.charCodeAt(i)
    if (code === QUOTE) return i + 1
    if (code === BACKSLASH) code = text.charCodeAt(++i)
    if (!(code >= 0x20 && code !== 0x7f) && code !== 0x09) return -1
  }
  return -1
}

function unquote (text: string, start: number, end: number): string {
  const quoted = text.slice(start, end)
  if (!quoted.includes('\\')) return quoted
  let value = ''
  for (let i = 0; i < quoted.length; i++) {
    if (quoted.charCodeAt(i) === BACKSLASH) i++
    value += quoted[i]
  }
  return value
}
