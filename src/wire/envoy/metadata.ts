/** Texts in the metadata and attributes of Envoy: maps of `google.protobuf.Struct`, by namespace. */
import { readFields } from './fields.js'

/** Fields of `MapField.Entry`, `Struct` and `Value`. */
const KEY = 1
const VALUE = 2
const FIELDS = 1
const STRING = 3

/**
 * @param message with the map
 * @param field of the map
 * @returns the text under the key in the namespace; undefined where there is none. @throws EnvoyFault
 */
export function textIn (message: Buffer, field: number, namespace: string, key: string): string | undefined {
  const struct = valueOf(message, field, namespace)
  const value = struct === undefined ? undefined : valueOf(struct, FIELDS, key)
  let text: string | undefined
  if (value !== undefined) readFields(value, ({ number, bytes }) => { if (number === STRING) text = bytes.toString() })
  return text
}

/** The last value of a key counts, as in every map of protobuf. */
function valueOf (message: Buffer, field: number, key: string): Buffer | undefined {
  let found: Buffer | undefined
  readFields(message, ({ number, bytes: entry }) => {
    if (number !== field) return
    let name = ''
    let value: Buffer | undefined
    readFields(entry, ({ number, bytes }) => {
      if (number === KEY) name = bytes.toString()
      else if (number === VALUE) value = bytes
    })
    if (name === key) found = value
  })
  return found
}
