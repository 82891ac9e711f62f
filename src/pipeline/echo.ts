/** Handles the header in which an agent names the extensions that it has activated, and the header that the client sees. */
import { EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER } from '#a2a/versions.js'
import { shownOf } from '#policy/response/activation-report.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import { splitList } from '#wire/header-list.js'
import type { Forbidden } from '#policy/access/forbidden.js'

/** Result of the negotiation that the response needs. */
export interface EchoPlan {
  readonly policy: AgentPolicy
  /** Header name that the client used. The client's extension header has the same name. */
  readonly headerName: string
  /** URIs as the client requested them, without those that the caller may not use. */
  readonly requested: readonly string[]
  readonly outbound: readonly string[]
  readonly injected: readonly string[]
  /** URIs of extensions that are active in the request. */
  readonly active: readonly string[]
  /** Extensions that the caller may not use; null for none. */
  readonly forbidden: Forbidden | null
}

/**
 * Removes the agent's extension header from the headers, in either spelling.
 * @returns its URIs, including duplicates
 */
export function takeEcho (headers: string[]): string[] {
  const echoed: string[] = []
  let length = 0
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    if (name === EXTENSIONS_HEADER || name === LEGACY_EXTENSIONS_HEADER) {
      splitList(headers[i + 1] as string, echoed)
    } else {
      headers[length++] = name
      headers[length++] = headers[i + 1] as string
    }
  }
  headers.length = length
  return echoed
}

/**
 * Converts the agent's extension header for the client: the URIs have the client's spelling. The list omits URIs that only the gateway
 * requested.
 */
export function shownEcho (
  { policy, requested, injected, forbidden }: Pick<EchoPlan, 'policy' | 'requested' | 'injected' | 'forbidden'>,
  echoed: readonly string[]
): string[] {
  return shownOf(policy, requested, injected, echoed, forbidden).map(uri => policy.names.asAsked(uri, requested))
}

export function pushEcho (headers: string[], plan: EchoPlan, shown: readonly string[]): void {
  if (shown.length > 0) headers.push(plan.headerName, shown.join(','))
}
