/** `WWW-Authenticate` of a 401 (RFC 9110 §11.6.1): one challenge for each way to authenticate. */
import type { Carrier } from './authentication.js'

/**
 * Returns the challenges.
 * @param realm name of the agent: letters, digits and `-`
 * @param token.metadata URL of the metadata of RFC 9728; null when the address of the gateway is not known
 * @param token.error description of what is wrong with the token that the request has; null without one (RFC 6750 §3.1)
 */
export function challengesOf (
  carriers: readonly Carrier[],
  realm: string,
  token: { readonly metadata: string | null; readonly error: string | null }
): string[] {
  const challenges = carriers.map(({ in: place, name, scheme }) => {
    if (scheme === 'bearer') {
      const error = token.error === null ? '' : `, error="invalid_token", error_description="${token.error}"`
      return `Bearer realm="${realm}"${token.metadata === null ? '' : `, resource_metadata="${token.metadata}"`}${error}`
    }
    if (scheme === 'basic') return `Basic realm="${realm}", charset="UTF-8"`
    // No schemes for certificates and API keys are registered, and a 401 must have a challenge.
    if (place === 'connection' || place === 'proxy') return `ClientCertificate realm="${realm}"`
    return `ApiKey realm="${realm}", ${place === 'metadata' ? 'header' : place}="${name}"`
  })
  return [...new Set(challenges)]
}
