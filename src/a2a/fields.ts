/**
 * Fields of the protocol's objects as different agents may read them.
 *
 * A ProtoJSON parser reads `media_type` as `mediaType` (1.0 §5.5), pydantic models do the same for 0.3, and Go's encoding/json matches any
 * letter case. When two members of one object could be the same field for some reader, gateway and agent may read different requests. The
 * gateway rejects such objects and never guesses.
 */

import { isUnread } from '#wire/json/lazy-string.js'
import { unreadValue } from '#wire/json/unread-value.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { accepts, ANY, OBJECT, typeProblem, typeProblemAt } from './json-types.js'

/** One field of an object, and its allowed JSON types. */
export interface Member {
  readonly field: string
  /** Bits of `json-types.ts`. */
  readonly types: number
  /** The fields of an object that no other code reads. They are checked together with the object that holds it. */
  readonly within: FieldSet | null
}

/** JSON types of each field. A FieldSet stands for OBJECT, and the fields of that object are checked too. */
export type MemberTable = Readonly<Record<string, number | FieldSet>>

/** The known fields of one kind of object, prepared for lookup. */
export class FieldSet {
  readonly members: readonly Member[]
  /** Maps each legal spelling, camelCase or snake_case, to its field. */
  readonly spellings: ReadonlyMap<string, Member>
  /** Maps the folded name (lower case, without `_`) to the name of the field. */
  readonly folded: ReadonlyMap<string, string>

  constructor (table: MemberTable) {
    const spellings = new Map<string, Member>()
    const folded = new Map<string, string>()
    this.members = Object.entries(table).map(([field, of]) => {
      return typeof of === 'number' ? { field, types: of, within: null } : { field, types: OBJECT, within: of }
    })
    for (const member of this.members) {
      const { field } = member
      spellings.set(field, member)
      spellings.set(snakeCase(field), member)
      folded.set(fold(field), field)
    }
    this.spellings = spellings
    this.folded = folded
  }
}

/** Names of fields, which are few, by their spelling in JSON: the replacement takes longer than the look-up. */
const SNAKE_CASE = new Map<string, string>()

/** Returns the name of a field in a proto file. @param field name that A2A defines, never a key of a client */
export function snakeCase (field: string): string {
  let name = SNAKE_CASE.get(field)
  if (name === undefined) SNAKE_CASE.set(field, name = field.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`))
  return name
}

/**
 * Folds a key to lower case without `_`. Upper case first: Go's encoding/json also folds the long s (U+017F) and the Kelvin sign, and lower
 * case alone keeps them distinct.
 */
function fold (key: string): string {
  return key.replaceAll('_', '').toUpperCase().toLowerCase()
}

/** True when some reader takes the key for the field. */
export function isSameField (key: string, field: string): boolean {
  return key === field || (key.length <= 64 && fold(key) === fold(field))
}

/** True when the key is a legal spelling of the field. */
export function isSpelling (key: string, field: string): boolean {
  return key === field || key === snakeCase(field)
}

/** `message` is a predicate of the path: `params.message.parts[0]` `holds both "text" and "data"; ...`. */
export interface FieldProblem { readonly path: string, readonly message: string }

/**
 * Maximum number of recorded problems of one request. A message with 50,000 faulty parts needs no more problems than a message with twenty.
 */
export const MAX_PROBLEMS = 20

export function addProblem (problems: FieldProblem[], path: string, message: string): void {
  if (problems.length < MAX_PROBLEMS) problems.push({ path, message })
}

/**
 * Adds a problem for each named field in snake_case. For objects of which some agents know only camelCase, and others know both spellings.
 */
export function mustBeCamelCase (fields: Fields, names: readonly string[], problems: FieldProblem[]): void {
  for (const name of names) {
    const key = fields.key(name)
    if (key !== null && key !== name) {
      addProblem(problems, fields.pathOf(name), `is read as "${name}" by some agents only; spell it "${name}"`)
    }
  }
}

/**
 * Adds a problem for each member that A2A does not define. Members that some reader takes for a field are problems of `Fields.read`.
 * @param name of the object's type, for the message
 */
export function addUnknownMembers ({ object, path }: Fields, set: FieldSet, name: string, problems: FieldProblem[]): void {
  for (const key in object) {
    if (set.spellings.has(key) || (key.length <= 64 && set.folded.has(fold(key)))) continue
    if (problems.length >= MAX_PROBLEMS) return
    addProblem(problems, memberPath(path, key), `is not a member that A2A defines for ${name}; extensions add data to metadata`)
  }
}

/**
 * The value of a member; '' for a long string that nobody has read. This is a function, because V8 of Node 24 deoptimizes a loop that reads
 * members of the object whose names it reads, again and again: `Fields.read` 200 times a second, under a load of 50 kB of Markdown. A call
 * took 143 us of CPU, and takes 102 with the function (29 November 2026).
 */
function peekAt (object: JsonObject, key: string): unknown {
  return isUnread(object, key) ? '' : object[key]
}

/** One object of the protocol. Its fields are read by name, whatever their spelling. */
export class Fields {
  readonly object: JsonObject
  readonly path: string
  /** Maps a field name to the key that the client wrote; null when each key is spelled like its field. */
  private readonly aliases: ReadonlyMap<string, string> | null

  private constructor (object: JsonObject, path: string, aliases: ReadonlyMap<string, string> | null) {
    this.object = object
    this.path = path
    this.aliases = aliases
  }

  /**
   * Reads one object.
   * @param path of the object from the root of the request, '' for the root
   * @param problems receives one entry for each member that could be misread, or has a JSON type that A2A does not allow
   */
  static read (object: JsonObject, set: FieldSet, path: string, problems: FieldProblem[]): Fields {
    let aliases: Map<string, string> | null = null
    // `for in` avoids the list that Object.keys makes. Parsed JSON has no inherited keys.
    for (const key in object) {
      const member = set.spellings.get(key)
      if (member === undefined) {
        const variant = key.length > 64 ? undefined : set.folded.get(fold(key))
        if (variant !== undefined) {
          addProblem(problems, memberPath(path, key), `is read as "${variant}" by some agents; spell it "${variant}" or leave it out`)
        }
        continue
      }
      const { field, types, within } = member
      if (field !== key) {
        if (Object.hasOwn(object, field)) {
          addProblem(
            problems,
            memberPath(path, key),
            `occurs together with "${field}", another spelling of the same field; send only "${field}"`
          )
        } else {
          aliases ??= new Map()
          aliases.set(field, key)
        }
      }
      if (types === ANY) continue
      // A long string stays unread.
      const value: unknown = peekAt(object, key)
      if (!accepts(types, value)) addProblem(problems, memberPath(path, key) + typeProblemAt(types, value), typeProblem(types, value))
      else if (within !== null && isObject(value)) Fields.read(value, within, memberPath(path, key), problems)
    }
    return new Fields(object, path, aliases)
  }

  /** Returns the key under which the client wrote the field, or null when the field is absent. */
  key (field: string): string | null {
    if (Object.hasOwn(this.object, field)) return field
    return this.aliases?.get(field) ?? null
  }

  get (field: string): unknown {
    const key = this.key(field)
    return key === null ? undefined : this.object[key]
  }

  /**
   * Like `get`, for callers that need to know only whether the value is a string: a long string that nobody has read is returned as '' and
   * stays unread, and so does an object or a list, which is returned as an object.
   */
  peek (field: string): unknown {
    const key = this.key(field)
    if (key === null) return undefined
    return isUnread(this.object, key) ? '' : unreadValue(this.object, key) ?? this.object[key]
  }

  /** Returns the path of the field in the client's own spelling; the field's own name when it is absent. */
  pathOf (field: string): string {
    const key = this.aliases?.get(field)
    if (key !== undefined && !Object.hasOwn(this.object, field)) return memberPath(this.path, key)
    // Field names of the protocol need no quotes.
    return this.path === '' ? field : `${this.path}.${field}`
  }
}

const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/

/**
 * Appends one member to a path: `.name` for an identifier, `["other name"]` otherwise. Long names are clipped.
 * @param limit maximum length of the name: short for a name from a client, as long as a URI for a name that a policy defines
 */
export function memberPath (path: string, key: string, limit = 64): string {
  if (key.length <= limit && IDENTIFIER.test(key)) return path === '' ? key : `${path}.${key}`
  return `${path}[${quoted(key, limit)}]`
}

const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/gu

/**
 * Makes text from a client or a card safe for messages, headers and logs. The text is clipped. Characters that a terminal or a reader would
 * not show (control, format and bidirectional characters) become JSON escapes.
 */
export function visible (text: string, limit: number): string {
  return clip(text, limit).replace(INVISIBLE, escaped)
}

/** Like `visible`, between quotes. Quotes and backslashes in the text are escaped. */
export function quoted (text: string, limit: number): string {
  return `"${clip(text, limit).replace(/["\\]/g, '\\$&').replace(INVISIBLE, escaped)}"`
}

function clip (text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit - 3)}...` : text
}

function escaped (character: string): string {
  let text = ''
  for (let i = 0; i < character.length; i++) text += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`
  return text
}
