/** Every scalar that a JSON Pointer with `*` for any item or member leads to. */

import { parsePointer } from '../../wire/json/pointer.js'

/** More than this is cut: a list of so many values is no list to choose from. */
const MAX_VALUES = 1_000

/** @returns strings, numbers and booleans, each once */
export function valuesAt (root: unknown, pointer: string): (string | number | boolean)[] {
  let found: unknown[] = [root]
  for (const key of parsePointer(pointer)) {
    found = found.flatMap(value => childrenOf(value, key)).slice(0, MAX_VALUES)
  }
  return [...new Set(found.filter(value => typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'))]
}

function childrenOf (value: unknown, key: string): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  if (key === '*') return Object.values(value)
  return Object.hasOwn(value, key) ? [(value as Record<string, unknown>)[key]] : []
}
