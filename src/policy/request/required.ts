/** The extensions that a call must name, because the card or a policy requires them. */
import { inRequirementScope } from '#a2a/operations.js'
import type { AgentPolicy, RequiredExtension } from '../compile/compiled.js'
import type { Violation } from '../violation.js'
import { comparableUris, isOtherSpelling } from '#wire/uri-spelling.js'
import { violation } from '../violation.js'
import { denied } from './callers.js'
import type { DecisionRequest } from './decision.js'
import type { Demand } from './dependencies.js'
import type { Forbidden } from '../access/forbidden.js'

const NONE_REQUIRED: readonly RequiredExtension[] = []

/** Records a violation for each required extension that the request does not name. @returns those extensions */
export function missingRequired (
  request: DecisionRequest,
  injected: readonly string[],
  policy: AgentPolicy,
  violations: Violation[],
  { forbidden, sent }: { readonly forbidden: Forbidden | null; readonly sent: readonly string[] }
): readonly RequiredExtension[] {
  if (policy.required.length === 0) return NONE_REQUIRED
  const missing: RequiredExtension[] = []
  for (const extension of policy.required) {
    if (!inRequirementScope(extension.scope ?? policy.enforceOn, request.call.operation)) continue
    if (policy.names.includes(request.requested, extension.uri) || injected.includes(extension.uri)) continue
    missing.push(extension)
    const guard = forbidden?.guardOf(extension.uri) ?? null
    if (guard !== null) {
      // A request that names the extension is already rejected, unless the name is removed.
      if (!guard.strips && policy.names.includes(sent, extension.uri)) continue
      violations.push({ ...denied(guard, `header ${request.headerName}`, needed(extension.uri)), mode: extension.mode })
      continue
    }
    violations.push(
      violation({
        mode: extension.mode,
        reason: 'EXTENSION_SUPPORT_REQUIRED',
        extension: extension.label,
        uri: extension.uri,
        rule: 'required',
        path: `header ${request.headerName}`,
        message: `must name the required extension ${extension.uri}${spellingHint(extension.uri, sent, request)}`,
        missing: extension.uri
      })
    )
  }
  return missing
}

/** Names the exact URI to a client that sends another spelling of it. */
function spellingHint (uri: string, sent: readonly string[], { call }: DecisionRequest): string {
  const listed = call.view?.message?.listed ?? []
  if (sent.length === 0 && listed.length === 0) return ''
  const forms = new Set(comparableUris(uri))
  return [...sent, ...listed].some(one => one !== uri && isOtherSpelling(one, forms))
    ? `; the request names it in another spelling, and URIs of extensions are compared exactly: send "${uri}"`
    : ''
}

function needed (uri: string): string {
  return `must name the required extension ${uri}, which this caller may not use; call with credentials of a caller who may`
}

/** The extensions that the call requires, for the check of their dependencies. Null: plain policies require no other extension. */
export function demandsOf (required: readonly RequiredExtension[], policy: AgentPolicy, forbidden: Forbidden | null): Demand[] | null {
  return policy.idle === null ? required.filter(({ uri }) => forbidden?.has(uri) !== true) : null
}
