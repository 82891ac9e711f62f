/** Shared by selectors of every kind. */
import { memberPath } from '#a2a/fields.js'
import type { InlineSchema } from '#config/model/model.js'
import { spendBudget } from '#jsonschema/evaluation.js'
import { keysOf } from '#jsonschema/keyword-functions.js'
import type { JsonPath } from '#wire/json/edit.js'
import type { UnreadValue } from '#wire/json/unread-value.js'
import type { MediaType } from '#wire/media-type.js'
import { childOf } from '#wire/json/pointer.js'
import type { RequestSubject, Subject } from './subject.js'

/** One value that a rule evaluates. */
export interface Selected {
  readonly path: string
  /** Path of the media type that selected the value, or null. */
  readonly typePath: string | null
  readonly value: unknown
  /** Set when nobody had read the value when it was selected: `value` reads it. */
  readonly unread?: UnreadValue
  /** Values captured by `name=*` parameters, by name. */
  readonly captures: ReadonlyMap<string, string>
  /** Set when different readers would select different values: the reason, as text for the caller. */
  readonly ambiguous: string | null
  /** True for a part without data: a stream may append text in fragments, but appends each value of JSON as a whole. */
  readonly fragment: boolean
  /**
   * Place of the value: keys from the root of the body to the value, or to the part when parts are selected. For a header, the position of
   * its line. Empty unless the selector was compiled with `located`.
   */
  readonly at: JsonPath
}

/** A selector, over requests by default. */
export interface Selector<S extends Subject = RequestSubject> {
  select (subject: S): readonly Selected[]
  /** True when there is nothing to evaluate in a request without a message. */
  readonly needsMessage: boolean
  /** True when the selector selects the data of parts as a whole. */
  readonly selectsData?: boolean
  /** Path of the only value that the selector can select, or null when there may be several. */
  readonly missing: ((subject: S) => string) | null
}

/** @returns null when the match is undecidable: the caller then treats the value as matching */
export type Matcher = (value: unknown) => boolean | null

export interface SelectContext {
  /** Every URI of the extension; the policy's own first. */
  readonly uris: readonly string[]
  /** Name of the policy. */
  readonly policy: string
  readonly matcher: (schema: InlineSchema) => Matcher
  /** Returns the URIs under which an extension may be active, given any of its URIs. Complete only after all policies are compiled. */
  readonly activeAs: (uri: string) => readonly string[]
  /** Media types, by their text, that the card writes without the quotes that they need (`unquotedModes`). Default: none. */
  readonly modes?: ReadonlyMap<string, MediaType>
}

/** Place for selectors that do not report places. */
export const NOWHERE: JsonPath = []
export const NO_CAPTURES: ReadonlyMap<string, string> = new Map()
/** Maximum characters, in a path, of a name that the policy contains. */
export const NAME_LIMIT = 512

export function plain (path: string, value: unknown, at: JsonPath, ambiguous: string | null = null): Selected {
  return { path, typePath: null, value, captures: NO_CAPTURES, ambiguous, fragment: false, at }
}

const INDEX = /^(?:0|[1-9]\d{0,8})$/

/** Takes one step in data of a client or an agent: only an index leads into a list, not `length`. */
export function stepInto (value: unknown, name: string): unknown {
  return Array.isArray(value) && !INDEX.test(name) ? undefined : childOf(value, name)
}

/** Keys, and numbers for indexes. */
export type Steps = (string | number)[]

/**
 * Follows a pointer without `*`.
 * @param at receives the steps
 * @returns undefined when the value does not exist
 */
export function descend (value: unknown, steps: readonly string[], at: Steps | null): unknown {
  let member = value
  for (const name of steps) {
    at?.push(Array.isArray(member) ? Number(name) : name)
    member = stepInto(member, name)
  }
  return member
}

/** Returns the path of a value that need not exist. */
export function descendPath (path: string, steps: readonly string[]): string {
  return steps.reduce((prefix, name) => INDEX.test(name) ? `${prefix}[${name}]` : memberPath(prefix, name, NAME_LIMIT), path)
}

/** @param limit maximum characters of a member's name, as for `memberPath` */
export function childPath (path: string, parent: unknown, name: string, limit?: number): string {
  return Array.isArray(parent) ? `${path}[${name}]` : memberPath(path, name, limit)
}

/** A value in a request or in a result. */
export interface Place {
  readonly path: string
  readonly value: unknown
  /** Keys from the root of the body. */
  readonly at: JsonPath
}

/**
 * Collects the values that a pointer of a policy leads to. `*` in the pointer represents any item or member. The data has chosen the names
 * of these members, so their names are shortened in paths.
 */
export function collect (from: Place, steps: readonly string[], places: Place[], depth = 0): void {
  spendBudget(1)
  const name = steps[depth]
  if (name === undefined) {
    places.push(from)
    return
  }
  const { path, value, at } = from
  const wild = name === '*'
  if (wild && (typeof value !== 'object' || value === null)) return
  for (const key of wild ? keysOf(value as object) : [name]) {
    const child = stepInto(value, key)
    if (child !== undefined) {
      collect(
        {
          path: childPath(path, value, key, wild ? undefined : NAME_LIMIT),
          value: child,
          at: [...at, Array.isArray(value) ? Number(key) : key]
        },
        steps,
        places,
        depth + 1
      )
    }
  }
}
