/** Compiles `card.views`: which caller sees which part of the card. */
import { readExtensions } from '#a2a/card/extensions.js'
import type { CardSelection } from '#a2a/card/view.js'
import { isRequired, selectFromCard } from '#a2a/card/view.js'
import { quoted } from '#a2a/fields.js'
import { ALL } from '#config/model/card-model.js'
import type { AgentConfig, CardViewConfig, PolicyConfig } from '#config/model/model.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { parsePointer } from '#wire/json/pointer.js'
import type { CallerCondition, CallerMatcher } from '../access/caller.js'
import { compileCaller } from '../access/caller.js'
import { claimedUris, identitiesOf } from '../compile/identity.js'

export interface CardView {
  readonly id: string
  readonly matches: CallerCondition
  /** Returns the part of a card that the view shows. @param raw the card with the additions of the configuration */
  readonly select: (raw: JsonObject) => JsonObject
}

/** @throws {Error} from `matcher`, for a schema that does not compile */
export function compileViews (agent: AgentConfig, matcher: CallerMatcher): CardView[] {
  return agent.card.views.map(view => ({
    id: view.id,
    matches: view.caller === undefined ? caller => caller !== null : compileCaller(view.caller, matcher),
    select: raw => selectFromCard(raw, selectionOf(view, agent, raw))
  }))
}

function selectionOf ({ skills, extensions }: CardViewConfig, { policies }: AgentConfig, raw: JsonObject): CardSelection {
  const skill = skills.includes(ALL) ? always : (id: string) => skills.includes(id)
  if (extensions.includes(ALL)) return { skill, extension: always, rootKey: always }
  const named = policies.filter(({ name }) => extensions.includes(name)).map(({ policy }) => policy)
  const claimed = claimedUris(policies.map(({ policy }) => policy))
  const read = readExtensions(raw, isObject(raw['capabilities']) ? raw['capabilities'] : {}, [])
  const declared = new Map(typeof read === 'string' ? [] : read.map(extension => [extension.uri, extension]))
  const urisOf = (policy: PolicyConfig): string[] =>
    identitiesOf(policy, declared, claimed).flatMap(({ same, also }) => [...same, ...also.map(cardExtension => cardExtension.uri)])
  const uris = new Set([...extensions, ...named.flatMap(urisOf)])
  // A policy in force for a shown extension may be named by the URI only.
  const isShown = (uri: string): boolean => uris.has(uri) || declared.get(uri)?.required === true
  const shown = policies.map(({ policy }) => policy).filter(policy => named.includes(policy) || urisOf(policy).some(isShown))
  const keys = new Set(shown.flatMap(rootKeysOf))
  return { skill, extension: uri => uris.has(uri), rootKey: key => keys.has(key) }
}

function always (): boolean {
  return true
}

/** Keys at the root of a card that the rules of a policy read (`fromCard`). */
function rootKeysOf (value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(rootKeysOf)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, member]) => {
    if (key !== 'fromCard') return rootKeysOf(member)
    const pointers = Array.isArray(member) ? member : [member]
    return pointers.filter(pointer => typeof pointer === 'string').map(pointer => parsePointer(pointer)[0] ?? '')
  })
}

/** Lists the required extensions that views do not name, one sentence each. The views show them nevertheless. */
export function requiredInViews (agent: AgentConfig, raw: JsonObject): string[] {
  const { capabilities, extensions: root } = raw
  const lists = [isObject(capabilities) ? capabilities['extensions'] : undefined, root].filter(list => Array.isArray(list))
  const required = lists.flat().filter((entry): entry is JsonObject => isObject(entry) && isRequired(entry))
  return agent.card.views.flatMap(view => {
    const { extension } = selectionOf(view, agent, raw)
    return required
      .filter(({ uri }) => typeof uri === 'string' && !extension(uri))
      .map(({ uri }) =>
        `view "${view.id}" shows ` +
          `${quoted(uri as string, 200)} although it does not name the extension: clients must know a required extension`)
  })
}
