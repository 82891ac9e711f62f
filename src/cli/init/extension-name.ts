/** Names a policy after the meaning of its extension's URI. */

/** Words that say where a specification is, not what it is about. */
const GENERIC = new Set([
  'a2a', 'a2aproject', 'api', 'blob', 'current', 'doc', 'docs', 'draft', 'examples', 'ext', 'exts', 'extension', 'extensions', 'head', 'heads',
  'index', 'latest', 'main', 'master', 'raw', 'readme', 'reference', 'refs', 'sample', 'samples', 'schema', 'schemas', 'spec',
  'specification', 'specifications', 'specs', 'src', 'stable', 'tree', 'trunk', 'urn', 'uri', 'x'
])
/** Labels of host names that name no organization. */
const HOSTING = new Set(['www', 'raw', 'docs', 'api', 'schemas', 'extensions', 'github', 'gitlab', 'githubusercontent', 'projects'])
const VERSION = /^v?\d+(?:-\d+)*(?:-?(?:alpha|beta|dev|draft|pre|preview|rc)-?\d*)?$/
const VERSION_AT_END = /-v\d+(?:-\d+)*$/
const AFFIX = /^(?:a2a|ext|extension|experimental)-|-(?:a2a|ext|extension|extensions|spec)$/
/** A shorter word is often a language or an abbreviation of the path: it is the name only if there is no other. */
const MIN_WORD_CHARS = 3
/** Longest part of a URI that is read, in characters. */
const READ = 500

/**
 * Builds a unique name for a policy: `https://example.com/ext/order/v1` becomes `order`, `https://github.com/acme/a2a-x402/blob/main/spec`
 * becomes `x402`, and `https://parcels.example/extensions/v2` becomes `parcels`.
 * @param taken names in use; receives the new name
 * @returns a name as the configuration allows it: 1 to 63 of a-z, 0-9 and "-"
 */
export function extensionName (uri: string, taken: Set<string>): string {
  const text = uri.slice(0, READ)
  const host = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(text)
  const words = text.slice(host?.[0].length ?? 0).split(/[/:?#=&]/).map(wordOf).filter(word => word !== '').toReversed()
  const fallback = host === null
    ? []
    : (host[1] ?? '').replace(/:\d+$/, '').split('.').slice(0, -1).map(slug).filter(label => label !== '' && !HOSTING.has(label))
  const chosenWord = words.find(word => word.length >= MIN_WORD_CHARS) ?? fallback.at(-1) ?? words[0] ?? ''
  return uniqueName(asName(chosenWord, 'extension'), taken)
}

export function uniqueName (base: string, taken: Set<string>): string {
  let name = base
  for (let number = 2; taken.has(name); number++) name = `${base.slice(0, 55)}-${number}`
  taken.add(name)
  return name
}

/** Makes a text safe as an unquoted YAML string: avoids words that YAML reads as another type. */
export function asName (text: string, kind: string): string {
  if (text === '') return kind
  return /^(?:\d[\d-]*|\d+e-?\d+|0x[\da-f]+|0o\d+|null|true|false)$/.test(text) ? `${kind}-${text}`.slice(0, 63) : text
}

export function slug (text: string): string {
  return text.slice(0, READ).normalize('NFKD').toLowerCase().replace(/[^a-z0-9]+/g, '-').slice(0, 63).replace(/^-+|-+$/g, '')
}

/** @returns '' for a word that is a version or says nothing */
function wordOf (segment: string): string {
  let word = slug(segment.replace(/\.(?:md|html?|json|ya?ml|proto)$/i, ''))
  if (VERSION.test(word)) return ''
  for (let before = ''; before !== word;) {
    before = word
    word = word.replace(VERSION_AT_END, '').replace(AFFIX, '')
  }
  return GENERIC.has(word) || VERSION.test(word) ? '' : word
}
