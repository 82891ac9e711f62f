/** Selectors and conditions of the policy vocabulary, compiled to functions over the message view. */
import type { MediaTypePlace, MessageView, PartView } from '../a2a/message.js'
import type { ConditionConfig, SelectorConfig } from '../config/model.js'
import type { MediaType, MediaTypePattern } from '../wire/media-type.js'
import { compileMediaTypePattern, parseMediaType } from '../wire/media-type.js'

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
}

export type Selector = (message: MessageView) => readonly Selected[]
export type Condition = (message: MessageView) => boolean

const NO_CAPTURES: ReadonlyMap<string, string> = new Map()

export function compileSelector (config: SelectorConfig): Selector {
  const { data, mediaType, take } = config.part
  const patterns = mediaType === undefined ? null : (typeof mediaType === 'string' ? [mediaType] : mediaType).map(compileMediaTypePattern)
  const firstOnly = take === 'first'
  return message => {
    const found: Selected[] = []
    const places = new Set<MediaTypePlace>()
    for (let i = 0; i < message.parts.length; i++) {
      const part = message.parts[i] as PartView
      if (data === true && !part.isData) continue
      const match = patterns === null ? UNTYPED : byMediaType(part, patterns)
      if (match === null) continue
      // An agent that reads only one of the places, and compares text, takes the first part that states its type there and plainly: each
      // part that could be some agent's first is judged.
      if (firstOnly && found.length > 0 && match.places.every(place => places.has(place))) continue
      for (const place of match.plainPlaces) places.add(place)
      const ambiguous = match.ambiguous ?? (firstOnly && part.doubt !== null ? `${part.path} ${part.doubt}` : null)
      found.push({ path: part.dataPath, typePath: match.typePath, value: part.data, captures: match.captures, ambiguous })
    }
    return found
  }
}

interface Match {
  readonly captures: ReadonlyMap<string, string>
  readonly ambiguous: string | null
  readonly typePath: string | null
  readonly places: readonly MediaTypePlace[]
  /** Those of `places` where the type is written as the pattern is, which the simplest reader finds too. */
  readonly plainPlaces: readonly MediaTypePlace[]
}

const UNTYPED: Match = { captures: NO_CAPTURES, ambiguous: null, typePath: null, places: [], plainPlaces: [] }

/** A part may state its media type in several places; one that matches selects it, and they must then all say the same. */
function byMediaType (part: PartView, patterns: readonly MediaTypePattern[]): Match | null {
  let captures: ReadonlyMap<string, string> | null = null
  let ambiguous: string | null = null
  let typePath: string | null = null
  const places: MediaTypePlace[] = []
  const plainPlaces: MediaTypePlace[] = []
  for (const stated of part.mediaTypes) {
    const type = parseMediaType(stated.text)
    if (type === null) {
      if (!patterns.some(pattern => looksLike(stated.text, pattern.essence))) continue
      ambiguous ??= `${stated.path} is not a well-formed media type`
    } else {
      const matched = firstMatch(type, patterns)
      if (matched === null) continue
      captures ??= matched
      if (isPlain(stated.text, type, matched.size)) plainPlaces.push(stated.place)
    }
    typePath ??= stated.path
    places.push(stated.place)
  }
  if (typePath === null) return null
  if (ambiguous === null && disagree(part)) ambiguous = `${part.mediaTypes.map(stated => stated.path).join(' and ')} state different media types`
  return { captures: captures ?? NO_CAPTURES, ambiguous, typePath, places, plainPlaces }
}

/** Lower case, no blanks, no quotes, no parameters beside those captured: `application/json;schema=order`. */
function isPlain (text: string, type: MediaType, captured: number): boolean {
  if (type.parameters.size !== captured) return false
  let plain = type.essence
  for (const [name, value] of type.parameters) plain += `;${name}=${value}`
  return plain === text
}

function firstMatch (type: MediaType, patterns: readonly MediaTypePattern[]): ReadonlyMap<string, string> | null {
  for (const pattern of patterns) {
    const captures = pattern.match(type)
    if (captures !== null) return captures
  }
  return null
}

function looksLike (text: string, essence: string): boolean {
  return text.trimStart().toLowerCase().startsWith(essence)
}

function disagree (part: PartView): boolean {
  if (part.mediaTypes.length < 2) return false
  const first = normalised(part.mediaTypes[0]?.text ?? '')
  return part.mediaTypes.some(stated => normalised(stated.text) !== first)
}

function normalised (text: string): string {
  const type = parseMediaType(text)
  if (type === null) return text
  return JSON.stringify([type.essence, [...type.parameters].sort()])
}

/** @returns null for no condition */
export function compileCondition (when: ConditionConfig | undefined, unless: ConditionConfig | undefined): Condition | null {
  if (when === undefined && unless === undefined) return null
  return message => (when === undefined || holds(when, message)) && (unless === undefined || !holds(unless, message))
}

function holds (condition: ConditionConfig, message: MessageView): boolean {
  if (condition.taskId !== undefined && condition.taskId !== message.taskId) return false
  if (condition.contextId !== undefined && condition.contextId !== message.contextId) return false
  return true
}
