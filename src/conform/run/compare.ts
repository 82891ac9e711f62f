/** Compares what was seen directly with what was seen through the proxy, and prints both, cut where they differ. */
import { isObject } from '#wire/json/object.js'
import { parseJson } from '#wire/json/parse-json.js'
import { valuesOf } from '../http1.js'
import type { HeaderRule, Line } from '../model.js'

/** Bytes before and after a difference that are printed. */
const BEFORE = 40
const AFTER = 60

/** Both values, cut where they differ. Null: there is no difference. */
export function difference (what: string, direct: Buffer, through: Buffer): string[] | null {
  if (direct.equals(through)) return null
  const shorter = Math.min(direct.length, through.length)
  let at = 0
  while (at < shorter && direct[at] === through[at]) at++
  const start = Math.max(0, at - BEFORE)
  const excerpt = (bytes: Buffer): string =>
    `${start > 0 ? '…' : ''}${printable(bytes.subarray(start, at + AFTER))}${bytes.length > at + AFTER ? '…' : ''}`
  return [
    `${what} differs at byte ${at} (${direct.length} bytes directly, ${through.length} through the proxy)`,
    `  directly: ${excerpt(direct)}`,
    `  through:  ${excerpt(through)}`
  ]
}

/** Text with control characters and bytes that are no text as escapes. */
export function printable (bytes: Buffer): string {
  return bytes.toString('latin1').replaceAll(/[^\x20-\x7e]/g, character => {
    const code = character.charCodeAt(0)
    return code === 10 ? '\\n' : code === 13 ? '\\r' : code === 9 ? '\\t' : `\\x${code.toString(16).padStart(2, '0')}`
  })
}

export interface HeaderCheck { readonly name: string, readonly as: HeaderRule, readonly value?: string }
interface BothWays { readonly direct: readonly Line[], readonly through: readonly Line[] }

/** @param what kind of line, for the message. @returns the problem, or null */
export function headerProblem (what: string, { name, as: rule, value }: HeaderCheck, { direct, through }: BothWays): string[] | null {
  const key = name.toLowerCase()
  const before = valuesOf(direct, key)
  const after = valuesOf(through, key)
  const both = (expected: readonly string[]): string[] => [
    `${what} ${name} differs`, `  expected: ${formatValues(expected)}`, `  through:  ${formatValues(after)}`
  ]
  switch (rule) {
    case 'absent': return after.length === 0 ? null : [`${what} ${name} must not be there`, `  through:  ${formatValues(after)}`]
    case 'present': return after.length > 0 ? null : [`${what} ${name} is missing`]
    case 'is': return after.join(', ') === value ? null : both([value ?? ''])
    case 'has': return after.join(', ').toLowerCase().includes((value ?? '').toLowerCase()) ? null : both([`… ${value ?? ''} …`])
    case 'not': return after.join(', ').toLowerCase().includes((value ?? '').toLowerCase())
      ? [`${what} ${name} contains ${value ?? ''}`, `  through:  ${formatValues(after)}`]
      : null
    case 'lines': return before.length === after.length && before.every((line, i) => line === after[i]) ? null : both(before)
    case 'same': return before.join(', ') === after.join(', ') ? null : both(before)
    case 'members': return members(before).join() === members(after).join() ? null : both(before)
  }
}

function formatValues (values: readonly string[]): string {
  return values.length === 0
    ? 'no line'
    : values.map(value => JSON.stringify(value.length > 160 ? `${value.slice(0, 160)}…` : value)).join(' and ')
}

/** Members of a list, each once, in their order. */
export function members (values: readonly string[]): string[] {
  return [...new Set(values.flatMap(value => value.split(',')).map(member => member.trim()).filter(member => member !== ''))]
}

/** The events of a stream as a client reads them, and the comments (HTML Living Standard §9.2.6). */
export function eventsOf (body: Buffer): string {
  const text = body.toString('utf8').replace(/^\ufeff/, '').replaceAll(/\r\n?/g, '\n')
  return text.split('\n').filter(line => line !== '').join('\n')
}

/** JSON as its value: members sorted, strings and numbers as they are. Null: the text is no JSON. */
export function jsonOf (body: Buffer): unknown {
  try {
    return parseJson(body)
  } catch {
    return null
  }
}

/** The shape of a value: names of members and types, without the values. Two responses of an ordinary agent have the same shape. */
export function shapeOf (value: unknown): string {
  if (Array.isArray(value)) return `[${[...new Set(value.map(shapeOf))].sort().join()}]`
  if (isObject(value)) return `{${Object.keys(value).sort().map(key => `${key}:${shapeOf(value[key])}`).join()}}`
  return value === null ? 'null' : typeof value
}
