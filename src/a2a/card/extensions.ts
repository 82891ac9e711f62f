import { shorten } from './interfaces.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'

/** One extension that the card declares and the gateway can enforce. */
export interface CardExtension {
  readonly uri: string
  readonly required: boolean
  /** Index in `capabilities.extensions`; -1 when the card declares it elsewhere. */
  readonly index: number
  /** JSON Pointer of the entry, from the card's root. */
  readonly pointer: string
  readonly params: unknown
}

/** Maximum number of extensions in one card. More are a mistake or an attack. */
const MAX_CARD_EXTENSIONS = 64

/** Prefix of the URIs of extensions of the A2A project itself (its governance document). */
export const OFFICIAL_PREFIX = 'https://a2a-protocol.org/extensions/'

/** The end of a segment: a number or a date, with or without `v` before and a pre-release after it. */
const VERSION_SEGMENT = /(?:^|[._-])v?(\d+(?:[._-]\d+)*(?:[._-]?(?:alpha|beta|dev|draft|pre|preview|rc)[._-]?\d*)?)$/i
/** Length of the end of a URI that is searched for a version. */
const VERSION_WITHIN = 300

/** Returns the version in the URI of an extension, such as `1.2` of `https://example.com/ext/order/v1.2`. Null for none. */
export function uriVersion (uri: string): string | null {
  const segments = uri.slice(-VERSION_WITHIN).replace(/^[a-z][a-z0-9+.-]*:(?:\/\/[^/?#]*)?/i, '').split(/[/:?#=@]/)
  return segments.map(segment => VERSION_SEGMENT.exec(segment)?.[1]).findLast(version => version !== undefined) ?? null
}

/** URIs that can stand in `A2A-Extensions` without quotes and without being split: visible ASCII except the comma. */
const SENDABLE = /^[\x21-\x2b\x2d-\x7e]+$/

/**
 * Reads extensions from `capabilities.extensions` and from the card's root; some authors read §4.6.1 of the specification as the root.
 * Warnings are appended to `warnings`.
 * @returns the extensions, one per URI, or the problem that makes the card unusable
 */
export function readExtensions (raw: JsonObject, capabilities: JsonObject, warnings: string[]): CardExtension[] | string {
  const byUri = new Map<string, CardExtension>()
  let count = 0
  for (const [list, root, value] of [
    ['capabilities.extensions', '/capabilities/extensions', capabilities['extensions']],
    ['extensions', '/extensions', raw['extensions']]
  ] as const) {
    if (value === undefined || value === null) continue
    if (!Array.isArray(value)) {
      warnings.push(`"${list}" is not an array; the gateway ignores it`)
      continue
    }
    const standard = list !== 'extensions'
    if (!standard && value.length > 0) {
      warnings.push('extensions are declared at the root of the card; they belong in "capabilities.extensions"')
    }
    count += value.length
    if (count > MAX_CARD_EXTENSIONS) return `the card declares more than ${MAX_CARD_EXTENSIONS} extensions`
    for (let i = 0; i < value.length; i++) {
      readOne(value[i], { where: `${list}[${i}]`, pointer: `${root}/${i}`, index: standard ? i : -1 }, byUri, warnings)
    }
  }
  return [...byUri.values()]
}

interface EntryPlace extends Pick<CardExtension, 'pointer' | 'index'> {
  /** The place in a warning. */
  readonly where: string
}

function readOne (entry: unknown, { where, pointer, index }: EntryPlace, byUri: Map<string, CardExtension>, warnings: string[]): void {
  const uri = isObject(entry) ? entry['uri'] : undefined
  if (!isObject(entry) || typeof uri !== 'string' || uri === '') {
    warnings.push(`${where} has no URI; the gateway ignores the entry`)
    return
  }
  const required = readRequired(entry['required'], `${where} (${shorten(uri)})`, warnings)
  if (!SENDABLE.test(uri)) {
    const what = required ? 'the gateway cannot enforce this required extension' : 'the gateway ignores it'
    warnings.push(`${where}: "${shorten(uri)}" cannot be named in a header (comma, space, control or non-ASCII character): ${what}`)
    return
  }
  const earlier = byUri.get(uri)
  if (earlier === undefined) {
    byUri.set(uri, { uri, required, index, pointer, params: entry['params'] })
    return
  }
  warnings.push(
    `${where} declares ${shorten(uri)} again; the gateway uses the entry at ${earlier.pointer}, and requires the extension if either ` +
      'entry requires it'
  )
  if (required && !earlier.required) byUri.set(uri, { ...earlier, required: true })
}

/**
 * Reads `required`. Any value except a boolean, null or absent counts as true: an agent that wrote `"true"` meant true, and rejecting too
 * much is the safe error.
 */
function readRequired (value: unknown, where: string, warnings: string[]): boolean {
  if (value === undefined || value === null) return false
  if (typeof value === 'boolean') return value
  warnings.push(`${where}: "required" is not a boolean; the gateway treats it as true`)
  return true
}
