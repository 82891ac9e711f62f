/** JSON Pointers (RFC 6901). */

/** @returns the names on the way; none for the root, '' */
export function parsePointer (pointer: string): string[] {
  return pointer === '' ? [] : pointer.slice(1).split('/').map(one => one.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** One name as it stands in a pointer. */
export function escapePointer (name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Own members only. @returns undefined where the pointer leads nowhere */
export function resolvePointer (root: unknown, pointer: string): unknown {
  let value = root
  for (const name of parsePointer(pointer)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
