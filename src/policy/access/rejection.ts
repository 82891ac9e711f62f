/** The rejection of a caller who may not send a request. It says nothing about the lists. */
import type { Rejection } from '#a2a/errors.js'
import { hasToken } from '#identity/principal.js'
import type { Principal } from '#identity/principal.js'
import type { Mode } from '#config/model/model.js'
import type { Violation } from '../violation.js'
import { GATEWAY, violation } from '../violation.js'
import type { MissingScopes } from './access.js'

const RULE = 'access'

/** RFC 6749 §3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** @param scopes set when only scopes are missing */
export function accessDenied (
  mode: Mode,
  scopes: MissingScopes | null,
  caller: Principal | null
): { readonly rejection: Rejection; readonly violation: Violation } {
  const missing = scopes?.missing.join(' ') ?? ''
  const message =
    missing === ''
      ? 'The caller is not allowed to send this request; ask the operator of the gateway for access.'
      : `The credentials lack the ${scopes?.missing.length === 1 ? 'scope' : 'scopes'} ${missing}; get credentials that have ` +
        `${scopes?.missing.length === 1 ? 'it' : 'them'}.`
  const challenge = scopes === null || caller === null || !hasToken(caller) ? null : challengeOf(scopes.required)
  return {
    rejection: {
      reason: 'PERMISSION_DENIED',
      message,
      rule: `${GATEWAY}/${RULE}`,
      metadata: { rule: RULE, ...(missing === '' ? {} : { missingScopes: missing }) },
      ...(challenge === null ? {} : { challenge })
    },
    violation: violation({ mode, reason: 'PERMISSION_DENIED', extension: GATEWAY, rule: RULE, path: '', message, isStandalone: true })
  }
}

/** RFC 6750 §3. Scopes that OAuth does not allow would break the header. */
function challengeOf (required: readonly string[]): string {
  const scope = required.filter(name => SCOPE.test(name)).join(' ')
  return `Bearer error="insufficient_scope"${scope === '' ? '' : `, scope="${scope}"`}`
}
