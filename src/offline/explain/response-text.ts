/** Formats the explanation of a response as text. */
import { externalText } from './external-shown.js'
import { bodyLines, brokenOr, bytes, field, grpcStatusLines, MARKS, rejection, set, valuesText } from '../text-lines.js'
import type { ResponseExplanation, ResultTrace } from './explanation.js'

export function responseText (responseExplanation: ResponseExplanation): string[] {
  const { events } = responseExplanation
  return [
    '',
    field(
      'response',
      `${responseExplanation.grpcStatus ?? responseExplanation.status}, ${bytes(responseExplanation.bodyBytes)} of ` +
        `body${events === null ? '' : `, ${events} ${events === 1 ? 'event' : 'events'} of a stream`}`
    ),
    ...responseExplanation.notes.map(note => field('note', note)),
    field('read', `${responseExplanation.read ? 'yes' : 'no'}: ${responseExplanation.why}`),
    ...results(responseExplanation),
    ...checks(responseExplanation),
    ...externalText(responseExplanation.external),
    ...activation(responseExplanation),
    ...recorded(responseExplanation),
    '',
    field('decision', decision(responseExplanation)),
    ...delivered(responseExplanation),
    ...rejected(responseExplanation)
  ]
}

const KINDS = { message: 'a message', task: 'a task', statusUpdate: 'a status update', artifactUpdate: 'an artifact update' }

function results ({ results: list }: ResponseExplanation): string[] {
  if (list.length === 0) return []
  return ['', 'results', ...list.flatMap(({ event, kind, path, policies }) => [
    `  ${event === null ? '' : `event ${event}: `}${KINDS[kind]}${path === '' ? '' : ` at ${path}`}`,
    ...policies.flatMap(policy)
  ])]
}

function policy ({ name, evidence, why, rules }: ResultTrace['policies'][number]): string[] {
  return [
    `    ${name}${evidence === null ? '' : `, its data is at ${evidence}`}`,
    ...(why === null ? [] : [`      its rules do not apply: ${why}`]),
    ...rules.flatMap(rule => [
      `      ${rule.id}: ${rule.verdict === 'passed'
? valuesText(rule.values)
: rule.verdict === 'not applicable'
? 'does not apply: ' +
        `${rule.why ?? ''}`
: BECOMES[rule.becomes]}`,
      ...rule.violations.map(({ path, message }) => `        ${path}: ${message}`)
    ])
  ]
}

const BECOMES = {
  reject: brokenOr('broken'),
  strip: 'violated; the gateway removes the data',
  annotate: 'violated; annotated for the client',
  nothing: brokenOr('observed')
}

function checks ({ checks: list }: ResponseExplanation): string[] {
  if (list.length === 0) return []
  return ['', 'other checks', ...list.flatMap(({ event, rule, verdict: decision, path, message }) => [
    `  ${event === null || event === 0 ? '' : `event ${event}: `}${rule}: ${brokenOr(decision)}`,
    `    ${path === '' ? '' : `${path}: `}${message}`
  ])]
}

function activation ({ activation: report, shown }: ResponseExplanation): string[] {
  if (report === null) return []
  return [
    '',
    'extensions',
    ...set('confirmed', report.confirmed),
    ...set('absent', report.absent),
    ...set('unexpected', report.unexpected),
    ...set('shown', shown)
  ]
}

/** Lists recorded names and counts, never values. */
function recorded ({ attributes, measures, remembered }: ResponseExplanation): string[] {
  const lines = [
    ...attributes.map(name => `  span attribute ${name}`),
    ...measures.map(({ policy, metric, by, type, times }) => `  ${type} ${policy}/${metric}${by === '' ? '' : ` by ${by}`}${often(times)}`),
    ...remembered.map(({ field: name, times }) => `  remembered for the task: ${name}${often(times)}`)
  ]
  return lines.length === 0 ? [] : ['', 'recorded', ...lines]
}

function often (times: number): string {
  return times === 1 ? '' : `, ${times} times`
}

function decision (responseExplanation: ResponseExplanation): string {
  if (responseExplanation.decision === 'reject') {
    return `reject${responseExplanation.refusedEvent === null ? '' : ` at event ${responseExplanation.refusedEvent}`}, by the rule ` +
      `${responseExplanation.rule ?? ''} (${responseExplanation.reason ?? ''})`
  }
  const annotated = responseExplanation.annotations.length === 0 ? '' : `, annotated with ${responseExplanation.annotations.join(', ')}`
  const forwarded = responseExplanation.edited.length > 0 ? `forward, edited by ${responseExplanation.edited.join(', ')}` : 'forward'
  const rules = responseExplanation.results.flatMap(({ policies }) => policies.flatMap(({ rules }) => rules))
  const observed =
    responseExplanation.checks.some(({ verdict: decision }) => decision === 'observed') || rules.some(({ verdict: decision }) => decision === 'observed')
  return `${forwarded}${annotated}${observed ? `; ${responseExplanation.edited.length + responseExplanation.annotations.length > 0 ? 'other ' : ''}violations are only observed` : ''}`
}

function delivered ({ delivered: sent }: ResponseExplanation): string[] {
  if (sent === null) return []
  const { status, grpcStatus, headers, dropped, body } = sent
  return [
    '',
    'the response to the client (+ added, ~ changed, - removed; *** hides values that may be the agent\'s)',
    `    ${grpcStatus ?? status}`,
    ...headers.map(({ name, value, change }) => `  ${MARKS[change]} ${name}: ${value}`),
    ...dropped.map(name => `  - ${name}`),
    '',
    `    ${body.bytes === 0 ? 'no body' : `the body, ${bytes(body.bytes)}${body.unchanged ? ', unchanged' : ', edited'}`}`
  ]
}

function rejected ({ refusal: said, delivered: sent }: ResponseExplanation): string[] {
  if (said === null) return []
  if (sent === null) return rejection(said)
  if (said.grpc !== undefined) return ['', 'the status after the messages', ...grpcStatusLines(said.grpc, said.headers)]
  return ['', 'the last event to the client', ...bodyLines(said.body)]
}
