/**
 * Fields of the protocol's objects as different agents may read them.
 *
 * A ProtoJSON parser takes `media_type` for `mediaType` (1.0 §5.5), pydantic models do the same for 0.3, and Go's encoding/json matches
 * any letter case. Where two members of one object could be the same field to somebody, gateway and agent may read different
 * requests: such objects are refused, never guessed at.
 */

export type JsonObject = Readonly<Record<string, unknown>>

export function isObject (value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Own property only: `constructor` and `__proto__` are ordinary names in data. */
export function own (object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** The known fields of one kind of object, prepared for look-up. */
export class FieldSet {
  /** Legal spelling, camelCase or snake_case, to the field's name. */
  readonly spellings: ReadonlyMap<string, string>
  /** Letters only, lower case, to the field's name. */
  readonly folded: ReadonlyMap<string, string>

  constructor (fields: readonly string[]) {
    const spellings = new Map<string, string>()
    const folded = new Map<string, string>()
    for (const field of fields) {
      spellings.set(field, field)
      spellings.set(snakeCase(field), field)
      folded.set(fold(field), field)
    }
    this.spellings = spellings
    this.folded = folded
  }
}

function snakeCase (field: string): string {
  return field.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}

function fold (key: string): string {
  return key.replaceAll('_', '').toLowerCase()
}

export interface FieldProblem { readonly path: string, readonly message: string }

/** One object of the protocol, read by field name whatever its spelling. */
export class Fields {
  readonly object: JsonObject
  readonly path: string
  /** Field name to the key the client wrote; null when every key is spelled as the field. */
  private readonly aliases: ReadonlyMap<string, string> | null

  private constructor (object: JsonObject, path: string, aliases: ReadonlyMap<string, string> | null) {
    this.object = object
    this.path = path
    this.aliases = aliases
  }

  /**
   * @param path of the object from the root of the request, '' for the root
   * @param problems receives one entry per member that could be misread
   */
  static read (object: JsonObject, set: FieldSet, path: string, problems: FieldProblem[]): Fields {
    let aliases: Map<string, string> | null = null
    const keys = Object.keys(object)
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] as string
      const field = set.spellings.get(key)
      if (field === key) continue
      if (field !== undefined) {
        if (Object.hasOwn(object, field)) {
          problems.push({ path: memberPath(path, key), message: `${where(path)} holds both "${field}" and "${key}", two spellings of one field; send only "${field}"` })
        } else {
          aliases ??= new Map()
          aliases.set(field, key)
        }
        continue
      }
      const variant = key.length > 64 ? undefined : set.folded.get(fold(key))
      if (variant !== undefined) {
        problems.push({ path: memberPath(path, key), message: `${where(path)} holds "${key}", which some agents read as "${variant}"; spell it "${variant}"` })
      }
    }
    return new Fields(object, path, aliases)
  }

  /** The key under which the client wrote the field, or null when it is absent. */
  key (field: string): string | null {
    if (Object.hasOwn(this.object, field)) return field
    return this.aliases?.get(field) ?? null
  }

  get (field: string): unknown {
    const key = this.key(field)
    return key === null ? undefined : this.object[key]
  }

  /** Path of the field in the client's own spelling; the field's own name when it is absent. */
  pathOf (field: string): string {
    return memberPath(this.path, this.key(field) ?? field)
  }
}

const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/

/** Appends one member to a path: `.name` where that reads well, `["other name"]` otherwise; long names are clipped. */
export function memberPath (path: string, key: string): string {
  if (IDENTIFIER.test(key) && key.length <= 64) return path === '' ? key : `${path}.${key}`
  const clipped = key.length > 64 ? `${key.slice(0, 61)}...` : key
  return `${path}[${JSON.stringify(clipped)}]`
}

function where (path: string): string {
  return path === '' ? 'the root object' : path
}
