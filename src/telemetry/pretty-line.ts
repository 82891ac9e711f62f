/** Log lines and audit lines for people at a terminal: time, level and message first, then the fields as `name=value`. */
import { visible } from '#a2a/fields.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { parseJson } from '#wire/json/parse-json.js'
import type { Colour } from '#wire/terminal.js'
import { inColour } from '#wire/terminal.js'

/** Largest length of one value, in characters. A stack may be longer. */
const LENGTH = 2_048
const INDENT = '\n    '
/** Fields that have a place of their own, in a log line and in an audit line. */
const PLACED_IN_LOG = new Set(['time', 'level', 'msg', 'err'])
const PLACED_IN_AUDIT = new Set(['audit', 'time', 'decision', 'violations'])

const COLOURS: Readonly<Record<string, Colour>> = {
  fatal: 'red', error: 'red', warn: 'yellow', info: 'green', rejected: 'red', edited: 'yellow', observed: 'yellow'
}

/**
 * Converts a finished line. Characters that would control the terminal are escaped: a client chooses some values.
 * @param line one JSON object and its newline
 * @param colours true when the terminal has colours
 * @returns the text and its newline; the same line when it is no JSON object
 */
export function prettyLine (line: string, colours: boolean): string {
  const fields = fieldsOf(line)
  if (fields === null) return line
  const painted = (text: string, colour: Colour | undefined): string => colours && colour !== undefined ? inColour(text, colour) : text
  const audit = fields.audit === true
  const kind = audit ? 'audit' : plain(fields.level ?? 'log')
  const title = plain((audit ? fields.decision : fields.msg) ?? '')
  const colour = COLOURS[audit ? title : kind]
  const placed = audit ? PLACED_IN_AUDIT : PLACED_IN_LOG
  const rest = Object.entries(fields).filter(([name, value]) => value !== null && !placed.has(name))
  return [
    painted(clock(fields.time), 'dim'),
    ` ${painted(kind.toUpperCase().padEnd(5), colour)} ${painted(title, audit ? colour : 'bold')}`,
    ...rest.map(([name, value]) => ` ${painted(`${visible(name, LENGTH)}=`, 'dim')}${formatValue(value)}`),
    ...(audit ? violationsOf(fields.violations) : errorOf(fields.err)).map(text => INDENT + text),
    '\n'
  ].join('')
}

function fieldsOf (line: string): JsonObject | null {
  try {
    const value: unknown = parseJson(line)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** Local time of day with milliseconds: a person looks at what happens now. */
function clock (time: unknown): string {
  const date = new Date(typeof time === 'string' ? time : NaN)
  if (Number.isNaN(date.getTime())) return '--:--:--.---'
  const [hours, minutes, seconds] = [date.getHours(), date.getMinutes(), date.getSeconds()].map(number => String(number).padStart(2, '0'))
  return `${hours}:${minutes}:${seconds}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

function plain (value: unknown): string {
  return visible(typeof value === 'string' ? value : JSON.stringify(value), LENGTH)
}

/** A value without spaces needs no quotes. */
function formatValue (value: unknown): string {
  if (typeof value === 'string' && /^[^\s"'={}[\]]+$/.test(value)) return plain(value)
  if (Array.isArray(value) && value.length > 0 && value.every(text => typeof text === 'string' && /^[^\s",]+$/.test(text))) {
    return visible(value.join(','), LENGTH)
  }
  return visible(JSON.stringify(value), LENGTH)
}

function violationsOf (violations: unknown): string[] {
  return !Array.isArray(violations)
    ? []
    : violations.filter(isObject).map(({ path, message }) => [path, message].filter(part => typeof part === 'string').map(plain).join(' '))
}

/** The message of an error and of its causes, then its stack, line by line. */
function errorOf (err: unknown): string[] {
  if (!isObject(err)) return err === undefined ? [] : [plain(err)]
  const { type, message, code, stack, cause } = err
  const first = `${plain(type ?? 'Error')}: ${plain(message ?? '')}${code === undefined ? '' : ` (${plain(code)})`}`
  const frames = typeof stack === 'string'
    ? stack.split('\n').filter(line => /^ +at /.test(line)).map(line => `  ${plain(line.trim())}`)
    : []
  return [first, ...frames, ...errorOf(cause).map(line => `  cause: ${line}`)]
}
