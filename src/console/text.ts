/** Strangers' words, bounded: what a page shows of them in one place. */

/** Cut at a code point, with a sign that it was. */
export function clip (text: string, length: number): string {
  if (text.length <= length) return text
  const end = /[\uD800-\uDBFF]/.test(text.charAt(length - 1)) ? length - 1 : length
  return `${text.slice(0, end)}… (${text.length} characters)`
}

/** Sentences, each cut, and no more than so many. */
export function clipAll (texts: readonly string[], most: number): string[] {
  const shown = texts.slice(0, most).map(text => clip(text, 500))
  return texts.length > most ? [...shown, `… and ${texts.length - most} more`] : shown
}
