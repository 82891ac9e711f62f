/** `agents.lock`: the cards that people have agreed on. A file beside the configuration, in JSON, that is reviewed like code. */
import { readFileSync } from 'node:fs'
import { cardDigest } from '#a2a/card/digest.js'
import type { CardDigests } from '#a2a/card/digest.js'
import { fileErrorText } from '#config/describe.js'
import { CLOSE_OBJECT, COMMA, OPEN_OBJECT, readName, skipSpace, skipString, skipValue } from '#wire/json/bytes.js'
import type { JsonPath } from '#wire/json/edit.js'
import { parseStrict } from '#wire/json/json.js'
import { isObject } from '#wire/json/object.js'
import type { JsonObject } from '#wire/json/object.js'
import { memberSpan } from '#wire/json/span.js'
import { nearest } from '#wire/nearest.js'
import { OperatorError } from '#operator-errors.js'

/** The agreement about one agent. */
export interface LockEntry {
  /** URL of the card; of the agent, for a card on disk. For people: the digests decide. */
  readonly url: string
  /** `sha256:` and hex digits, of the card for A2A 1.0 (`cardDigest`). */
  readonly digest: string
  /** Of the card for A2A 0.3. Absent: the agent has one card for both versions. */
  readonly digest03?: string
  /** Of the authenticated extended card. Absent: none. */
  readonly digestExtended?: string
  /** URIs of the extensions that the card requires. For people. */
  readonly requires: readonly string[]
  /** Time of RFC 3339. */
  readonly pinnedAt: string
  readonly pinnedBy: string
  /** The cards themselves. Without them, a gateway that starts while the agent serves another card has no card to use. */
  readonly card?: JsonObject
  readonly card03?: JsonObject
  readonly cardExtended?: JsonObject
}

export interface LockFile {
  /** By name of the agent in the configuration. */
  readonly agents: Readonly<Record<string, LockEntry>>
}

/** A lock file with its bytes, so that unchanged entries stay as they are. */
export interface ReadLock extends LockFile {
  /** Bytes of each entry, by name. */
  readonly texts: ReadonlyMap<string, string>
}

/** The lock file cannot be used. The message begins with file, line and column, and says how to fix the file. */
export class LockFileError extends OperatorError {
  /** Line and column count from 1; 0 when the file cannot be read at all. */
  readonly line: number
  readonly col: number

  constructor (path: string, { line, col }: { readonly line: number, readonly col: number }, text: string) {
    super('A2AGW_ERR_LOCK_FILE', line === 0 ? `${path}: ${text}` : `${path}:${line}:${col}: ${text}`)
    this.line = line
    this.col = col
  }
}

/** The version of the format that this gateway reads and writes. */
const VERSION = 1
const COMMENT = 'Agreed cards of the agents. Written by "a2a-gateway agents lock". Review changes like code: "a2a-gateway agents diff" ' +
  'explains them.'
/** Largest file, bytes. A card has 1 to 10 kB, so this is room for thousands of agents. */
const MAX_BYTES = 64 * 1024 * 1024
const LIMITS = { depth: 100, members: 20_000_000 }
const RESTORE = 'restore the file from version control, or delete the file and run a2a-gateway agents lock'
const RELOCK = (name: string): string => `run a2a-gateway agents lock --agent ${name}, and review the change`

const DIGEST = /^sha256:[0-9a-f]{64}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/
const DIGEST_OF = { card: 'digest', card03: 'digest03', cardExtended: 'digestExtended' } as const
const MEMBERS: readonly string[] = ['url', ...Object.values(DIGEST_OF), 'requires', 'pinnedAt', 'pinnedBy', ...Object.keys(DIGEST_OF)]

/**
 * Reads a lock file. A file that does not exist has no entries.
 * @throws LockFileError for a file that cannot be read, or is not a valid lock file
 */
export function readLockFile (path: string): LockFile {
  const bytes = bytesOf(path)
  return bytes === null ? { agents: {} } : { agents: parseLock(bytes, path) }
}

/** Like {@link readLockFile}, with the bytes of the entries, for a writer. */
export function readLock (path: string): ReadLock {
  const bytes = bytesOf(path)
  return bytes === null ? { agents: {}, texts: new Map() } : { agents: parseLock(bytes, path), texts: textsOf(bytes) }
}

/** The digests of an entry. */
export function digestsOf ({ digest, digest03, digestExtended }: LockEntry): CardDigests {
  return { '1.0': digest, 0.3: digest03 ?? null, extended: digestExtended ?? null }
}

/**
 * Returns the text of a lock file: names in order, and each entry of `texts` as its bytes were.
 * @param texts entries that have not changed, by name
 */
export function lockText (agents: LockFile['agents'], texts: ReadonlyMap<string, string> = new Map()): string {
  const names = Object.keys(agents).sort()
  const entries = names.map(name => `    ${ascii(JSON.stringify(name))}: ${texts.get(name) ?? entryText(agents[name] as LockEntry)}`)
  const list = entries.length === 0 ? '{}' : `{\n${entries.join(',\n')}\n  }`
  return `{\n  "comment": ${JSON.stringify(COMMENT)},\n  "version": ${VERSION},\n  "agents": ${list}\n}\n`
}

function entryText (entry: LockEntry): string {
  const ordered = Object.fromEntries(MEMBERS.flatMap(key => {
    const value = entry[key as keyof LockEntry]
    return value === undefined ? [] : [[key, value]]
  }))
  return ascii(JSON.stringify(ordered, null, 2).replaceAll('\n', '\n    '))
}

/** Characters that a reviewer would not see, or would see in another order. */
const UNSEEN = /[^\P{C}\n]|[\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}/gu

/** Writes characters that a reviewer would not see as escapes. Texts of a card cannot hide in the review. */
function ascii (json: string): string {
  return json.replace(UNSEEN, text => {
    let escaped = ''
    for (let i = 0; i < text.length; i++) escaped += `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`
    return escaped
  })
}

function bytesOf (path: string): Buffer | null {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new LockFileError(path, { line: 0, col: 0 }, `cannot be read: ${fileErrorText(error)}`)
  }
  if (bytes.length > MAX_BYTES) throw new LockFileError(path, { line: 0, col: 0 }, `has more than ${MAX_BYTES} bytes (${RESTORE})`)
  return bytes
}

function parseLock (bytes: Buffer, path: string): LockFile['agents'] {
  const fail = (offset: number, message: string, hint: string): never => {
    throw new LockFileError(path, position(bytes, offset), `${message} (${hint})`)
  }
  const conflict = /^<{7} /m.exec(bytes.toString('latin1'))
  if (conflict !== null) fail(conflict.index, 'the file contains an unresolved merge', 'take one side, then run a2a-gateway agents diff')
  const parsed = parseStrict(bytes, LIMITS)
  if (!parsed.ok) return fail(parsed.problem.offset ?? 0, parsed.problem.message, RESTORE)
  const at = (steps: JsonPath): number => memberSpan(bytes, steps)?.start ?? 0
  const root = parsed.value
  if (!isObject(root)) return fail(0, 'the file is not a JSON object', RESTORE)
  if (root['version'] !== VERSION) {
    return fail(at(['version']), `version must be ${VERSION}`, 'a later release of a2a-gateway has written the file: update this one')
  }
  const unknown = Object.keys(root).find(key => !['comment', 'version', 'agents'].includes(key))
  if (unknown !== undefined) fail(at([unknown]), `unknown member ${JSON.stringify(unknown)}`, 'remove it')
  const { agents } = root
  if (!isObject(agents)) return fail(at(['agents']), 'agents must be an object, with an entry for each agent', RESTORE)
  for (const [name, entry] of Object.entries(agents)) {
    const problem = problemOf(entry, name)
    if (problem === null) continue
    const [steps, message, hint] = problem
    fail(at(['agents', name, ...steps]), `${name}: ${message}`, hint)
  }
  return agents as LockFile['agents']
}

/** @returns place in the entry, message and hint */
function problemOf (entry: unknown, name: string): [JsonPath, string, string] | null {
  const relock = RELOCK(name)
  if (!isObject(entry)) return [[], 'an entry must be an object', relock]
  for (const key of Object.keys(entry)) {
    if (MEMBERS.includes(key)) continue
    const near = nearest(key, MEMBERS)
    return [[key], `unknown member ${JSON.stringify(key)}`, near === null ? 'remove it' : `did you mean ${near}?`]
  }
  for (const key of ['url', 'pinnedBy']) if (typeof entry[key] !== 'string') return [own(entry, key), `${key} must be a text`, relock]
  if (!isTime(entry['pinnedAt'])) return [own(entry, 'pinnedAt'), 'pinnedAt must be a time such as 2026-11-28T12:00:00Z', relock]
  const { requires } = entry
  if (!Array.isArray(requires) || !requires.every(uri => typeof uri === 'string')) {
    return [own(entry, 'requires'), 'requires must be a list of URIs', relock]
  }
  for (const [card, digest] of Object.entries(DIGEST_OF)) {
    const [text, written] = [entry[card], entry[digest]]
    if (digest === 'digest' || written !== undefined) {
      if (typeof written !== 'string' || !DIGEST.test(written)) {
        return [
          own(entry, digest), `${digest} must be sha256: and 64 hex digits`, relock
        ]
      }
    }
    if (text === undefined) continue
    if (!isObject(text)) return [[card], `${card} must be an object`, relock]
    if (digestOrNull(text) !== written) {
      return [
        own(entry, digest), `${card} does not have this digest: one of them was edited by hand`, relock
      ]
    }
  }
  return null
}

function own (entry: JsonObject, key: string): JsonPath {
  return Object.hasOwn(entry, key) ? [key] : []
}

function isTime (value: unknown): boolean {
  return typeof value === 'string' && TIME.test(value) && !Number.isNaN(Date.parse(value))
}

function digestOrNull (card: JsonObject): string | null {
  try {
    return cardDigest(card)
  } catch {
    return null
  }
}

function position (bytes: Buffer, offset: number): { readonly line: number, readonly col: number } {
  const before = bytes.subarray(0, offset).toString('utf8').split('\n')
  return { line: before.length, col: (before.at(-1) ?? '').length + 1 }
}

/** Returns the bytes of each entry, in one pass. @param bytes a valid lock file */
function textsOf (bytes: Buffer): Map<string, string> {
  const texts = new Map<string, string>()
  const agents = memberSpan(bytes, ['agents'])
  let at = agents === null || bytes[agents.start] !== OPEN_OBJECT ? bytes.length : skipSpace(bytes, agents.start + 1)
  while (at < bytes.length && bytes[at] !== CLOSE_OBJECT) {
    const end = skipString(bytes, at)
    const name = readName(bytes, at, end)
    const start = skipSpace(bytes, skipSpace(bytes, end) + 1)
    const stop = skipValue(bytes, start)
    texts.set(name, bytes.toString('utf8', start, stop))
    at = skipSpace(bytes, stop)
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1)
  }
  return texts
}
