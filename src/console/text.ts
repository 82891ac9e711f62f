/** Truncates untrusted texts for display. */

/** Cuts a text at a code point and marks the cut. */
export function clip (text: string, length: number): string {
  if (text.length <= length) return text
  const end = /[\uD800-\uDBFF]/.test(text.charAt(length - 1)) ? length - 1 : length
  return `${text.slice(0, end)}… (${text.length} characters)`
}

/** Cuts each sentence, and limits the number of sentences. */
export function clipAll (texts: readonly string[], most: number): string[] {
  const shown = texts.slice(0, most).map(text => clip(text, 500))
  return texts.length > most ? [...shown, `… and ${texts.length - most} more`] : shown
}

/** Most characters of a text in a decision. */
export const MAX_TEXT_CHARS = 500

/** Returns a shortened copy. A slice would keep the whole text in memory. */
export function truncate (text: string): string {
  return text.length <= MAX_TEXT_CHARS ? text : Buffer.from(`${text.slice(0, MAX_TEXT_CHARS)}…`).toString()
}
