/** Evaluates requests with a changed policy, before anybody puts the policy in force. */
import { get } from '../api.js'
import { h, notice, replace } from '../dom.js'
import { policyEditor } from './policy.js'
import { replayPart } from './replay.js'
import { requestPart } from './request.js'
import { resultPart } from './result.js'

/** Texts of the page by agent. They live as long as the page, so that a visit to another page loses nothing. */
const drafts = new Map()
/** Time without a key press after which the gateway evaluates, ms. */
const PAUSE = 250

/**
 * @param {string} wanted name of an agent, or ''
 * @returns a function that leaves the page
 */
export function playgroundPage (element, wanted) {
  const all = { left: false, leave: () => {} }
  replace(element, h('h1', null, 'Playground'), notice('Loading …'))
  open(element, wanted, all).catch(error => { if (!all.left) replace(element, h('h1', null, 'Playground'), notice(error.message, 'bad')) })
  return () => {
    all.left = true
    all.leave()
  }
}

async function open (element, wanted, all) {
  const [start, schema, { createEditor }] = await Promise.all([
    get('playground/start'), get('playground/schema'), import('./editor.js'), styles()
  ])
  if (all.left) return
  const name = wanted === '' ? start.agents[0] : wanted
  if (name === undefined) throw new Error('The gateway has no agents yet.')
  const [document, samples, requests] = await Promise.all(['document', 'samples', 'requests'].map(part => get(`playground/${part}`, { agent: name })))
  if (all.left) return
  all.leave = draw(element, { name, start, schema, document, samples, requests, createEditor })
}

function draw (element, { name, start, schema, document, samples, requests, createEditor }) {
  const draft = drafts.get(name) ?? { policy: document, request: samples[0]?.text ?? '', requestId: null }
  drafts.set(name, draft)
  const result = resultPart()
  let timer = null
  let running = false
  let again = false
  let closed = false

  const evaluate = async () => {
    clearTimeout(timer)
    if (running) {
      again = true
      return
    }
    running = true
    do {
      again = false
      const answer = await result.explain({ agent: name, policy: draft.policy, request: draft.request, requestId: draft.requestId })
      if (closed) return
      if (answer !== null && !again) policy.show(answer)
    } while (again)
    running = false
  }
  const later = () => {
    clearTimeout(timer)
    timer = setTimeout(evaluate, PAUSE)
  }

  const policy = policyEditor({
    createEditor,
    schema,
    policies: start.catalogue,
    text: draft.policy,
    onChange: text => {
      draft.policy = text
      replay.outdated()
      later()
    },
    onReset: () => document
  })
  const request = requestPart({
    name,
    samples,
    requests,
    text: draft.request,
    onChange: (text, id) => {
      draft.request = text
      draft.requestId = id
      later()
    }
  })
  const replay = replayPart({ name, keeps: start.keeps, kept: requests.length, policy: () => draft.policy, onPick: request.pick })

  replace(
    element,
    h('h1', null, 'Playground'),
    h('p', { class: 'lead' }, 'Try a policy before you put it in force. The gateway evaluates requests with it, does not save it, and ' +
      'sends nothing to the agent.'),
    h(
      'div',
      { class: 'field inline' },
      h('label', { for: 'play-agent' }, 'Agent'),
      h(
        'select',
        { id: 'play-agent', onchange: event => { location.hash = `#/playground/${encodeURIComponent(event.target.value)}` } },
        start.agents.map(agent => h('option', { value: agent, selected: agent === name }, agent))
      )
    ),
    h('div', { class: 'play' }, policy.element, h('div', { class: 'play-right' }, request.element, result.element)),
    replay.element
  )
  evaluate()
  return () => {
    closed = true
    clearTimeout(timer)
    policy.close()
  }
}

/** The style sheet of the playground, which only this page needs. */
function styles () {
  const href = 'playground/playground.css'
  if (document.querySelector(`link[href="${href}"]`) !== null) return Promise.resolve()
  return new Promise((resolve, reject) => {
    const fail = () => { reject(new Error('The style sheet of the playground could not be loaded.')) }
    document.head.append(h('link', { rel: 'stylesheet', href, onload: resolve, onerror: fail }))
  })
}
