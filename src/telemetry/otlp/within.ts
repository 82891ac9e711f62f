/**
 * Waits for a promise, for at most so many milliseconds.
 * @returns false when the time is over
 */
export async function within (milliseconds: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>(resolve => { timer = setTimeout(resolve, milliseconds, false) })
  try {
    return await Promise.race([promise.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
