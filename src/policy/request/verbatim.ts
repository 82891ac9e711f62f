/** `integrity: verbatim`: requests of an extension that must arrive exactly as sent, for example because of a signature. */
import { activityOf } from './activation.js'
import type { AgentPolicy, CompiledPolicy } from '../compile/compiled.js'
import type { DecisionRequest } from './decision.js'
import type { RequestSubject } from '../selectors/subject.js'
import type { Violation } from '../violation.js'
import { GATEWAY, addViolation, violation } from '../violation.js'

/** @returns the policy whose extension the client itself activates, or null */
export function verbatimFor (subject: RequestSubject, requested: readonly string[], policy: AgentPolicy): CompiledPolicy | null {
  return activityOf(subject, requested, [], policy, false).policies.find(one => one.active && one.policy.verbatim)?.policy ?? null
}

export function notInjected (request: DecisionRequest, uri: string, verbatim: CompiledPolicy, policy: AgentPolicy): Violation {
  return violation('observe', 'EXTENSION_CONFLICT', policy.labels.get(uri) ?? uri, 'not-injected', `header ${request.headerName}`, `does not name ${uri}, and the gateway does not add it: the extension ${verbatim.uri} has the request forwarded as it was sent`, uri)
}

/** Forwards the client's own headers, and records a violation when an extension in them would have to be removed. */
export function outboundAsSent (request: DecisionRequest, verbatim: CompiledPolicy, policy: AgentPolicy, violations: Violation[]): readonly string[] {
  const { requested, headerName } = request
  if (policy.unlisted !== 'forward' && requested.some(uri => !policy.labels.has(uri))) {
    const listed = policy.declared.join(', ')
    addViolation(violations, policy.unlisted === 'reject'
      ? violation(policy.mode, 'EXTENSION_NOT_ALLOWED', GATEWAY, 'unlisted', `header ${headerName}`, `asks for an extension that this agent does not list; this agent lists ${listed}`)
      : violation(policy.mode, 'EXTENSION_CONFLICT', GATEWAY, 'unlisted', `header ${headerName}`, `asks for an extension that this agent does not list, and the extension ${verbatim.uri} has the request forwarded as it was sent; this agent lists ${listed}`))
  }
  return requested
}
