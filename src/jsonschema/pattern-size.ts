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
  const outer: Level[] = []
  let top = level(0)
  let tables = 0
  let at = 0
  const take = (expression: RegExp): RegExpExecArray | null => {
    expression.lastIndex = at
    const found = expression.exec(pattern)
    if (found !== null) at = expression.lastIndex
    return found
  }
  const item = (size: number, copies: number): void => {
    top.branch += top.last
    top.copies += top.lastCopies
    top.last = size
    top.lastCopies = copies
  }
  const close = (one: Level): { readonly size: number, readonly copies: number } => ({
    size: one.done + Math.max(1, one.branch + one.last),
    copies: one.doneCopies + one.copies + one.lastCopies
  })
  while (at < pattern.length) {
    const char = pattern[at]
    if (char === '(') {
      const group = take(GROUP)?.[0]
      outer.push(top)
      // Two instructions mark where a capturing group begins and ends.
      top = level(group === '(' || group?.startsWith('(?<') === true ? 2 : 0)
    } else if (char === ')') {
      at++
      const { size, copies } = close(top)
      top = outer.pop() ?? level(0)
      item(size, copies)
    } else if (char === '|') {
      at++
      const { size, copies } = close(top)
      Object.assign(top, level(0), { done: size + 1, doneCopies: copies })
    } else if (char === '[') {
      const weight = classWeight()
      tables += weight
      item(1, weight)
    } else if (char === '\\') {
      const weight = /^\\[pP]\{/.test(take(ESCAPE)?.[0] ?? '') ? PROPERTY : 0
      tables += weight
      item(1, weight)
    } else {
      const quantifier = take(QUANTIFIER)
      if (quantifier === null) {
        at++
        item(1, 0)
      } else {
        const [, min, comma, max] = quantifier
        const least = min === undefined ? 1 : Number(min)
        const times = min === undefined ? 1 : Math.max(1, least, Number(max ?? 0))
        // An optional repetition costs one branch, a loop costs two.
        const branches = min === undefined ? 2 : comma === undefined ? 0 : max === '' ? 2 : Math.max(0, times - least)
        top.last = times * top.last + branches
        top.lastCopies *= times
        if (pattern[at] === '?') at++
      }
    }
  }
  // Closes groups that have no closing parenthesis.
  while (outer.length > 0) {
    const { size, copies } = close(top)
    top = outer.pop() ?? level(0)
    item(size, copies)
  }
  const { size, copies } = close(top)
  return { instructions: FRAME + size, tables, copies }

  function classWeight (): number {
    let weight = 0
    at++
    while (at < pattern.length && pattern[at] !== ']') {
      const escape = take(ESCAPE)?.[0]
      if (escape === undefined) at++
      weight += escape !== undefined && /^\\[pP]\{/.test(escape) ? PROPERTY : RANGE
    }
    at++
    return weight
  }
}
