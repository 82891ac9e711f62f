/** Patterns in which `*` represents any characters. No regular expression: the time is linear in the text. */

export interface Glob {
  /** The only name that matches, or null for a pattern with `*`. */
  readonly literal: string | null
  test (name: string): boolean
}

/** @param pieces the pattern, split at its `*`. Asterisks within a piece are literal */
export function fromPieces (pieces: readonly string[]): Glob {
  const head = pieces[0] ?? ''
  if (pieces.length === 1) return { literal: head, test: name => name === head }
  const tail = pieces[pieces.length - 1] ?? ''
  const middle = pieces.slice(1, -1).filter(piece => piece !== '')
  return {
    literal: null,
    test: name => {
      if (name.length < head.length + tail.length || !name.startsWith(head) || !name.endsWith(tail)) return false
      let at = head.length
      const end = name.length - tail.length
      for (const piece of middle) {
        const pieceAt = name.indexOf(piece, at)
        if (pieceAt < 0 || pieceAt + piece.length > end) return false
        at = pieceAt + piece.length
      }
      return true
    }
  }
}

export function compileGlob (pattern: string): Glob {
  return fromPieces(pattern.split('*'))
}
