/** Compiles the part of one policy that applies to responses. */
import type { Mode, PolicyConfig, ResponseRuleConfig } from '#config/model/model.js'
import { parsePointer } from '#wire/json/pointer.js'
import { compileCondition } from './condition.js'
import type { CompiledResponses, CompiledPolicy, CompiledRedaction, CompiledResponseRule } from './compiled.js'
import { compileCorrelation } from '../task/correlate.js'
import { compileName } from './glob.js'
import { compileFreshness } from '../freshness.js'
import { compileObserve } from '../observe.js'
import { atLeast } from './rule.js'
import type { ResultSubject } from '../response/result-subject.js'
import type { CompiledSource } from './schema-source.js'
import { RESPONSE_CONTENTS, compileResponseSelector, compilePlaces } from '../selectors/response.js'
import type { SelectContext, Selector } from '../selectors/selection.js'
import { compileTaskState } from '../task/state.js'

type ResponseSide = Pick<CompiledPolicy, 'responses' | 'state' | 'correlations'>
type SourceOf = (schema: NonNullable<ResponseRuleConfig['schema']>) => CompiledSource

const UNREAD: ResponseSide = { responses: null, state: null, correlations: [] }

/** True when a policy defines nothing for responses. */
export function isSilent ({ response, state, correlate, observe, redact, inactive, echo }: PolicyConfig): boolean {
  return [response, state, correlate, observe, redact, inactive?.response, echo].every(section => section === undefined)
}

/** @param responses the agent's mode: when responses are not read, nothing of them is evaluated or remembered */
export function compileResponseSide (
  policy: PolicyConfig,
  mode: Mode,
  responses: Mode,
  context: SelectContext,
  source: SourceOf
): ResponseSide {
  if (responses === 'off' || (isSilent(policy) && policy.owns === undefined)) return UNREAD
  const acts = mode === 'enforce' && responses === 'enforce'
  const strips = policy.inactive?.response === 'strip'
  const compiled: CompiledResponses = {
    acts,
    silent: isSilent(policy),
    rules: (policy.response ?? []).map(rule => compileResponseRule(rule, acts, context, source)),
    owned: owned(policy, context, strips),
    strips,
    redact: (policy.redact ?? []).map(text => compileRedaction(text, context)),
    ...compileObserve(policy.observe, context)
  }
  return {
    responses: compiled,
    state: policy.state === undefined ? null : compileTaskState(policy.state, mode, responses, context),
    correlations: (policy.correlate ?? []).map(config => compileCorrelation(config, mode, responses, context))
  }
}

function compileResponseRule (rule: ResponseRuleConfig, acts: boolean, context: SelectContext, source: SourceOf): CompiledResponseRule {
  const decision = rule.verdict ?? 'warn'
  return {
    id: rule.id,
    mode: acts && decision === 'reject' ? 'enforce' : 'observe',
    verdict: decision,
    side: 'response',
    errorClass: 'invalid',
    undeclaredClass: 'invalid',
    on: rule.on === undefined ? null : new Set<string>(rule.on),
    ofMethod: rule.select.result !== undefined,
    select: compileResponseSelector(
      rule.select, context, (decision === 'strip' || rule.external !== undefined) && rule.select.event === undefined
    ),
    event: rule.select.event ?? null,
    holds: compilePlaces(rule.select),
    chunked: rule.chunked ?? null,
    condition: compileCondition(rule.when, rule.unless, context),
    min: atLeast(rule),
    max: rule.count?.max ?? Number.POSITIVE_INFINITY,
    schema: rule.schema === undefined ? null : source(rule.schema),
    external: rule.external ?? null,
    freshness: rule.notOlderThan === undefined ? null : compileFreshness(rule.notOlderThan),
    message: rule.error?.message ?? null,
    reason: rule.error?.reason ?? null
  }
}

function owned ({ owns = {} }: PolicyConfig, context: SelectContext, located: boolean): Selector<ResultSubject>[] {
  const { metadata = [], dataKeys = [], data = [], mediaTypes = [] } = owns
  return [
    ...metadata.map(key =>
      compileResponseSelector({ metadata: { in: [...RESPONSE_CONTENTS, 'part', 'task', 'event'], key } }, context, located)
    ),
    ...dataKeys.map(dataKey => compileResponseSelector({ part: { dataKey } }, context, located)),
    ...data.map(where => compileResponseSelector({ part: { where } }, context, located)),
    ...(mediaTypes.length === 0 ? [] : [compileResponseSelector({ part: { mediaType: mediaTypes } }, context, located)])
  ]
}

/** @param text `<metadata key>` or `<metadata key>#<JSON Pointer>` */
function compileRedaction (text: string, { uris }: SelectContext): CompiledRedaction {
  const at = text.indexOf('#')
  const key = at < 0 ? text : text.slice(0, at)
  return { names: compileName(key, uris), steps: at < 0 ? [] : parsePointer(text.slice(at + 1)) }
}

/** Request rules that the response conditions of this policy refer to. */
export function notedRules ({ response = [], correlate = [] }: PolicyConfig): ReadonlySet<string> {
  return new Set(
    [...response, ...correlate].flatMap(({ when, unless }) => [when?.requestMatched, unless?.requestMatched]).filter(id => id !== undefined)
  )
}
