/** Objects of parsed JSON. */
export type JsonObject = Readonly<Record<string, unknown>>

export function isObject (value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns an own property only: `constructor` and `__proto__` are ordinary names in data. */
export function own (object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}
