/** Values in the metadata and attributes of Envoy: maps of `google.protobuf.Struct`, by namespace. */
import { isUtf8 } from 'node:buffer'
import type { JsonObject } from '../json/object.js'
import { isObject } from '../json/object.js'
import { EnvoyFault, readFields } from './fields.js'

/** Fields of `MapField.Entry`, `Struct`, `ListValue` and `Value`. */
const KEY = 1
const VALUE = 2
const FIELDS = 1
const VALUES = 1
const NULL = 1
const NUMBER = 2
const STRING = 3
const BOOL = 4
const STRUCT = 5
const LIST = 6
/** Field of `envoy.config.core.v3.Metadata` with the namespaces. */
const FILTER_METADATA = 1

/** Where metadata has a value. */
export interface MetadataPlace { readonly namespace: string, readonly key: string }

/** Bounds of a value. */
export interface Bounds { readonly depth: number, readonly members: number }

/**
 * @param message with the map
 * @param field of the map
 * @returns the text under the key in the namespace; undefined where there is none. @throws EnvoyFault
 */
export function textIn (message: Buffer, field: number, namespace: string, key: string): string | undefined {
  const value = valueAt(message, field, namespace, key)
  let text: string | undefined
  if (value !== undefined) readFields(value, ({ number, bytes }) => { if (number === STRING) text = bytes.toString() })
  return text
}

function valueAt (message: Buffer, field: number, namespace: string, key: string): Buffer | undefined {
  const struct = valueOf(message, field, namespace)
  return struct === undefined ? undefined : valueOf(struct, FIELDS, key)
}

/**
 * @param metadata an `envoy.config.core.v3.Metadata`
 * @returns the bytes of the `Value` at a place; undefined where there is none. @throws EnvoyFault
 */
export function valueIn (metadata: Buffer, { namespace, key }: MetadataPlace): Buffer | undefined {
  return valueAt(metadata, FILTER_METADATA, namespace, key)
}

/** Reads a `Value` that has a `Struct`. Null for any other value, and for one that is beyond the bounds or cannot be read. */
export function readObject (value: Buffer, { depth, members }: Bounds): JsonObject | null {
  try {
    const read = jsonOf(value, depth, { left: members })
    return isObject(read) ? read : null
  } catch (error) {
    if (error instanceof EnvoyFault) return null
    throw error
  }
}

interface Budget { left: number }

function jsonOf (message: Buffer, depth: number, budget: Budget): unknown {
  if (depth === 0 || budget.left-- === 0) throw new EnvoyFault('a value is too large')
  let fieldValue: unknown
  readFields(message, ({ number, bytes, value }) => {
    switch (number) {
      case NULL: fieldValue = null; break
      case STRING: fieldValue = textOf(bytes); break
      case BOOL: fieldValue = value !== 0; break
      case STRUCT: fieldValue = objectOf(bytes, depth - 1, budget); break
      case LIST: fieldValue = listOf(bytes, depth - 1, budget); break
    }
  }, false, (number, bytes) => { if (number === NUMBER) fieldValue = numberOf(bytes) })
  // A kind that this release does not know.
  if (fieldValue === undefined) throw new EnvoyFault('a value has no kind')
  return fieldValue
}

/** Texts are UTF-8: two of them that are not could become the same one. */
function textOf (bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new EnvoyFault('a text is not UTF-8')
  return bytes.toString()
}

function numberOf (bytes: Buffer): number {
  const number = bytes.readDoubleLE()
  if (!Number.isFinite(number)) throw new EnvoyFault('a number is not finite')
  return number
}

function objectOf (message: Buffer, depth: number, budget: Budget): JsonObject {
  const members = new Map<string, unknown>()
  readFields(message, ({ number, bytes: entry }) => {
    if (number !== FIELDS) return
    let name = ''
    let value: unknown
    readFields(entry, ({ number, bytes }) => {
      if (number === KEY) name = textOf(bytes)
      else if (number === VALUE) value = jsonOf(bytes, depth, budget)
    })
    if (value === undefined || members.has(name)) throw new EnvoyFault('a member has no value, or two')
    members.set(name, value)
  })
  return Object.fromEntries(members) as JsonObject
}

function listOf (message: Buffer, depth: number, budget: Budget): unknown[] {
  const values: unknown[] = []
  readFields(message, ({ number, bytes }) => { if (number === VALUES) values.push(jsonOf(bytes, depth, budget)) })
  return values
}

/** The last value of a key counts, as in every map of protobuf. */
function valueOf (message: Buffer, field: number, key: string): Buffer | undefined {
  let fieldBytes: Buffer | undefined
  readFields(message, ({ number, bytes: entry }) => {
    if (number !== field) return
    let name = ''
    let value: Buffer | undefined
    readFields(entry, ({ number, bytes }) => {
      if (number === KEY) name = bytes.toString()
      else if (number === VALUE) value = bytes
    })
    if (name === key) fieldBytes = value
  })
  return fieldBytes
}
