/** Formats an explanation as text. */
import type { Layer } from '#config/model/model.js'
import { INACTIVE } from '#policy/request/activation.js'
import { CALLERS } from '#policy/request/callers.js'
import { callerText } from '../caller.js'
import { INJECT } from '#policy/request/inject.js'
import { externalText } from './external-shown.js'
import { responseText } from './response-text.js'
import type { CheckTrace, Explanation, ForwardedShown, PolicyTrace, RuleTrace } from './explanation.js'
import { brokenOr, bytes, field, MARKS, rejection, set, valuesText } from '../text-lines.js'

export function explanationText (explanation: Explanation): string {
  const { request, agent } = explanation
  const at = `${request.file}${request.line > 0 ? `:${request.line}` : ''}`
  const lines = [
    field('request', `${request.method} ${request.target ?? ''}`.trimEnd()),
    field(
      'from',
      `${at}, number ${request.number}${request.name === null ? '' : ` "${request.name}"`}, ${bytes(request.bodyBytes)} of body`
    ),
    ...explanation.notes.map(note => field('note', note)),
    ...(agent === null
      ? [field('agent', 'none is served at this address')]
      : [field('agent', `${agent.name} (mode ${agent.mode}), ${FOUND[agent.foundBy]}`)]),
    ...(explanation.card === null ? [] : [field('card', explanation.card)]),
    ...(explanation.caller === null ? [] : [field('caller', callerText(explanation.caller))]),
    ...(explanation.kind === 'operation' || explanation.kind === 'refused' ? [] : [field('address', KINDS[explanation.kind])]),
    ...(explanation.binding === null ? [] : [field('binding', explanation.binding)]),
    field('version', `${explanation.version}: ${explanation.versionWhy}`),
    ...(explanation.operation === null ? [] : [field('operation', explanation.method === null ? explanation.operation : `${explanation.operation}, method ${explanation.method}`)]),
    ...(explanation.access === null ? [] : [field('access', accessText(explanation.access))]),
    ...(explanation.delegation === undefined ? [] : [field('delegation', delegationText(explanation.delegation))]),
    ...sets(explanation),
    ...policies(explanation.policies),
    ...checks(explanation),
    ...unexamined(explanation),
    ...externalText(explanation.external),
    '',
    ...(explanation.limits === undefined ? [] : [field('limits', `${explanation.limits.join(', ')} (counts are known only to a running gateway)`)]),
    field('decision', decision(explanation)),
    ...(explanation.forwarded === null ? [] : forwarded(explanation.forwarded)),
    ...(explanation.refusal === null ? [] : rejection(explanation.refusal)),
    ...(explanation.answer === null ? [] : responseText(explanation.answer))
  ]
  return `${lines.join('\n')}\n`
}

const FOUND = { address: 'by host and path', flag: 'by --agent', only: 'the only one' }
const KINDS = { card: 'the AgentCard', preflight: 'a CORS preflight: the agent responds', passthrough: 'passthrough: not inspected' }

function accessText ({ rule, decision, mode }: NonNullable<Explanation['access']>): string {
  const by = rule !== 'none' ? `by the entry ${rule}` : decision === 'allow' ? 'because there is no allow' : 'because no entry of allow matches'
  return `${decision === 'allow' ? 'allowed' : 'denied'} ${by}${mode === 'observe' ? ' (observed only)' : ''}`
}

function delegationText ({ depth, hops, initiator, mode, problem }: NonNullable<Explanation['delegation']>): string {
  const by = initiator === null ? 'somebody without credentials' : callerText(initiator)
  const between = hops.length === 0 ? `${depth} in between` : `${depth} in between (${hops.join(', ')}), initiated by ${by}`
  const chain = depth === 0 ? 'a direct call' : between
  return problem === null ? chain : `${chain}: ${problem}${mode === 'observe' ? ' (observed only)' : ''}`
}

function sets ({ extensions }: Explanation): string[] {
  if (extensions === null) return []
  return ['', 'extensions', ...Object.entries(extensions).flatMap(([name, uris]: [string, readonly string[]]) =>
    // Without conditions on the caller, the set is always empty.
    name === 'forbidden' && uris.length === 0 ? [] : set(name, uris))]
}

function policies (list: readonly PolicyTrace[]): string[] {
  if (list.length === 0) return []
  return ['', 'policies', ...list.flatMap(policyTrace => [
    `  ${policyTrace.name} (mode ${policyTrace.mode}, ${origin(policyTrace)})${policyTrace.uri === null ? '' : ` ${policyTrace.uri}`}`,
    ...(policyTrace.forbidden === null
      ? []
      : [`    not for this caller${policyTrace.mode === 'enforce' ? '' : ', observed only'}: ` +
      `${policyTrace.forbidden}`]),
    `    ${stateOf(policyTrace)}`,
    ...(policyTrace.edits.includes(CALLERS) || policyTrace.edits.includes(INACTIVE) ? ['    the data of the extension is removed'] : []),
    ...(policyTrace.why === null ? policyTrace.rules.flatMap(each => rule(each, policyTrace.edits.includes(each.id))) : []),
    ...(policyTrace.edits.includes(INJECT) ? ['    the data of the platform is added'] : [])
  ])]
}

/** Describes the lowest layer of a policy and the keys of the layers above. */
function origin ({ layers, from }: PolicyTrace): string {
  const [lowest] = layers
  const word = (layer: Layer): string => layer === 'directory' ? 'directory of extensions.from' : layer
  const above = layers.slice(1).map(
    layer =>
      `${
        Object.keys(from)
          .filter(key => from[key] === layer)
          .join(', ') || 'nothing'
      } by the ${word(layer)}`
  )
  return [`given by the ${word(lowest ?? 'catalogue')}`, ...above].join('; ')
}

function stateOf ({ why, active, evidence }: PolicyTrace): string {
  if (why !== null) return `its rules do not apply: ${why}`
  if (active) return 'active'
  return evidence === null
    ? 'not active; its rules still apply to every request'
    : `not active; its rules apply because the request contains its data at ${evidence}`
}

/**
 * Formats the trace of one rule.
 * @param removes true when the gateway removes the violating values
 */
function rule ({ id, verdict: decision, why, values, violations }: RuleTrace, removes: boolean): string[] {
  const text =
    decision === 'passed'
      ? valuesText(values)
      : decision === 'not applicable'
        ? `does not apply: ${why ?? ''}`
        : removes
          ? 'violated; the gateway removes the data'
          : brokenOr(decision)
  return [`    ${id}: ${text}`, ...violations.map(({ path, message }) => `      ${path}: ${message}`)]
}

function checks ({ checks: list, edited }: Explanation): string[] {
  if (list.length === 0) return []
  return [
    '',
    'other checks',
    ...list.flatMap(checkTrace => [
      `  ${checkTrace.rule}: ${removesData(checkTrace, edited) ? 'violated; the gateway removes the data' : brokenOr(checkTrace.verdict)}`,
      `    ${checkTrace.path === '' ? '' : `${checkTrace.path}: `}${checkTrace.message}`
    ])
  ]
}

function unexamined ({ unexamined: list }: Explanation): string[] {
  if (list.length === 0) return []
  return ['', 'data that no rule looked at', ...list.map(({ extension, path }) => `  ${extension}: ${path}`)]
}

/** True for data of an inactive extension that the gateway removes before forwarding. */
function removesData ({ rule: name }: CheckTrace, edited: readonly string[]): boolean {
  return (name.endsWith(`/${INACTIVE}`) || name.endsWith(`/${CALLERS}`)) && edited.includes(name)
}

function decision (explanation: Explanation): string {
  if (explanation.decision === 'reject') return `reject, by the rule ${explanation.rule ?? ''} (${explanation.reason ?? ''})`
  if (explanation.pause !== undefined) {
    return `pause, by the rule ${explanation.rule ?? ''}: a task in the state ` +
    `${explanation.pause.state} asks "${explanation.pause.text}"`
  }
  if (explanation.decision === 'answer') return 'the gateway responds with the agent\'s card'
  const observed =
    explanation.checks.filter(each => !removesData(each, explanation.edited)).length +
    explanation.policies.flatMap(policy => policy.rules.filter(each => each.verdict === 'observed' && !policy.edits.includes(each.id))).length
  const forwarded =
    explanation.edited.length > 0
      ? `forward, edited by ${explanation.edited.join(', ')}`
      : explanation.verbatim
        ? 'forward, unchanged ' +
      '(verbatim)'
        : 'forward'
  return observed === 0 ? forwarded : `${forwarded}; ${explanation.edited.length > 0 ? 'other ' : ''}violations are only observed`
}

function forwarded ({ method, url, headers, dropped, removed, body }: ForwardedShown): string[] {
  return [
    '',
    "the forwarded request (+ added, ~ changed, - removed; *** hides values that may be the client's)",
    `    ${method} ${url}`,
    ...headers.map(({ name, value, change }) => `  ${MARKS[change]} ${name}: ${value}`),
    ...dropped.map(name => `  - ${name}${removed.includes(name) ? ', by the policies' : ''}`),
    ...removed.filter(name => !dropped.includes(name)).map(name => `  - ${name}, some of its lines, by the policies`),
    '',
    `    ${body.bytes === 0 ? 'no body' : `the body, ${bytes(body.bytes)}${body.secret ? ' and a secret' : ''}`}${body.unchanged ? (body.bytes === 0 ? '' : ', unchanged') : ', edited'}`
  ]
}
