import type { CompiledPolicy } from '../compile/compiled.js'
import { addViolation, violation } from '../violation.js'
import type { Violation } from '../violation.js'

/** Adds a violation of a response that the gateway only records, whatever the mode of the policy. */
export function addAdvisory (
  violations: Violation[],
  policy: Pick<CompiledPolicy, 'name' | 'uri'>,
  rule: string,
  path: string,
  message: string
): void {
  addViolation(
    violations,
    violation({ mode: 'observe', reason: 'INVALID_AGENT_RESPONSE', extension: policy.name, uri: policy.uri, rule, path, message })
  )
}
