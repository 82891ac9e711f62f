/** Collects every scalar that a JSON Pointer selects. `*` in the pointer represents any item or member. */

import { childOf, parsePointer } from '#wire/json/pointer.js'

/** Maximum number of values; the rest is cut. A list of more values is not a list to choose from. */
const MAX_VALUES = 1_000

/** @returns strings, numbers and booleans, each once */
export function valuesAt (root: unknown, pointer: string): (string | number | boolean)[] {
  let values: unknown[] = [root]
  for (const key of parsePointer(pointer)) {
    values = values.flatMap(value => childrenOf(value, key)).slice(0, MAX_VALUES)
  }
  return [...new Set(values.filter(value => typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'))]
}

function childrenOf (value: unknown, key: string): unknown[] {
  if (key === '*') return typeof value === 'object' && value !== null ? Object.values(value) : []
  const child = childOf(value, key)
  return child === undefined ? [] : [child]
}
