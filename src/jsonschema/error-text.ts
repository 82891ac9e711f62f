import type { ErrorObject } from 'ajv'

/**
 * @returns Ajv's text of an error as an English sentence: `must be a string` for `must be string`, and limits without a negation. The text
 * names what the schema requires, never the value
 */
export function errorText ({ keyword, message, params }: ErrorObject): string {
  if (message === undefined) return `violates "${keyword}"`
  if (keyword === 'type') return `must be ${[(params as { readonly type: string | readonly string[] }).type].flat().map(withArticle).join(' or ')}`
  return message
    .replace(/^must NOT have (fewer|more) than (\d+) (items|characters|properties)$/, (_, kind: string, limit: string, things: string) =>
      `must have at ${kind === 'fewer' ? 'least' : 'most'} ${limit} ${limit === '1' ? SINGULAR[things] ?? things : things}`)
    .replace(/^must be >= /, 'must be at least ')
    .replace(/^must be <= /, 'must be at most ')
    .replace(/^must be > /, 'must be more than ')
    .replace(/^must be < /, 'must be less than ')
    .replace(/^must match pattern /, 'must match the pattern ')
    .replace(/^must match format /, 'must match the format ')
    .replace(/^must NOT be valid$/, 'must not match the schema in "not"')
}

const SINGULAR: Readonly<Record<string, string>> = { items: 'item', characters: 'character', properties: 'property' }

/** @param type a type of JSON Schema */
function withArticle (type: string): string {
  return type === 'null' ? type : `${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`
}
