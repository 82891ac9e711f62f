/** google.protobuf.Timestamp as ProtoJSON writes it: RFC 3339 in UTC, with 0, 3, 6 or 9 digits of a second. */

/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, the range that google.protobuf.Timestamp defines, in seconds since 1970. */
const FIRST = -62_135_596_800
const LAST = 253_402_300_799

export function secondsInRange (seconds: number): boolean {
  return seconds >= FIRST && seconds <= LAST
}

/** @param nanos from 0 to 999,999,999 */
export function timestampText (seconds: number, nanos: number): string {
  const second = new Date(seconds * 1000).toISOString().slice(0, 19)
  if (nanos === 0) return `${second}Z`
  const digits = String(nanos).padStart(9, '0')
  return `${second}.${digits.endsWith('000000') ? digits.slice(0, 3) : digits.endsWith('000') ? digits.slice(0, 6) : digits}Z`
}

const RFC_3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/

/** @returns null when the text is no such time */
export function readTimestamp (text: string): { readonly seconds: number, readonly nanos: number } | null {
  const [, second, digits = '', zone] = RFC_3339.exec(text) ?? []
  if (second === undefined) return null
  const seconds = Date.parse(`${second}${zone}`) / 1000
  return Number.isNaN(seconds) || !secondsInRange(seconds) ? null : { seconds, nanos: Number(digits.padEnd(9, '0')) }
}
