/** JSON Pointers (RFC 6901), and steps through parsed JSON. Steps follow own members only: `constructor` is an ordinary name in data. */

/** @returns the names of the steps; an empty list for the root, '' */
export function parsePointer (pointer: string): string[] {
  return pointer === '' ? [] : pointer.slice(1).split('/').map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Escapes one name for use in a pointer. */
export function escapePointer (name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Takes one step. @returns undefined when it leads nowhere */
export function childOf (value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined
}

/** @returns undefined when the steps lead nowhere */
export function resolveSteps (root: unknown, steps: readonly string[]): unknown {
  let value = root
  for (const name of steps) value = childOf(value, name)
  return value
}

/** @returns undefined when the pointer leads nowhere */
export function resolvePointer (root: unknown, pointer: string): unknown {
  return resolveSteps(root, parsePointer(pointer))
}
