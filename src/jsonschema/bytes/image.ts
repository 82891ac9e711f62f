/** The memory of a program of checker.as: records at multiples of eight bytes. */
import { RESERVED } from '#wire/shared-memory.js'
import { ACCEPTS, automatonOf } from './automaton.js'

/** Thrown for a schema that has no program. One object, because a stack trace is not needed. */
export const UNSUPPORTED = new Error('not supported')

/** Place of a program in the memory, as in checker.as: after the tables of numbers and names. */
export const PROGRAM = 64 + 8 * 2_048 + 8 * 4_096
const ROOM = RESERVED - PROGRAM
/** Head of an automaton, and the class of each ASCII character. */
const AUTOMATON_HEAD = 16
const CLASSES = 128

export class Image {
  readonly #bytes = new Uint8Array(ROOM)
  readonly #view = new DataView(this.#bytes.buffer)
  readonly #automata = new Map<string, number>()
  #end = PROGRAM

  words (): Uint32Array {
    return new Uint32Array(this.#view.buffer.slice(0, this.#end - PROGRAM))
  }

  /** @returns a place in the memory for so many bytes, at a multiple of 8 */
  place (size: number): number {
    const at = this.#end
    this.#end = at + ((size + 7) & ~7)
    // Comparisons may read eight bytes beyond the last text.
    if (this.#end + 8 > RESERVED) throw UNSUPPORTED
    return at
  }

  get (at: number): number {
    return this.#view.getUint32(at - PROGRAM, true)
  }

  put (at: number, word: number): void {
    this.#view.setUint32(at - PROGRAM, word, true)
  }

  putBits (at: number, bits: bigint): void {
    this.#view.setBigUint64(at - PROGRAM, bits, true)
  }

  putNumber (at: number, number: number): void {
    this.#view.setFloat64(at - PROGRAM, number, true)
  }

  text (text: Uint8Array): number {
    const at = this.place(text.length)
    this.#bytes.set(text, at - PROGRAM)
    return at
  }

  list (words: readonly number[]): number {
    const at = this.place(4 * words.length)
    words.forEach((word, i) => { this.put(at + 4 * i, word) })
    return at
  }

  /**
   * @param isExact true when text that the automaton does not accept does not match
   * @returns the place of the automaton of a pattern; 0 when it has none, or the memory has no room for it
   */
  automaton (pattern: string, isExact: boolean): number {
    const key = `${isExact} ${pattern}`
    let place = this.#automata.get(key)
    if (place === undefined) this.#automata.set(key, place = this.#newAutomaton(pattern, isExact))
    return place
  }

  #newAutomaton (pattern: string, isExact: boolean): number {
    const automaton = automatonOf(pattern)
    if (automaton === null || this.#end + AUTOMATON_HEAD + CLASSES + 2 * automaton.table.length + 64 > RESERVED) return 0
    const { classes, width, table, start } = automaton
    const head = this.place(AUTOMATON_HEAD + CLASSES)
    this.put(head, width)
    this.put(head + 4, isExact ? 1 : 0)
    this.put(head + 8, this.text(new Uint8Array(table.buffer)))
    this.put(head + 12, start & ACCEPTS)
    this.#bytes.set(classes, head + AUTOMATON_HEAD - PROGRAM)
    return head
  }
}
