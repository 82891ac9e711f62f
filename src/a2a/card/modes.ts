/** The media types that a card names as input and output modes. */
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import type { MediaType } from '#wire/media-type.js'
import { looseMediaType, parseMediaType } from '#wire/media-type.js'

export interface CardMode {
  /** The list in the card, such as `skills[0].inputModes`. */
  readonly list: string
  /** The mode in the card, such as `skills[0].inputModes[1]`. */
  readonly path: string
  /** The text as the card writes it. */
  readonly text: string
  readonly side: 'input' | 'output'
}

const MODES = [['InputModes', 'input_modes', 'input'], ['OutputModes', 'output_modes', 'output']] as const

/** Lists the modes of a card and of its skills. Values that are not texts are left out. */
export function modesOf (raw: JsonObject): CardMode[] {
  const modes: CardMode[] = []
  const take = (value: unknown, list: string, side: CardMode['side']): void => {
    if (!Array.isArray(value)) return
    value.forEach((text, index) => {
      if (typeof text === 'string') modes.push({ list, path: `${list}[${index}]`, text, side })
    })
  }
  for (const [camel, snake, side] of MODES) {
    for (const key of [`default${camel}`, `default_${snake}`]) take(raw[key], key, side)
  }
  const { skills } = raw
  if (!Array.isArray(skills)) return modes
  skills.forEach((skill: unknown, index) => {
    if (!isObject(skill)) return
    for (const [camel, snake, side] of MODES) {
      for (const key of [camel.replace(/^./, letter => letter.toLowerCase()), snake]) take(skill[key], `skills[${index}].${key}`, side)
    }
  })
  return modes
}

/**
 * Returns the modes of cards that are not well-formed media types because a parameter needs quotes, such as `application/json;schema=a:b`,
 * by their text. Clients send a mode as the card writes it.
 */
export function unquotedModes (cards: readonly JsonObject[]): ReadonlyMap<string, MediaType> {
  const types = new Map<string, MediaType>()
  for (const { text } of cards.flatMap(modesOf)) {
    const type = parseMediaType(text) === null ? looseMediaType(text) : null
    if (type !== null) types.set(text, type)
  }
  return types
}
