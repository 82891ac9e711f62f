/**
 * Changes inputs: single bytes without knowledge of the format, and tokens, lines and brackets of JSON, YAML, headers and event streams.
 */
import type { Random } from './random.js'

/** Makes one input out of another; `other` is a second input to take pieces from. */
type Mutation = (bytes: Buffer, random: Random, other: Buffer, dictionary: readonly string[]) => Buffer

const BYTES = [0, 1, 9, 10, 13, 32, 34, 44, 58, 91, 92, 93, 123, 125, 127, 128, 0xbf, 0xc2, 0xe2, 0xed, 0xef, 0xf4, 255]
const NUMBERS = ['0', '-0', '1', '-1', '2', '1.0', '1e400', '1e-7', '255', '65536', '2147483648', '9007199254740993', '0x1', '01']
const NONE = Buffer.alloc(0)

/** Words, runs of blanks, and every other byte alone. The text is latin1, so each character is a byte. */
const TOKEN = /[A-Za-z0-9_$.+-]+|[ \t]+|[^]/g

function replaced (bytes: Buffer, start: number, end: number, by: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, start), by, bytes.subarray(end)])
}

/** A random byte: one with a meaning for parsers, a printable one, or any. */
function anyByte (random: Random): number {
  return random.chance(3) ? random.pick(BYTES) : random.chance(4) ? random.below(256) : 0x20 + random.below(95)
}

/** A range that is usually short. */
function range (bytes: Buffer, random: Random): [number, number] {
  const start = random.below(bytes.length + 1)
  const length = random.below(random.chance(4) ? bytes.length - start + 1 : Math.min(12, bytes.length - start) + 1)
  return [start, start + length]
}

function tokens (bytes: Buffer): string[] {
  return bytes.toString('latin1').match(TOKEN) ?? []
}

/** Ranges from an opening bracket or quote to its closing counterpart. The handling of quotes is approximate. */
function balanced (bytes: Buffer): [number, number][] {
  const found: [number, number][] = []
  const open: number[] = []
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === 0x22) {
      let end = i + 1
      while (end < bytes.length && bytes[end] !== 0x22) end += bytes[end] === 0x5c ? 2 : 1
      found.push([i, Math.min(end + 1, bytes.length)])
      i = end
    } else if (byte === 0x5b || byte === 0x7b) {
      open.push(i)
    } else if (byte === 0x5d || byte === 0x7d) {
      const start = open.pop()
      if (start !== undefined) found.push([start, i + 1])
    }
  }
  return found
}

const onTokens =
  (change: (list: string[], random: Random, other: Buffer, dictionary: readonly string[]) => void): Mutation =>
    (bytes, random, other, dictionary) => {
      const list = tokens(bytes)
      if (list.length === 0) return Buffer.from(random.pick(dictionary) ?? 'a')
      change(list, random, other, dictionary)
      return Buffer.from(list.join(''), 'latin1')
    }

/** Dictionaries are text. The function returns their UTF-8 bytes as latin1, one character for each byte. */
const word = (random: Random, dictionary: readonly string[]): string => Buffer.from(random.pick(dictionary) ?? ' ').toString('latin1')

const MUTATIONS: readonly Mutation[] = [
  (bytes, random) => {
    if (bytes.length === 0) return Buffer.from([random.pick(BYTES)])
    const copy = Buffer.from(bytes)
    const at = random.below(bytes.length)
    copy[at] = random.chance(2) ? anyByte(random) : (copy[at] as number) ^ (1 << random.below(8))
    return copy
  },
  (bytes, random) => {
    const at = random.below(bytes.length + 1)
    return replaced(bytes, at, at, Buffer.from([anyByte(random)]))
  },
  (bytes, random) => {
    const [start, end] = range(bytes, random)
    return replaced(bytes, start, end, NONE)
  },
  (bytes, random) => {
    const [start, end] = range(bytes, random)
    return replaced(bytes, end, end, bytes.subarray(start, end))
  },
  (bytes, random) => {
    const [start, end] = range(bytes, random)
    const at = random.below(bytes.length + 1)
    return replaced(bytes, at, at, bytes.subarray(start, end))
  },
  (bytes, random, _, dictionary) => {
    const at = random.below(bytes.length + 1)
    return replaced(bytes, at, at, Buffer.from(word(random, dictionary), 'latin1'))
  },
  (bytes, random, _, dictionary) => {
    const [start, end] = range(bytes, random)
    return replaced(bytes, start, end, Buffer.from(word(random, dictionary), 'latin1'))
  },
  onTokens((list, random, _, dictionary) => {
    list[random.below(list.length)] = word(random, dictionary)
  }),
  onTokens((list, random) => {
    list[random.below(list.length)] = random.pick(list)
  }),
  onTokens((list, random, other) => {
    list[random.below(list.length)] = random.pick(tokens(other)) ?? ''
  }),
  onTokens((list, random) => {
    list.splice(random.below(list.length), 1 + random.below(3))
  }),
  onTokens((list, random) => {
    const numbers = [...list.keys()].filter(at => /^-?\d/.test(list[at] as string))
    if (numbers.length > 0) list[random.pick(numbers)] = random.pick(NUMBERS)
  }),
  // Replaces one value with another, from the same input or the other input.
  (bytes, random, other) => {
    const places = balanced(bytes)
    const source = random.chance(2) ? bytes : other
    const values = balanced(source)
    if (places.length === 0 || values.length === 0) return bytes
    const [start, end] = random.pick(places)
    const [from, to] = random.pick(values)
    return replaced(bytes, start, end, source.subarray(from, to))
  },
  // Inserts a value into a list, or a member into an object, before its content.
  (bytes, random, other) => {
    const places = balanced(bytes).filter(([start]) => bytes[start] !== 0x22)
    const values = balanced(other)
    if (places.length === 0 || values.length === 0) return bytes
    const at = random.pick(places)[0] + 1
    const [from, to] = random.pick(values)
    const name = bytes[at - 1] === 0x7b ? `"${random.pick(['a', 'b', '__proto__', 'data', 'metadata', 'parts'])}":` : ''
    return replaced(bytes, at, at, Buffer.concat([Buffer.from(name), other.subarray(from, to), Buffer.from(',')]))
  },
  // Moves, duplicates or deletes a line.
  (bytes, random) => {
    const lines = bytes.toString('latin1').split('\n')
    const at = random.below(lines.length)
    const line = lines[at] as string
    if (random.chance(2)) lines.splice(at, 1)
    if (!random.chance(3)) lines.splice(random.below(lines.length + 1), 0, line)
    return Buffer.from(lines.join('\n'), 'latin1')
  },
  // Joins the beginning of one input and the end of the other.
  (bytes, random, other) =>
    Buffer.concat([bytes.subarray(0, random.below(bytes.length + 1)), other.subarray(random.below(other.length + 1))])
]

/** Applies one or several changes, one after another. */
export function mutate (bytes: Buffer, random: Random, other: Buffer, dictionary: readonly string[], maxBytes: number): Buffer {
  let out = bytes
  do out = random.pick(MUTATIONS)(out, random, other, dictionary).subarray(0, maxBytes)
  while (random.chance(2))
  return out
}
