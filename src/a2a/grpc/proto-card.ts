/** A card as ProtoJSON, so that it can be written as the message `AgentCard` of the gRPC binding. */
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import type { FieldRow, MessageTable } from '#wire/protobuf/table.js'

/**
 * Returns a card in the shape of its message. Security schemes and requirements of JSON cards have other shapes (0.3: `{"type": "http"}`;
 * both: scopes as `[]`). Members that the message does not have are left out: `schemas`, and the parts of the other generation.
 * @param table of AgentCard
 */
export function protoCard (card: JsonObject, table: MessageTable): JsonObject {
  const { securitySchemes, skills } = card
  const shaped: Record<string, unknown> = { ...card, ...withRequirements(card) }
  if (isObject(securitySchemes)) shaped['securitySchemes'] = mapped(securitySchemes, wrapped)
  if (Array.isArray(skills)) {
    shaped['skills'] = skills.map((skill: unknown) => isObject(skill)
      ? { ...skill, ...withRequirements(skill) }
      : skill)
  }
  return known(shaped, table)
}

const REQUIREMENT_LISTS: readonly string[] = ['securityRequirements', 'security']

/** The requirements of a card or a skill, with scopes in lists. */
function withRequirements (owner: JsonObject): JsonObject {
  const members: Record<string, unknown> = {}
  for (const name of REQUIREMENT_LISTS) {
    const requirements = owner[name]
    if (Array.isArray(requirements)) members[name] = requirements.map(requirement)
  }
  return members
}

function requirement (value: unknown): unknown {
  if (!isObject(value)) return value
  const schemes = isObject(value['schemes']) ? value['schemes'] : value
  return { schemes: mapped(schemes, scopes => Array.isArray(scopes) ? { list: scopes } : scopes) }
}

const WRAPPED = /SecurityScheme$/

/** A scheme with its kind as the name of its only member. A card of both generations has both shapes in one object. */
function wrapped (value: unknown): unknown {
  if (!isObject(value)) return value
  const kind = Object.keys(value).find(key => WRAPPED.test(key) && isObject(value[key]))
  if (kind !== undefined) return { [kind]: value[kind] }
  const { type, in: location, flows, ...rest } = value
  switch (type) {
    case 'apiKey': return { apiKeySecurityScheme: { ...rest, location } }
    case 'http': return { httpAuthSecurityScheme: rest }
    case 'oauth2': return { oauth2SecurityScheme: { ...rest, flows: oneFlow(flows) } }
    case 'openIdConnect': return { openIdConnectSecurityScheme: rest }
    case 'mutualTLS': return { mtlsSecurityScheme: rest }
    default: return value
  }
}

/** The message has one flow: the first that the card names. */
function oneFlow (flows: unknown): unknown {
  if (!isObject(flows)) return flows
  const [first] = Object.entries(flows)
  return first === undefined ? {} : { [first[0]]: first[1] }
}

/** Leaves out the members that are no fields. */
function known (value: JsonObject, table: MessageTable): JsonObject {
  const members: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) {
    const row = table.names.get(name)
    if (row !== undefined) members[name] = row.table === null ? member : knownIn(member, row, row.table)
  }
  return members
}

function knownIn (value: unknown, row: FieldRow, table: MessageTable): unknown {
  const convert = (item: unknown): unknown => isObject(item) ? known(item, table) : item
  if (row.list) return Array.isArray(value) ? value.map(convert) : value
  if (row.map) return isObject(value) ? mapped(value, convert) : value
  return convert(value)
}

function mapped (value: JsonObject, map: (item: unknown) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, map(item)]))
}
