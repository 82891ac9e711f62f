/** Determines which extensions are active in a request: requested, listed, or evident from their data. */
import type { AgentCard } from '#a2a/card/card.js'
import type { PolicyConfig } from '#config/model/model.js'
import type { AgentPolicy, CompiledActivation, CompiledPolicy, Dependency, PolicyActivity } from '../compile/compiled.js'
import type { Edits } from './edits.js'
import { conflict, removeOwned } from './edits.js'
import { identitiesOf } from '../compile/identity.js'
import type { SelectContext, Selector } from '../selectors/selection.js'
import { compileSelector } from '../selectors/select.js'
import type { RequestSubject } from '../selectors/subject.js'
import type { Violation } from '../violation.js'
import { addViolation, violation } from '../violation.js'

export function compileActivation (
  policy: PolicyConfig,
  context: SelectContext,
  policies: Readonly<Record<string, PolicyConfig>>,
  card: AgentCard
): CompiledActivation {
  const { activation, inactive } = policy
  const strips = inactive?.request === 'strip'
  const body = ownedBody(policy, context, strips)
  const headers = (policy.owns?.headers ?? []).map(header => compileSelector({ header }, context, strips))
  return {
    signals: activation?.signals === undefined ? null : new Set(activation.signals),
    owned: [...body, ...headers],
    ownedHeaders: new Set(headers),
    inactive: inactive?.request ?? 'forward',
    requires: (activation?.requires ?? []).flatMap(name => dependency(name, policies[name], card)),
    addsMissing: activation?.onMissing === 'add',
    scope: activation?.scope ?? null
  }
}

function ownedBody ({ owns = {} }: PolicyConfig, context: SelectContext, located: boolean): Selector[] {
  const { metadata = [], dataKeys = [], data = [], mediaTypes = [] } = owns
  return [
    ...metadata.map(key => compileSelector({ metadata: { in: ['message', 'params', 'part'], key } }, context, located)),
    ...dataKeys.map(dataKey => compileSelector({ part: { dataKey } }, context, located)),
    ...data.map(where => compileSelector({ part: { where } }, context, located)),
    ...(mediaTypes.length === 0 ? [] : [compileSelector({ part: { mediaType: mediaTypes } }, context, located)])
  ]
}

function dependency (name: string, policy: PolicyConfig | undefined, card: AgentCard): Dependency[] {
  if (policy === undefined) return []
  const declared = new Map(card.extensions.map(extension => [extension.uri, extension]))
  return identitiesOf(policy, declared)
    .slice(0, 1)
    .map(({ uri, same, satisfying }) => ({ name, uri, counting: [...same, ...satisfying], exposed: policy.activation?.expose === true }))
}

export interface Activity {
  readonly policies: readonly PolicyActivity[]
  /**
   * Declared URIs, as the card spells them. `listed`: in `message.extensions`. `evidenced`: the request contains data of the extension.
   * `active`: the extension is active.
   */
  readonly listed: readonly string[]
  readonly evidenced: readonly string[]
  readonly active: readonly string[]
  /** URIs that the gateway requests itself, including dependencies of active extensions. */
  readonly injected: readonly string[]
}

const NO_URIS: readonly string[] = []

/** True when a policy is activated only by a request for its extension, and the extension requires no other. */
export function isPlain ({ signals, owned, requires }: CompiledActivation): boolean {
  return signals === null && owned.length === 0 && requires.length === 0
}

/** Activity of plain policies in a request for no extension. */
export function idle (policies: readonly CompiledPolicy[]): PolicyActivity[] {
  return policies.map(policy => ({ policy, evidence: null, active: false }))
}

/**
 * Extensions that the caller may not use (`subject.forbidden`) are never active, whatever the signal.
 * @param requested without extensions that the caller may not use; the same for `injected`
 * @param mayAdd true if the gateway may request the extensions that active extensions require
 */
export function activityOf (
  subject: RequestSubject,
  requested: readonly string[],
  injected: readonly string[],
  policy: AgentPolicy,
  mayAdd: boolean
): Activity {
  const uris = subject.listed
  const { forbidden } = subject
  const listed = uris.length === 0 ? NO_URIS : policy.names.canonicalize(uris).filter(uri => policy.declared.includes(uri))
  if (policy.idle !== null && requested.length === 0 && injected.length === 0) {
    return { policies: policy.idle, listed: distinct(listed), evidenced: NO_URIS, active: NO_URIS, injected }
  }
  if (policy.idle !== null) return plainActivity(subject, policy, requested, injected, listed)
  const signs = policy.policies.map(policy => ({
    policy,
    evidence: evidenceOf(policy.activation.owned, subject),
    listed: isNamedIn(policy, listed)
  }))
  const asked = [...requested, ...injected]
  const isActive = ({ policy, evidence, listed: isListed }: (typeof signs)[number]): boolean => {
    if (forbidden?.has(policy.uri) === true) return false
    const { signals } = policy.activation
    if (isActivatedByHeader(policy) && isNamedIn(policy, asked)) return true
    return (
      signals !== null && (signals.has('always') || (signals.has('listed') && isListed) || (signals.has('evidence') && evidence !== null))
    )
  }
  const unmet = (state: (typeof signs)[number]): Dependency[] =>
    state.policy.activation.requires.length === 0 || !isActive(state)
      ? []
      : state.policy.activation.requires.filter(
        needed => !isRequested(needed, asked) && !signs.some(other => other.policy.uri === needed.uri && isActive(other))
      )
  // An added extension may have its own requirements. Each URI is added once.
  const added: string[] = []
  for (let before = mayAdd ? -1 : 0; before < added.length;) {
    before = added.length
    for (const state of signs) {
      if (!state.policy.activation.addsMissing) continue
      for (const { uri } of unmet(state)) {
        if (forbidden?.has(uri) === true) continue
        added.push(uri)
        asked.push(uri)
      }
    }
  }
  const policies = signs.map(state => ({ policy: state.policy, evidence: state.evidence, active: isActive(state) }))
  const signalled = new Set(
    policies
      .filter(policy => policy.policy.activation.signals !== null)
      .flatMap(({ policy: { uri, same, activators } }) => [uri, ...activators.slice(same.length)])
  )
  const active = policy.names.canonicalize(asked).filter(uri => policy.declared.includes(uri) && !signalled.has(uri))
  return {
    policies,
    listed: distinct(listed),
    evidenced: policies.filter(policy => policy.evidence !== null).map(policy => policy.policy.uri),
    active: withSignalled(active, policies, signalled, asked, listed),
    injected: added.length === 0 ? injected : [...injected, ...added]
  }
}

/** True when a request for the extension activates it. */
export function isActivatedByHeader ({ activation: { signals } }: CompiledPolicy): boolean {
  return signals === null || signals.has('header')
}

/** True when a request for these URIs includes the dependency, or an extension that satisfies it. */
export function isRequested ({ counting }: Dependency, requested: readonly string[]): boolean {
  return counting.some(uri => requested.includes(uri))
}

/** Activity of plain policies: an extension is active exactly when it is requested. */
function plainActivity (
  { forbidden }: RequestSubject,
  policy: AgentPolicy,
  requested: readonly string[],
  injected: readonly string[],
  listed: readonly string[]
): Activity {
  const asked = injected.length === 0 ? requested : [...requested, ...injected]
  const policies: PolicyActivity[] = []
  for (const candidate of policy.policies) {
    policies.push({ policy: candidate, evidence: null, active: isNamedIn(candidate, asked) && forbidden?.has(candidate.uri) !== true })
  }
  return {
    policies,
    listed: distinct(listed),
    evidenced: NO_URIS,
    active: policy.names.canonicalize(asked).filter(uri => policy.declared.includes(uri)),
    injected
  }
}

function isNamedIn ({ activators }: CompiledPolicy, uris: readonly string[]): boolean {
  return uris.length > 0 && activators.some(uri => uris.includes(uri))
}

/**
 * Returns the URI under which a policy's extension is active: the policy's URI as the card spells it, or another extension of the card that
 * the policy applies to, if only that extension is requested.
 */
export function activeUri ({ uri, same, activators }: CompiledPolicy, requested: readonly string[], listed: readonly string[]): string {
  if (activators.length === same.length || same.some(spelling => requested.includes(spelling) || listed.includes(spelling))) return uri
  return activators.find(activator => requested.includes(activator) || listed.includes(activator)) ?? uri
}

/** Adds the extensions whose policies define what makes them active. */
function withSignalled (
  active: readonly string[],
  policies: readonly PolicyActivity[],
  signalled: ReadonlySet<string>,
  asked: readonly string[],
  listed: readonly string[]
): readonly string[] {
  const added = policies
    .filter(policy => policy.active && signalled.has(policy.policy.uri))
    .flatMap(({ policy: { uri, same, activators, activation: { signals } } }) => {
      const named = [...(signals?.has('header') === true ? asked : []), ...(signals?.has('listed') === true ? listed : [])]
      const others = activators.slice(same.length).filter(other => named.includes(other))
      return others.length === 0 || same.some(spelling => named.includes(spelling)) ? [uri, ...others] : others
    })
    .filter(uri => !active.includes(uri))
  return [...active, ...added]
}

function distinct (uris: readonly string[]): readonly string[] {
  return uris.length < 2 ? uris : [...new Set(uris)]
}

function evidenceOf (owned: readonly Selector[], subject: RequestSubject): string | null {
  for (const selector of owned) {
    const selected = selector.select(subject)[0]
    if (selected !== undefined) return selected.typePath ?? selected.path
  }
  return null
}

/** Name of the rule that rejects or removes the data of inactive extensions. */
export const INACTIVE = 'inactive'

/** Removes the data of an extension that the request does not activate. */
export function stripInactive (
  policy: CompiledPolicy,
  subject: RequestSubject,
  evidence: string,
  edits: Edits,
  violations: Violation[]
): void {
  const by = { policy, rule: INACTIVE }
  if (policy.mode === 'enforce' && edits.verbatim !== null) return conflict(edits.verbatim, by, evidence, violations)
  addViolation(
    violations,
    violation({
      mode: 'observe',
      reason: 'EXTENSION_SUPPORT_REQUIRED',
      extension: policy.name,
      uri: policy.uri,
      rule: INACTIVE,
      path: evidence,
      message: `belongs to the extension ${policy.uri}, which the request does not activate, and is ` +
        `${policy.mode === 'enforce' ? 'removed' : 'to be removed'}`
    })
  )
  if (policy.mode === 'enforce') removeOwned(policy.activation, subject, edits, by)
}

/** True when the rules of a policy evaluate the request. The rules of an inactive extension also run when its data is present. */
export function isEvaluated ({ policy, active, evidence }: PolicyActivity): boolean {
  // The data of an inactive extension is removed, so there is nothing to evaluate.
  if (policy.activation.inactive === 'strip') return active
  return policy.activation.signals === null || active || evidence !== null
}
