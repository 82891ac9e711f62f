/** Shows on a terminal what a slow command waits for. */

/** Work that takes less time shows nothing, ms. */
const DELAY = 1_000
export const LOADING_CARD = 'loading the card'
export const LOADING_CARDS = 'loading the cards of the agents'
const ERASE_LINE = '\r\x1b[K'

interface Terminal {
  readonly isTTY?: boolean
  write (text: string): unknown
}

/**
 * Writes the text on stderr while the work takes longer than a second, and erases the text afterwards. Without a terminal, writes nothing.
 * @returns what the work returns; rejects as the work does
 */
export async function withProgress<T> (text: string, work: Promise<T>, terminal: Terminal = process.stderr): Promise<T> {
  if (terminal.isTTY !== true) return await work
  let shown = false
  const timer = setTimeout(() => {
    shown = true
    terminal.write(`${text} ...`)
  }, DELAY)
  try {
    return await work
  } finally {
    clearTimeout(timer)
    if (shown) terminal.write(ERASE_LINE)
  }
}
