/**
 * A scan of JSON text in WebAssembly (structural-scan.as), before the parser's own loop. The scan has two outcomes: the text is surely
 * fine, with the facts that the loop would have found, or null, "look closer". After null, the plain code reads the text from its
 * beginning. The scan never rejects, so the plain code stays the only place that knows why a text is rejected.
 *
 * "Surely fine" means: every string ends and has neither control characters nor invalid escapes; there is no backslash outside of strings;
 * each bracket closes one that was open; depth and members are within the limits. `JSON.parse` still validates everything else.
 *
 * Measured on Node 20, CPU time of the strict parse in µs, without and with the scan: 50 kB of Markdown 258 and 24, JSON in a string 301
 * and 23, Chinese 33 and 19, data 470 and 361. Whole calls: docs/contributing/benchmarks.md.
 */
import { structuralScan } from '../built/structural-scan.js'
import type { LongString } from './lazy-string.js'
import type { SharedMemory } from '../shared-memory.js'
import { RESERVED } from '../shared-memory.js'
import { WebAssemblyCode, withMemory } from '../web-assembly.js'
import type { JsonLimits } from './json-result.js'

/**
 * Minimum size in bytes of a text that is scanned. The scan costs no more than the loop from about 200 bytes on, but saves less than 0.5 µs
 * of a call of 110 µs below this size.
 */
export const SCANNED = 512

export interface Structure {
  /** Colons outside of strings. */
  readonly colons: number
  /** True when surely no object has two members of the same name. False says nothing. */
  readonly distinct: boolean
  /** True when a member name has an escape. */
  readonly escapedNames: boolean
  /** Strings of more than the given length that are not names; null for none. */
  readonly strings: LongString[] | null
  /** Offsets of the numbers that may be inexact: beginning, end, beginning, end; null for none. */
  readonly numbers: number[] | null
}

interface Exports {
  readonly scan: (text: number, size: number, depth: number, members: number, long: number) => number
}

/** Outcomes, and places in memory in words of four bytes, as in structural-scan.as. */
const LOOK_CLOSER = 0
const FINE_AND_DISTINCT = 2
const STRINGS = 16
const NUMBERS = STRINGS + 3 * 1_024
const MAX_UINT32 = 0xffff_ffff

const code = new WebAssemblyCode<Exports>(structuralScan)

/** @returns null when the plain code must read the text */
export function scanStructure (bytes: Buffer, limits: JsonLimits, long: number): Structure | null {
  return long < 0 ? null : withMemory(bytes, code, (memory, exports) => run(memory, exports, bytes.length, limits, long))
}

function run ({ words }: SharedMemory, exports: Exports, size: number, limits: JsonLimits, long: number): Structure | null {
  const outcome = exports.scan(RESERVED, size, uint32(limits.depth), uint32(limits.members), uint32(long))
  if (outcome === LOOK_CLOSER) return null
  const strings = words[1] as number
  const numbers = words[2] as number
  return {
    colons: words[0] as number,
    distinct: outcome === FINE_AND_DISTINCT,
    escapedNames: words[3] === 1,
    strings: strings === 0 ? null : readStrings(words, strings),
    numbers: numbers === 0 ? null : readNumbers(words, numbers)
  }
}

function readStrings (words: Uint32Array, count: number): LongString[] {
  const strings: LongString[] = []
  for (let i = STRINGS; i < STRINGS + 3 * count; i += 3) {
    strings.push({ start: words[i] as number, end: words[i + 1] as number, escapes: words[i + 2] === 1 })
  }
  return strings
}

function readNumbers (words: Uint32Array, count: number): number[] {
  const offsets: number[] = []
  for (let i = NUMBERS; i < NUMBERS + 2 * count; i++) offsets.push(words[i] as number)
  return offsets
}

/** Limits beyond 32 bits limit nothing here: a text has at most 4 MB. */
function uint32 (limit: number): number {
  return Math.min(limit, MAX_UINT32)
}
