/** One decision, in one line and in full. */
import { answersSection } from './answers.js'
import { settings } from './api.js'
import { badge, code, data, h } from './dom.js'
import { ruleLink } from './rules/rules.js'
import { bindingName, clock, duration, OUTCOMES } from './words.js'

const KINDS = {
  forwarded: 'good',
  observed: 'warn',
  edited: 'info',
  agent_error: 'warn',
  rejected: 'bad',
  client_aborted: 'plain',
  upstream_error: 'warn',
  gateway_error: 'bad'
}

export function outcomeBadge (outcome) {
  return badge(KINDS[outcome] ?? 'plain', OUTCOMES[outcome] ?? outcome)
}

/** A reason, with a link to its entry in the documentation of this version. */
export function reasonLink (reason) {
  return h('a', { href: `../docs/reasons/${encodeURIComponent(reason)}`, title: 'Cause, and what to do' }, code(reason))
}

export function summaryLine (entry) {
  return [
    h('time', { datetime: new Date(entry.at).toISOString(), class: 'mono' }, clock(entry.at)),
    outcomeBadge(entry.outcome),
    h('span', { class: 'agent' }, entry.agent),
    h('span', { class: 'operation' }, entry.operation),
    h(
      'span',
      { class: 'what mono' },
      entry.rule === null
        ? h('span', { class: 'dim' }, `${entry.grpcStatus ?? (entry.status || 'forwarded')} in ` +
        `${duration(entry.milliseconds / 1000)}`)
        : data(entry.rule)
    )
  ]
}

/**
 * @param heading element of the headings
 * @param actions what the user can do with the call
 */
export function details (entry, heading, actions = null) {
  const facts = [
    ['Reason', entry.reason === null ? null : reasonLink(entry.reason)],
    ['Message to the client', entry.message === null ? null : data(entry.message)],
    ['Binding', `${bindingName(entry.binding)} ${entry.version}`],
    ['Called by a proxy', entry.front.startsWith('ext_') ? code(entry.front) : null],
    entry.grpcStatus === null ? ['HTTP status', entry.status === 0 ? 'not shown by the proxy' : String(entry.status)] : ['gRPC status', code(entry.grpcStatus)],
    ['Duration', duration(entry.milliseconds / 1000)],
    ['Edited by', entry.edited.length === 0 ? null : entry.edited.map(one => [code(one), ' '])],
    ['Caller', entry.caller === null ? null : [code(entry.caller.source), ' ', code(entry.caller.id)]],
    ['Extensions requested', entry.extensions.length === 0 ? null : entry.extensions.map(one => h('div', null, code(one)))],
    ['Task id', entry.taskId === null ? null : code(entry.taskId)],
    ['Context id', entry.contextId === null ? null : code(entry.contextId)],
    ['Request id', code(entry.requestId)],
    ['Trace id', entry.traceId === null ? null : traceLink(entry.traceId)]
  ].filter(([, value]) => value !== null)
  return h('div', { class: 'detail' },
    h('div', { class: 'about' },
      h('dl', { class: 'facts' }, facts.map(([name, value]) => h('div', null, h('dt', null, name), h('dd', null, value)))),
      actions),
    entry.violations.length === 0
      ? null
      : h('div', null, h(heading, null, 'Violations'), h('ul', { class: 'violations' }, entry.violations.map(one => h('li', null,
        badge(one.mode === 'enforce' ? 'bad' : 'warn', one.mode === 'enforce' ? 'enforced' : 'observed'),
        one.phase === 'response' ? badge('plain', 'response') : null,
        one.wouldReject ? badge('bad', 'enforce would reject') : null,
        h('span', { class: 'mono' }, ruleOf(entry.agent, one)),
        one.place?.at == null ? null : h('small', { class: 'mono' }, ` ${one.place.at}`),
        h('p', null, code(one.path), ' ', data(one.message)))))),
    answersSection(entry.answers, heading),
    entry.correction === null ? null : correction(entry.correction, heading))
}

function ruleOf (agent, { extension, rule, place }) {
  const name = `${extension}/${rule}`
  return place === null ? data(name) : ruleLink(agent, name, place)
}

/** The id of a trace. A link when the configuration names the tool that shows traces. */
function traceLink (id) {
  if (settings.traceUrl === null) return code(id)
  const href = settings.traceUrl.replaceAll('{traceId}', encodeURIComponent(id))
  return h('a', { href, target: '_blank', rel: 'noreferrer' }, code(id))
}

/** Shows the corrections to the request. The gateway never shows the sent data. */
function correction ({ headers, without, body, notes, allow, retryAfter }, heading) {
  const unchanged = allow === null && headers.length === 0 && without.length === 0 && body === null
  // Nobody can correct a request that a policy server has denied.
  if (unchanged && notes.length === 0 && retryAfter === null) return null
  return h('div', { class: 'correction' }, h(heading, null, 'The corrected request'),
    unchanged
      ? null
      : h('pre', { tabindex: '0', 'aria-label': 'What to change in the request' },
        allow === null ? null : line('add', `${allow} …`),
        headers.map(({ name, value }) => line('add', `${name}: ${value}`)),
        without.map(name => line('remove', `${name}`)),
        body === null ? null : outline(body, 0, '')),
    notes.length === 0 ? null : h('ul', null, notes.map(({ path, expected }) => h('li', null, code(path), ' ', data(expected)))),
    retryAfter === null ? null : h('p', null, `Wait ${retryAfter} s, then send the request again.`))
}

function line (mark, text, expected = null) {
  return h(
    'span',
    { class: 'line', 'data-mark': mark },
    h(
      'span',
      { class: 'sign', 'aria-label': mark === 'add' ? 'to send' : mark === 'remove' ? 'to leave out' : null },
      mark === 'add' ? '+' : mark === 'remove' ? '−' : ' '
    ),
    h('bdi', null, text),
    expected === null ? null : h('span', { class: 'expected' }, ` ← ${expected}`),
    '\n'
  )
}

function outline (place, depth, lead) {
  const pad = '  '.repeat(depth)
  const { list, expected, remove, members } = place
  if (members.length === 0) return [line(remove ? 'remove' : 'add', `${pad}${lead}…`, expected)]
  return [
    line(expected === null ? 'same' : 'add', `${pad}${lead}${list ? '[' : '{'}`, expected),
    ...members.flatMap(([name, child]) =>
      outline(child, depth + 1, list ? (name === '0' ? '' : `/* ${name} */ `) : `${JSON.stringify(name)}: `)
    ),
    line('same', `${pad}${list ? ']' : '}'}`)
  ]
}
