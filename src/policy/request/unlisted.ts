/** Determines which requested extensions are known for an agent (`unlistedExtensions`). */
import type { AgentPolicy } from '../compile/compiled.js'

/** True when the card, a policy, or an extended card that a caller got names the extension. */
export function isListed ({ labels, seen: extendedCardNames }: AgentPolicy, uri: string): boolean {
  return labels.has(uri) || extendedCardNames?.hasExtension(uri) === true
}
