/**
 * Obligations of a policy server as effects that the gateway has. An obligation that the gateway does not know, or cannot fulfil, denies
 * (draft of the profile for obligations, "Non-Compliance").
 */
import { isReservedHeader } from '#a2a/reserved-headers.js'
import { visible } from '#a2a/fields.js'
import type { JsonEdit, JsonPath } from '#wire/json/edit.js'
import { parsePointer } from '#wire/json/pointer.js'
import type { Obligation } from './answer.js'
import { VENDOR } from './question.js'

/** A message of a server for people, which the gateway writes to the audit log. */
export interface Notice { readonly to: string, readonly topic: string | null, readonly body: string }

/** What obligations do to one request, or to one response. */
export interface Effects {
  /** Changes of the body; paths from the root of the body. */
  readonly edits: JsonEdit[]
  /** Headers for the agent: name in lower case, value. */
  readonly headers: (readonly [name: string, value: string])[]
  /** Values to remove from each result of the response, as steps; `*` is any step. */
  readonly redactions: (readonly string[])[]
  readonly notices: Notice[]
}

/** The body that obligations may change. */
export interface Target {
  readonly phase: 'request' | 'response'
  /** The request object or the result. Undefined: there is none. */
  readonly value: unknown
  /** Keys from the root of the body to the value. */
  readonly root: JsonPath
  /** Null: the body may change. Otherwise the reason why not, as a predicate. */
  readonly fixed: string | null
  /** True when the gateway reads the response to the request. */
  readonly reads: boolean
}

export function noEffects (): Effects {
  return { edits: [], headers: [], redactions: [], notices: [] }
}

/** Bytes of one value that a server sets. */
const MAX_VALUE = 65_536
const MAX_HEADER = 8_192
/** Places that one pattern with `*` may reach. */
const MAX_PLACES = 10_000
const MAX_TEXT = 1_000

/**
 * Adds the effects of the obligations that the gateway understands.
 * @returns null, or the first obligation that cannot be fulfilled, as text for operators. The others are fulfilled nevertheless
 */
export function fulfil (obligations: readonly Obligation[], target: Target, effects: Effects): string | null {
  let refused: string | null = null
  for (const obligation of obligations) {
    const problem = obligation.type === 'notification'
      ? notify(obligation, effects)
      : obligation.type === 'custom'
        ? act(
          obligation, target, effects
        )
        : 'is of an unknown type'
    if (problem !== null) refused ??= `the obligation ${obligation.id ?? `of type ${obligation.type}`} ${problem}`
  }
  return refused
}

function notify ({ properties: { to, topic, body } }: Obligation, { notices }: Effects): string | null {
  if (typeof to !== 'string' || typeof body !== 'string') return 'needs "to" and "body"'
  notices.push({
    to: visible(to, MAX_TEXT), topic: typeof topic === 'string' ? visible(topic, MAX_TEXT) : null, body: visible(body, MAX_TEXT)
  })
  return null
}

function act ({ properties }: Obligation, target: Target, effects: Effects): string | null {
  const { vendor, action } = properties
  if (vendor !== VENDOR) return `has another vendor than ${VENDOR}`
  switch (action) {
    case 'strip':
    case 'set': return change(action, properties, target, effects)
    case 'header': return addHeader(properties, target, effects)
    case 'redact': return redact(properties, target, effects)
    default: return 'has an unknown action'
  }
}

function stepsOf (path: unknown): readonly string[] | null {
  return typeof path === 'string' && /^(?:\/(?:[^~/]|~[01])*)+$/.test(path) && path.length <= MAX_TEXT ? parsePointer(path) : null
}

function change (action: 'strip' | 'set', { path, value }: Obligation['properties'], target: Target, { edits }: Effects): string | null {
  const steps = stepsOf(path)
  if (steps === null) return 'needs "path", a JSON Pointer'
  if (target.fixed !== null) return target.fixed
  if (typeof target.value !== 'object' || target.value === null) return 'has nothing to change'
  if (action === 'strip') {
    const places = placesOf(target.value, steps)
    if (places === null) return 'reaches too many values'
    for (const place of places) edits.push({ path: [...target.root, ...place], value: null })
    return null
  }
  if (value === undefined) return 'needs "value"'
  const text = Buffer.from(JSON.stringify(value))
  if (text.length > MAX_VALUE) return 'sets a value that is too large'
  const place = settable(target.value, steps)
  if (place === null) return 'sets a value where the body has no place for it'
  edits.push({ path: [...target.root, ...place], value: text })
  return null
}

/** Replaces all lines of the header that the client sent. */
function addHeader ({ name, value }: Obligation['properties'], { phase }: Target, { headers }: Effects): string | null {
  if (phase !== 'request') return 'has no meaning in a response'
  if (typeof name !== 'string' || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name)) return 'needs "name", the name of a header'
  if (
    isReservedHeader(name) ||
    name.toLowerCase() === 'authorization'
  ) return 'sets a header that has a meaning in HTTP, in A2A or for the gateway'
  if (typeof value !== 'string' || value.length > MAX_HEADER || !/^[\x20-\x7e]*$/.test(value)) return 'needs "value", visible ASCII'
  headers.push([name.toLowerCase(), value.trim()])
  return null
}

function redact ({ path }: Obligation['properties'], { phase, reads }: Target, { redactions }: Effects): string | null {
  if (phase !== 'request') return 'has no meaning in a response; use strip'
  const steps = stepsOf(path)
  if (steps === null) return 'needs "path", a JSON Pointer'
  if (!reads) return 'is about a response that the gateway does not read'
  redactions.push(steps)
  return null
}

/** Returns the places below a value that steps reach; `*` is any step. Null for too many. */
export function placesOf (value: unknown, steps: readonly string[]): readonly JsonPath[] | null {
  let places: { readonly path: JsonPath, readonly value: unknown }[] = [{ path: [], value }]
  for (const step of steps) {
    const next: typeof places = []
    for (const { path, value } of places) {
      if (Array.isArray(value)) {
        const list = value as readonly unknown[]
        if (step === '*') list.forEach((item, i) => next.push({ path: [...path, i], value: item }))
        else if (isIndex(step) && Number(step) < list.length) next.push({ path: [...path, Number(step)], value: list[Number(step)] })
      } else if (typeof value === 'object' && value !== null) {
        const object = value as Readonly<Record<string, unknown>>
        for (const name of step === '*' ? Object.keys(object) : Object.hasOwn(object, step) ? [step] : []) {
          next.push({ path: [...path, name], value: object[name] })
        }
      }
      if (next.length > MAX_PLACES) return null
    }
    places = next
  }
  return places.map(({ path }) => path)
}

/** The place of a value to set: every step but the last must exist, and elements of lists too. */
function settable (value: unknown, steps: readonly string[]): JsonPath | null {
  const last = steps.at(-1) as string
  const [holder, ...more] = placesOf(value, steps.slice(0, -1)) ?? []
  if (holder === undefined || more.length > 0 || steps.includes('*')) return null
  let member = value
  for (const step of holder) member = (member as Readonly<Record<string | number, unknown>>)[step]
  if (Array.isArray(member)) return isIndex(last) && Number(last) < member.length ? [...holder, Number(last)] : null
  return typeof member === 'object' && member !== null ? [...holder, last] : null
}

function isIndex (step: string): boolean {
  return /^(?:0|[1-9]\d{0,8})$/.test(step)
}

/** A copy of a value without the places that steps reach: members go, elements of lists become null, so that indexes stay. */
export function withoutPlaces (value: unknown, patterns: readonly (readonly string[])[]): unknown {
  let copy = value
  for (const steps of patterns) copy = without(copy, steps, 0)
  return copy
}

function without (value: unknown, steps: readonly string[], at: number): unknown {
  const step = steps[at]
  if (step === undefined || typeof value !== 'object' || value === null) return value
  const isLast = at === steps.length - 1
  if (Array.isArray(value)) {
    return value.map((item: unknown, i) => (step === '*' || step === String(i)) ? (isLast ? null : without(item, steps, at + 1)) : item)
  }
  return Object.fromEntries(Object.entries(value).flatMap(([name, item]) =>
    step !== '*' && step !== name ? [[name, item]] : isLast ? [] : [[name, without(item, steps, at + 1)]]))
}
