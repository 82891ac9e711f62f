/** Finds schemas of a card that media types name: `application/json;schema=order` and `/schemas/order`. */
import type { AgentCard } from '#a2a/card/card.js'
import { modesOf } from '#a2a/card/modes.js'
import type { CardFinding } from '#a2a/card/lint.js'
import { MAX_QUOTED_CHARS } from '#a2a/card/lint.js'
import { quoted } from '#a2a/fields.js'
import type { PolicyConfig } from '#config/model/model.js'
import { isObject } from '#wire/json/object.js'
import { escapePointer, resolvePointer } from '#wire/json/pointer.js'
import type { MediaTypePattern } from '#wire/media-type.js'
import { compileMediaTypePattern, looseMediaType, parseMediaType } from '#wire/media-type.js'
import { nearest } from '#wire/nearest.js'
import { identitiesOf } from '../compile/identity.js'
import { isFromCard } from '../compile/schema-source.js'

/** The places where rules of one policy search for schemas by name in one card, and the media types that name them. */
export interface NamedSource {
  readonly patterns: readonly MediaTypePattern[]
  /** JSON Pointers with the extension's index filled in. `{name}` represents the name from a media type. */
  readonly templates: readonly string[]
}

/** @returns one source per rule that uses a schema of the card; none when the card does not declare the extension */
export function templatesOf (policy: PolicyConfig, card: AgentCard): NamedSource[] {
  const declared = new Map(card.extensions.map(extension => [extension.uri, extension]))
  const extensions = identitiesOf(policy, declared).flatMap(({ extension, also }) => extension === null ? [] : [extension, ...also])
  return extensions.flatMap(({ index }) =>
    (policy.request ?? []).flatMap(({ schema, select }) => {
      if (schema === undefined || !isFromCard(schema)) return []
      const types = select.part?.mediaType ?? []
      return [{
        patterns: (typeof types === 'string' ? [types] : types).map(compileMediaTypePattern),
        templates: schema.fromCard.map(template => template.replaceAll('{self}', String(index)))
      }]
    })
  )
}

/** Names of the schemas that a policy's rules find in a card. */
export function schemaNames (policy: PolicyConfig, card: AgentCard): string[] {
  return [
    ...new Set(
      templatesOf(policy, card).flatMap(({ templates }) => templates.flatMap(template => namesAt(template, card).map(([name]) => name)))
    )
  ]
}

/** Maximum names of each kind that are reported. A card may hold any number. */
const MAX_REPORTED_NAMES = 100

/** Reports names that a mode uses and no schema has, and schemas that no mode names. Both may be in either card of the agent. */
export function lintNamedSchemas (policy: PolicyConfig, cards: readonly AgentCard[]): CardFinding[] {
  const sources = cards.flatMap(card => templatesOf(policy, card).map(source => ({ ...source, card })))
  const patterns = sources.flatMap(source => source.patterns)
  const declared = new Map(sources.flatMap(({ templates, card }) => templates.flatMap(template => namesAt(template, card))))
  const used = cards.flatMap(card => modesOf(card.raw)).flatMap(({ path, text, side }) => {
    const type = parseMediaType(text) ?? looseMediaType(text)
    return type === null ? [] : patterns.flatMap(pattern => [...pattern.match(type)?.values() ?? []]).map(name => ({ path, name, side }))
  })
  const names = [...declared.keys()].slice(0, MAX_REPORTED_NAMES)
  const undeclared = used.filter(({ name }) => !declared.has(name)).slice(0, MAX_REPORTED_NAMES).map(({ path, name }) => {
    const near = nearest(name, names)
    return {
      message: `${path} names the schema ${quoted(name, MAX_QUOTED_CHARS)}, which the card does not declare`,
      hint:
        near !== null
          ? `did you mean ${quoted(near, MAX_QUOTED_CHARS)}?`
          : declared.size === 0
            ? 'it declares none'
            : `it declares ${names
                .slice(0, 10)
                .map(name => quoted(name, MAX_QUOTED_CHARS))
                .join(', ')}`
    }
  })
  const named = new Set(used.map(({ name }) => name))
  const unused = [...declared].filter(([name]) => !named.has(name)).map(([name, pointer]) => ({
    message: `no input or output mode names the schema ${quoted(name, MAX_QUOTED_CHARS)} at ${quoted(pointer, MAX_QUOTED_CHARS)}`,
    hint: `clients find it through ${patterns[0]?.essence ?? 'application/json'};schema=NAME in defaultInputModes or the modes of a skill`
  }))
  const taken = new Set(used.filter(({ side }) => side === 'input').map(({ name }) => name))
  const outputOnly = [...declared].filter(([name]) => named.has(name) && !taken.has(name)).map(([name, pointer]) => ({
    message: `only output modes name the schema ${quoted(name, MAX_QUOTED_CHARS)} at ${quoted(pointer, MAX_QUOTED_CHARS)}: the gateway ` +
      'accepts requests with it too',
    hint: 'a rule with schema: {enumFromCard: /skills/*/inputModes/*} on the media type rejects them'
  }))
  return [...undeclared, ...unused, ...outputOnly]
}

/** The names in a template's container, each with its pointer. */
function namesAt (template: string, card: AgentCard): [string, string][] {
  const at = template.search(/\/\{[^}]*\}/)
  if (at < 0) return []
  const parent = template.slice(0, at)
  const container = resolvePointer(card.raw, parent)
  return isObject(container) ? Object.keys(container).map(name => [name, `${parent}/${escapePointer(name)}`]) : []
}
