/** A call that was sent: the request, the response and the decision, side by side. */
import { copyButton, curlOf } from '../copy.js'
import { data, h, notice } from '../dom.js'
import { details, outcomeBadge } from '../entry.js'
import { hostHeader } from '../replay.js'
import { duration } from '../words.js'
import { pretty } from './live.js'

export function resultOf (result, form) {
  return h('div', { class: 'three' }, requestCard(result.request, form), responseCard(result), decisionCard(result.decision))
}

function requestCard ({ method, path, headers, body }, form) {
  const command = () => curlOf({
    method,
    url: form.base + path,
    headers: [...hostHeader(form), ...headers.filter(([name]) => !/^(?:host|content-length)$/i.test(name))],
    body,
    stream: headers.some(([name, value]) => /^accept$/i.test(name) && value === 'text/event-stream')
  })
  const curl = form.base === null ? null : copyButton('Copy as curl', command)
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'sent' },
    h('h3', { id: 'sent' }, 'Request'),
    h('p', { class: 'mono wrap' }, `${method} ${path}`),
    headerList(headers),
    bodyBlock('Body of the request', body),
    curl === null ? null : [h('p', { class: 'buttons' }, curl.button), curl.place]
  )
}

function responseCard ({ answer, problem }) {
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'answered' },
    h('h3', { id: 'answered' }, 'Response'),
    problem === null ? null : notice(problem, 'bad'),
    answer === null
      ? null
      : [
          h('p', { class: 'mono wrap' }, `${answer.status} `, data(answer.phrase), ` in ${duration(answer.milliseconds / 1000)}`),
          headerList(answer.headers),
          bodyBlock('Body of the response', answer.body)
        ]
  )
}

function decisionCard (decision) {
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'decided' },
    h('h3', { id: 'decided' }, 'Decision'),
    decision === null
      ? notice('The gateway did not report its decision in time.')
      : [h('p', null, outcomeBadge(decision.outcome), ' ', h('span', { class: 'mono' }, data(decision.rule ?? ''))), details(decision, 'h4')]
  )
}

function headerList (headers) {
  return h(
    'dl',
    { class: 'headers mono' },
    headers.map(([key, value]) => h('div', null, h('dt', null, data(key), ': '), h('dd', null, data(value))))
  )
}

function bodyBlock (label, body) {
  return h('pre', { tabindex: '0', 'aria-label': label }, body === '' ? h('span', { class: 'dim' }, '(empty)') : pretty(body))
}
