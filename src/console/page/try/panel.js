/** Sends a call to the agent through the gateway, and shows the result. */
import { get, post } from '../api.js'
import { h, notice, replace, say } from '../dom.js'
import { preparedCall } from '../replay.js'
import { callForm } from './call-form.js'
import { liveView } from './live.js'
import { resultOf } from './result.js'

export function tryPanel (element, name, params) {
  replace(element, notice('Loading …'))
  get('form', { name }).then(form => {
    if (!form.tryIt) return replace(element, off())
    if (form.interfaces.length === 0 && form.grpc) return replace(element, notice(ONLY_GRPC))
    if (form.interfaces.length === 0) return replace(element, notice('There is no usable card, so the agent cannot be called.', 'bad'))
    draw(element, name, form, params.get('replay'))
  }, error => { replace(element, notice(error.message, 'bad')) })
}

const ONLY_GRPC = 'The agent has gRPC interfaces only. The page cannot send calls over gRPC, because it sends HTTP/1.1 and gRPC needs ' +
  'HTTP/2. Use a client of gRPC, or a policy test with the binding GRPC.'

function off () {
  return h(
    'section',
    { class: 'card' },
    h('h2', null, 'The console is read-only'),
    h(
      'p',
      null,
      'To send calls from here, change the configuration and restart the gateway. Anyone who reaches the admin listener can then call ' +
        'the agents through the gateway.'
    ),
    h('pre', { tabindex: '0', 'aria-label': 'Configuration' }, 'server:\n  console:\n    tryIt: true')
  )
}

function draw (element, name, form, replayed) {
  const results = h('section', { class: 'results', 'aria-label': 'Result', tabindex: '-1' })
  const button = h('button', { type: 'submit', class: 'primary' }, 'Send through the gateway')
  const stop = h('button', { type: 'button', hidden: true, onclick: () => { abort?.abort() } }, 'Stop')
  const call = callForm(form)
  let abort = null
  const send = async event => {
    event.preventDefault()
    const wanted = call.read()
    if (wanted === null) return
    const live = liveView()
    abort = new AbortController()
    button.disabled = true
    stop.hidden = false
    replace(results, notice('Sending …'), live.element)
    try {
      const result = await post('try', { agent: name, ...wanted }, live.onLine, abort.signal)
      replace(results, h('h2', null, 'Result'), live.element, resultOf(result, form))
      say(result.decision === null ? 'The response has arrived.' : `The gateway's decision: ${result.decision.outcome}.`)
      results.focus({ preventScroll: true })
      results.scrollIntoView({ block: 'nearest' })
    } catch (error) {
      const stopped = error.name === 'AbortError'
      replace(results, notice(stopped
        ? 'Stopped. The decision is on the page ' +
        'Decisions.'
        : error.message, stopped ? 'info' : 'bad'), live.element)
    } finally {
      button.disabled = false
      stop.hidden = true
      abort = null
    }
  }
  replace(
    element,
    replayed === null ? null : replayNotice(replayed, call),
    h('form', { class: 'try', onsubmit: send }, call.elements, h('p', { class: 'go buttons' }, button, stop)),
    results
  )
}

function replayNotice (id, call) {
  const prepared = preparedCall(id)
  if (prepared === null) return notice('The call to replay is no longer known to this page: choose it again on the page Decisions.', 'warn')
  call.use(prepared)
  return notice('The call of the decision, with its corrections. The gateway keeps no data of requests: replace the texts in <> in the ' +
    'body, and add credentials under More headers.')
}
