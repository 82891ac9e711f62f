/** Measures the growth of a series of measurements. */
export interface Trend {
  readonly mean: number
  /** Rise of the fitted line from the first point to the last. The value is negative when the line falls. */
  readonly rise: number
}

/** Least squares over points of (time, value). */
export function trendOf (points: readonly (readonly [number, number])[]): Trend {
  const n = points.length
  if (n === 0) return { mean: 0, rise: 0 }
  const meanAt = points.reduce((sum, [at]) => sum + at, 0) / n
  const mean = points.reduce((sum, [, value]) => sum + value, 0) / n
  let [over, under] = [0, 0]
  for (const [at, value] of points) {
    over += (at - meanAt) * (value - mean)
    under += (at - meanAt) ** 2
  }
  const slope = under === 0 ? 0 : over / under
  return { mean, rise: slope * ((points.at(-1)?.[0] ?? 0) - (points[0]?.[0] ?? 0)) }
}
