/** Requests of SendMessage made from a seed: valid ones, most of them damaged at one place. */
import type { Version } from '#a2a/versions.js'
import { Random } from '../../fuzz/engine/random.js'
import { doubleField, field, numberField, tag, value, varint } from '../../helpers/protobuf-bytes.js'

/** A field: bytes as they are, or a message of fields. */
type Tree = Buffer | { readonly number: number, readonly fields: Tree[] }

const SEED = 19
export const GENERATED = 240

/** Always the same messages: their expectations are files. */
export function generatedMessages (version: Version): Buffer[] {
  const random = new Random(SEED)
  return Array.from({ length: GENERATED }, () => {
    const request = requestOf(random, version)
    if (!random.chance(4)) damage(random, request)
    const bytes = encode(request)
    return random.chance(12) ? damagedBytes(random, bytes) : bytes
  })
}

const WORDS = ['message', '', 'a', 'toString', '__proto__', 'é', '🙂', '0']

function json (random: Random, depth: number): unknown {
  switch (random.below(depth > 2 ? 4 : 6)) {
    case 0: return null
    case 1: return random.pick([0, -1, 1.5, 2 ** 53, 1e300, 5e-324])
    case 2: return random.pick(WORDS)
    case 3: return random.chance(2)
    case 4: return Array.from({ length: random.below(3) }, () => json(random, depth + 1))
    default: return Object.fromEntries(Array.from({ length: random.below(3) }, (_, i) => [`k${i}`, json(random, depth + 1)]))
  }
}

/** A Struct as a tree, so that damage can reach its entries. */
function structTree (random: Random, number: number, depth: number): Tree {
  const keys = ['a', 'b', 'c'].slice(0, random.below(4))
  return {
    number,
    fields: keys.map(key => ({ number: 1, fields: [field(1, key), valueTree(random, 2, depth + 1)] }))
  }
}

function valueTree (random: Random, number: number, depth: number): Tree {
  if (depth > 3 || random.chance(2)) return { number, fields: [value(json(random, 3))] }
  if (random.chance(2)) return { number, fields: [structTree(random, 5, depth + 1)] }
  const elements = Array.from({ length: random.below(3) }, () => valueTree(random, 1, depth + 1))
  return { number, fields: [{ number: 6, fields: elements }] }
}

function partTree (random: Random, version: Version): Tree {
  return { number: 5, fields: version === '1.0' ? currentPart(random) : oldPart(random) }
}

function currentPart (random: Random): Tree[] {
  const content = random.pick([
    () => field(1, random.pick(WORDS)),
    () => field(2, random.bytes(random.below(5))),
    () => field(3, 'https://example.com/a'),
    () => valueTree(random, 4, 0)
  ])()
  const fields: Tree[] = [content]
  if (random.chance(3)) fields.push(structTree(random, 5, 1))
  if (random.chance(3)) fields.push(field(7, 'application/json'))
  return fields
}

/** Without `Part.metadata` and `FilePart.name`, which only the Python SDK knows. */
function oldPart (random: Random): Tree[] {
  const file = (content: Buffer): Tree => ({ number: 2, fields: random.chance(2) ? [content, field(3, 'text/plain')] : [content] })
  return [random.pick([
    () => field(1, random.pick(WORDS)),
    () => file(field(2, random.bytes(random.below(5)))),
    () => file(field(1, 'https://example.com/a')),
    () => ({ number: 3, fields: [structTree(random, 1, 0)] })
  ])()]
}

/** Numbers of the fields of a request. */
const NUMBERS: Readonly<Record<Version, { message: number, configuration: number, metadata: number }>> = {
  '1.0': { message: 2, configuration: 3, metadata: 4 },
  0.3: { message: 1, configuration: 2, metadata: 3 }
}

function requestOf (random: Random, version: Version): Tree[] {
  const { message: ofMessage, configuration, metadata } = NUMBERS[version]
  const message: Tree[] = [field(1, 'm'), numberField(4, 1), { number: 5, fields: [field(1, 'message')] }]
  for (let i = random.below(3); i > 0; i--) message.push(partTree(random, version))
  if (random.chance(3)) message.push(structTree(random, 6, 0))
  if (random.chance(3)) message.push(field(7, 'urn:a'))
  const request: Tree[] = [{ number: ofMessage, fields: message }]
  if (random.chance(3)) request.push({ number: configuration, fields: [field(1, 'text/plain'), numberField(3, random.below(300))] })
  if (random.chance(3)) request.push(structTree(random, metadata, 0))
  return random.chance(3) ? random.shuffled(request) : request
}

function encode (fields: readonly Tree[]): Buffer {
  return Buffer.concat(fields.map(one => Buffer.isBuffer(one) ? one : field(one.number, encode(one.fields))))
}

/** All lists of fields in the tree. */
function lists (fields: Tree[]): Tree[][] {
  return [fields, ...fields.flatMap(one => Buffer.isBuffer(one) ? [] : lists(one.fields))]
}

function damage (random: Random, request: Tree[]): void {
  const fields = random.pick(lists(request))
  const at = random.below(fields.length + 1)
  const insert = (...bytes: Tree[]): void => { fields.splice(at, 0, ...bytes) }
  switch (random.below(10)) {
    case 0: return insert(...fields.slice(-1))
    case 1: return insert(field(1 + random.below(8), random.pick(WORDS)))
    case 2: return insert(numberField(1 + random.below(8), random.pick([0, 1, 2, 300])))
    case 3: return insert(doubleField(1 + random.below(8), random.pick([0, NaN, 1.5])))
    case 4: return insert(Buffer.concat([tag(1 + random.below(8), random.pick([3, 4, 6, 7]))]))
    case 5: return insert(Buffer.from([0]), ...fields.slice(0, 1))
    case 6: return insert(field(random.pick([9, 100, 536_870_911]), 'x'))
    case 7: {
      const one = fields.find(Buffer.isBuffer)
      if (one !== undefined) fields.splice(fields.indexOf(one), 1, padded(one))
      return
    }
    case 8:
      fields.splice(at, 1)
      return
    default: insert(field(1 + random.below(8), random.bytes(1 + random.below(4))))
  }
}

/** The field with its tag in one byte more than needed. */
function padded (bytes: Buffer): Buffer {
  return Buffer.concat([varint(bytes[0] ?? 0, 1), bytes.subarray(1)])
}

function damagedBytes (random: Random, bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  const at = random.below(copy.length)
  if (random.chance(3)) return copy.subarray(0, at)
  copy[at] = random.below(256)
  return copy
}
