/** Selects the page from the part of the address after `#`, and draws the parts that all pages share. */
import { agentPage } from './agent.js'
import { get, poll, signOut } from './api.js'
import { decisionsPage } from './decisions.js'
import { h, notice, replace, visible } from './dom.js'
import { extensionsPage } from './extensions.js'
import { overviewPage } from './overview/overview.js'
import { playgroundPage } from './playground/playground.js'

const main = document.getElementById('main')
let leave = () => {}
let first = true
let shown = ''

function route () {
  const [path] = decodeURI(location.hash.slice(1) || '/').split('?')
  const [, page = '', name = '', tab = ''] = path.split('/')
  if (page === '') return { title: 'Overview', nav: '#/', key: path, show: overviewPage }
  if (page === 'decisions') return { title: 'Decisions', nav: '#/decisions', key: path, show: decisionsPage }
  if (page === 'extensions') return { title: 'Extensions', nav: '#/extensions', key: path, show: extensionsPage }
  if (page === 'playground') {
    return { title: 'Playground', nav: '#/playground', key: path, show: element => playgroundPage(element, decodeURIComponent(name)) }
  }
  if (page === 'agents' && name !== '') {
    return {
      title: decodeURIComponent(name),
      nav: '#/',
      key: path,
      show: element => agentPage(element, decodeURIComponent(name), tab === '' ? 'health' : tab)
    }
  }
  return {
    title: 'Not found',
    nav: '',
    key: path,
    show: element => {
      replace(element, h('h1', null, 'This page does not exist'), h('p', null, h('a', { href: '#/' }, 'Go to the overview')))
    }
  }
}

function navigate () {
  // `#main` is the target of the skip link, not a page.
  if (location.hash === '#main') return main.focus()
  const { title, nav, key, show } = route()
  if (key === shown) return
  const sameAgent = shown.startsWith('/agents/') && shown.split('/')[2] === key.split('/')[2]
  shown = key
  leave()
  const element = h('div', { class: 'page' })
  replace(main, element)
  document.title = `${visible(title)} – Gateway console`
  for (const link of document.querySelectorAll('nav a')) {
    if (link.getAttribute('href') === nav) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  leave = show(element) ?? (() => {})
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

poll(5000, async () => {
  const { ready, reasons, version, hash, workers, agentCount, playground, signOut: protects } = await get('status')
  tell(ready ? 'good' : 'bad', ready ? 'ready' : 'not ready')
  pill.title = visible(reasons.join('\n'))
  document.getElementById('nav-playground').hidden = !playground
  document.getElementById('sign-out').hidden = !protects
  document.getElementById('foot').textContent =
    `a2a-extension-gateway ${version} · configuration ${hash} · ${agentCount} ${agentCount === 1 ? 'agent' : 'agents'}${workers === null ? '' : ` · ${workers} workers`}`
}, () => { tell('unknown', 'no response') })

document.getElementById('sign-out').addEventListener('click', signOut)
addEventListener('hashchange', navigate)
main.replaceChildren(notice('Loading …'))
navigate()
