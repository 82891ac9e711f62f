/** The part of a configuration file that the document of the playground may have, and its JSON Schema for the editor. */
import type { Schema } from '#config/schema/schema-builder.js'
import { configSchema } from '#config/schema/schema.js'

/** Keys of an agent that the document may change, besides its name. */
export const AGENT_KEYS = [
  'mode', 'enforceOn', 'unlistedExtensions', 'unknownMethods', 'untaggedData', 'responses', 'jsonSchema', 'extensions'
] as const

/** Keys of the document. */
export const ROOT_KEYS: readonly string[] = ['version', 'agents', 'extensions']

export function documentSchema (): Schema {
  const { properties = {}, $defs } = configSchema
  const { agents = {}, extensions = {} } = properties
  const agent = agents.items ?? {}
  const only = (of: Schema, keys: readonly string[]): Schema['properties'] =>
    Object.fromEntries(Object.entries(of.properties ?? {}).filter(([key]) => keys.includes(key)))
  return {
    type: 'object',
    properties: {
      ...only(configSchema, ROOT_KEYS),
      // The document has no files: `extensions.from` names a directory.
      extensions: { ...extensions, properties: {} },
      agents: { ...agents, items: { ...agent, properties: only(agent, ['name', ...AGENT_KEYS]) ?? {} } }
    },
    $defs: { policy: $defs?.policy ?? {} }
  }
}
