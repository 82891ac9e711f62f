/**
 * Computes from the text of a pattern how large its RE2 program is. `(?:abc){1000}` has 14 characters and 3,000 instructions, and 700
 * characters can become 700,000 instructions (measured: 117 MB and 3 s). The size is known before anything is compiled. It is never less
 * than the size of the compiled program (test/policy/pattern-size.test.ts compares both).
 */

export interface PatternSize {
  /** Upper bound of the instructions of the compiled program. */
  readonly instructions: number
  /** Size of the character tables of the pattern, each counted once. The unit is an instruction of the same memory (about 100 bytes). */
  readonly tables: number
  /** Size of the tables with one copy for each instruction that uses a table. RE2's one-pass matcher makes these copies. */
  readonly copies: number
}

/** Weight of a Unicode table, which has up to 1,400 numbers of four bytes. */
const PROPERTY = 50
/** Weight of a range or character of a class: two numbers. */
const RANGE = 0.2
/** Every program has an instruction for a failure and one for a match. */
const FRAME = 2

interface Level {
  /** Sum of the branch so far without its last item. A quantifier may still multiply that item. */
  branch: number
  copies: number
  /** Sum of the finished branches. */
  done: number
  doneCopies: number
  /** The last item. */
  last: number
  lastCopies: number
}

const level = (done: number): Level => ({ branch: 0, copies: 0, done, doneCopies: 0, last: 0, lastCopies: 0 })

const QUANTIFIER = /\{(\d+)(?:(,)(\d*))?\}|[*+?]/y
const ESCAPE = /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\dA-Fa-f]{4}|x[\dA-Fa-f]{2}|c[A-Za-z]|k<[^>]*>|[^]|$)/y
const GROUP = /\(\?(?:<(?![=!])[^>]*>|<?[=!]|[a-z-]*:)|\(/y

/** @param pattern an ECMA-262 pattern; for other text the result is any number */
export function patternSize (pattern: string): PatternSize {
  return new Sizer(pattern).size()
}

class Sizer {
  private readonly pattern: string
  private readonly outer: Level[] = []
  private top = level(0)
  private tables = 0
  private at = 0

  constructor (pattern: string) {
    this.pattern = pattern
  }

  size (): PatternSize {
    while (this.at < this.pattern.length) this.step()
    // Closes groups that have no closing parenthesis.
    while (this.outer.length > 0) this.endGroup()
    const { size, copies } = close(this.top)
    return { instructions: FRAME + size, tables: this.tables, copies }
  }

  private step (): void {
    switch (this.pattern[this.at]) {
      case '(':
        return this.beginGroup()
      case ')':
        this.at++
        return this.endGroup()
      case '|':
        this.at++
        return this.endBranch()
      case '[':
        return this.table(this.classWeight())
      case '\\':
        return this.table(this.escapeWeight())
    }
    const quantifier = this.take(QUANTIFIER)
    if (quantifier !== null) return this.repeat(quantifier)
    this.at++
    this.item(1, 0)
  }

  private beginGroup (): void {
    const group = this.take(GROUP)?.[0]
    this.outer.push(this.top)
    // Two instructions mark where a capturing group begins and ends.
    this.top = level(group === '(' || group?.startsWith('(?<') === true ? 2 : 0)
  }

  private endGroup (): void {
    const { size, copies } = close(this.top)
    this.top = this.outer.pop() ?? level(0)
    this.item(size, copies)
  }

  private endBranch (): void {
    const { size, copies } = close(this.top)
    Object.assign(this.top, level(0), { done: size + 1, doneCopies: copies })
  }

  /** Multiplies the last item. */
  private repeat ([, min, comma, max]: RegExpExecArray): void {
    const least = min === undefined ? 1 : Number(min)
    const times = min === undefined ? 1 : Math.max(1, least, Number(max ?? 0))
    // An optional repetition costs one branch, a loop costs two.
    const branches = min === undefined ? 2 : comma === undefined ? 0 : max === '' ? 2 : Math.max(0, times - least)
    this.top.last = times * this.top.last + branches
    this.top.lastCopies *= times
    if (this.pattern[this.at] === '?') this.at++
  }

  /** Adds an item with a character table. */
  private table (weight: number): void {
    this.tables += weight
    this.item(1, weight)
  }

  private item (size: number, copies: number): void {
    const { top } = this
    top.branch += top.last
    top.copies += top.lastCopies
    top.last = size
    top.lastCopies = copies
  }

  private escapeWeight (): number {
    return isProperty(this.take(ESCAPE)?.[0]) ? PROPERTY : 0
  }

  private classWeight (): number {
    let weight = 0
    this.at++
    while (this.at < this.pattern.length && this.pattern[this.at] !== ']') {
      const escape = this.take(ESCAPE)?.[0]
      if (escape === undefined) this.at++
      weight += isProperty(escape) ? PROPERTY : RANGE
    }
    this.at++
    return weight
  }

  private take (expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.at
    const match = expression.exec(this.pattern)
    if (match !== null) this.at = expression.lastIndex
    return match
  }
}

function close (level: Level): { readonly size: number, readonly copies: number } {
  return {
    size: level.done + Math.max(1, level.branch + level.last),
    copies: level.doneCopies + level.copies + level.lastCopies
  }
}

function isProperty (escape: string | undefined): boolean {
  return escape !== undefined && /^\\[pP]\{/.test(escape)
}
