/**
 * Keeps values of variables out of messages. `${VAR}` is the usual way to give the gateway a password, and a message goes to terminals,
 * logs and CI. Each message names the variable instead, wherever the message comes from.
 */
import type { Diagnostic } from './diagnostics.js'
import type { Substituted, YamlFile } from './yaml/document.js'

/** Shortest value that is replaced in messages about other lines, in characters. `info` or `8080` may occur there by chance. */
const MIN_VALUE_CHARS = 8
/** The same for messages about the line of the variable. A shorter value is replaced only as a whole quoted value. */
const SHORTEST_ON_LINE = 4
/** Shortest beginning of a value, before `…`, that is replaced. */
const SHORTEST_BEGINNING = 4

/** Shortest part of a value that counts as the value, where a message quotes a corrected or shortened form of it. */
const SHORTEST_PART = 4

interface Replacement {
  readonly line: number
  /** The value, in the form that messages have. */
  readonly value: string
  /** The reference in the place of the value. */
  readonly by: string
}

/** Returns a function that replaces the values of variables in a diagnostic by `${NAME}`. */
export function maskVariables ({ substituted, position }: Pick<YamlFile, 'substituted' | 'position'>): (diagnostic: Diagnostic) => Diagnostic {
  if (substituted.length === 0) return diagnostic => diagnostic
  const replacements = substituted.flatMap(one => replacementsOf(one, position(one.offset).line))
    // The longest first: a value can be a part of another one.
    .toSorted((a, b) => b.value.length - a.value.length)
  return diagnostic => {
    const here = substituted.filter(({ offset }) => position(offset).line === diagnostic.line)
    const masked = (text: string): string =>
      here.reduce(withoutParts, replacements.reduce((now, one) => replaced(now, one, diagnostic.line), text))
    const { message, hint } = diagnostic
    return { ...diagnostic, message: masked(message), ...(hint === undefined ? {} : { hint: masked(hint) }) }
  }
}

function replacementsOf ({ source, text, variables }: Substituted, line: number): Replacement[] {
  const pairs = [[text, source] as const, ...variables.map(({ name, value }) => [value, `\${${name}}`] as const)]
  return pairs.flatMap(([value, by]) => [...new Set(formsOf(value))].filter(form => form !== '').map(form => ({ line, value: form, by })))
}

/** Replaces quoted texts that were made from a value: corrected, cut at a slash, in another case. */
function withoutParts (text: string, { variables }: Substituted): string {
  return variables.reduce((now, { name, value }) => {
    const parts = value.toLowerCase().split(/[^a-z0-9]+/).filter(part => part.length >= SHORTEST_PART)
    return now.replace(/"[^"]*"/g, quoted => parts.some(part => quoted.toLowerCase().includes(part)) ? `"\${${name}}"` : quoted)
  }, text)
}

/** The forms that messages have: as it is, inside of JSON text, and inside of a URL. */
function formsOf (value: string): string[] {
  const trimmed = value.trim()
  const encoded = hasLoneSurrogate(value) ? [] : [encodeURI(value), encodeURIComponent(value)]
  const number = Number(value)
  return [
    value, trimmed, JSON.stringify(value).slice(1, -1), ...encoded, ...(trimmed === '' || Number.isNaN(number) ? [] : [String(number)])
  ]
}

/** `encodeURI` throws for such a text. */
function hasLoneSurrogate (text: string): boolean {
  return /\p{Surrogate}/u.test(text)
}

function replaced (text: string, { line, value, by }: Replacement, at: number): string {
  const shortest = line === at ? SHORTEST_ON_LINE : MIN_VALUE_CHARS
  const whole = value.length < shortest
    ? text.replaceAll(`"${value}"`, () => `"${by}"`)
    : text.replace(new RegExp(escaped(value), 'gi'), () => by)
  return whole.replace(/"([^"]*)…/g, (quoted: string, beginning: string) =>
    beginning.length >= SHORTEST_BEGINNING && value.toLowerCase().startsWith(beginning.toLowerCase()) ? `"${by}` : quoted)
}

function escaped (text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
