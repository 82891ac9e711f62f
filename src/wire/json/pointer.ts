/** JSON Pointers (RFC 6901). */

/** @returns the names of the steps; an empty list for the root, '' */
export function parsePointer (pointer: string): string[] {
  return pointer === '' ? [] : pointer.slice(1).split('/').map(one => one.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Escapes one name for use in a pointer. */
export function escapePointer (name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Resolves a pointer through own members only. @returns undefined when the pointer leads nowhere */
export function resolvePointer (root: unknown, pointer: string): unknown {
  let value = root
  for (const name of parsePointer(pointer)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
