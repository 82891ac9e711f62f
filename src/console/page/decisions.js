/** The live tail of decisions. */
import { get } from './api.js'
import { h, notice, replace, say } from './dom.js'
import { details, summaryLine } from './entry.js'
import { count, OUTCOMES } from './words.js'

/** Largest number of lines on the page. The page drops older lines. */
const SHOWN = 300
/** Delay before the page requests a rejected tail again, ms. */
const AGAIN = 5000

export function decisionsPage (element) {
  const agents = h('select', { id: 'agent', onchange: () => { filter() } }, h('option', { value: '' }, 'all agents'))
  const outcomes = h(
    'select',
    {
      id: 'outcome',
      onchange: () => {
        filter()
      }
    },
    h('option', { value: '' }, 'every outcome'),
    h('option', { value: '!' }, 'all but forwarded'),
    Object.entries(OUTCOMES).map(([value, name]) => h('option', { value }, name))
  )
  const pause = h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => { toggle() } }, 'Pause')
  const state = h(
    'p',
    { class: 'pill', 'data-state': 'unknown' },
    h('span', { class: 'dot', 'aria-hidden': 'true' }),
    h('span', null, 'connecting')
  )
  const list = h('ol', { class: 'tail card flush', 'aria-label': 'Decisions, newest first' })
  const empty = notice('Nothing yet. Rejections, violations and failures are kept. Other calls are shown while this page is open.')
  const lost = h('div')
  replace(element,
    h('h1', null, 'Decisions'),
    h('form', { class: 'card filters', onsubmit: event => { event.preventDefault() } },
      h('p', { class: 'field' }, h('label', { for: 'agent' }, 'Agent'), agents),
      h('p', { class: 'field' }, h('label', { for: 'outcome' }, 'Outcome'), outcomes),
      pause, h('button', { type: 'button', onclick: () => { clear() } }, 'Clear'), state),
    lost, empty, list)

  let paused = false
  let held = []
  let missed = 0
  const known = new Set()
  const tell = (kind, text) => {
    state.dataset.state = kind
    state.lastChild.textContent = text
  }

  const matches = item => (agents.value === '' || item.dataset.agent === agents.value) &&
    (outcomes.value === '' || (outcomes.value === '!' ? item.dataset.outcome !== 'forwarded' : item.dataset.outcome === outcomes.value))
  const filter = () => { for (const item of list.children) item.hidden = !matches(item) }
  const clear = () => {
    replace(list)
    missed = 0
    replace(lost)
    empty.hidden = false
  }

  const show = entries => {
    for (const entry of entries) {
      const body = h('div')
      const item = h('li', { 'data-agent': entry.agent, 'data-outcome': entry.outcome, 'data-id': entry.id }, h('details', {
        ontoggle: event => { if (event.target.open && body.firstChild === null) replace(body, details(entry)) }
      }, h('summary', null, summaryLine(entry)), body))
      item.hidden = !matches(item)
      list.prepend(item)
      if (![...agents.options].some(one => one.value === entry.agent)) agents.append(h('option', { value: entry.agent }, entry.agent))
    }
    while (list.children.length > SHOWN) list.lastChild.remove()
    empty.hidden = list.children.length > 0
  }

  const take = (entries, gone) => {
    const fresh = entries.filter(({ id }) => !known.has(id))
    for (const { id } of fresh) known.add(id)
    if (known.size > 5000) for (const id of [...known].slice(0, 2500)) known.delete(id)
    missed += gone
    if (missed > 0) replace(lost, notice(`${count(missed)} more calls arrived too fast to be shown.`, 'warn'))
    if (paused) {
      held = [...held, ...fresh].slice(-SHOWN)
      pause.textContent = `Resume (${held.length} new)`
      return
    }
    show(fresh)
    const refused = fresh.filter(one => one.outcome === 'rejected').length
    if (refused > 0) say(`${refused} new ${refused === 1 ? 'rejection' : 'rejections'}`)
  }

  const toggle = () => {
    paused = !paused
    pause.setAttribute('aria-pressed', String(paused))
    pause.textContent = paused ? 'Resume' : 'Pause'
    tell(paused ? 'unknown' : 'good', paused ? 'paused' : 'live')
    if (paused) return
    show(held)
    held = []
  }

  get('overview').then(({ agents: all }) => {
    for (const { name } of all) if (![...agents.options].some(one => one.value === name)) agents.append(h('option', { value: name }, name))
  }).catch(() => {})

  let source = null
  let timer = null
  const open = () => {
    source = new EventSource('api/decisions')
    source.onopen = () => { if (!paused) tell('good', 'live') }
    source.onmessage = ({ data }) => {
      const { entries, missed: gone } = JSON.parse(data)
      take(entries, gone)
    }
    source.onerror = () => {
      tell('unknown', 'connecting')
      if (source.readyState !== EventSource.CLOSED) return
      tell('bad', 'no live calls: too many pages are connected')
      timer = setTimeout(open, AGAIN)
    }
  }
  open()
  return () => {
    clearTimeout(timer)
    source.close()
  }
}
