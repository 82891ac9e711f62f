/** Lists and objects with many members, for expensive schemas and data. */
export const range = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index))

export const object = <T>(count: number, key: (index: number) => string, value: (index: number) => T): Record<string, T> =>
  Object.fromEntries(range(count, index => [key(index), value(index)]))

/** @returns `{k0: 0, k1: 1, ...}` */
export const numbered = (count: number, letter = 'k'): Record<string, number> => object(count, i => `${letter}${i}`, i => i)
