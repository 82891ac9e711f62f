/** Which extensions are active in a request: asked for, listed, or evident from data that is theirs. */
import type { AgentCard } from '../../a2a/card/card.js'
import type { PolicyConfig } from '../../config/model/model.js'
import type { AgentPolicy, CompiledActivation, CompiledPolicy, Dependency, PolicyActivity } from '../compile/compiled.js'
import type { Edits } from './edits.js'
import { conflict } from './edits.js'
import { identitiesOf } from '../compile/identity.js'
import type { SelectContext, Selector } from '../selectors/kit.js'
import { compileSelector } from '../selectors/select.js'
import type { RequestSubject } from '../selectors/subject.js'
import type { Violation } from '../violation.js'
import { addViolation, violation } from '../violation.js'

export function compileActivation (policy: PolicyConfig, context: SelectContext, policies: Readonly<Record<string, PolicyConfig>>, card: AgentCard): CompiledActivation {
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
  const { metadata = [], dataKeys = [], mediaTypes = [] } = owns
  return [
    ...metadata.map(key => compileSelector({ metadata: { in: ['message', 'params', 'part'], key } }, context, located)),
    ...dataKeys.map(dataKey => compileSelector({ part: { dataKey } }, context, located)),
    ...(mediaTypes.length === 0 ? [] : [compileSelector({ part: { mediaType: mediaTypes } }, context, located)])
  ]
}

function dependency (name: string, policy: PolicyConfig | undefined, card: AgentCard): Dependency[] {
  if (policy === undefined) return []
  const declared = new Map(card.extensions.map(extension => [extension.uri, extension]))
  return identitiesOf(policy, declared).slice(0, 1).map(({ uri, same, satisfying }) => ({ name, uri, counting: [...same, ...satisfying], exposed: policy.activation?.expose === true }))
}

export interface Activity {
  readonly policies: readonly PolicyActivity[]
  /** Declared URIs that `message.extensions` lists, whose data is there, that are active: each as the card spells it. */
  readonly listed: readonly string[]
  readonly evidenced: readonly string[]
  readonly active: readonly string[]
  /** What the gateway asks for itself, dependencies of active extensions included. */
  readonly injected: readonly string[]
  readonly unmet: readonly { readonly policy: CompiledPolicy, readonly missing: Dependency }[]
}

const NOTHING_UNMET: Activity['unmet'] = []

const NO_URIS: readonly string[] = []

/** Whether nothing but asking for its extension activates a policy, and nothing follows from that. */
export function isPlain ({ signals, owned, requires }: CompiledActivation): boolean {
  return signals === null && owned.length === 0 && requires.length === 0
}

/** Of plain policies, in a request that asks for nothing. */
export function idle (policies: readonly CompiledPolicy[]): PolicyActivity[] {
  return policies.map(policy => ({ policy, evidence: null, active: false }))
}

/** @param mayAdd whether the gateway may ask for what active extensions require */
export function activityOf (subject: RequestSubject, requested: readonly string[], injected: readonly string[], policy: AgentPolicy, mayAdd: boolean): Activity {
  const given = subject.message?.listed ?? NO_URIS
  const listed = given.length === 0 ? NO_URIS : policy.names.canonicalize(given).filter(uri => policy.declared.includes(uri))
  if (policy.idle !== null && requested.length === 0 && injected.length === 0) {
    return { policies: policy.idle, listed: distinct(listed), evidenced: NO_URIS, active: NO_URIS, injected, unmet: NOTHING_UNMET }
  }
  if (policy.idle !== null) return plainActivity(policy, requested, injected, listed)
  const seen = policy.policies.map(one => ({ one, evidence: evidenceOf(one.activation.owned, subject), listed: listed.includes(one.uri) }))
  const asked = [...requested, ...injected]
  const isActive = ({ one, evidence, listed: isListed }: typeof seen[number]): boolean => {
    const { signals } = one.activation
    if ((signals === null || signals.has('header')) && one.same.some(uri => asked.includes(uri))) return true
    return signals !== null && (signals.has('always') || (signals.has('listed') && isListed) || (signals.has('evidence') && evidence !== null))
  }
  const unmet = (state: typeof seen[number]): Dependency[] => state.one.activation.requires.length === 0 || !isActive(state)
    ? []
    : state.one.activation.requires.filter(needed => !needed.counting.some(uri => asked.includes(uri)) && !seen.some(other => other.one.uri === needed.uri && isActive(other)))
  // What is added may have requirements of its own; each URI is added once.
  const added: string[] = []
  for (let before = mayAdd ? -1 : 0; before < added.length;) {
    before = added.length
    for (const state of seen) {
      if (!state.one.activation.addsMissing) continue
      for (const { uri } of unmet(state)) {
        added.push(uri)
        asked.push(uri)
      }
    }
  }
  const policies = seen.map(state => ({ policy: state.one, evidence: state.evidence, active: isActive(state) }))
  const signalled = new Set(policies.filter(one => one.policy.activation.signals !== null).map(one => one.policy.uri))
  const active = policy.names.canonicalize(asked).filter(uri => policy.declared.includes(uri) && !signalled.has(uri))
  return {
    policies,
    listed: distinct(listed),
    evidenced: policies.filter(one => one.evidence !== null).map(one => one.policy.uri),
    active: [...active, ...policies.filter(one => one.active && signalled.has(one.policy.uri)).map(one => one.policy.uri)],
    injected: added.length === 0 ? injected : [...injected, ...added],
    unmet: seen.flatMap(state => unmet(state).map(missing => ({ policy: state.one, missing })))
  }
}

/** Of plain policies: what is asked for is active, and that is all. */
function plainActivity (policy: AgentPolicy, requested: readonly string[], injected: readonly string[], listed: readonly string[]): Activity {
  const asked = injected.length === 0 ? requested : [...requested, ...injected]
  const policies: PolicyActivity[] = []
  for (const one of policy.policies) policies.push({ policy: one, evidence: null, active: one.same.some(uri => asked.includes(uri)) })
  return { policies, listed: distinct(listed), evidenced: NO_URIS, active: policy.names.canonicalize(asked).filter(uri => policy.declared.includes(uri)), injected, unmet: NOTHING_UNMET }
}

function distinct (uris: readonly string[]): readonly string[] {
  return uris.length < 2 ? uris : [...new Set(uris)]
}

function evidenceOf (owned: readonly Selector[], subject: RequestSubject): string | null {
  for (const selector of owned) {
    const found = selector.select(subject)[0]
    if (found !== undefined) return found.typePath ?? found.path
  }
  return null
}

/** Name of the rule under which the data of extensions that are not active is refused or removed. */
export const INACTIVE = 'inactive'

/** Takes out what belongs to an extension that the request does not activate. */
export function stripInactive (policy: CompiledPolicy, subject: RequestSubject, evidence: string, edits: Edits, violations: Violation[]): void {
  const by = { policy, rule: INACTIVE }
  const { owned, ownedHeaders } = policy.activation
  if (policy.mode === 'enforce' && edits.verbatim !== null) return conflict(edits.verbatim, by, evidence, violations)
  addViolation(violations, violation('observe', 'EXTENSION_SUPPORT_REQUIRED', policy.name, INACTIVE, evidence, `belongs to the extension ${policy.uri}, which the request does not activate, and is ${policy.mode === 'enforce' ? 'removed' : 'to be removed'}`, policy.uri))
  if (policy.mode !== 'enforce') return
  for (const selector of owned) {
    for (const { at } of selector.select(subject)) {
      if (ownedHeaders.has(selector)) edits.removeLine(at[0] as number, by)
      else edits.remove(at, by)
    }
  }
}

/** Whether rules look at the request: an extension that is not active is judged all the same where its data is. */
export function isEvaluated ({ policy, active, evidence }: PolicyActivity): boolean {
  // What is not active is removed, so there is nothing to judge.
  if (policy.activation.inactive === 'strip') return active
  return policy.activation.signals === null || active || evidence !== null
}
