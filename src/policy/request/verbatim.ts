/** `integrity: verbatim`: requests of an extension that must arrive exactly as sent, for example because of a signature. */
import { activityOf } from './activation.js'
import type { AgentPolicy, CompiledPolicy } from '../compile/compiled.js'
import type { DecisionRequest } from './decision.js'
import type { RequestSubject } from '../selectors/subject.js'
import { isListed } from './unlisted.js'
import type { Violation } from '../violation.js'
import { GATEWAY, addViolation, violation } from '../violation.js'

/** @returns the policy whose extension the client itself activates, or null */
function verbatimFor (subject: RequestSubject, requested: readonly string[], policy: AgentPolicy): CompiledPolicy | null {
  return activityOf(subject, requested, [], policy, false).policies.find(policy => policy.active && policy.policy.verbatim)?.policy ?? null
}

function notInjected (request: DecisionRequest, uri: string, verbatim: CompiledPolicy, policy: AgentPolicy): Violation {
  return violation({
    mode: 'observe',
    reason: 'EXTENSION_CONFLICT',
    extension: policy.labels.get(uri) ?? uri,
    uri,
    rule: 'not-injected',
    path: `header ${request.headerName}`,
    message: `does not name ${uri}, and the gateway does not add it: the extension ${verbatim.uri} requires that the request is ` +
      'forwarded unchanged'
  })
}

/**
 * The policy that requires that the request is forwarded as sent; null for none. Records the extensions that the gateway then does not
 * request.
 */
export function verbatimOf (
  request: DecisionRequest,
  subject: RequestSubject,
  toInject: readonly string[],
  policy: AgentPolicy,
  violations: Violation[]
): CompiledPolicy | null {
  const verbatim = verbatimFor(subject, request.requested, policy)
  if (verbatim !== null) for (const uri of toInject) addViolation(violations, notInjected(request, uri, verbatim, policy))
  return verbatim
}

/** Forwards the client's own headers, and records a violation when an extension in them would have to be removed. */
export function outboundAsSent (
  request: DecisionRequest,
  verbatim: CompiledPolicy,
  policy: AgentPolicy,
  violations: Violation[]
): readonly string[] {
  const { requested, headerName } = request
  if (policy.unlisted !== 'forward' && requested.some(uri => !isListed(policy, uri))) {
    const listed = policy.declared.join(', ')
    addViolation(
      violations,
      policy.unlisted === 'reject'
        ? violation({
          mode: policy.mode,
          reason: 'EXTENSION_NOT_ALLOWED',
          extension: GATEWAY,
          rule: 'unlisted',
          path: `header ${headerName}`,
          message: `requests an extension that this agent does not list; this agent lists ${listed}`
        })
        : violation({
          mode: policy.mode,
          reason: 'EXTENSION_CONFLICT',
          extension: GATEWAY,
          rule: 'unlisted',
          path: `header ${headerName}`,
          message: `requests an extension that this agent does not list, and the extension ${verbatim.uri} requires that the request is ` +
            `forwarded unchanged; this agent lists ${listed}`
        })
    )
  }
  return requested
}
