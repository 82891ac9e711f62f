/** Compiles one rule of a policy. */
import type { InjectionConfig, Mode, RuleConfig } from '#config/model/model.js'
import type { PauseConfig } from '#config/model/policy-model.js'
import type { CompiledInjection, CompiledPause, CompiledRule } from './compiled.js'
import { callerCondition, compileCondition } from './condition.js'
import type { CompiledSource } from './schema-source.js'
import type { SelectContext } from '../selectors/selection.js'
import { compileSelector, REQUEST_PLACES } from '../selectors/select.js'
import { compileFreshness } from '../freshness.js'
import { compileUnique } from '../request/claims.js'

/**
 * Returns the injections that add the data that a rule requires: the same member of the same metadata. Each injection has its own
 * condition.
 */
export function supplyOf (
  rule: RuleConfig,
  configs: readonly InjectionConfig[],
  compiled: readonly CompiledInjection[]
): readonly CompiledInjection[] {
  const { metadata } = rule.select
  if (metadata === undefined || metadata.path !== undefined || metadata.equals !== undefined) return NO_SUPPLY
  const places = metadata.in ?? REQUEST_PLACES
  return compiled.filter((_, i) => configs[i]?.metadata === metadata.key && places.includes(configs[i]?.in ?? 'message'))
}

const NO_SUPPLY: readonly CompiledInjection[] = []

/** Smallest number of values that a rule accepts. */
export function atLeast ({ required, count }: Pick<RuleConfig, 'required' | 'count'>): number {
  return count?.min ?? (required === true ? 1 : 0)
}

export function compileRule (
  rule: RuleConfig,
  mode: Mode,
  context: SelectContext,
  source: (schema: NonNullable<RuleConfig['schema']>) => CompiledSource,
  { supply, noted }: Pick<CompiledRule, 'supply' | 'noted'>
): CompiledRule {
  const strip = rule.verdict === 'strip'
  return {
    id: rule.id,
    side: 'request',
    mode: rule.verdict === 'warn' || strip ? 'observe' : mode,
    on: rule.on === undefined ? null : new Set(rule.on),
    select: compileSelector(rule.select, context, strip || rule.external !== undefined),
    strips: !strip ? null : rule.select.header === undefined ? 'body' : 'headers',
    supply,
    condition: compileCondition(rule.when, rule.unless, context, rule.onUnknown),
    min: atLeast(rule),
    max: rule.count?.max ?? Number.POSITIVE_INFINITY,
    schema: rule.schema === undefined ? null : source(rule.schema),
    external: rule.external ?? null,
    freshness: rule.notOlderThan === undefined ? null : compileFreshness(rule.notOlderThan),
    unique: rule.unique === undefined ? null : compileUnique(rule.unique),
    errorClass: rule.error?.class ?? 'invalid',
    undeclaredClass: rule.error?.undeclared ?? rule.error?.class ?? 'invalid',
    message: rule.error?.message ?? null,
    reason: rule.error?.reason ?? null,
    pause: rule.pause === undefined || strip || rule.verdict === 'warn' ? null : compilePause(rule.id, rule.pause, mode, context, source),
    noted
  }
}

/** @param id of the rule */
function compilePause (
  id: string,
  { state, text, data, metadata, evidence: { select, schema, caller }, declined }: PauseConfig,
  mode: Mode,
  context: SelectContext,
  source: (schema: NonNullable<RuleConfig['schema']>) => CompiledSource
): CompiledPause {
  const evidence: RuleConfig | null = select === undefined
    ? null
    : { id, select, required: true, ...(schema === undefined ? {} : { schema }) }
  return {
    state,
    text,
    data,
    metadata,
    evidence: evidence === null ? null : compileRule(evidence, mode, context, source, { supply: NO_SUPPLY, noted: false }),
    caller: caller === undefined ? null : callerCondition(caller, context),
    declined: declined === undefined ? null : context.matcher(declined)
  }
}
