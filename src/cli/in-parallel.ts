/** Work on many agents, a few at once. */

/** Number of agents contacted in parallel. */
const AT_ONCE = 8

/** @returns the results in the order of the items. Rejects when the work on an item does */
export async function inParallel<T, R> (items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index] as T)
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker))
  return results
}
