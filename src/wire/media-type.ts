import { isBlank, tokenEnd } from './tokens.js'

export interface MediaType {
  /** `type/subtype` in lower case. */
  readonly essence: string
  /** Names in lower case. Values as given, without quotes and without the backslashes that quote a character. */
  readonly parameters: ReadonlyMap<string, string>
}

export interface MediaTypePattern {
  /** `type/subtype` in lower case. */
  readonly essence: string
  /** Names of the parameters whose value is `*`, in lower case. */
  readonly captured: readonly string[]
  /** @returns the values in the place of the pattern's `*`, by parameter name; null when the type does not match */
  match (type: MediaType): Map<string, string> | null
}

const NO_PARAMETERS: ReadonlyMap<string, string> = new Map()

/**
 * Reads a media type strictly by RFC 9110 §8.3.1: no white space at either end or around `=`, nothing after the last parameter
 * (CVE-2026-3419). The grammar allows empty parameters (`a/b;;c=d;`). A repeated parameter makes the whole media type invalid, because
 * readers differ on which value counts.
 * @returns null when the text is not a media type; callers that make decisions by type must treat null as rejected, not as absent
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
    if (equals === i) continue // an empty parameter: the end or a semicolon must follow, otherwise the loop returns null
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
 * Reads a media type whose parameters may lack quotes that they need: `application/json;schema=order:v1`. A value ends at a semicolon. The
 * result is a guess: use it only for a text that is known, or to tell the sender how to fix the text.
 * @returns null when quotes alone do not make the text a media type
 */
export function looseMediaType (text: string): MediaType | null {
  const [head = '', ...rest] = text.split(';')
  const parameters = rest.map(part => LOOSE_PARAMETER.exec(part))
  if (parameters.length === 0 || parameters.includes(null)) return null
  const quoted = parameters.map(parameter => {
    const [, name = '', value = ''] = parameter as RegExpExecArray
    return value.startsWith('"') ? `;${name}=${value}` : `;${name}="${value.replace(/["\\]/g, '\\$&')}"`
  })
  return parseMediaType(head.trimEnd() + quoted.join(''))
}

/** Writes a media type, with quotes around the values that need them. */
export function mediaTypeText ({ essence, parameters }: MediaType): string {
  let text = essence
  for (const [name, value] of parameters) {
    text += `;${name}=${value !== '' && tokenEnd(value, 0) === value.length ? value : `"${value.replace(/["\\]/g, '\\$&')}"`}`
  }
  return text
}

const LOOSE_PARAMETER = /^[ \t]*([^\s=";]+)=([^\s;](?:[^;]*[^\s;])?)[ \t]*$/

/**
 * Compiles a pattern such as `application/json;schema=*`. The essence must be equal. Every parameter of the pattern must be present with
 * the same value, or with any value when the pattern has `*`. Other parameters are ignored.
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
  readonly captured: readonly string[]
  readonly #parameters: readonly (readonly [string, string])[]

  constructor (type: MediaType) {
    this.essence = type.essence
    this.#parameters = [...type.parameters]
    this.captured = this.#parameters.filter(([, value]) => value === '*').map(([name]) => name)
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
 * True when a Content-Type declares JSON that this gateway reads: `application/json` in UTF-8, with any other parameters.
 * @param value the header's value as Node returns it, without surrounding white space
 * @param alsoA2a true when `application/a2a+json` (A2A 1.0.1 §11.1) counts as JSON too
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
 * True when a response declares one of these types, in UTF-8. The common misspelling `utf8` is accepted too: all clients understand it.
 * @param value as in `isJsonContentType`
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

/**
 * Finds the end of a quoted string (RFC 9110 §5.6.4). @returns the index after the closing quote, or -1 when there is none or the string
 * holds a control character
 */
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
