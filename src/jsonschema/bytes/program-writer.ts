/** Writes the nodes of a program (program.ts): the keywords of objects and arrays, references, and schemas for the same value. */
import { decodeFragment } from '../lint.js'
import type { Formats } from '../ajv.js'
import { resolvePointer } from '#wire/json/pointer.js'
import { isObject } from '#wire/json/object.js'
import { Image, UNSUPPORTED } from './image.js'
import type { Schema } from './scalars.js'
import { listedValues, typesOf, writeBounds, writeNumber, writeString } from './scalars.js'
import type { ValueTest } from './value-tests.js'
import { uniqueTest } from './value-tests.js'

/** Sizes and flags of checker.as. */
const NODE = 24
const OBJECT = 0
const ARRAY = 4
const STRING = 8
const NUMBER = 12
const WORDS = 16
const BESIDE = 20
const MARKED = 1
const SLOTS = [OBJECT, ARRAY, STRING, NUMBER] as const
const TRUE = 1
const FALSE = 2
const NULL = 4
const ARRAY_RECORD = 16
const OBJECT_HEAD = 32
const MEMBER = 40
const BESIDE_HEAD = 8
const ENTRY = 16
/** Kinds of entries beside a node. */
const ALL = 1
const ANY = 2
const ONE = 3
const NOT = 4
const IF = 5
/** Members of an object: the checker compares them one by one. */
const MAX_MEMBERS = 64

/** Keywords that accept everything. Names that begin with `x-` do so too. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  '$comment', '$defs', 'contentEncoding', 'contentMediaType', 'default', 'definitions', 'deprecated', 'description', 'examples', 'nullable',
  'readOnly', 'title', 'writeOnly'
])
const ASSERTIONS: ReadonlySet<string> = new Set([
  'additionalProperties', 'const', 'enum', 'exclusiveMaximum', 'exclusiveMinimum', 'format', 'items', 'maxItems', 'maxLength', 'maxProperties',
  'maximum', 'minItems', 'minLength', 'minProperties', 'minimum', 'multipleOf', 'pattern', 'properties', 'required', 'type', 'uniqueItems'
])
/** Keywords with schemas for the same value. */
const APPLICATORS = ['$ref', 'allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'] as const
type Applicator = (typeof APPLICATORS)[number]

/** A node whose schema is not written yet: its kinds of values are unknown, or something below is not written. */
type Progress = 'unknown' | 'begun'

/** Schemas for the same value: a kind, and their nodes. */
type Entry = readonly [kind: number, nodes: readonly number[]]

export class ProgramWriter {
  readonly image = new Image()
  readonly tests: ValueTest[] = []
  compares = false
  readonly #root: unknown
  readonly #formats: Formats
  readonly #nodes = new Map<object, number>()
  readonly #unfinished = new Map<number, Progress>()
  readonly #testNumbers = new Map<string, number>()
  readonly #any: number
  readonly #never: number
  #hasNames: boolean | null = null

  constructor (root: unknown, formats: Formats) {
    this.#root = root
    this.#formats = formats
    this.#never = this.image.place(NODE)
    this.#any = this.image.place(NODE)
    this.#fill(this.#any, {})
  }

  /**
   * @returns a reference to the node of a schema: its place, with MARKED when it may have schemas beside
   * @throws UNSUPPORTED
   */
  node (schema: unknown): number {
    if (schema === true) return this.#any
    if (schema === false) return this.#never
    if (!isObject(schema)) throw UNSUPPORTED
    const existing = this.#nodes.get(schema)
    if (existing !== undefined) return existing
    const applicators = this.#applicatorsOf(schema)
    const place = this.image.place(NODE)
    const node = applicators.length === 0 ? place : place | MARKED
    this.#nodes.set(schema, node)
    this.#unfinished.set(node, 'unknown')
    const alone = applicators.length === 1 && this.#isAlone(schema) ? applicators[0] as Applicator : null
    const copied = alone === null ? null : this.#sameKinds(schema, alone)
    if (copied === null || !this.#copy(place, copied)) {
      const beside = applicators.flatMap(applicator => this.#entries(schema, applicator))
      const isChoice = alone === 'anyOf' || alone === 'oneOf'
      this.#beside(place, beside, isChoice)
      if (!isChoice) this.#fill(place, schema)
    }
    this.#unfinished.delete(node)
    return node
  }

  /** The applicators of a schema. Throws for keywords that have no program. */
  #applicatorsOf (schema: Schema): Applicator[] {
    for (const keyword of Object.keys(schema)) {
      if (ASSERTIONS.has(keyword) || isAnnotation(keyword) || (APPLICATORS as readonly string[]).includes(keyword)) continue
      if (schema === this.#root && (keyword === '$schema' || keyword === '$id')) continue
      throw UNSUPPORTED
    }
    return APPLICATORS.filter(keyword => Object.hasOwn(schema, keyword))
  }

  #isAlone (schema: Schema): boolean {
    return !Object.keys(schema).some(keyword => ASSERTIONS.has(keyword) && (keyword !== 'format' || this.#formats === 'assert'))
  }

  /** The schemas of a keyword that may be one node: a reference, or alternatives. */
  #sameKinds (schema: Schema, keyword: Applicator): readonly number[] | null {
    const value = schema[keyword]
    if (keyword === '$ref') return [this.node(this.#referenced(value))]
    if (keyword !== 'anyOf' && keyword !== 'oneOf' && (keyword !== 'allOf' || (value as unknown[]).length !== 1)) return null
    return this.#schemas(value).map(schema => this.node(schema))
  }

  #schemas (value: unknown): readonly unknown[] {
    if (!Array.isArray(value)) throw UNSUPPORTED
    return value
  }

  /** Schemas for the same value have to be written before: no schema then applies to itself without end. */
  #finished (schema: unknown): number {
    const node = this.node(schema)
    if (this.#unfinished.has(node)) throw UNSUPPORTED
    return node
  }

  #entries (schema: Schema, keyword: Applicator): readonly Entry[] {
    const value = schema[keyword]
    switch (keyword) {
      case '$ref': return [[ALL, [this.#finished(this.#referenced(value))]]]
      case 'allOf': return [[ALL, this.#schemas(value).map(schema => this.#finished(schema))]]
      case 'anyOf': return [[ANY, this.#schemas(value).map(schema => this.#finished(schema))]]
      case 'oneOf': return [[ONE, this.#schemas(value).map(schema => this.#finished(schema))]]
      case 'not': return [[NOT, [this.#finished(value)]]]
      case 'if': return [[IF, [value, schema.then ?? true, schema.else ?? true].map(branch => this.#finished(branch))]]
      // Without `if`, they mean nothing.
      case 'then': case 'else': return []
    }
  }

  #referenced (reference: unknown): unknown {
    if (typeof reference !== 'string' || (reference !== '#' && !reference.startsWith('#/'))) throw UNSUPPORTED
    // A schema with a name of its own is the root of the references below it.
    this.#hasNames ??= hasNamesBelow(this.#root)
    if (this.#hasNames) throw UNSUPPORTED
    return resolvePointer(this.#root, decodeFragment(reference.slice(1)))
  }

  /**
   * Makes a node accept what the others accept. Where no kind of value has two of them, `anyOf` and `oneOf` mean the same.
   * @returns false when they share a kind of value, or need more than their kinds
   */
  #copy (node: number, others: readonly number[]): boolean {
    const { image } = this
    const slots = new Map<number, number>()
    let words = 0
    for (const reference of others) {
      const other = reference & ~MARKED
      if (this.#unfinished.get(reference) === 'unknown') throw UNSUPPORTED
      if (image.get(other + BESIDE) !== 0) return false
      for (const slot of SLOTS) {
        const record = image.get(other + slot)
        if (record === 0) continue
        if (slots.has(slot)) return false
        slots.set(slot, record)
      }
      const more = image.get(other + WORDS)
      if ((words & more) !== 0) return false
      words |= more
    }
    for (const [slot, record] of slots) image.put(node + slot, record)
    image.put(node + WORDS, words)
    return true
  }

  /** @param isChoice true when the node has nothing else: the reading by an accepting schema is then enough */
  #beside (node: number, entries: readonly Entry[], isChoice: boolean): void {
    if (entries.length === 0) return
    const { image } = this
    const head = image.place(BESIDE_HEAD + ENTRY * entries.length)
    image.put(head, entries.length)
    image.put(head + 4, isChoice ? 1 : 0)
    entries.forEach(([kind, nodes], i) => {
      const entry = head + BESIDE_HEAD + ENTRY * i
      image.put(entry, kind)
      image.put(entry + 4, nodes.length)
      image.put(entry + 8, image.list(nodes))
    })
    image.put(node + BESIDE, head)
  }

  #fill (node: number, schema: Schema): void {
    const { image } = this
    const types = typesOf(schema.type)
    const values = listedValues(schema)
    const format = this.#formats === 'assert' ? schema.format : undefined
    const accepts = (kind: string): boolean => types === null || types.has(kind)
    const has = (word: boolean | null): boolean => values === null || values.includes(word)
    image.put(
      node + WORDS,
      (accepts('boolean') && has(true) ? TRUE : 0) | (accepts('boolean') && has(false)
        ? FALSE
        : 0) | (accepts('null') && has(null) ? NULL : 0)
    )
    if (accepts('string')) image.put(node + STRING, writeString(image, schema, values, format, (key, test) => this.#test(key, test)))
    if (accepts('number') || accepts('integer')) {
      const number = writeNumber(image, schema, values, format, !accepts('number'))
      if (number !== null) image.put(node + NUMBER, number.record)
      if (number?.compares === true) this.compares = true
    }
    const isObjectKind = values === null && accepts('object')
    const isArrayKind = values === null && accepts('array')
    // The kinds of the node are known before the nodes below are made: they may refer to this one.
    const members = isObjectKind ? membersOf(schema) : null
    const object = members === null ? 0 : image.place(OBJECT_HEAD + MEMBER * members.size)
    const array = isArrayKind ? image.place(ARRAY_RECORD) : 0
    image.put(node + OBJECT, object)
    image.put(node + ARRAY, array)
    for (const reference of [node, node | MARKED]) if (this.#unfinished.has(reference)) this.#unfinished.set(reference, 'begun')
    if (members !== null) this.#object(object, schema, members)
    if (isArrayKind) this.#array(array, schema)
  }

  #array (record: number, schema: Schema): void {
    const { image } = this
    image.put(record, Object.hasOwn(schema, 'items') ? this.node(schema.items) : this.#any)
    writeBounds(image, record + 4, schema.minItems, schema.maxItems)
    if (schema.uniqueItems !== true) return
    this.compares = true
    image.put(record + 12, this.#test('uniqueItems', uniqueTest))
  }

  #object (record: number, schema: Schema, members: ReadonlyMap<string, boolean>): void {
    const { image } = this
    const properties = schema.properties as Schema | undefined
    const open = schema.additionalProperties ?? true
    image.put(record, members.size)
    image.put(record + 4, open === false ? 0 : this.node(open))
    writeBounds(image, record + 8, schema.minProperties, schema.maxProperties)
    let required = 0n
    let bit = 0
    for (const [name, isRequired] of members) {
      const member = record + OBJECT_HEAD + MEMBER * bit
      const text = Buffer.from(`${name}"`)
      const at = image.text(text)
      const first = Buffer.alloc(8)
      text.copy(first, 0, 0, 8)
      image.putBits(member, first.readBigUInt64LE())
      image.putBits(member + 8, text.length >= 8 ? 2n ** 64n - 1n : 2n ** BigInt(8 * text.length) - 1n)
      if (text.length >= 8) image.putBits(member + 16, text.readBigUInt64LE(text.length - 8))
      image.put(member + 24, text.length)
      image.put(member + 28, at)
      image.put(member + 32, this.node(properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : open))
      image.put(member + 36, bit)
      if (isRequired) required |= 1n << BigInt(bit)
      bit++
    }
    image.putBits(record + 16, required)
  }

  /** @returns the number of a test, which is added at its first use */
  #test (key: string, test: ValueTest): number {
    let number = this.#testNumbers.get(key)
    if (number === undefined) this.#testNumbers.set(key, number = this.tests.push(test))
    return number
  }
}

function isAnnotation (keyword: string): boolean {
  return ANNOTATIONS.has(keyword) || keyword.startsWith('x-')
}

/** The names of `properties` and `required`, and whether each is required. */
function membersOf ({ properties = {}, required = [] }: Schema): Map<string, boolean> {
  if (!isObject(properties) || !Array.isArray(required)) throw UNSUPPORTED
  const members = new Map<string, boolean>()
  for (const name of Object.keys(properties)) members.set(name, false)
  for (const name of required as string[]) members.set(name, true)
  if (members.size > MAX_MEMBERS) throw UNSUPPORTED
  for (const name of members.keys()) {
    // A text can only have such a name with escapes, and the checker compares the bytes of names.
    if (name === '__proto__' || JSON.stringify(name) !== `"${name}"`) throw UNSUPPORTED
  }
  return members
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
