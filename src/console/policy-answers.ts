/**
 * Answers of policy servers about one call, as the page shows them. Questions have the names of callers and tasks, as decisions have them,
 * but no data of a request or response: values that a rule selected, messages and URLs of clients are masked.
 */
import type { Obligation } from '#pipeline/external/answer.js'
import type { Settled } from '#pipeline/external/settle.js'
import { isObject } from '#wire/json/object.js'
import { parseJson } from '#wire/json/parse-json.js'
import { truncate } from './text.js'

/** One answer, while its call lasts. */
export interface KeptAnswer extends Omit<PolicyAnswer, 'question'> {
  /** The question as it was sent; null when the question is too large to keep. */
  readonly body: string | null
}

export interface PolicyAnswer {
  /** Id of the entry in `external`, or `policy/rule`. */
  readonly rule: string
  /** Name of the policy server in `decisionPoints`. */
  readonly use: string
  readonly phase: 'request' | 'response'
  readonly mode: 'enforce' | 'observe'
  /** As in `external_decisions_total`. */
  readonly outcome: string
  /** Why there is no answer, or the obligation that the gateway cannot fulfil; null for neither. */
  readonly problem: string | null
  /** True for an answer that the gateway remembered. */
  readonly cached: boolean
  /** The server's id of the decision; null for none. */
  readonly id: string | null
  readonly reasonUser: string | null
  readonly reasonAdmin: string | null
  /** Type, action and path of each obligation. */
  readonly obligations: readonly string[]
  /** JSON with masked values; null when the question was too large to keep. */
  readonly question: string | null
}

/** Answers of one call. A stream may have any number. */
const ANSWERS = 10
/** Longest question that is kept, in UTF-16 code units. Questions without data are shorter. */
const LONGEST_QUESTION = 8_192
const OBLIGATIONS = 10
const MASKED = '…'

/** Adds answers of a call, within bounds. */
export function withAnswers (before: readonly KeptAnswer[] | null, settled: readonly Settled[]): readonly KeptAnswer[] {
  const answers = before ?? []
  return answers.length >= ANSWERS ? answers : [...answers, ...settled.slice(0, ANSWERS - answers.length).map(keptAnswer)]
}

function keptAnswer ({ asking: { rule, use, phase, mode, body }, answer, outcome, refused }: Settled): KeptAnswer {
  const decided = answer.kind === 'decided' ? answer : null
  return {
    rule,
    use,
    phase,
    mode,
    outcome,
    problem: refused ?? (answer.kind === 'failed' ? truncate(answer.problem) : null),
    cached: decided?.cached ?? false,
    id: decided?.id ?? null,
    reasonUser: decided?.reasonUser ?? null,
    reasonAdmin: decided?.reasonAdmin ?? null,
    obligations: (decided?.obligations ?? []).slice(0, OBLIGATIONS).map(obligationText),
    body: body.length > LONGEST_QUESTION ? null : body
  }
}

function obligationText ({ type, properties: { action, path, name } }: Obligation): string {
  return truncate([type, action, path, name].filter(part => typeof part === 'string').join(' '))
}

/** Returns the answer with its question, without data. */
export function policyAnswer ({ body, ...answer }: KeptAnswer): PolicyAnswer {
  return { ...answer, question: body === null ? null : maskedQuestion(body) }
}

/** @param body an access evaluation request of the gateway */
export function maskedQuestion (body: string): string {
  const question = parseJson(body) as Readonly<Record<string, unknown>>
  const { resource, context } = question
  return JSON.stringify({ ...question, resource: maskedResource(resource), context: maskedContext(context) }, null, 2)
}

function maskedResource (resource: unknown): unknown {
  if (!isObject(resource) || !isObject(resource['properties'])) return resource
  const { pushUrls, ...properties } = resource['properties']
  return { ...resource, properties: { ...properties, ...(Array.isArray(pushUrls) ? { pushUrls: pushUrls.map(() => MASKED) } : {}) } }
}

function maskedContext (context: unknown): unknown {
  if (!isObject(context)) return context
  const { selected } = context
  return {
    ...context,
    ...(Array.isArray(selected) ? { selected: selected.map(entry => isObject(entry) ? { ...entry, value: MASKED } : MASKED) } : {}),
    ...Object.fromEntries(['request', 'result'].filter(name => Object.hasOwn(context, name)).map(name => [name, MASKED]))
  }
}
