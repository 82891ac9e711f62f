/** Decides which data of a body stays unread: data that one of the schemas of an agent accepts on its bytes (checker.ts). */
import { hasInexactNumbers, MAX_STEPS, spendBudget, withSteps } from '../evaluation.js'
import { BACKSLASH, COLON, OPEN_ARRAY, OPEN_OBJECT, skipSpace } from '#wire/json/bytes.js'
import type { ValidatedBody, ValidatedValue, UnreadValue, ValueValidator } from '#wire/json/unread-value.js'
import type { CheckedValue, Checker } from './checker.js'
import { withChecker } from './checker.js'
import type { Program } from './program.js'
import { ANYTHING } from './program.js'
import type { JsonLimits } from '#wire/json/json-result.js'

/** Bytes of the smallest value, and the number of values of one text. */
const LEAST = 512
const MAX_VALUES = 16
/** Schemas that are tried for one value. Most agents have few, and their clients repeat one. */
const MAX_TRIES = 4
/** Bytes from which a text gets one try: a hostile value may fail at its end. */
const LARGE = 262_144

/** Steps of the tests of one text: patterns and formats without an automaton. The evaluation has its own steps. */
const JUDGE_STEPS = MAX_STEPS / 4

/** Points for a value that was read after all, points that a value which was not takes away, and the points for a pause. */
const READ = 3
const TOO_MANY = 24
/** Texts that a pause lasts. */
const PAUSE = 500

export class DataValidator implements ValueValidator {
  readonly name: string
  readonly #member: Buffer
  readonly #programs: () => readonly Program[]
  #known: readonly Program[] | null = null
  /** The program that accepted the last value. */
  #last: Program | null = null
  #points = 0
  #pause = 0

  /**
   * @param name of the members that hold data
   * @param programs makes the programs, at the first text. None: the validator accepts all data that is JSON
   */
  constructor (name: string, programs: () => readonly Program[]) {
    this.name = name
    this.#member = Buffer.from(`"${name}"`)
    this.#programs = programs
  }

  validate (bytes: Buffer, limits: JsonLimits): ValidatedBody | null {
    if (this.#pause > 0) {
      this.#pause--
      return null
    }
    const first = this.#next(bytes, 0)
    if (first === -1) return null
    return withChecker(bytes, checker => withSteps(JUDGE_STEPS, () => this.#all(bytes, first, limits, checker)))
  }

  onRead (): void {
    this.#points += READ
    if (this.#points < TOO_MANY) return
    this.#points = TOO_MANY - 2 * READ
    this.#pause = PAUSE
  }

  /** Tries this program first for the next value. */
  prefer (program: unknown): void {
    this.#last = program as Program
  }

  #all (bytes: Buffer, first: number, limits: JsonLimits, checker: Checker): ValidatedBody | null {
    const values: ValidatedValue[] = []
    const numbers: number[] = []
    let members = 0
    let depth = 0
    let left = 0
    for (let at = first; at !== -1 && values.length < MAX_VALUES;) {
      const end = this.#check(checker, at, limits, bytes.length < LARGE ? MAX_TRIES : 1)
      if (end === null) return null
      const { value, note } = end
      if (value.end - at < LEAST) return null
      values.push({ start: at, end: value.end, note })
      left += value.end - at
      members += value.members
      depth = Math.max(depth, value.depth)
      if (value.numbers !== null) numbers.push(...value.numbers)
      at = this.#next(bytes, value.end)
    }
    if (left * 2 < bytes.length) return null
    this.#points = Math.max(0, this.#points - values.length)
    return { values, members, depth, numbers: numbers.length === 0 ? null : numbers }
  }

  #check (
    checker: Checker,
    at: number,
    { depth }: JsonLimits,
    maxTries: number
  ): { readonly value: CheckedValue, readonly note: Program } | null {
    const programs = this.#known ??= this.#made()
    const last = this.#last
    let tries = 0
    for (let i = last === null ? 0 : -1; i < programs.length && tries < maxTries; i++) {
      const program = (i === -1 ? last : programs[i]) as Program
      if (i !== -1 && program === last) continue
      const value = checker.check(program, at, depth)
      tries++
      if (value === null) continue
      this.#last = program
      return { value, note: program }
    }
    return null
  }

  #made (): readonly Program[] {
    const programs = this.#programs()
    return programs.length === 0 ? [ANYTHING] : programs
  }

  /**
   * Offset of the next object or array that follows the name and a colon; -1 for none. Where the name is none, because the bytes are in a
   * string, the rest of the text is no JSON without the value (`parseAround`).
   */
  #next (bytes: Buffer, from: number): number {
    const member = this.#member
    for (let at = bytes.indexOf(member, from); at !== -1; at = bytes.indexOf(member, at + member.length)) {
      if (at > 0 && bytes[at - 1] === BACKSLASH) continue
      const colon = skipSpace(bytes, at + member.length)
      if (bytes[colon] !== COLON) continue
      const value = skipSpace(bytes, colon + 1)
      if (bytes[value] === OPEN_OBJECT || bytes[value] === OPEN_ARRAY) return value
    }
    return -1
  }
}

/** Bytes that are checked in one step of an evaluation: a microsecond. */
const BYTES = 500

/** Objects and arrays that are open at once, at most: the parser has applied the limit of the configuration. */
const DEPTH = 512

/**
 * True when the value surely conforms to the schema of the program.
 * @throws TooManySteps
 */
export function isValidUnread (value: UnreadValue, program: Program): boolean {
  if (program.compares && hasInexactNumbers()) return false
  if (value.note === program) return true
  const bytes = value.bytes()
  spendBudget(bytes.length / BYTES)
  const end = withChecker(bytes, checker => checker.check(program, 0, DEPTH))
  if (end === null || end.end !== bytes.length) return false
  value.prefer(program)
  return true
}
