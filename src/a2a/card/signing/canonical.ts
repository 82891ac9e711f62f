/**
 * The texts that signatures of a card cover: the JSON Canonicalization Scheme (RFC 8785) over three forms of the card. The specification
 * defines one form (§8.4.1); the official SDKs sign and verify another; a signer that knows no schema signs the JSON as it stands.
 */
import type { JsonObject } from '#wire/json/object.js'
import { isObject, own } from '#wire/json/object.js'
import type { CardField, CardMessage } from './schema.js'
import { AGENT_CARD } from './schema.js'

/** Containers within each other, the outermost included. */
const MAX_DEPTH = 64

/** The value has no canonical form. */
export class NoCanonicalForm extends Error {}

/**
 * Returns the canonical text of a JSON value (RFC 8785). `JSON.parse` keeps the last of two members with one name: texts from outside need
 * `parseStrict`, which rejects them.
 * @throws NoCanonicalForm for lone surrogates, numbers that are not finite, values that are not JSON, and more than 64 levels
 */
export function canonicalize (value: unknown): string {
  return write(value, 1)
}

function write (value: unknown, depth: number): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return quote(value)
  // ECMAScript's serialization of numbers is that of RFC 8785 §3.2.2.3.
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value)
  if (typeof value !== 'object') throw new NoCanonicalForm('the card contains a value that is not JSON')
  if (depth > MAX_DEPTH) throw new NoCanonicalForm(`the card is nested deeper than ${MAX_DEPTH} levels`)
  if (Array.isArray(value)) return `[${value.map(item => write(item, depth + 1)).join(',')}]`
  // The default order of `sort` is that of UTF-16 code units, as RFC 8785 §3.2.3 wants it.
  const members = Object.keys(value).sort().map(key => `${quote(key)}:${write((value as JsonObject)[key], depth + 1)}`)
  return `{${members.join(',')}}`
}

const LONE_SURROGATE = /\p{Surrogate}/u

function quote (text: string): string {
  if (LONE_SURROGATE.test(text)) throw new NoCanonicalForm('the card contains text that is not valid Unicode')
  return JSON.stringify(text)
}

/** `sdk-js`: the SDK form as the JavaScript SDK makes it from a card that it has parsed before. */
export type CardForm = 'json' | 'spec' | 'sdk' | 'sdk-js'

/** One text that a signature may cover. */
export interface CanonicalCard { readonly form: CardForm, readonly text: string }

/** Lists the different canonical texts of a card, the one that covers most first. A form that the card does not have is missing. */
export function canonicalCards (card: JsonObject): CanonicalCard[] {
  const forms: readonly (readonly [CardForm, (card: JsonObject) => string])[] = [
    ['json', jsonForm], ['spec', specForm], ['sdk', sdkForm], ['sdk-js', parsedSdkForm]
  ]
  const canonicalForms: CanonicalCard[] = []
  for (const [form, textOf] of forms) {
    try {
      const text = textOf(card)
      if (!canonicalForms.some(canonicalForm => canonicalForm.text === text)) canonicalForms.push({ form, text })
    } catch (error) {
      if (!(error instanceof NoCanonicalForm)) throw error
    }
  }
  return canonicalForms
}

/** The JSON as it stands, without `signatures`. */
export function jsonForm (card: JsonObject): string {
  return canonicalize(withoutSignatures(card))
}

/**
 * The form of the specification (§8.4.1): without `signatures`, and without members that have their default value, unless they are
 * `REQUIRED` or `optional`. Members that A2A does not define stay.
 */
export function specForm (card: JsonObject): string {
  return canonicalize(withoutDefaults(withoutSignatures(card), AGENT_CARD))
}

/**
 * The form of the official SDKs (JavaScript and Python 1.3): only members that A2A 1.0 defines, without default values, and without empty
 * strings, lists and objects, even inside of `params`.
 * @throws NoCanonicalForm also for values of other types than A2A defines: the SDKs read them differently
 */
export function sdkForm (card: JsonObject): string {
  return canonicalize(cleaned(parsed(card, AGENT_CARD, 1)) ?? {})
}

/**
 * The SDK form as the JavaScript SDK (1.3) makes it from a parsed card: the SDK parses the card again, which loses the security schemes.
 * Its agents sign this form, and its clients verify it; Python, and JavaScript with the JSON itself, use the SDK form.
 * @throws NoCanonicalForm
 */
export function parsedSdkForm (card: JsonObject): string {
  return sdkForm(withoutSchemes(card))
}

/**
 * Returns the part of a card that a signature over one of its SDK forms covers. The REQUIRED members that the form has dropped are there
 * with their default values.
 * @throws NoCanonicalForm
 */
export function coveredBySdkForm (card: JsonObject, form: CardForm = 'sdk'): JsonObject {
  const signed = form === 'sdk-js' ? withoutSchemes(card) : card
  return completed(cleaned(parsed(signed, AGENT_CARD, 1)) as JsonObject | undefined ?? {}, AGENT_CARD)
}

const SCHEMES: ReadonlySet<string> = new Set(['securitySchemes', 'security_schemes'])

function withoutSchemes (card: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(card).filter(([key]) => !SCHEMES.has(key)))
}

/** Lists the keys at the root of a card that a signature over one of its SDK forms does not cover. */
export function uncoveredKeys (card: JsonObject, form: CardForm = 'sdk'): string[] {
  const names = Object.keys(AGENT_CARD.fields).flatMap(name => [name, snakeCase(name)])
  const covered = new Set(form === 'sdk-js' ? names.filter(name => !SCHEMES.has(name)) : names)
  return Object.keys(card).filter(key => key !== 'signatures' && !covered.has(key))
}

function withoutSignatures (card: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(card).filter(([key]) => key !== 'signatures'))
}

function withoutDefaults (value: unknown, message: CardMessage): unknown {
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
      const field = own(message.fields, name) as CardField | undefined
      if (field === undefined) return [[name, member]]
      if (field.required === undefined && field.optional === undefined && isDefault(member, field)) return []
      return [[name, eachOf(member, field, element => typeof field.type === 'string' ? element : withoutDefaults(element, field.type))]]
    })
  )
}

function isDefault (value: unknown, { type, many }: CardField): boolean {
  if (many === 'list') return Array.isArray(value) && value.length === 0
  if (many === 'map') return isObject(value) && Object.keys(value).length === 0
  // A message that is set differs from one that is not.
  return type === 'text' ? value === '' : type === 'flag' && value === false
}

/** Applies a function to the value of a field, or to each of its values. */
function eachOf (value: unknown, { many }: CardField, change: (element: unknown) => unknown): unknown {
  if (many === 'list') return Array.isArray(value) ? value.map(change) : value
  if (many === 'map') return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, change(entry)])) : value
  return change(value)
}

function parsed (value: unknown, message: CardMessage, depth: number): JsonObject {
  // `[]` instead of `{"list": []}`, as some SDKs write the scopes of a requirement: both are empty for all SDKs.
  if (Array.isArray(value) && value.length === 0 && Object.hasOwn(message.fields, 'list')) return {}
  if (!isObject(value)) throw new NoCanonicalForm('a member of the card has another type than A2A defines')
  const members = Object.entries(message.fields).flatMap(([name, field]): [string, unknown][] => {
    const member = memberOf(value, name)
    if (member === undefined) return []
    const read = many(member, field, element => scalarOrMessage(element, field, depth))
    return field.optional === undefined && isDefault(read, field) ? [] : [[name, read]]
  })
  if (message.oneof === true && members.length > 1) throw new NoCanonicalForm('the card sets two members of which only one may be set')
  return Object.fromEntries(members)
}

/** Returns a member under its JSON name or its name in a2a.proto. Null counts as not set. */
function memberOf (value: JsonObject, name: string): unknown {
  const names = new Set([name, snakeCase(name)])
  const values = [...names].map(name => own(value, name)).filter(spelling => spelling !== undefined && spelling !== null)
  if (values.length > 1) throw new NoCanonicalForm(`the card has ${name} in two spellings`)
  return values[0]
}

function snakeCase (name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}

function many (value: unknown, field: CardField, read: (element: unknown) => unknown): unknown {
  const fits = field.many === 'list' ? Array.isArray(value) : field.many !== 'map' || isObject(value)
  if (!fits) throw new NoCanonicalForm('a member of the card has another type than A2A defines')
  return eachOf(value, field, read)
}

function scalarOrMessage (value: unknown, { type }: CardField, depth: number): unknown {
  if (typeof type === 'object') return parsed(value, type, depth + 1)
  const fits = type === 'text' ? typeof value === 'string' : type === 'flag' ? typeof value === 'boolean' : isObject(value)
  if (!fits) throw new NoCanonicalForm('a member of the card has another type than A2A defines')
  return value
}

/** Removes empty strings, lists and objects, and null. @returns undefined when nothing is left */
function cleaned (value: unknown, depth = 1): unknown {
  if (value === '' || value === null) return undefined
  if (typeof value !== 'object') return value
  if (depth > MAX_DEPTH) throw new NoCanonicalForm(`the card is nested deeper than ${MAX_DEPTH} levels`)
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => cleaned(item, depth + 1)).filter(item => item !== undefined)
    return items.length === 0 ? undefined : items
  }
  const members = Object.entries(value as JsonObject).map(([key, member]) => [key, cleaned(member, depth + 1)] as const)
  const entries = members.filter(([, member]) => member !== undefined)
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

function completed (value: JsonObject, message: CardMessage): JsonObject {
  const members = Object.entries(message.fields).flatMap(([name, field]): [string, unknown][] => {
    const { type, required } = field
    const member = own(value, name)
    if (member !== undefined) {
      return [
        [name, eachOf(member, field, element => typeof type === 'string' ? element : completed(element as JsonObject, type))]
      ]
    }
    if (required === undefined) return []
    return [[name, field.many === 'list' ? [] : field.many === 'map' ? {} : type === 'text' ? '' : {}]]
  })
  return Object.fromEntries(members)
}
