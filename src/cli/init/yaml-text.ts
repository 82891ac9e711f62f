/** Writes values as YAML that the loader reads back unchanged, whatever texts they contain. */
import { visible } from '#a2a/fields.js'

/** Longest flow collection on a line, in characters. */
const WIDTH = 110

/**
 * Writes a string. `$` before `$` and `{` is doubled, because the loader substitutes variables; characters that an editor would not show
 * are escaped.
 */
export function scalar (text: string): string {
  if (
    /^(?:[A-Za-z][\w./-]*|\$uri(?:\/\*?)?)$/.test(text) &&
    !/^(?:null|true|false|yes|no|on|off|y|n)$/i.test(text)
  ) return quotedIfFlow(text)
  return JSON.stringify(text.replaceAll(/\$(?=[${])/g, '$$$$')).replaceAll(
    /[^\x20-\x7e]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  )
}

/** `*` is no plain text at the end of `$uri/*` for a reader of YAML, who knows aliases by it. */
function quotedIfFlow (text: string): string {
  return text.includes('*') ? `"${text}"` : text
}

/** Writes a value on one line. */
export function flow (value: unknown): string {
  if (typeof value === 'string') return scalar(value)
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null)
  return `{${membersOf(value).map(([key, item]) => `${scalar(key)}: ${flow(item)}`).join(', ')}}`
}

/**
 * Writes the members of an object, one per line; a member that is too long for a line goes on below it.
 * @param indent number of spaces before each line
 */
export function block (value: object, indent: number): string[] {
  return membersOf(value).flatMap(([key, item]) => entry(`${scalar(key)}:`, item, indent))
}

function entry (head: string, item: unknown, indent: number): string[] {
  const space = ' '.repeat(indent)
  const line = `${space}${head} ${flow(item)}`
  if (line.length <= WIDTH || typeof item !== 'object' || item === null || Object.keys(item).length === 0) return [line]
  return [`${space}${head}`, ...(Array.isArray(item) ? item.flatMap(element => listItem(element, indent + 2)) : block(item, indent + 2))]
}

/** Writes one item of a list. */
export function listItem (item: unknown, indent: number): string[] {
  const space = ' '.repeat(indent)
  const line = `${space}- ${flow(item)}`
  if (
    line.length <= WIDTH ||
    typeof item !== 'object' ||
    item === null ||
    Array.isArray(item) ||
    Object.keys(item).length === 0
  ) return [line]
  const [first = '', ...rest] = block(item, indent + 2)
  return [`${space}- ${first.trimStart()}`, ...rest]
}

/** Writes one comment line. Invisible characters are made visible. */
export function comment (text: string, indent = 0): string {
  return `${' '.repeat(indent)}# ${visible(text, 10_000)}`
}

/** Undefined members are absent. */
function membersOf (value: object): [string, unknown][] {
  return Object.entries(value).filter(([, item]) => item !== undefined)
}
