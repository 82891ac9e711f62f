/**
 * Functions that the code of validators calls by name (`Keywords` in meta-schema.ts). Each charges its cost and compares numbers exactly.
 */
import { InexactNumber, isInexact, spendBudget } from './evaluation.js'

/**
 * Costs in steps. bench/worst-case.ts measures each on its worst data: objects of many shapes or many keys, and code that is not optimised.
 * EACH: a keyword by itself, an item or a subschema. KEY: a key that is listed. CHARACTER: a character that is read.
 */
export const EACH = 0.1
const KEY = 0.3
export const CHARACTER = 1 / 200

/** @throws InexactNumber */
export function notExact (pointer: string): never {
  throw new InexactNumber(pointer)
}

export function chargeProps (props: unknown): void {
  if (typeof props === 'object' && props !== null) spendBudget(KEY * Object.keys(props).length)
}

/** Lists the keys of an object and charges for them. */
export function keysOf (object: object): string[] {
  const keys = Object.keys(object)
  spendBudget(KEY * keys.length)
  return keys
}

/**
 * SHORT_KEY: characters of a key that the cost of a round covers. LONG_KEY: steps of each character of a longer key, because `~` is
 * escaped.
 */
const SHORT_KEY = 64
const LONG_KEY = 0.05

export function chargeKey (key: string, each: number): void {
  spendBudget(key.length <= SHORT_KEY ? each : each + LONG_KEY * key.length)
}

/** Linear in the size of the items: equal JSON values have equal canonical text (key order does not count). */
export function areUnique (items: readonly unknown[]): boolean {
  const keys = new Set<unknown>()
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    // Canonical text of an object never begins like that of a string.
    const key = typeof item === 'object' && item !== null ? canonical(item) : typeof item === 'string' ? JSON.stringify(item) : item
    if (isInexact(item)) throw new InexactNumber()
    spendBudget((typeof key === 'string' ? 4 : 2) * EACH + (typeof key === 'string' ? key.length * CHARACTER : 0))
    if (keys.has(key)) return false
    keys.add(key)
  }
  return true
}

/** Returns the canonical text of a value. Charges for each value and for the characters of texts. */
export function canonical (value: unknown): string {
  if (typeof value === 'string') {
    spendBudget(2 * EACH + value.length * CHARACTER)
    return JSON.stringify(value)
  }
  spendBudget(2 * EACH)
  if (isInexact(value)) throw new InexactNumber()
  // -0 and 0 both become `0`.
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const object = value as Record<string, unknown>
  return `{${keysOf(object).sort().map(key => {
    spendBudget(2 * EACH + key.length * CHARACTER)
    return `${JSON.stringify(key)}:${canonical(object[key])}`
  }).join(',')}}`
}

/** The values of an `enum`. Scalars are in a set, so their number costs nothing. */
export class Values {
  private readonly scalars: ReadonlySet<unknown>
  private readonly others: readonly object[]

  constructor (values: readonly unknown[]) {
    this.scalars = new Set(values.filter(value => typeof value !== 'object' || value === null))
    this.others = values.filter(value => typeof value === 'object' && value !== null) as object[]
  }

  has (value: unknown): boolean {
    if (typeof value === 'string') spendBudget(value.length * CHARACTER / 10)
    if (typeof value !== 'object' || value === null) return this.scalars.has(value)
    return this.others.some(other => areEqual(value, other))
  }
}

/** Compares JSON values and charges for what it compares. */
export function areEqual (value: unknown, other: unknown): boolean {
  spendBudget(EACH)
  if (typeof value === 'string') {
    spendBudget(value.length * CHARACTER / 10)
    return value === other
  }
  if (typeof value !== 'object' || value === null || typeof other !== 'object' || other === null) {
    // An inexact number may equal only another number. A difference of types is certain.
    if (isInexact(value) && typeof other === 'number') throw new InexactNumber()
    return value === other
  }
  if (Array.isArray(value)) {
    if (!Array.isArray(other) || value.length !== other.length) return false
    for (let i = 0; i < value.length; i++) if (!areEqual(value[i], other[i])) return false
    return true
  }
  if (Array.isArray(other)) return false
  const keys = keysOf(other)
  if (keysOf(value).length !== keys.length) return false
  for (const key of keys) {
    if (!Object.hasOwn(value, key) || !areEqual((value as Record<string, unknown>)[key], (other as Record<string, unknown>)[key])) {
      return false
    }
  }
  return true
}

/** Cost in steps: the calculation uses powers of ten of up to 600 digits. */
const MULTIPLE = 5

/** Divides by the decimal digits of both numbers, as their authors wrote them. */
export function isMultiple (value: number, divisor: number): boolean {
  if (!Number.isFinite(value) || divisor === 0) return false
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0
  spendBudget(MULTIPLE)
  const a = decimal(value)
  const b = decimal(divisor)
  const scale = Math.min(a.exponent, b.exponent)
  return (a.digits * 10n ** BigInt(a.exponent - scale)) % (b.digits * 10n ** BigInt(b.exponent - scale)) === 0n
}

function decimal (number: number): { digits: bigint, exponent: number } {
  const [mantissa = '0', exponent = '0'] = number.toExponential().split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}
