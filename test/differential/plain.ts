/** Values as two readers of the same JSON are compared by. */

/** As JSON has it; null, nothing and an empty text are all ProtoJSON's absent, and so is metadata without members. */
export function plain (value: unknown): unknown {
  if (value === undefined || value === null || value === '') return null
  const copy: unknown = JSON.parse(JSON.stringify(value))
  return typeof copy === 'object' && copy !== null && !Array.isArray(copy) && Object.keys(copy).length === 0 ? null : copy
}

/** Base64 has several texts for the same bytes. */
export function decoded (value: unknown): unknown {
  return typeof value === 'string' ? Buffer.from(value, 'base64').toString('hex') : value
}
