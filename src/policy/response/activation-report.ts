/** Determines which extensions an agent activated, from its response: the header, `extensions[]`, and data that an extension owns. */
import type { ActivationReport } from './evaluator.js'
import type { AgentPolicy } from '../compile/compiled.js'
import type { Decision } from '../request/decision.js'
import type { Forbidden } from '../access/forbidden.js'

/** Maximum number of unknown URIs from an agent that are kept. */
const MAX_STRANGERS = 64

/**
 * Returns the URIs of an agent's header that the client may see, in the agent's spelling, each once. The list omits URIs that only the
 * gateway requested and does not expose. When a policy verifies a URI, it must also be requested and declared.
 * @param requested URIs as the client requested them
 * @param forbidden extensions that the caller may not use
 */
export function shownOf (
  policy: AgentPolicy,
  requested: readonly string[],
  injected: readonly string[],
  header: readonly string[],
  forbidden: Forbidden | null
): string[] {
  const { names, hidden, echoes, declared } = policy
  const spell = (uri: string): string => names.canonicalize([uri])[0] ?? uri
  return header.filter((uri, i) => {
    if (header.indexOf(uri) !== i) return false
    const spelled = spell(uri)
    if (forbidden?.hides(uri) === true) return false
    if (injected.includes(spelled) && hidden.has(spelled)) return false
    if (!echoes.has(uri)) return true
    return declared.includes(spelled) && (injected.includes(spelled) || requested.some(other => spell(other) === spelled))
  })
}

/**
 * @param active URIs that are active in the request. An extension that is active because of its data, or always, is not unexpected
 * @param uris URIs that the response proves, in any spelling
 */
export function activationReportOf (
  { names }: AgentPolicy,
  outbound: readonly string[],
  active: readonly string[],
  uris: Iterable<string>
): ActivationReport {
  const spell = (uri: string): string => names.canonicalize([uri])[0] ?? uri
  const proven = new Set<string>()
  for (const uri of uris) proven.add(spell(uri))
  if (proven.size === 0) return outbound.length === 0 ? NO_TRUTH : { confirmed: NONE, absent: outbound, unexpected: NONE }
  const asked = new Set(outbound.map(spell))
  return {
    confirmed: outbound.filter(uri => proven.has(spell(uri))),
    absent: outbound.filter(uri => !proven.has(spell(uri))),
    unexpected: [...proven].filter(uri => !asked.has(uri) && !active.includes(uri))
  }
}

export class Activations {
  private readonly policy: AgentPolicy
  private readonly decision: Decision
  private readonly requested: readonly string[]
  private header: readonly string[] = NONE
  /** As the card spells them. */
  private readonly seen = new Set<string>()
  private strangers = 0
  /** Known URIs that were requested and are not proven yet. */
  private readonly open: Set<string>
  /** The URIs of `open` that the client's header must name once they are proven. */
  private readonly awaited: Set<string>

  constructor (policy: AgentPolicy, decision: Decision, requested: readonly string[]) {
    this.policy = policy
    this.decision = decision
    this.requested = decision.forbidden === null ? requested : decision.forbidden.without(requested)
    this.open =
      decision.outbound.length === 0
        ? NO_URIS
        : new Set(decision.outbound.filter(uri => policy.labels.has(uri)).map(uri => this.spelled(uri)))
    this.awaited = policy.echoes.size === 0 ? NO_URIS : new Set([...this.open].filter(uri => this.provable(uri)))
  }

  /** True when the body can still prove the activation of a requested extension. */
  get sought (): boolean {
    return this.open.size > 0
  }

  /** True when the client's header waits for the proof of an extension. */
  get buffersHead (): boolean {
    return this.awaited.size > 0
  }

  echoed (uris: readonly string[]): void {
    this.header = uris
    for (const uri of uris) this.see(uri)
  }

  see (uri: string): void {
    const spelled = this.spelled(uri)
    if (this.seen.has(spelled)) return
    if (!this.policy.labels.has(spelled) && !this.decision.outbound.includes(uri) && this.strangers++ >= MAX_STRANGERS) return
    this.seen.add(spelled)
    this.open.delete(spelled)
    this.awaited.delete(spelled)
  }

  /** URIs for the client's header, in the client's spelling. */
  shown (): readonly string[] {
    const { policy, decision, requested, header } = this
    if (header.length === 0 && policy.echoes.size === 0) return NONE
    const shown = shownOf(policy, requested, decision.injected, header, decision.forbidden)
    for (const uri of this.seen) {
      if (policy.echoes.size > 0 && this.provable(uri) && !shown.some(other => this.spelled(other) === uri)) shown.push(uri)
    }
    return shown.map(uri => policy.names.asAsked(uri, requested))
  }

  truth (): ActivationReport {
    return activationReportOf(this.policy, this.decision.outbound, this.decision.active, this.seen)
  }

  private provable (uri: string): boolean {
    return this.policy.echoes.get(uri) === 'synthesize' && this.policy.declared.includes(uri) && this.asked(uri)
  }

  private asked (uri: string): boolean {
    return this.requested.some(other => this.spelled(other) === uri)
  }

  private spelled (uri: string): string {
    return this.policy.names.canonicalize([uri])[0] ?? uri
  }
}

const NONE: readonly string[] = []
const NO_TRUTH: ActivationReport = { confirmed: NONE, absent: NONE, unexpected: NONE }
const NO_URIS: Set<string> = new Set()
