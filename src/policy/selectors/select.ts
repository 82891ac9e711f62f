/** Compiles selectors of the policy vocabulary to functions over a request or over one result of a response. */
import { memberPath } from '#a2a/fields.js'
import type { MetadataPlace, MetadataSelectorConfig, SelectorConfig } from '#config/model/model.js'
import { isInexact, NOT_EXACT, spendBudget } from '#jsonschema/evaluation.js'
import type { Glob } from '#wire/glob.js'
import { plainHeaderName } from '#wire/header-names.js'
import { compileName, matchingKeys } from '../compile/glob.js'
import type { Holder } from '../request/metadata.js'
import type { SelectContext, Selected, Selector, Steps } from './selection.js'
import { descend, descendPath, NAME_LIMIT, NOWHERE, plain } from './selection.js'
import { compilePart } from './part.js'
import { compilePointer } from './pointer.js'
import type { Subject } from './subject.js'
import { isObject } from '#wire/json/object.js'
import { parsePointer } from '#wire/json/pointer.js'

/** @param located true if the selector must report the places of the values in the request, for edits */
export function compileSelector (config: SelectorConfig, context: SelectContext, located = false): Selector {
  if (config.metadata !== undefined) return compileMetadata({ in: REQUEST_PLACES, ...config.metadata }, context, located)
  if (config.header !== undefined) return compileHeader(config.header)
  if (config.pointer !== undefined) return compilePointer(config.pointer, located)
  return compilePart(config.part ?? {}, context, located)
}

export function compileMetadata (config: MetadataSelectorConfig, context: SelectContext, located: boolean): Selector<Subject> {
  const places = config.in ?? ['message']
  const names = compileName(config.key, context.uris)
  const steps = config.path === undefined ? [] : parsePointer(config.path)
  const sought = { names, steps, equals: config.equals, located }
  // A missing value has one place: in the message if there is one. Each part, artifact or message has metadata of its own.
  const single = places.length === 1 || places.every(place => REQUEST_PLACES.includes(place))
  const only = single && !places.includes('part') ? names[0]?.literal ?? null : null
  return {
    needsMessage: !places.includes('params'),
    missing:
      only === null
        ? null
        : subject =>
          descendPath(memberPath(subject.holders(places)[0]?.path ?? subject.contents(MESSAGE)[0]?.path ?? '', only, NAME_LIMIT), steps),
    select: subject => {
      const selected: Selected[] = []
      for (const holder of subject.holders(places)) selectMetadata(sought, holder, selected)
      return selected
    }
  }
}

const MESSAGE = ['message'] as const
/** Clients put the data of an extension into the metadata of the message, or of the request. */
export const REQUEST_PLACES: readonly MetadataPlace[] = ['message', 'params']
/** Steps of an object that may carry metadata, and of a value that is found. */
const HOLDER_STEPS = 1
const FOUND_STEPS = 1

interface SoughtMetadata {
  readonly names: readonly Glob[]
  readonly steps: readonly string[]
  /** Undefined for any value. */
  readonly equals: unknown
  readonly located: boolean
}

function selectMetadata ({ names, steps, equals, located }: SoughtMetadata, holder: Holder, matches: Selected[]): void {
  spendBudget(HOLDER_STEPS)
  if (!isObject(holder.metadata)) return
  for (const { key, exact } of matchingKeys(holder.metadata, names)) {
    const at: Steps | null = located ? [] : null
    const value = descend(holder.metadata[key], steps, at)
    if (value === undefined || (equals !== undefined && value !== equals)) continue
    spendBudget(FOUND_STEPS)
    const ambiguous = equals !== undefined && isInexact(value) ? NOT_EXACT : null
    matches.push(
      plain(
        descendPath(memberPath(holder.path, key, exact ? NAME_LIMIT : undefined), steps),
        value,
        at === null ? NOWHERE : [...holder.steps(), key, ...at],
        ambiguous
      )
    )
  }
}

function compileHeader (header: string): Selector {
  const name = header.toLowerCase()
  const plainName = plainHeaderName(header)
  const path = `header ${header}`
  return {
    needsMessage: false,
    missing: () => path,
    select: subject => subject.lines(name, plainName).map(line => {
      const sent = subject.rawHeaders[line] ?? ''
      const headerText = plain(path, subject.rawHeaders[line + 1] ?? '', [line])
      return sent.toLowerCase() !== name
        ? { ...headerText, ambiguous: `some agents read ${sent} as ${header}; spell it ${header}` }
        : headerText
    })
  }
}
