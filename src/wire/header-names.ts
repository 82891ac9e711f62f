/** Spellings of header names. */

const OTHER = /[^a-z0-9-]/
const OTHERS = /[^a-z0-9]/g

/**
 * Returns the one form of all names that a CGI-like agent may read as one variable: lower case, with `-` in the place of every other
 * character. CGI writes `HTTP_X_API_KEY` for `x-api-key` and `x_api_key` (CVE-2025-64484), and old servers for `x.api.key` too.
 */
export function plainHeaderName (name: string): string {
  const lower = name.toLowerCase()
  return OTHER.test(lower) ? lower.replace(OTHERS, '-') : lower
}

/**
 * Removes headers in every spelling of their names.
 * @param headers flat list of names in lower case and values
 * @param names plain names
 */
export function withoutHeaders (headers: readonly string[], names: ReadonlySet<string>): string[] {
  const out: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? ''
    if (!names.has(plainHeaderName(name))) out.push(name, headers[i + 1] ?? '')
  }
  return out
}
