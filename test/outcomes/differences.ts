/** What one build did with one request, or one line that it wrote. */
export interface Outcome {
  readonly name: string
  readonly facts: Readonly<Record<string, string>>
}

export interface Difference {
  readonly name: string
  readonly fact: string
  /** Before and after; undefined: nothing. */
  readonly values: readonly [string | undefined, string | undefined]
}

/** Returns the facts that differ, and the outcomes that only one of the builds has. */
export function differences (before: readonly Outcome[], after: readonly Outcome[]): Difference[] {
  return Array.from({ length: Math.max(before.length, after.length) }, (_, i) => i).flatMap(i => {
    const [old, now] = [before[i], after[i]]
    const facts = new Set([...Object.keys(old?.facts ?? {}), ...Object.keys(now?.facts ?? {})])
    return [...facts].map((fact): Difference => ({ name: (old ?? now)?.name ?? '', fact, values: [old?.facts[fact], now?.facts[fact]] }))
      .filter(({ values: [one, other] }) => one !== other)
  })
}
