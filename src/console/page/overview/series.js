/** Converts the gateway's recorded slots to values over time. */
const SLOTS = 180
/** Slots of a chart at least: one minute. */
const FEWEST = 12

/**
 * Returns the slots of an agent.
 * @returns one entry per slot of the last quarter of an hour, without the slots before the gateway started, and without the current slot,
 *   which is not complete
 */
export function timeline (page, agent) {
  const { slot, slots, since } = page
  const end = Math.floor(Date.now() / slot) * slot
  const byTime = new Map(slots.map(one => [one.at, one.rows[agent] ?? null]))
  const all = Array.from({ length: SLOTS }, (_, i) => {
    const at = end - (SLOTS - 1 - i) * slot
    return { at, known: at > since, row: byTime.get(at) ?? null }
  })
  const first = all.findIndex(({ known, row }) => known || row !== null)
  return all.slice(Math.min(first < 0 ? SLOTS : first, SLOTS - FEWEST))
}

export function perSecond (times, slot, value) {
  return times.map(({ known, row }) => row === null ? (known ? 0 : null) : value(row) / (slot / 1000))
}

/** Returns the value below which a share of decisions lies, from their buckets. Null without decisions. */
export function quantile (row, bounds, q) {
  if (row === null || row.decisions === 0) return null
  const wanted = q * row.decisions
  let below = 0
  for (let i = 0; i < bounds.length; i++) {
    const inside = row.buckets[i]
    if (inside > 0 && below + inside >= wanted) {
      const from = i === 0 ? 0 : bounds[i - 1]
      return from + (bounds[i] - from) * (wanted - below) / inside
    }
    below += inside
  }
  return bounds.at(-1)
}

/** Sums several slots into one row. */
export function together (times) {
  return times.reduce((sum, { row }) => {
    if (row === null) return sum
    sum.calls += row.calls
    sum.rejected += row.rejected
    sum.failed += row.failed
    sum.errors += row.errors
    sum.decisions += row.decisions
    row.buckets.forEach((count, i) => { sum.buckets[i] = (sum.buckets[i] ?? 0) + count })
    return sum
  }, { calls: 0, rejected: 0, failed: 0, errors: 0, decisions: 0, buckets: [] })
}
