/** Durations and sizes in the configuration: a whole number and a unit, without blanks. */

/** The value that was read, or a hint for a correct notation. */
export type Reading = { readonly value: number } | { readonly hint: string }

const DURATIONS: ReadonlyMap<string, number> = new Map([['ms', 1], ['s', 1000], ['m', 60_000], ['h', 3_600_000]])
const SIZES: ReadonlyMap<string, number> = new Map([['B', 1], ['KiB', 1024], ['MiB', 1024 ** 2], ['GiB', 1024 ** 3]])

/** Pattern for editors. The check itself is `readDuration`. */
export const DURATION_PATTERN = '^\\d{1,9}(ms|s|m|h)$'
/** Pattern for editors. The check itself is `readSize`. */
export const SIZE_PATTERN = '^\\d{1,9}(B|KiB|MiB|GiB)$'

const QUANTITY = /^(\d{1,9})([A-Za-z]+)$/

/** Reads `1500ms`, `3s`, `10m` or `1h` as milliseconds. */
export function readDuration (text: string): Reading {
  const value = read(text, DURATIONS)
  if (value !== null) return { value }
  if (/^\d+$/.test(text)) return { hint: `add a unit, such as "${text}s"` }
  if (/^\d+\.\d+/.test(text)) return { hint: 'whole numbers only, such as "1500ms" for 1.5 seconds' }
  return { hint: 'a whole number and one of ms, s, m, h, such as "1500ms"' }
}

/** Reads `512B`, `64KiB`, `4MiB` or `1GiB` as bytes. */
export function readSize (text: string): Reading {
  const value = read(text, SIZES)
  if (value !== null) return { value }
  if (/^\d+$/.test(text)) return { hint: `add a unit, such as "${text}B"` }
  const loose = /^(\d{1,9}) ?([kmg])i?b?$/i.exec(text)
  if (loose !== null) return { hint: `sizes are binary: write "${loose[1]}${loose[2]?.toUpperCase()}iB"` }
  return { hint: 'a whole number and one of B, KiB, MiB, GiB, such as "4MiB"' }
}

/** Returns the milliseconds of a valid duration. Throws RangeError for any other text. */
export function duration (text: string): number {
  return value(readDuration(text), text)
}

/** Returns the bytes of a valid size. Throws RangeError for any other text. */
export function size (text: string): number {
  return value(readSize(text), text)
}

function read (text: string, units: ReadonlyMap<string, number>): number | null {
  const match = QUANTITY.exec(text)
  const factor = units.get(match?.[2] ?? '')
  return match === null || factor === undefined ? null : Number(match[1]) * factor
}

function value (reading: Reading, text: string): number {
  if ('value' in reading) return reading.value
  throw new RangeError(`"${text}": ${reading.hint}`)
}
