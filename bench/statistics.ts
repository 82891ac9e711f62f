/** Medians and quartiles. Comparisons work round by round, so that a slow round affects both sides equally. */

export interface Spread {
  readonly median: number
  /** First and third quartile. */
  readonly low: number
  readonly high: number
}

/** Interpolates between two ranks. The result of an empty list is NaN. */
export function quantile (numbers: readonly number[], q: number): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  const rank = q * (sorted.length - 1)
  const below = sorted[Math.floor(rank)] ?? Number.NaN
  const above = sorted[Math.ceil(rank)] ?? Number.NaN
  return below + (above - below) * (rank - Math.floor(rank))
}

export function spread (numbers: readonly number[]): Spread {
  return { median: quantile(numbers, 0.5), low: quantile(numbers, 0.25), high: quantile(numbers, 0.75) }
}

/** @returns the result of `combine` for the two figures of every round that both lists have */
export function pairwise (ours: readonly number[], theirs: readonly number[], combine: (a: number, b: number) => number): number[] {
  return ours.slice(0, theirs.length).map((figure, round) => combine(figure, theirs[round] as number))
}

export const ratio = (a: number, b: number): number => a / b
export const difference = (a: number, b: number): number => a - b
