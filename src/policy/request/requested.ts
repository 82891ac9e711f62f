/** The names of extensions in the header: those that the client requests, and those that the gateway requests from the agent. */
import { spendBudget } from '#jsonschema/evaluation.js'
import type { AgentPolicy } from '../compile/compiled.js'
import type { Violation } from '../violation.js'
import { addViolation, GATEWAY, violation } from '../violation.js'
import type { DecisionRequest } from './decision.js'
import { isListed } from './unlisted.js'
import type { Forbidden } from '../access/forbidden.js'

const NO_URIS: readonly string[] = []

/** Checks the names in the header for extensions. */
export function checkRequested ({ requested, headerName }: DecisionRequest, policy: AgentPolicy, violations: Violation[]): void {
  if (requested.some(isOdd)) {
    addViolation(violations, violation({
      mode: policy.readMode,
      reason: 'INVALID_REQUEST',
      extension: GATEWAY,
      rule: 'odd-extension',
      path: `header ${headerName}`,
      message: 'names an extension with a character outside visible ASCII, which some agents remove; percent-encode it'
    }))
  }
  if (requested.length > policy.maxExtensions) {
    violations.push(violation({
      mode: policy.mode,
      reason: 'INVALID_REQUEST',
      extension: GATEWAY,
      rule: 'too-many-extensions',
      path: `header ${headerName}`,
      message: `requests more than ${policy.maxExtensions} extensions; request only those in the agent's card`
    }))
  }
}

/** `trim` in JavaScript and Python removes more than the blanks of HTTP. */
function isOdd (uri: string): boolean {
  return /[^\t\x20-\x7e]/.test(uri)
}

/** Counts the work for names of extensions: the evaluation compares lists of URIs with lists of URIs. */
export function countNames ({ requested, call }: DecisionRequest, policy: AgentPolicy): void {
  const uris = requested.length + (call.view?.message?.listed.length ?? 0)
  if (uris > 0) spendBudget(uris * (4 + policy.declared.length + policy.required.length + policy.policies.length) / 50)
}

/** The extensions that the gateway requests itself, without those that the caller may not use. */
export function notAsked (policy: AgentPolicy, requested: readonly string[], forbidden: Forbidden | null): readonly string[] {
  if (policy.injected.length === 0) return NO_URIS
  const unrequested = policy.injected.filter(uri => !policy.names.includes(requested, uri))
  return forbidden === null ? unrequested : forbidden.without(unrequested)
}

/** URIs to request from the agent. Unlisted URIs are requested by the client, but neither the card nor a policy knows them. */
export function outboundOf (
  request: DecisionRequest,
  injected: readonly string[],
  policy: AgentPolicy,
  violations: Violation[]
): readonly string[] {
  const requested = policy.names.canonicalize(request.requested)
  let unlisted = false
  for (let i = 0; i < requested.length; i++) {
    if (!isListed(policy, requested[i] as string)) unlisted = true
  }
  if (!unlisted || policy.unlisted === 'forward') return injected.length === 0 ? requested : [...requested, ...injected]
  if (policy.unlisted === 'reject') {
    violations.push(
      violation({
        mode: policy.mode,
        reason: 'EXTENSION_NOT_ALLOWED',
        extension: GATEWAY,
        rule: 'unlisted',
        path: `header ${request.headerName}`,
        message: unlistedMessage(policy)
      })
    )
    return [...requested, ...injected]
  }
  const remaining = policy.mode === 'observe' ? requested : requested.filter(uri => isListed(policy, uri))
  return [...remaining, ...injected]
}

function unlistedMessage (policy: AgentPolicy): string {
  const listed = policy.declared.length === 0 ? 'this agent lists none' : `this agent lists ${policy.declared.join(', ')}`
  return `requests an extension that this agent does not list; ${listed}`
}
