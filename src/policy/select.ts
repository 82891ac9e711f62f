/** Selectors and conditions of the policy vocabulary, compiled to functions over the message view. */
import type { MessageView, PartView } from '../a2a/message.js'
import type { ConditionConfig, SelectorConfig } from '../config/model.js'
import type { MediaTypePattern } from '../wire/media-type.js'
import { compileMediaTypePattern, parseMediaType } from '../wire/media-type.js'

/** One value a rule looks at. */
export interface Selected {
  readonly path: string
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
    for (let i = 0; i < message.parts.length; i++) {
      const part = message.parts[i] as PartView
      if (data === true && !part.isData) continue
      const selected = patterns === null
        ? { path: part.dataPath, value: part.data, captures: NO_CAPTURES, ambiguous: null }
        : byMediaType(part, patterns)
      if (selected === null) continue
      found.push(selected)
      if (firstOnly) break
    }
    return found
  }
}

/** A part may state its media type in several places; one that matches selects it, and they must then all say the same. */
function byMediaType (part: PartView, patterns: readonly MediaTypePattern[]): Selected | null {
  let captures: ReadonlyMap<string, string> | null = null
  let ambiguous: string | null = null
  for (const stated of part.mediaTypes) {
    const type = parseMediaType(stated.text)
    if (type === null) {
      if (patterns.some(pattern => looksLike(stated.text, pattern.essence))) ambiguous ??= `${stated.path} is not a well-formed media type`
      continue
    }
    for (const pattern of patterns) captures ??= pattern.match(type)
  }
  if (captures === null && ambiguous === null) return null
  if (ambiguous === null && disagree(part)) ambiguous = `${part.mediaTypes.map(stated => stated.path).join(' and ')} state different media types`
  return { path: part.dataPath, value: part.data, captures: captures ?? NO_CAPTURES, ambiguous }
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
