/** Finds similar names, for "did you mean" hints. */

/**
 * Returns the candidate at the smallest edit distance, ignoring case, `-` and `_`. Null when more than a third of the candidate differs, or
 * when the text is longer than `longest`: the time is the product of the two lengths.
 */
export function nearest (text: string, candidates: readonly string[], longest = 60): string | null {
  if (text.length > longest) return null
  let best: string | null = null
  let least = Infinity
  for (const candidate of candidates) {
    if (candidate.length > longest * 2) continue
    const distance = editDistance(plain(text), plain(candidate))
    if (distance < least && distance <= Math.max(1, Math.floor(candidate.length / 3))) {
      best = candidate
      least = distance
    }
  }
  return best
}

function plain (text: string): string {
  return text.toLowerCase().replaceAll(/[-_]/g, '')
}

/** Optimal string alignment: insert, delete, replace, swap neighbours. */
function editDistance (a: string, b: string): number {
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, (before[j - 2] ?? 0) + 1)
      current[j] = cost
    }
    before = previous
    previous = current
  }
  return previous[b.length] ?? 0
}
