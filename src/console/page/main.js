/** Selects the page from the part of the address after `#`, and draws the parts that all pages share. */
import { isNew, readAddress } from './address.js'
import { agentPage } from './agent.js'
import { get, poll, settings, signOut } from './api.js'
import { decisionsPage } from './decisions/decisions.js'
import { h, notice, replace, visible } from './dom.js'
import { extensionsPage } from './extensions.js'
import { overviewPage } from './overview/overview.js'
import { playgroundPage } from './playground/playground.js'
import { rulesPage } from './rules/rules.js'
import { counted } from './words.js'

const main = document.getElementById('main')
let leave = () => {}
let first = true
let shown = ''

const PAGES = {
  '': { title: 'Overview', nav: '#/', show: overviewPage },
  decisions: { title: 'Decisions', nav: '#/decisions', show: decisionsPage },
  rules: { title: 'Rules', nav: '#/rules', show: rulesPage },
  extensions: { title: 'Extensions', nav: '#/extensions', show: extensionsPage }
}

const UNKNOWN = {
  title: 'Not found',
  nav: '',
  show: element => {
    replace(element, h('h1', null, 'This page does not exist'), h('p', null, h('a', { href: '#/' }, 'Go to the overview')))
  }
}

function pageOf (path) {
  const [, page = '', name = '', tab = ''] = path.split('/')
  if (page === 'playground') {
    return { title: 'Playground', nav: '#/playground', show: element => playgroundPage(element, name) }
  }
  if (page === 'agents' && name !== '') {
    return { title: name, nav: '#/', show: (element, filters) => agentPage(element, name, tab === '' ? 'health' : tab, filters) }
  }
  return Object.hasOwn(PAGES, page) ? PAGES[page] : UNKNOWN
}

function navigate () {
  // `#main` is the target of the skip link, not a page.
  if (location.hash === '#main') return main.focus()
  if (!isNew()) return
  const { path, params } = readAddress() ?? { path: '/?', params: new URLSearchParams() }
  const { title, nav, show } = pageOf(path)
  const sameAgent = shown.startsWith('/agents/') && shown.split('/')[2] === path.split('/')[2]
  shown = path
  leave()
  const element = h('div', { class: 'page' })
  replace(main, element)
  document.title = `${visible(title)} – Gateway console`
  for (const link of document.querySelectorAll('nav a')) {
    if (link.getAttribute('href') === nav) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  leave = show(element, params) ?? (() => {})
  if (sameAgent) document.querySelector('[role=tab][aria-selected=true]')?.focus()
  else if (!first) {
    main.focus({ preventScroll: true })
    scrollTo(0, 0)
  }
  first = false
}

const pill = document.getElementById('ready')
const words = document.getElementById('ready-text')

function tell (state, text) {
  if (words.textContent === text) return
  pill.dataset.state = state
  words.textContent = text
}

/** The state of the gateway itself. Agents that it cannot reach are not its own fault. */
function readiness ({ ready, problems, unavailable, agentCount }) {
  if (problems.length > 0) return ['bad', 'not ready']
  if (!ready) return ['warn', `${unavailable} of ${counted(agentCount, 'agent')} unavailable`]
  return ['good', 'ready']
}

poll(5000, async () => {
  try {
    const status = await get('status')
    tell(...readiness(status))
    settings.tryIt = status.tryIt
    settings.traceUrl = status.traceUrl
    pill.title = visible(status.reasons.join('\n'))
    document.getElementById('nav-playground').hidden = !status.playground
    document.getElementById('sign-out').hidden = !status.signOut
    document.getElementById('foot').textContent = [
      `a2a-extension-gateway ${status.version}`,
      `configuration ${status.hash}`,
      counted(status.agentCount, 'agent'),
      ...status.workers === null ? [] : [counted(status.workers, 'worker')]
    ].join(' · ')
  } catch (error) {
    tell('bad', 'no response')
    throw error
  }
}, () => {})

document.getElementById('sign-out').addEventListener('click', signOut)
addEventListener('hashchange', navigate)
main.replaceChildren(notice('Loading …'))
navigate()
