/**
 * Finds texts of a card that readers cannot trust: instructions for models, invisible characters, secrets and internal addresses. A planner
 * that chooses agents with a language model reads names, descriptions and examples of cards as a part of its prompt.
 */
import { parseAddress } from '#wire/ip.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { escapePointer } from '#wire/json/pointer.js'
import { isLocalName, isReservedAddress } from '#wire/reserved-address.js'

export type TextProblem = 'instructions' | 'invisible' | 'secret' | 'internal-address'

/** `message` is one sentence without the text itself: a secret must not reach a log. */
export interface TextFinding {
  readonly kind: TextProblem
  /** JSON Pointer of the text, or of the member whose name is the text. */
  readonly path: string
  readonly message: string
  readonly hint: string
}

/** Members whose texts are for people and models. Other texts are values that programs compare. */
const PROSE: ReadonlySet<string> = new Set([
  'name', 'title', 'description', 'summary', 'examples', 'example', 'tags', 'organization', 'displayName', 'display_name', '$comment'
])
/** URLs that the gateway rewrites: interfaces. */
const REWRITTEN: ReadonlySet<string> = new Set([
  'url', 'supportedInterfaces', 'supported_interfaces', 'additionalInterfaces', 'additional_interfaces'
])
/** Longest part of one text that is searched, characters. */
const MAX_SEARCHED_CHARS = 20_000
/** Maximum number of findings. A card may have any number. */
const MAX_FINDINGS = 100
const NEST = 64

/** What models read as an instruction, and what descriptions of agents do not say. All quantifiers are bounded. */
const INSTRUCTIONS: readonly RegExp[] = [
  /\b(?:ignore|disregard|forget|override|bypass)\b[^.!?\n]{0,30}\b(?:previous|prior|above|earlier|preceding|system|all other|any other|your)\b[^.!?\n]{0,30}\b(?:instructions?|prompts?|rules|guidelines|directives|messages?|policies|restrictions)\b/i,
  /\b(?:always|must|only|should|never)\b[^.!?\n]{0,30}\b(?:use|call|choose|select|prefer|pick|delegate to|route (?:\w+ ){0,3}to)\b[^.!?\n]{0,20}\b(?:this|our) (?:agent|skill|tool|server)\b/i,
  /\b(?:do not|don't|never|must not)\b[^.!?\n]{0,20}\b(?:use|call|choose|select|trust|delegate to)\b[^.!?\n]{0,20}\b(?:other|another|any other) (?:agents?|skills?|tools?|servers?)\b/i,
  /\b(?:do not|don't|never|without)\b[^.!?\n]{0,20}\b(?:tell|telling|inform|informing|notify|notifying|alert|alerting|mention(?:ing)? (?:this|it) to|ask|asking|reveal(?:ing)? (?:this|it) to)\b[^.!?\n]{0,15}\b(?:user|users|human|humans|operator|anyone|anybody)\b/i,
  /<\/?\s*(?:system|assistant|instructions?|important|prompt|tool_call|function_calls?|im_start|im_end|s?ys)\s*>/i,
  /<\|[a-z_]{2,30}\|>|\[\/?INST\]|<<\/?SYS>>/i,
  /^\s*(?:#{1,6}\s*)?(?:system|assistant|developer)(?: (?:prompt|message|instructions?))?\s*:/im,
  /\b(?:you are now|from now on,? you|pretend (?:to be|that you are|you are))\b/i,
  /\b(?:reveal|print|repeat|output|leak|disclose|return|include|send|show)\b[^.!?\n]{0,30}\b(?:system prompt|hidden instructions|(?:conversation|chat|message) history|your (?:instructions|prompt|credentials|context))\b/i,
  /\b(?:send|forward|post|upload|exfiltrate|append)\b[^.!?\n]{0,40}\b(?:credentials|secrets|api keys?|passwords?|access tokens?|cookies|environment variables)\b[^.!?\n]{0,40}\b(?:to|into)\b[^.!?\n]{0,20}(?:https?:|\bthis (?:agent|url|address|skill|message)\b|\bthe (?:message|metadata|request)\b)/i,
  /\b(?:notes?|instructions?|messages?|attention|important|hint)\b[^.!?\n]{0,12}\b(?:to|for)\b[^.!?\n]{0,10}\b(?:ai|llms?|language models?|models?|assistants?|planners?|orchestrators?)\b[^.!?\n]{0,12}:/i
]

const SECRETS: readonly RegExp[] = [
  /-----BEGIN (?:[A-Z]+ ){0,3}PRIVATE KEY-----/g,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}|glpat-[A-Za-z0-9_-]{20,255}|npm_[A-Za-z0-9]{36})\b/g,
  /\b(?:sk|pk|rk)(?:-[a-z0-9]{2,10}){0,3}[-_](?:live_)?[A-Za-z0-9_-]{24,255}/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,255}/g,
  /\bAIza[0-9A-Za-z_-]{35}/g,
  /\ba2agw_[A-Za-z0-9_-]{20,255}/g,
  /\beyJ[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,4000}/g,
  /\bBearer [A-Za-z0-9._~+/-]{20,4000}=*/g,
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@'"]{1,100}:[^\s/@'"]{3,200}@/gi,
  /\b(?:password|passwd|secret|api[_-]?key|access[_-]?token)\b\s{0,3}[:=]\s{0,3}["']?(?=[^\s"']{0,200}\d)[^\s"',;)}\]]{8,200}/gi
]

/** An IPv4 address, an IPv6 address in brackets, or a name of several labels, with the port. */
const ADDRESS = /(?<![\w.-])(?:\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\w)|\[[0-9a-f:.]{2,45}\]|localhost|(?:[a-z0-9_](?:[a-z0-9_-]{0,62})\.){1,8}[a-z][a-z0-9-]{1,30})(?::\d{1,5})?(?![\w@])/gi
/** Names of services of a cluster, which `isLocalName` does not know. */
const CLUSTER = /\.svc(?:\.[a-z0-9-]+){0,3}$/
/** Addresses of documentation (RFC 5737, RFC 3849): examples, no networks. */
const EXAMPLE = /^(?:192\.0\.2|198\.51\.100|203\.0\.113)\./

const HINTS: Readonly<Record<TextProblem, string>> = {
  instructions: 'describe what the agent does, without telling the reader what to do; card.texts: strip removes the text from the served card',
  invisible: 'remove the characters; card.texts: strip removes them from the served card',
  secret: 'remove the secret from the card, and revoke it; card.texts: strip removes it from the served card',
  'internal-address': 'remove the address; card.texts: strip removes it from texts of the served card'
}

/** Returns the findings of one card, public or extended, at most 100. Signatures are not searched. */
export function lintTexts (card: JsonObject): TextFinding[] {
  const findings: TextFinding[] = []
  const add = (kind: TextProblem, path: string, message: string): void => {
    if (findings.length < MAX_FINDINGS) findings.push({ kind, path, message, hint: HINTS[kind] })
  }
  walk(card, '', false, 1, (text, path, isProse, isName) => {
    const hidden = invisibleIn(text)
    if (hidden.length > 0) {
      add(
        'invisible', path, `${path} ${isName ? 'has a name with' : 'contains'} invisible characters: ${named(hidden)}`
      )
    }
    if (isName) return
    if (isProse && hasInstructions(text)) add('instructions', path, `${path} reads like an instruction to a model`)
    if (secretsIn(text).length > 0) add('secret', path, `${path} contains a secret`)
    else if (addressesIn(text, isProse).length > 0) add('internal-address', path, `${path} names an internal address`)
  })
  return findings
}

/** The text that replaces what `card.texts: strip` removes. */
const REMOVED = '[removed]'

/** Returns the card without these texts, and the places that have changed. The card is the same object when there are none. */
export function stripTexts (card: JsonObject): { readonly card: JsonObject, readonly paths: readonly string[] } {
  const paths: string[] = []
  const stripped = strip(card, '', false, 1, paths)
  return paths.length === 0 ? { card, paths } : { card: stripped as JsonObject, paths }
}

function strip (value: unknown, path: string, isProse: boolean, depth: number, paths: string[]): unknown {
  if (depth > NEST) return value
  if (typeof value === 'string') {
    if (!isProse) return value
    const text = cleaned(value)
    if (text !== value) paths.push(path)
    return text
  }
  if (Array.isArray(value)) return value.map((item, i) => strip(item, `${path}/${i}`, isProse, depth + 1, paths))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) =>
    [key, path === '' && key === 'signatures'
      ? member
      : strip(member, `${path}/${escapePointer(key)}`, isProseMember(key, member, isProse), depth + 1, paths)]
  ))
}

function cleaned (text: string): string {
  if (hasInstructions(text)) return REMOVED
  let clean = text
  for (const hidden of new Set(invisibleIn(clean))) clean = withoutInvisible(clean, hidden)
  for (const secret of secretsIn(clean)) clean = clean.replaceAll(secret, REMOVED)
  for (const address of addressesIn(clean, true)) clean = clean.replaceAll(address, REMOVED)
  return clean
}

type Visit = (text: string, path: string, isProse: boolean, isName: boolean) => void

function walk (value: unknown, path: string, isProse: boolean, depth: number, visit: Visit): void {
  if (depth > NEST) return
  if (typeof value === 'string') return visit(value.slice(0, MAX_SEARCHED_CHARS), path, isProse, false)
  if (Array.isArray(value)) return value.forEach((item, i) => { walk(item, `${path}/${i}`, isProse, depth + 1, visit) })
  if (!isObject(value)) return
  for (const [key, member] of Object.entries(value)) {
    if (depth === 1 && (key === 'signatures' || REWRITTEN.has(key))) continue
    const place = `${path}/${escapePointer(key)}`
    visit(key, path === '' ? '/' : path, false, true)
    walk(member, place, isProseMember(key, member, isProse), depth + 1, visit)
  }
}

/** True if texts below the member are prose. An object under such a name is a schema or another structure. */
function isProseMember (key: string, member: unknown, isProse: boolean): boolean {
  return PROSE.has(key) ? !isObject(member) : isProse && !isObject(member)
}

function hasInstructions (text: string): boolean {
  // Zero-width characters and letters of other forms do not hide an instruction.
  const plain = text.slice(0, MAX_SEARCHED_CHARS).normalize('NFKC').replace(
    /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, ''
  ).replace(/[^\S\n]+/g, ' ')
  return INSTRUCTIONS.some(pattern => pattern.test(plain))
}

function secretsIn (text: string): string[] {
  return SECRETS.flatMap(pattern => text.match(pattern) ?? [])
}

function addressesIn (text: string, isProse: boolean): string[] {
  // Values that programs compare name addresses as URLs: identifiers with dots are no addresses.
  if (!isProse && !/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return []
  const part = isProse ? text : text.replace(/^[^/]*\/\/(?:[^/?#]*@)?([^/?#]*)[^]*$/, '$1')
  return (part.match(ADDRESS) ?? []).filter(isInternal)
}

function isInternal (address: string): boolean {
  const host = address.replace(/:\d{1,5}$/, '').replace(/^\[|\]$/g, '').toLowerCase()
  const parsed = parseAddress(host)
  if (parsed !== null) return isReservedAddress(parsed) && !EXAMPLE.test(host) && !host.startsWith('2001:db8:')
  return host === 'localhost' || (host.includes('.') && (isLocalName(host) || CLUSTER.test(host)))
}

const HIDDEN = /[\p{Cf}\p{Co}\p{Default_Ignorable_Code_Point}\u2800]|(?![\t\n\r])\p{Cc}|\p{Zl}|\p{Zp}/gu
/** Emoji with joiners, variation selectors, skin tones and tags (flags of regions); scripts whose letters join; soft hyphens in a word. */
const LEGITIMATE = [
  /\u{1F3F4}[\u{E0061}-\u{E007A}\u{E0030}-\u{E0039}]{2,6}\u{E007F}/gu,
  /[\p{Emoji}\p{Extended_Pictographic}][\uFE0E\uFE0F\p{Emoji_Modifier}]{0,2}(?:\u200D\p{Extended_Pictographic}[\uFE0F\p{Emoji_Modifier}]{0,2}){0,8}/gu,
  /(?<=[\p{L}\p{M}])[\u200C\u200D](?=[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}])/gu,
  /(?<=\p{L})\u00AD(?=\p{L})/gu
]
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u
const MARKS = /[\u200E\u200F\u061C]/gu

/** Returns the invisible characters that no script and no emoji needs. */
function invisibleIn (text: string): string[] {
  HIDDEN.lastIndex = 0
  if (!HIDDEN.test(text)) return []
  const rest = LEGITIMATE.reduce((now, pattern) => now.replace(pattern, ''), RIGHT_TO_LEFT.test(text) ? text.replace(MARKS, '') : text)
  return rest.match(HIDDEN) ?? []
}

/** Removes one character everywhere but where a script or an emoji needs it. */
function withoutInvisible (text: string, hidden: string): string {
  const positions = new Set<number>()
  for (const pattern of LEGITIMATE) {
    for (const { index, 0: match } of text.matchAll(pattern)) for (let i = index; i < index + match.length; i++) positions.add(i)
  }
  let clean = ''
  let at = 0
  for (const character of text) {
    if (character !== hidden || positions.has(at)) clean += character
    at += character.length
  }
  return clean
}

/** Names of characters that a sentence lists. */
const LISTED = 5

function named (hidden: readonly string[]): string {
  const names = [...new Set(hidden)].map(character => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`)
  return names.slice(0, LISTED).join(', ') + (names.length > LISTED ? ` and ${names.length - LISTED} more` : '')
}
