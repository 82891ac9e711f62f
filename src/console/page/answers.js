/** Answers of policy servers about one call, each with its question. */
import { badge, code, data, h } from './dom.js'

const KINDS = { allow: 'good', deny: 'bad', obligation: 'bad', error: 'bad', forwarded: 'warn' }
const OUTCOMES = {
  allow: 'allowed',
  deny: 'denied',
  obligation: 'denied: an obligation cannot be fulfilled',
  error: 'no answer',
  forwarded: 'no answer, forwarded'
}

/**
 * @param answers `answers` of a decision
 * @param heading element of the headings
 * @returns null when no policy server has answered
 */
export function answersSection (answers, heading) {
  if (answers.length === 0) return null
  return h('div', { class: 'answers' }, h(heading, null, 'Policy servers'), h('ul', { class: 'violations' }, answers.map(one => h('li', null,
    badge(KINDS[one.outcome] ?? 'plain', OUTCOMES[one.outcome] ?? one.outcome),
    one.mode === 'observe' ? badge('plain', 'observed') : null,
    one.phase === 'response' ? badge('plain', 'response') : null,
    one.cached ? badge('plain', 'remembered') : null,
    h('span', { class: 'mono' }, data(one.rule)), ' asked ', code(one.use),
    facts(one),
    one.question === null
      ? h('p', { class: 'dim small' }, 'The question is too large to show.')
      : h('details', null, h('summary', null, 'Question, without values'), h('pre', { tabindex: '0', 'aria-label': 'The question' }, h('bdi', null, one.question)))))))
}

function facts ({ problem, reasonUser, reasonAdmin, id, obligations }) {
  const found = [
    ['Problem', problem === null ? null : data(problem)],
    ['Reason for the client', reasonUser === null ? null : data(reasonUser)],
    ['Reason for the operator', reasonAdmin === null ? null : data(reasonAdmin)],
    ['Id of the decision', id === null ? null : code(id)],
    ['Obligations', obligations.length === 0 ? null : obligations.map(one => h('div', null, code(one)))]
  ].filter(([, value]) => value !== null)
  return found.length === 0 ? null : h('dl', { class: 'facts' }, found.map(([name, value]) => h('div', null, h('dt', null, name), h('dd', null, value))))
}
