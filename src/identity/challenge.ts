/** `WWW-Authenticate` of a 401 (RFC 9110 §11.6.1): one challenge for each way to authenticate. */
import type { Carrier } from './authentication.js'

/**
 * Returns the challenges.
 * @param realm name of the agent: letters, digits and `-`
 */
export function challengesOf (carriers: readonly Carrier[], realm: string): string[] {
  return carriers.map(({ in: place, name, scheme }) => {
    if (scheme === 'basic') return `Basic realm="${realm}", charset="UTF-8"`
    // No scheme for API keys is registered, and a 401 must have a challenge.
    return `ApiKey realm="${realm}", ${place}="${name}"`
  })
}
