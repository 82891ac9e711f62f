/**
 * Compiles a JSON Schema to a program of checker.as, when the schema uses only keywords whose meaning on the bytes is simple. The program
 * is stricter than the schema, never wider: data that the program accepts is valid, and Ajv decides about all other data.
 */
import { decodeFragment } from '../lint.js'
import type { Formats } from '../ajv.js'
import { resolvePointer } from '#wire/json/pointer.js'
import { isObject } from '#wire/json/object.js'
import { RESERVED } from '#wire/shared-memory.js'

/** Place of a program in the memory, as in checker.as: after the tables of numbers and names. */
export const PROGRAM = 64 + 8 * 2_048 + 8 * 4_096
const ROOM = RESERVED - PROGRAM

/** A schema, ready to run. */
export interface Program {
  /** Words of the memory from PROGRAM on. */
  readonly image: Uint32Array
  /** Place of the node for the whole value. */
  readonly node: number
  /** True when a keyword compares numbers: Ajv then has to know of the inexact numbers of the document (`InexactNumbers`). */
  readonly compares: boolean
}

/** Sizes and flags of checker.as. */
const NODE = 24
const OBJECT = 0
const ARRAY = 4
const STRING = 8
const NUMBER = 12
const WORDS = 16
const SLOTS = [OBJECT, ARRAY, STRING, NUMBER] as const
const TRUE = 1
const FALSE = 2
const NULL = 4
const OBJECT_HEAD = 32
const MEMBER = 40
/** Members of an object, and values of a list: the checker compares them one by one. */
const MAX_MEMBERS = 64
const MAX_LISTED = 64
const INTEGER = 1
const COMPARED = 2
const OVER = 4
const UNDER = 8
const LISTED = 16
const MULTIPLE = 32
const UNBOUNDED = 0xffff_ffff
/** Largest lower bound: four times as many bytes fit into 32 bits. */
const MAX_BOUND = 2 ** 28

/** Keywords that accept everything. Names that begin with `x-` do so too. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  '$comment', '$defs', 'contentEncoding', 'contentMediaType', 'default', 'definitions', 'deprecated', 'description', 'examples', 'readOnly',
  'title', 'writeOnly'
])
const ASSERTIONS: ReadonlySet<string> = new Set([
  'additionalProperties', 'const', 'enum', 'exclusiveMaximum', 'exclusiveMinimum', 'items', 'maxItems', 'maxLength', 'maxProperties',
  'maximum', 'minItems', 'minLength', 'minProperties', 'minimum', 'multipleOf', 'properties', 'required', 'type'
])
/** Keywords that stand alone beside annotations. */
const ALONE = ['$ref', 'allOf', 'anyOf', 'oneOf'] as const

/** Thrown for a schema that has no program. One object, because a stack trace is not needed. */
const UNSUPPORTED = new Error('not supported')

/**
 * Compiles a schema that `compileSchema` has accepted.
 * @param root the document
 * @param start pointer to the schema in the document
 * @returns null when the schema has no program
 */
export function programOf (root: unknown, formats: Formats = 'assert', start = ''): Program | null {
  try {
    const writer = new ProgramWriter(root, formats)
    const node = writer.node(resolvePointer(root, start))
    return { image: writer.image(), node, compares: writer.compares }
  } catch (error) {
    // A schema that nests too deeply for the stack has no program either.
    if (error === UNSUPPORTED || error instanceof RangeError) return null
    throw error
  }
}

const known = new WeakMap<object, Map<string, Program | null>>()

/** `programOf`, once for each schema. */
export function programFor (root: unknown, formats: Formats, start = ''): Program | null {
  if (typeof root !== 'object' || root === null) return root === true && start === '' ? ANYTHING : null
  let programs = known.get(root)
  if (programs === undefined) known.set(root, programs = new Map())
  const key = `${formats} ${start}`
  let program = programs.get(key)
  if (program === undefined) programs.set(key, program = programOf(root, formats, start))
  return program
}

type Schema = Readonly<Record<string, unknown>>

class ProgramWriter {
  compares = false
  readonly #root: unknown
  readonly #formats: Formats
  readonly #bytes = new Uint8Array(ROOM)
  readonly #view = new DataView(this.#bytes.buffer)
  readonly #nodes = new Map<object, number>()
  /** Nodes whose kinds of values are not known yet. */
  readonly #open = new Set<number>()
  readonly #any: number
  readonly #never: number
  #hasNames: boolean | null = null
  #end = PROGRAM

  constructor (root: unknown, formats: Formats) {
    this.#root = root
    this.#formats = formats
    this.#never = this.#place(NODE)
    this.#any = this.#place(NODE)
    this.#fillAny(this.#any)
  }

  image (): Uint32Array {
    return new Uint32Array(this.#view.buffer.slice(0, this.#end - PROGRAM))
  }

  node (schema: unknown): number {
    if (schema === true) return this.#any
    if (schema === false) return this.#never
    if (!isObject(schema)) throw UNSUPPORTED
    const known = this.#nodes.get(schema)
    if (known !== undefined) return known
    const node = this.#place(NODE)
    this.#nodes.set(schema, node)
    this.#open.add(node)
    const alone = ALONE.find(keyword => Object.hasOwn(schema, keyword))
    this.#checkKeywords(schema, alone)
    if (alone === undefined) this.#fill(node, schema)
    else this.#copy(node, this.#alternatives(schema, alone))
    this.#open.delete(node)
    return node
  }

  #checkKeywords (schema: Schema, alone: string | undefined): void {
    for (const keyword of Object.keys(schema)) {
      if (keyword === alone || ANNOTATIONS.has(keyword) || keyword.startsWith('x-')) continue
      if (keyword === 'format' && this.#formats === 'annotate') continue
      if (schema === this.#root && (keyword === '$schema' || keyword === '$id')) continue
      if (alone !== undefined || !ASSERTIONS.has(keyword)) throw UNSUPPORTED
    }
  }

  /** The schemas that a keyword of `ALONE` names. */
  #alternatives (schema: Schema, keyword: (typeof ALONE)[number]): readonly number[] {
    const value = schema[keyword]
    if (keyword === '$ref') return [this.node(this.#referenced(value))]
    if (!Array.isArray(value) || (keyword === 'allOf' && value.length !== 1)) throw UNSUPPORTED
    return value.map(one => this.node(one))
  }

  #referenced (reference: unknown): unknown {
    if (typeof reference !== 'string' || (reference !== '#' && !reference.startsWith('#/'))) throw UNSUPPORTED
    // A schema with a name of its own is the root of the references below it.
    this.#hasNames ??= hasNamesBelow(this.#root)
    if (this.#hasNames) throw UNSUPPORTED
    return resolvePointer(this.#root, decodeFragment(reference.slice(1)))
  }

  /** Makes a node accept what the others accept. Where no kind of value has two of them, `anyOf` and `oneOf` mean the same. */
  #copy (node: number, others: readonly number[]): void {
    const view = this.#view
    for (const other of others) {
      if (this.#open.has(other)) throw UNSUPPORTED
      for (const slot of SLOTS) {
        const record = view.getUint32(other - PROGRAM + slot, true)
        if (record === 0) continue
        if (view.getUint32(node - PROGRAM + slot, true) !== 0) throw UNSUPPORTED
        this.#put(node + slot, record)
      }
      const words = view.getUint32(other - PROGRAM + WORDS, true)
      const before = view.getUint32(node - PROGRAM + WORDS, true)
      if ((words & before) !== 0) throw UNSUPPORTED
      this.#put(node + WORDS, words | before)
    }
  }

  #fillAny (node: number): void {
    this.#fill(node, {})
  }

  #fill (node: number, schema: Schema): void {
    const types = typesOf(schema.type)
    const listed = Object.hasOwn(schema, 'const') ? [schema.const] : schema.enum
    const values = listed === undefined ? null : scalars(listed)
    if (values !== null && Object.hasOwn(schema, 'const') && Object.hasOwn(schema, 'enum')) throw UNSUPPORTED
    const accepts = (kind: string): boolean => types === null || types.has(kind)
    const has = (word: boolean | null): boolean => values === null || values.includes(word)
    this.#put(
      node + WORDS,
      (accepts('boolean') && has(true) ? TRUE : 0) | (accepts('boolean') && has(false) ? FALSE : 0) | (accepts('null') && has(null) ? NULL : 0)
    )
    if (accepts('string')) this.#put(node + STRING, this.#string(schema, values))
    if (accepts('number') || accepts('integer')) this.#put(node + NUMBER, this.#number(schema, values, !accepts('number')))
    const isObjectKind = values === null && accepts('object')
    const isArrayKind = values === null && accepts('array')
    // The kinds of the node are known before the nodes below are made: they may refer to this one.
    const members = isObjectKind ? membersOf(schema) : null
    const object = members === null ? 0 : this.#place(OBJECT_HEAD + MEMBER * members.size)
    const array = isArrayKind ? this.#place(16) : 0
    this.#put(node + OBJECT, object)
    this.#put(node + ARRAY, array)
    this.#open.delete(node)
    if (members !== null) this.#object(object, schema, members)
    if (isArrayKind) {
      this.#put(array, Object.hasOwn(schema, 'items') ? this.node(schema.items) : this.#any)
      this.#bounds(array + 4, schema.minItems, schema.maxItems)
    }
  }

  #object (record: number, schema: Schema, members: ReadonlyMap<string, boolean>): void {
    const properties = schema.properties as Schema | undefined
    const open = schema.additionalProperties ?? true
    this.#put(record, members.size)
    this.#put(record + 4, open === false ? 0 : this.node(open))
    this.#bounds(record + 8, schema.minProperties, schema.maxProperties)
    let required = 0n
    let bit = 0
    for (const [name, isRequired] of members) {
      const member = record + OBJECT_HEAD + MEMBER * bit
      const text = Buffer.from(`${name}"`)
      const at = this.#text(text)
      const first = Buffer.alloc(8)
      text.copy(first, 0, 0, 8)
      this.#view.setBigUint64(member - PROGRAM, first.readBigUInt64LE(), true)
      this.#view.setBigUint64(member - PROGRAM + 8, text.length >= 8 ? 2n ** 64n - 1n : 2n ** BigInt(8 * text.length) - 1n, true)
      if (text.length >= 8) this.#view.setBigUint64(member - PROGRAM + 16, text.readBigUInt64LE(text.length - 8), true)
      this.#put(member + 24, text.length)
      this.#put(member + 28, at)
      this.#put(member + 32, this.node(properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : open))
      this.#put(member + 36, bit)
      if (isRequired) required |= 1n << BigInt(bit)
      bit++
    }
    this.#view.setBigUint64(record - PROGRAM + 16, required, true)
  }

  /** @returns the place of the record; 0 when the schema accepts no string */
  #string (schema: Schema, values: readonly unknown[] | null): number {
    const texts = values?.filter(value => typeof value === 'string' && isWellFormed(value)).map(value => Buffer.from(value as string))
    if (texts?.length === 0) return 0
    const record = this.#place(16)
    this.#bounds(record, schema.minLength, schema.maxLength)
    if (texts === undefined) return record
    const list = this.#place(8 * texts.length)
    this.#put(record + 8, texts.length)
    this.#put(record + 12, list)
    texts.forEach((text, i) => {
      this.#put(list + 8 * i, text.length)
      this.#put(list + 8 * i + 4, this.#text(text))
    })
    return record
  }

  /** @returns the place of the record; 0 when the schema accepts no number */
  #number (schema: Schema, values: readonly unknown[] | null, integer: boolean): number {
    const numbers = values?.filter(value => typeof value === 'number')
    if (numbers?.length === 0) return 0
    const { multipleOf } = schema
    const over = optionalNumber(schema.exclusiveMinimum) ?? Number.NEGATIVE_INFINITY
    const under = optionalNumber(schema.exclusiveMaximum) ?? Number.POSITIVE_INFINITY
    const min = Math.max(optionalNumber(schema.minimum) ?? Number.NEGATIVE_INFINITY, over)
    const max = Math.min(optionalNumber(schema.maximum) ?? Number.POSITIVE_INFINITY, under)
    let flags = integer ? INTEGER : 0
    if (min !== Number.NEGATIVE_INFINITY || max !== Number.POSITIVE_INFINITY) flags |= COMPARED
    if (min === over && over !== Number.NEGATIVE_INFINITY) flags |= OVER
    if (max === under && under !== Number.POSITIVE_INFINITY) flags |= UNDER
    if (multipleOf !== undefined) {
      if (!Number.isSafeInteger(multipleOf) || (multipleOf as number) <= 0) throw UNSUPPORTED
      flags |= COMPARED | MULTIPLE
    }
    if (numbers !== undefined) flags |= COMPARED | LISTED
    if ((flags & COMPARED) !== 0) this.compares = true
    const record = this.#place(40)
    this.#put(record, flags)
    const view = this.#view
    view.setFloat64(record - PROGRAM + 16, min, true)
    view.setFloat64(record - PROGRAM + 24, max, true)
    if (multipleOf !== undefined) view.setFloat64(record - PROGRAM + 32, multipleOf as number, true)
    if (numbers === undefined) return record
    const list = this.#place(8 * numbers.length)
    this.#put(record + 4, numbers.length)
    this.#put(record + 8, list)
    numbers.forEach((number, i) => { view.setFloat64(list - PROGRAM + 8 * i, number as number, true) })
    return record
  }

  #bounds (at: number, min: unknown, max: unknown): void {
    const least = optionalNumber(min) ?? 0
    if (!Number.isInteger(least) || least < 0 || least > MAX_BOUND || !Number.isInteger(optionalNumber(max) ?? 0)) throw UNSUPPORTED
    this.#put(at, least)
    this.#put(at + 4, Math.min(optionalNumber(max) ?? UNBOUNDED, UNBOUNDED))
  }

  #text (text: Uint8Array): number {
    const at = this.#place(text.length)
    this.#bytes.set(text, at - PROGRAM)
    return at
  }

  /** @returns a place in the memory for so many bytes, at a multiple of 8 */
  #place (size: number): number {
    const at = this.#end
    this.#end = at + ((size + 7) & ~7)
    // Comparisons may read eight bytes beyond the last text.
    if (this.#end + 8 > RESERVED) throw UNSUPPORTED
    return at
  }

  #put (at: number, word: number): void {
    this.#view.setUint32(at - PROGRAM, word, true)
  }
}

/** The names of `properties` and `required`, and whether each is required. */
function membersOf ({ properties = {}, required = [] }: Schema): Map<string, boolean> {
  if (!isObject(properties) || !Array.isArray(required)) throw UNSUPPORTED
  const members = new Map<string, boolean>()
  for (const name of Object.keys(properties)) members.set(name, false)
  for (const name of required as string[]) members.set(name, true)
  if (members.size > MAX_MEMBERS) throw UNSUPPORTED
  for (const name of members.keys()) if (name === '__proto__' || !isWellFormed(name)) throw UNSUPPORTED
  return members
}

/** @returns null for every type */
function typesOf (type: unknown): ReadonlySet<string> | null {
  if (type === undefined) return null
  const types = typeof type === 'string' ? [type] : type
  if (!Array.isArray(types)) throw UNSUPPORTED
  return new Set(types as string[])
}

function scalars (values: unknown): readonly unknown[] {
  if (!Array.isArray(values) || values.length > MAX_LISTED || values.some(value => typeof value === 'object' && value !== null)) throw UNSUPPORTED
  return values
}

/** Draft 4 has booleans for some bounds. */
function optionalNumber (value: unknown): number | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'number' || !Number.isFinite(value)) throw UNSUPPORTED
  return value
}

/** False for text with a half of a surrogate pair, which has no bytes in UTF-8. */
function isWellFormed (text: string): boolean {
  return Buffer.from(text).toString() === text
}

/** True when a value below the root has a member `$id`, which changes where references lead. */
function hasNamesBelow (root: unknown): boolean {
  const open: unknown[] = isObject(root) ? Object.values(root) : []
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null) continue
    if (!Array.isArray(value) && Object.hasOwn(value, '$id')) return true
    for (const child of Object.values(value)) open.push(child)
  }
  return false
}

/** Accepts every JSON value without equal names. */
export const ANYTHING = programOf(true) as Program
