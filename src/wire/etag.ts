/** Conditional requests (RFC 9110 §13). */

/** True when `If-None-Match` names the ETag (RFC 9110 §13.1.2): weak comparison, a list, or `*`. */
export function matchesEtag (header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '')
  return header.trim() === '*' || header.split(',').some(tag => opaque(tag) === opaque(etag))
}
