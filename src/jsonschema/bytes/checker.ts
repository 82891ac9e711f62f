/**
 * Runs programs (program.ts) on the bytes of JSON text, in WebAssembly (checker.as). The checker has two outcomes: the value at a place is
 * surely valid, or null, "look closer". After null, the exact reader and Ajv decide, and they alone write messages. So the checker cannot
 * widen what the gateway accepts.
 *
 * "Surely valid" means: RFC 8259 holds for the value, no member name has an escape, no object has two members of one name, the depth is
 * within the limit, and Ajv would accept the value that `JSON.parse` makes of it. UTF-8 is the caller's part.
 *
 * Measured with 47 kB of data, 700 rows of five members, on a busy machine: 0.44 of the time of the same checks in plain JavaScript with
 * Node 20 and 0.54 with Node 24; 0.05 and 0.07 of `JSON.parse` alone.
 */
import { parseJson } from '#wire/json/parse-json.js'
import type { SharedMemory } from '#wire/shared-memory.js'
import { RESERVED } from '#wire/shared-memory.js'
import { WebAssemblyCode, withMemory } from '#wire/web-assembly.js'
import { checker } from '../built/checker.js'
import { PROGRAM } from './image.js'
import type { Program } from './program.js'

interface Exports {
  readonly check: (node: number, text: number, size: number, from: number, depth: number) => number
}

/** Places in memory in words of four bytes, as in checker.as. */
const NUMBERS = 16

/** Outcomes of a test, as in text.as. */
const INVALID = 0
const VALID = 1
const DOUBT = 2

/** The program that runs, and the text that it reads. */
let running: { readonly program: Program, readonly text: Buffer } | null = null

/** Tests a value for checker.as. The places are those of its JSON in the memory. No member name in it has an escape. */
function test (number: number, start: number, end: number): number {
  const patternTest = running?.program.tests[number - 1]
  if (patternTest === undefined) return DOUBT
  try {
    return patternTest(parseJson((running as { readonly text: Buffer }).text.subarray(start - RESERVED, end - RESERVED))) ? VALID : INVALID
  } catch {
    // Too many steps.
    return DOUBT
  }
}

const code = new WebAssemblyCode<Exports>(checker, { test })

export interface CheckedValue {
  /** Offset after the value. */
  readonly end: number
  /** Members and elements, together. */
  readonly members: number
  /** Objects and arrays that are open at once. */
  readonly depth: number
  /** Offsets of the numbers that may be inexact: beginning, end, beginning, end; null for none. */
  readonly numbers: readonly number[] | null
}

/** Checks values of one text, which is in the shared memory. Valid until the function that got it returns. */
export class Checker {
  readonly #words: Uint32Array
  readonly #text: Buffer
  readonly #exports: Exports
  readonly #size: number
  #loaded: Program | null = null

  constructor ({ words, bytes }: SharedMemory, exports: Exports, size: number) {
    this.#words = words
    this.#text = bytes
    this.#exports = exports
    this.#size = size
  }

  /**
   * Checks the value that begins at an offset.
   * @param depth objects and arrays that may be open at once
   * @returns null to look closer
   */
  check (program: Program, from: number, depth: number): CheckedValue | null {
    const words = this.#words
    if (this.#loaded !== program) {
      words.set(program.image, PROGRAM / 4)
      this.#loaded = program
    }
    const end = this.#run(program, from, depth)
    if (end === 0 || end > this.#size) return null
    const count = words[2] as number
    return {
      end,
      members: words[0] as number,
      depth: words[1] as number,
      numbers: count === 0 ? null : Array.from(words.subarray(NUMBERS, NUMBERS + 2 * count))
    }
  }

  #run (program: Program, from: number, depth: number): number {
    if (program.tests.length > 0) running = { program, text: this.#text }
    try {
      return this.#exports.check(program.node, RESERVED, this.#size, from, depth)
    } catch (error) {
      // The stack is too small for the depth of data and schema together.
      if (error instanceof RangeError) return 0
      throw error
    } finally {
      running = null
    }
  }
}

/**
 * Gives a checker of the bytes to `run`.
 * @param bytes UTF-8
 * @returns null where the checker cannot run: without WebAssembly, and for text that is too large
 */
export function withChecker<T> (bytes: Buffer, run: (checker: Checker) => T | null): T | null {
  return withMemory(bytes, code, (memory, exports) => run(new Checker(memory, exports, bytes.length)))
}
