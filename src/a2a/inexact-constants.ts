/** Finds numbers in a schema that are compared with data and that no double holds exactly. */
import { isObject } from '#wire/json/object.js'
import type { InexactNumbers } from '#wire/json/number.js'
import { memberPath } from './fields.js'

/**
 * Finds the first inexact number below `enum` or `const`. `enum: [9007199254740993]` is read as …992, so data would be compared with a
 * number that the author did not write. Limits such as `maximum: 9223372036854775807` stay usable: they are compared as the nearest double.
 * @param document a card or a schema, as `parseStrict` has read it
 * @returns path of the first such number, or null
 */
export function inexactConstant (document: unknown, inexact: Pick<InexactNumbers, 'has'> | undefined): string | null {
  return inexact === undefined ? null : find(document, '', false, inexact)
}

function find (value: unknown, path: string, constant: boolean, inexact: Pick<InexactNumbers, 'has'>): string | null {
  if (typeof value === 'number') return constant && inexact.has(value) ? path : null
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const inexactPath = find(value[i], `${path}[${i}]`, constant, inexact)
      if (inexactPath !== null) return inexactPath
    }
  } else if (isObject(value)) {
    for (const key of Object.keys(value)) {
      const inexactPath = find(value[key], memberPath(path, key), constant || key === 'enum' || key === 'const', inexact)
      if (inexactPath !== null) return inexactPath
    }
  }
  return null
}

/** Returns the message for the author of the document. */
export function inexactConstantMessage (path: string): string {
  return `${path} is a number that a double cannot represent exactly, so no value can be compared with it; write fewer digits, or a string`
}
