/** The header in which an agent says which extensions it has activated, and the one that the client sees. */
import { EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER } from '../a2a/versions.js'
import { shownOf } from '../policy/response/activation-report.js'
import type { AgentPolicy } from '../policy/compile/compiled.js'
import { splitList } from '../wire/header-list.js'

/** What negotiation left to do on the way back. */
export interface EchoPlan {
  readonly policy: AgentPolicy
  /** Header name the client used, which its echo comes back in. */
  readonly headerName: string
  /** URIs as the client asked for them. */
  readonly requested: readonly string[]
  readonly outbound: readonly string[]
  readonly injected: readonly string[]
  /** URIs of extensions that are active in the request. */
  readonly active: readonly string[]
}

/** Takes the agent's echo out of the headers, in either spelling. @returns its URIs, as often as they are there */
export function takeEcho (headers: string[]): string[] {
  const echoed: string[] = []
  let kept = 0
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    if (name === EXTENSIONS_HEADER || name === LEGACY_EXTENSIONS_HEADER) {
      splitList(headers[i + 1] as string, echoed)
    } else {
      headers[kept++] = name
      headers[kept++] = headers[i + 1] as string
    }
  }
  headers.length = kept
  return echoed
}

/** What the client sees of the agent's echo: in the spelling it used, without URIs that only the gateway asked for. */
export function shownEcho (plan: Pick<EchoPlan, 'policy' | 'requested' | 'injected'>, echoed: readonly string[]): string[] {
  return shownOf(plan.policy, plan.requested, plan.injected, echoed).map(uri => plan.policy.names.asAsked(uri, plan.requested))
}

export function pushEcho (headers: string[], plan: EchoPlan, shown: readonly string[]): void {
  if (shown.length > 0) headers.push(plan.headerName, shown.join(','))
}
