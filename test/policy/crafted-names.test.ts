/**
 * Member names that a client has made to collide in the hash of the scan and of the checker, or to resemble the names of a schema. The work
 * is counted in steps of the built modules: calls of functions and turns of loops.
 */
import t from 'tap'
import { checker as checkerCode } from '#jsonschema/built/checker.js'
import { PROGRAM } from '#jsonschema/bytes/image.js'
import type { Program } from '#jsonschema/bytes/program.js'
import { ANYTHING, programOf } from '#jsonschema/bytes/program.js'
import { structuralScan } from '#wire/built/structural-scan.js'
import { parseStrict } from '#wire/json/json.js'
import { scanStructure } from '#wire/json/structural-scan.js'
import { RESERVED, webAssembly } from '#wire/shared-memory.js'
import { Random } from '../fuzz/engine/random.js'
import { countedInstance } from '../helpers/wasm-steps.js'

const LIMITS = { depth: 64, members: 1_000_000 }
/**
 * Steps for each byte. An object compares a name with 64 names of its schema at most, and with 64 names before it; the shortest member has
 * five bytes. Schemas for one value read it several times: their budget of steps is linear in the text.
 */
const MOST_IN_SCAN = 8
const MOST_IN_CHECK = 24
const MOST_IN_CHOICES = 80
const MASK = 2n ** 64n - 1n
const SIZE = 0x9e3779b97f4a7c15n
const FACTOR = 0xff51afd7ed558ccdn
/** Bytes of a block: one half is chosen, the other makes up for the first. */
const BLOCK = 16

/** The inverse of FACTOR modulo 2^64, by Newton's method. */
let inverse = 1n
for (let i = 0; i < 6; i++) inverse = (inverse * (2n - FACTOR * inverse)) & MASK

const folded = (hash: bigint): bigint => hash ^ (hash >> 32n)
const next = (hash: bigint, word: bigint): bigint => folded(((hash ^ word) * FACTOR) & MASK)

/** Blocks of 16 bytes of plain ASCII that lead the hash from one state to one other. @returns the blocks and that state */
function blocksFrom (state: bigint, count: number, random: Random): { blocks: string[], end: bigint } {
  const end = next(next(state, 0x6161616161616161n), 0x6262626262626262n)
  const before = (folded(end) * inverse) & MASK
  const blocks = ['aaaaaaaabbbbbbbb']
  const bytes = Buffer.alloc(BLOCK)
  while (blocks.length < count) {
    for (let i = 0; i < 8; i++) bytes[i] = 0x61 + random.below(26)
    bytes.writeBigUInt64LE(next(state, bytes.readBigUInt64LE(0)) ^ before, 8)
    if (bytes.every(byte => byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c)) blocks.push(bytes.toString('latin1'))
  }
  return { blocks, end }
}

/** Different names of 48 bytes with one hash: every sequence of one block of each of three lists. */
function collidingNames (perBlock: number): string[] {
  const random = new Random(1)
  let state = (3n * BigInt(BLOCK) * SIZE) & MASK
  let names = ['']
  for (let i = 0; i < 3; i++) {
    const { blocks, end } = blocksFrom(state, perBlock, random)
    names = names.flatMap(name => blocks.map(block => name + block))
    state = end
  }
  return names
}

const COLLIDING = collidingNames(5)
const objectOf = (names: readonly string[]): string => `{${names.map(name => `"${name}":1`).join(',')}}`
const arrayOf = (object: string, count: number): string => `[${Array<string>(count).fill(object).join(',')}]`
const numbered = (count: number, size: number): string[] => Array.from({ length: count }, (_none, i) => String(i).padStart(size, 'n'))

interface ScanExports { readonly scan: (text: number, size: number, depth: number, members: number, long: number) => number }
interface CheckExports { readonly check: (node: number, text: number, size: number, from: number, depth: number) => number }

const memory = new (webAssembly as NonNullable<typeof webAssembly>).Memory({ initial: 48, maximum: 48 })
const bytes = Buffer.from(memory.buffer, RESERVED)
const scan = countedInstance<ScanExports>(structuralScan() as string, memory)
/** Bytes of the values that the checker has let JavaScript test. */
let tested = 0
const checker = countedInstance<CheckExports>(checkerCode() as string, memory, {
  test: (_number, start, end) => {
    tested += (end as number) - (start as number)
    return 1
  }
})

const put = (text: string): number => bytes.write(text, 'latin1')

/** Steps for each byte of the text. */
function scanSteps (text: string): number {
  const size = put(text)
  return scan.steps(() => { scan.exports.scan(RESERVED, size, LIMITS.depth, LIMITS.members, 512) }) / size
}

function checkSteps (program: Program, text: string): number {
  const size = put(text)
  new Uint32Array(memory.buffer).set(program.image, PROGRAM / 4)
  tested = 0
  return checker.steps(() => { checker.exports.check(program.node, RESERVED, size, 0, LIMITS.depth) }) / size
}

t.test('a client can make names with one hash: no name is taken for another', async t => {
  t.equal(new Set(COLLIDING).size, 125)
  const isDistinct = (names: string[]): boolean | undefined => scanStructure(Buffer.from(objectOf(names)), LIMITS, 512)?.distinct
  const found = COLLIDING.slice(1).filter(name => isDistinct([COLLIDING[0] as string, name]) === false)
  t.equal(found.length, 124, 'the scan cannot tell them apart, and says so')
  const text = objectOf(COLLIDING)
  t.same(parseStrict(Buffer.from(text), LIMITS), { ok: true, value: JSON.parse(text) }, 'the exact reading can')
  t.match(parseStrict(Buffer.from(objectOf([...COLLIDING, COLLIDING[7] as string])), LIMITS), { ok: false, problem: { kind: 'duplicate' } })
})

/** Objects whose names are made for the most work. */
const OBJECTS: Readonly<Record<string, string>> = {
  'names with one hash': objectOf(COLLIDING),
  'two names with one hash, after 62 others': objectOf([...numbered(62, 2), ...COLLIDING.slice(0, 2)]),
  'as many names as are compared': objectOf(numbered(64, 2)),
  'more names than are compared': objectOf(numbered(500, 3)),
  'long names': objectOf(numbered(64, 100))
}

/** Names that a schema lists: they differ only in the middle, so that a comparison reads most of a name. */
const LISTED = Array.from({ length: 64 }, (_none, i) => `${'a'.repeat(79)}${10 + i}${'z'.repeat(7)}`)
const listing = (more: object): Program => {
  const properties = Object.fromEntries(LISTED.map(name => [name, { type: 'integer' }]))
  return programOf({ type: 'array', items: { type: 'object', properties, ...more } }) as Program
}
const PROGRAMS: Readonly<Record<string, Program>> = {
  'of any JSON': ANYTHING, 'of long names': listing({}), 'of long names, and no others': listing({ additionalProperties: false })
}

/** Texts of about `size` bytes. */
const textsOf = (size: number): [string, string][] => [
  ...Object.entries(OBJECTS).map(([name, object]): [string, string] => [name, arrayOf(object, Math.ceil(size / object.length))]),
  ['listed names, backwards', arrayOf(objectOf(LISTED.toReversed()), Math.ceil(size / 6_000))],
  ['names that differ from listed ones in the middle', arrayOf(objectOf(LISTED.map(name => name.replace(/a(?=\d)/, '~'))), Math.ceil(size / 6_000))],
  ['names with one hash at each depth', arrayOf(nested(COLLIDING.slice(0, 60)), Math.ceil(size / 3_000))]
]
const nested = (names: readonly string[]): string => names.reduce((inner, name) => `{"${name}":${inner},"${names[0] ?? ''}${name}":1}`, '1')

t.test('no names make the work more than linear in the text', async t => {
  const [small, large] = [textsOf(20_000), textsOf(80_000)]
  for (const [i, [name, text]] of small.entries()) {
    const longer = large[i]?.[1] ?? ''
    const inScan = [scanSteps(text), scanSteps(longer)] as const
    t.ok(Math.max(...inScan) < MOST_IN_SCAN, `${name}: the scan takes ${inScan.map(steps => steps.toFixed(2)).join(' and ')} steps for each byte`)
    for (const [of, program] of Object.entries(PROGRAMS)) {
      const inCheck = [checkSteps(program, text), checkSteps(program, longer)] as const
      t.ok(
        Math.max(...inCheck) < MOST_IN_CHECK,
        `${name}: the program ${of} takes ${inCheck.map(steps => steps.toFixed(2)).join(' and ')} steps for each byte`
      )
    }
  }
})
/** Two schemas for each value, at each depth: the first one fails at the end of an object, so each depth doubles the readings. */
function choices (depth: number): Program {
  const schema = Array.from({ length: depth }).reduce<object>(inner => {
    const either = { type: ['object', 'integer', 'string'], additionalProperties: inner }
    return { anyOf: [{ ...either, required: ['left'] }, either] }
  }, {})
  return programOf(schema) as Program
}

/** Values that are read again and again, at the depth where the readings are most. */
const REPEATED: Readonly<Record<string, string>> = {
  'a long name': `{"${'n'.repeat(20_000)}":1}`,
  'a long name without an end': `{"${'n'.repeat(20_000)}`,
  'white space': `{${' '.repeat(10_000)}"a"${' '.repeat(10_000)}:1}`,
  'a long text': `{"a":"${'t'.repeat(20_000)}"}`,
  'as many names as are compared': objectOf(numbered(64, 2)),
  'names with one hash': objectOf(COLLIDING),
  'names with one hash at each depth': nested(COLLIDING.slice(0, 40))
}

t.test('nor do they where schemas for one value read it again', async t => {
  for (const depth of [8, 12, 14]) {
    const program = choices(depth)
    for (const [name, value] of Object.entries(REPEATED)) {
      const steps = checkSteps(program, '{"a":'.repeat(depth - 1) + value + '}'.repeat(depth - 1))
      t.ok(steps < MOST_IN_CHOICES, `${name}, ${depth} choices: ${steps.toFixed(2)} steps for each byte`)
    }
  }
})

t.test('what JavaScript tests is linear in the text too', async t => {
  const schema = { $defs: { list: { type: 'array', uniqueItems: true, items: { $ref: '#/$defs/list' } } }, $ref: '#/$defs/list' }
  const program = programOf(schema) as Program
  const lists = `[${Array<string>(5_000).fill('[]').join(',')}]`
  const text = '['.repeat(60) + lists + ',[]]'.repeat(60)
  checkSteps(program, text)
  t.ok(tested > text.length && tested < 20 * text.length, `${(tested / text.length).toFixed(1)} bytes for each byte`)
})
