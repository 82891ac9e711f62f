/** Maps the error classes of policies to the reasons of rejections. */
import type { Reason } from '#a2a/errors.js'
import type { ErrorClass, Mode } from '#config/model/model.js'

const REASON_OF_CLASS: Readonly<Record<ErrorClass, Reason>> = {
  invalid: 'EXTENSION_DATA_INVALID',
  unsupportedContent: 'CONTENT_TYPE_NOT_SUPPORTED',
  conflict: 'EXTENSION_CONFLICT',
  extensionRequired: 'EXTENSION_SUPPORT_REQUIRED',
  forbidden: 'EXTENSION_NOT_ALLOWED'
}

export type Side = 'request' | 'response'

/** Reason of a violation. A fault in a response is the agent's fault, whatever class the policy gives it. */
export function reasonOn (side: Side, errorClass: ErrorClass): Reason {
  return side === 'response' ? 'INVALID_AGENT_RESPONSE' : REASON_OF_CLASS[errorClass]
}

/** Mode of a policy on each side. Responses have the less strict mode of the policy and the agent's `responses`. */
export interface SideModes { readonly request: Mode, readonly response: Mode }

export function sideModes (mode: Mode, responses: Mode): SideModes {
  const both = [mode, responses]
  return { request: mode, response: both.includes('off') ? 'off' : both.includes('observe') ? 'observe' : 'enforce' }
}
