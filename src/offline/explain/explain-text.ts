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

export function explanationText (one: Explanation): string {
  const { request, agent } = one
  const at = `${request.file}${request.line > 0 ? `:${request.line}` : ''}`
  const lines = [
    field('request', `${request.method} ${request.target ?? ''}`.trimEnd()),
    field(
      'from',
      `${at}, number ${request.number}${request.name === null ? '' : ` "${request.name}"`}, ${bytes(request.bodyBytes)} of body`
    ),
    ...one.notes.map(note => field('note', note)),
    ...(agent === null
      ? [field('agent', 'none is served at this address')]
      : [field('agent', `${agent.name} (mode ${agent.mode}), ${FOUND[agent.foundBy]}`)]),
    ...(one.card === null ? [] : [field('card', one.card)]),
    ...(one.caller === null ? [] : [field('caller', callerText(one.caller))]),
    ...(one.kind === 'operation' || one.kind === 'refused' ? [] : [field('address', KINDS[one.kind])]),
    ...(one.binding === null ? [] : [field('binding', one.binding)]),
    field('version', `${one.version}: ${one.versionWhy}`),
    ...(one.operation === null ? [] : [field('operation', one.method === null ? one.operation : `${one.operation}, method ${one.method}`)]),
    ...(one.access === null ? [] : [field('access', accessText(one.access))]),
    ...(one.delegation === undefined ? [] : [field('delegation', delegationText(one.delegation))]),
    ...sets(one),
    ...policies(one.policies),
    ...checks(one),
    ...unexamined(one),
    ...externalText(one.external),
    '',
    ...(one.limits === undefined ? [] : [field('limits', `${one.limits.join(', ')} (counts are known only to a running gateway)`)]),
    field('decision', decision(one)),
    ...(one.forwarded === null ? [] : forwarded(one.forwarded)),
    ...(one.refusal === null ? [] : rejection(one.refusal)),
    ...(one.answer === null ? [] : responseText(one.answer))
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
  return ['', 'policies', ...list.flatMap(one => [
    `  ${one.name} (mode ${one.mode}, ${origin(one)})${one.uri === null ? '' : ` ${one.uri}`}`,
    ...(one.forbidden === null ? [] : [`    not for this caller${one.mode === 'enforce' ? '' : ', observed only'}: ${one.forbidden}`]),
    `    ${stateOf(one)}`,
    ...(one.edits.includes(CALLERS) || one.edits.includes(INACTIVE) ? ['    the data of the extension is removed'] : []),
    ...(one.why === null ? one.rules.flatMap(each => rule(each, one.edits.includes(each.id))) : []),
    ...(one.edits.includes(INJECT) ? ['    the data of the platform is added'] : [])
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
    ...list.flatMap(one => [
      `  ${one.rule}: ${removesData(one, edited) ? 'violated; the gateway removes the data' : brokenOr(one.verdict)}`,
      `    ${one.path === '' ? '' : `${one.path}: `}${one.message}`
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

function decision (one: Explanation): string {
  if (one.decision === 'reject') return `reject, by the rule ${one.rule ?? ''} (${one.reason ?? ''})`
  if (one.pause !== undefined) return `pause, by the rule ${one.rule ?? ''}: a task in the state ${one.pause.state} asks "${one.pause.text}"`
  if (one.decision === 'answer') return 'the gateway responds with the agent\'s card'
  const observed =
    one.checks.filter(each => !removesData(each, one.edited)).length +
    one.policies.flatMap(policy => policy.rules.filter(each => each.verdict === 'observed' && !policy.edits.includes(each.id))).length
  const forwarded =
    one.edited.length > 0 ? `forward, edited by ${one.edited.join(', ')}` : one.verbatim ? 'forward, unchanged (verbatim)' : 'forward'
  return observed === 0 ? forwarded : `${forwarded}; ${one.edited.length > 0 ? 'other ' : ''}violations are only observed`
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
