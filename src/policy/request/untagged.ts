/**
 * `untaggedData: reject`: finds DataParts that no policy of the agent claims. An extension claims the data that it owns, and the data that
 * one of its rules selects. Protobuf fields that A2A does not define are such data too.
 */
import { visible } from '#a2a/fields.js'
import type { Mode, PartSelectorConfig, PolicyConfig } from '#config/model/model.js'
import type { CompiledRule, DataClaim } from '../compile/compiled.js'
import { spendBudget } from '#jsonschema/evaluation.js'
import type { SelectContext } from '../selectors/selection.js'
import { compilePartTest } from '../selectors/part.js'
import type { RequestSubject } from '../selectors/subject.js'
import type { Violation } from '../violation.js'
import { GATEWAY, addViolation, violation } from '../violation.js'

/**
 * Returns the claim of a policy on data. A rule claims all data that it selects, even when its conditions do not hold or it does not
 * evaluate every value: the policy knows such data.
 * @param rules the compiled rules of the policy, in its order
 * @returns null when the policy defines nothing for data
 */
export function dataClaim (policy: PolicyConfig, uri: string, rules: readonly CompiledRule[], context: SelectContext): DataClaim | null {
  const { mediaTypes = [], dataKeys = [], data = [] } = policy.owns ?? {}
  const selected = (policy.request ?? []).map(rule => rule.select.part)
  const selectors: PartSelectorConfig[] = [
    ...(mediaTypes.length === 0 ? [] : [{ mediaType: mediaTypes }]),
    ...dataKeys.map(dataKey => ({ dataKey })),
    ...data.map(where => ({ where })),
    ...selected.filter(part => part !== undefined)
  ]
  if (selectors.length === 0) return null
  const tests = selectors.map(selector => compilePartTest(selector, context))
  const schemas = rules.flatMap((rule, i) => selected[i] === undefined ? [] : rule.schema?.names ?? [])
  const tags = [
    listed('media type', selectors.flatMap(({ mediaType = [] }) => mediaType)),
    listed('key', selectors.flatMap(({ dataKey = [] }) => dataKey)),
    listed('value', selectors.flatMap(({ where }) => where === undefined ? [] : [`${JSON.stringify(where.equals)} at ${where.path}`])),
    listed('schemas of the card', schemas)
  ].filter(text => text !== null)
  return { claims: part => tests.some(test => test(part)), words: tags.length === 0 ? uri : `${uri} (${tags.join('; ')})` }
}

export function checkUntagged (claims: readonly DataClaim[], mode: Mode, { message }: RequestSubject, violations: Violation[]): void {
  if (message === null) return
  spendBudget(message.parts.length)
  for (const part of message.parts) {
    if (!part.isData || claims.some(claim => claim.claims(part))) continue
    const declared =
      claims.length === 0
        ? 'none of them describes data'
        : `tag it as one of these extensions requires: ${claims.map(claim => claim.words).join(', ')}`
    addViolation(violations, violation({
      mode,
      reason: 'CONTENT_TYPE_NOT_SUPPORTED',
      extension: GATEWAY,
      rule: 'untagged-data',
      path: part.dataPath,
      message: `belongs to none of this agent's extensions; ${declared}`
    }))
  }
}

/**
 * Reports the unknown fields of a gRPC request.
 * @param fields as `Message field 19`
 * @param mode `observe` unless the agent rejects data that no policy claims: a later minor version of A2A adds fields
 */
export function checkUnknown (fields: readonly string[], mode: Mode, violations: Violation[]): void {
  const message = `The request has fields that A2A does not define: ${fields.join(', ')}. Extensions add data to metadata.`
  addViolation(violations, violation({
    mode,
    reason: 'EXTENSION_DATA_INVALID',
    extension: GATEWAY,
    rule: 'unknown-fields',
    path: '',
    message,
    isStandalone: true
  }))
}

/** Maximum length and number of shown names. Names of a card are untrusted text. */
const NAME = 64
const NAMES = 20

function listed (what: string, names: readonly string[]): string | null {
  const each = [...new Set(names)]
  if (each.length === 0) return null
  const more = each.length > NAMES ? ` and ${each.length - NAMES} more` : ''
  return `${what} ${each.slice(0, NAMES).map(name => visible(name, NAME)).join(', ')}${more}`
}
