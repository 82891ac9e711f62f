/**
 * Works on several items at once.
 * @param limit number of items that are worked on at the same time
 * @returns the results in the order of the items. Rejects when the work on an item does
 */
export async function inParallel<T, R> (items: readonly T[], limit: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index] as T)
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
  return results
}
