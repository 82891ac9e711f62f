/** RFC 9110 §5.6.2: tchar. Index is the character code; names of headers, media types and parameters are made of these. */
export const IS_TOKEN: readonly boolean[] = Array.from({ length: 128 }, (_, code) =>
  /[A-Za-z0-9!#$%&'*+.^_`|~-]/.test(String.fromCharCode(code)))

/** @returns the index of the first character at or after `at` that cannot be in a token */
export function tokenEnd (text: string, at: number): number {
  let i = at
  while (i < text.length && IS_TOKEN[text.charCodeAt(i)] === true) i++
  return i
}

export function isToken (text: string): boolean {
  return text !== '' && tokenEnd(text, 0) === text.length
}

/** RFC 9110 §5.6.3: OWS is blanks and tabs; `String.trim` would also take characters that are data here. */
export function isBlank (code: number): boolean {
  return code === 0x20 || code === 0x09
}
