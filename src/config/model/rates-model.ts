/** The notation of rates. */

/** `count` requests in `period` ms. */
export interface Rate { readonly count: number, readonly period: number }

/** The limit of failed authentications without an entry of `rates` with `on: failures`. */
export const FAILURES = { id: 'failed-authentications', rate: { count: 20, period: 10_000 }, burst: 50 } as const

const RATE = /^([1-9]\d{0,6})\/([1-9]\d{0,8})(ms|s|m|h)$/
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }
/** Requests in a second. Faster rates limit nothing that a process could serve. */
const FASTEST = 100_000
/** 30 days: as long as task state may be stored. */
const MAX_PERIOD_MS = 720 * 3_600_000

/** Reads `600/1m`. @returns a hint for the correct notation when the text is no rate */
export function readRate (text: string): Rate | { readonly hint: string } {
  const match = RATE.exec(text)
  if (match === null) return { hint: 'whole numbers above 0: requests, "/" and a duration, such as "600/1m"' }
  const [, count, number, unit = ''] = match
  const rate = { count: Number(count), period: Number(number) * (UNITS[unit] ?? 1) }
  if (rate.period > MAX_PERIOD_MS) return { hint: 'at most 720h' }
  return rate.count * 1_000 > FASTEST * rate.period ? { hint: `at most ${FASTEST} requests in a second` } : rate
}

/** Returns a valid rate. Throws RangeError for any other text. */
export function rateOf (text: string): Rate {
  const rate = readRate(text)
  if ('hint' in rate) throw new RangeError(`"${text}": ${rate.hint}`)
  return rate
}
