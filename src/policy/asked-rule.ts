/** A rule with `external` that found values: a policy server decides whether they pass. The engine never asks itself. */
import type { Mode } from '#config/model/model.js'
import type { Selected } from './selectors/selection.js'

export interface AskedRule {
  readonly policy: string
  readonly uri: string
  /** Id of the rule. */
  readonly rule: string
  /** Name of the policy server. */
  readonly use: string
  readonly mode: Mode
  readonly values: readonly Pick<Selected, 'path' | 'at' | 'value'>[]
}

export const NOTHING_ASKED: readonly AskedRule[] = []

/** @param use name of the policy server */
export function askedRule (
  policy: { readonly name: string, readonly uri: string },
  { id, mode }: { readonly id: string, readonly mode: Mode },
  use: string,
  values: readonly Selected[]
): AskedRule {
  return { policy: policy.name, uri: policy.uri, rule: id, use, mode, values }
}
