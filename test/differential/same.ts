/** Compares two readers of the same JSON. */
import type { PartReading } from './oracle.js'

/** Reports what a reader found at a path together with the gateway's reading. For a part, also the reader's part. */
export type Same = (path: string, gateway: unknown, reader: unknown, part?: PartReading) => void

export const NO_PART: PartReading = { kind: null, value: undefined, mediaTypes: [], metadata: undefined }

/**
 * The elements that an application finds when it reads `list[0]` and `list.length`. The application sees an object with such members as a
 * list.
 */
export function elementsOf (list: unknown): readonly unknown[] {
  return typeof list === 'object' && list !== null ? Array.from(list as ArrayLike<unknown>) : []
}

/** The value as JSON. Null, undefined and an empty text are all absent in ProtoJSON. Metadata without members is absent too. */
export function plain (value: unknown): unknown {
  if (value === undefined || value === null || value === '') return null
  const copy: unknown = JSON.parse(JSON.stringify(value))
  return typeof copy === 'object' && copy !== null && !Array.isArray(copy) && Object.keys(copy).length === 0 ? null : copy
}

export function sameParts (path: string, gateway: PartReading, reader: PartReading, same: Same): void {
  const value = gateway.kind === 'raw' ? decoded : (one: unknown) => one
  same(`${path}.kind`, gateway.kind, reader.kind, reader)
  same(`${path}.value`, value(gateway.value), value(reader.value), reader)
  same(`${path}.metadata`, gateway.metadata, reader.metadata, reader)
  // The gateway evaluates every stated media type, but the reader uses one of them.
  const unknown = reader.mediaTypes.filter(type => !gateway.mediaTypes.includes(type))
  same(`${path}.mediaType`, unknown.length === 0 ? [] : gateway.mediaTypes, unknown, reader)
}

/** Base64 has several texts for the same bytes. */
function decoded (value: unknown): unknown {
  return typeof value === 'string' ? Buffer.from(value, 'base64').toString('hex') : value
}
