/** Lays `accessDefaults` under `access` of each agent. */
import type { Mapping } from './yaml/values.js'
import { items, mapping } from './yaml/values.js'

/**
 * Notes the keys that each agent has, before validation fills in their defaults.
 * @param value the value of the file
 * @returns a function that adds the other keys of `accessDefaults` to the agents of the validated value
 */
export function accessLayers (value: unknown): (validated: Mapping) => Mapping {
  if (!Object.hasOwn(mapping(value), 'accessDefaults')) return validated => validated
  const own = items(mapping(value).agents).map(agent => new Set(Object.keys(mapping(mapping(agent).access))))
  return validated => {
    const defaults = Object.entries(mapping(validated.accessDefaults))
    const agents = items(validated.agents).map(mapping).map((agent, index) => ({
      ...agent,
      access: { ...mapping(agent.access), ...Object.fromEntries(defaults.filter(([key]) => own[index]?.has(key) !== true)) }
    }))
    return { ...validated, agents }
  }
}
