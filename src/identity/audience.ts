/** The claim `aud` of access tokens (RFC 7519 §4.1.3). */

/** True when a token is for one of the audiences. @param aud the claim: one audience, or a list */
export function isFor (aud: unknown, audiences: readonly string[]): boolean {
  if (typeof aud === 'string') return audiences.includes(aud)
  if (!Array.isArray(aud)) return false
  for (const value of aud) if (audiences.includes(value as string)) return true
  return false
}
