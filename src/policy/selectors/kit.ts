/** What selectors of every kind share. */
import { isObject, memberPath } from '../../a2a/fields.js'
import type { InlineSchema } from '../../config/model/model.js'
import type { JsonPath } from '../../wire/json/edit.js'
import type { RequestSubject, Subject } from './subject.js'

/** One value a rule looks at. */
export interface Selected {
  readonly path: string
  /** Path of the media type by which it was selected, or null. */
  readonly typePath: string | null
  readonly value: unknown
  /** Values captured by `name=*` parameters, by name. */
  readonly captures: ReadonlyMap<string, string>
  /** Set where different readers would not select the same: the reason, in words for the caller. */
  readonly ambiguous: string | null
  /** Where it lies: keys from the root of the body, of a part where parts are selected; for a header the position of its line. Empty unless the selector was compiled to tell. */
  readonly at: JsonPath
}

/** Over requests, unless it says otherwise. */
export interface Selector<S extends Subject = RequestSubject> {
  select (subject: S): readonly Selected[]
  /** Whether there is nothing to judge where the request carries no message. */
  readonly needsMessage: boolean
  /** Path of the one value that it can select, or null where there may be several. */
  readonly missing: ((subject: S) => string) | null
}

/** @returns null where nobody can tell: the caller judges as if the value were meant */
export type Matcher = (value: unknown) => boolean | null

export interface SelectContext {
  /** Every URI that stands for the extension; the policy's own first. */
  readonly uris: readonly string[]
  /** Name of the policy. */
  readonly policy: string
  readonly matcher: (schema: InlineSchema) => Matcher
}

/** Of selectors that need not tell where values lie. */
export const NOWHERE: JsonPath = []
export const NO_CAPTURES: ReadonlyMap<string, string> = new Map()
/** Characters of a name that the policy spells out, in a path. */
export const NAME_LIMIT = 512

export function plain (path: string, value: unknown, at: JsonPath, ambiguous: string | null = null): Selected {
  return { path, typePath: null, value, captures: NO_CAPTURES, ambiguous, at }
}

const INDEX = /^(?:0|[1-9]\d{0,8})$/

/** @returns undefined for what is not there */
export function step (value: unknown, name: string): unknown {
  if (Array.isArray(value)) return INDEX.test(name) ? (value[Number(name)] as unknown) : undefined
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

export function descendPath (path: string, steps: readonly string[]): string {
  return steps.reduce((found, name) => INDEX.test(name) ? `${found}[${name}]` : memberPath(found, name, NAME_LIMIT), path)
}
