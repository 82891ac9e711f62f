/** Characters of a token (RFC 9110 §5.6.2: tchar), by character code. Names of headers, media types and parameters are tokens. */
const IS_TOKEN: readonly boolean[] = Array.from({ length: 128 }, (_, code) =>
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

/** True for optional white space (RFC 9110 §5.6.3, OWS): spaces and tabs. `String.trim` would also remove characters that are data here. */
export function isBlank (code: number): boolean {
  return code === 0x20 || code === 0x09
}
