/** Decisions: a search over those that the gateway keeps, and the live tail. */
import { setFilters } from '../address.js'
import { get } from '../api.js'
import { copyButton } from '../copy.js'
import { h, notice, replace, say } from '../dom.js'
import { details, summaryLine } from '../entry.js'
import { count, counted, OUTCOMES } from '../words.js'
import { commandFor, replay } from '../replay.js'

/** Largest number of lines on the page. The page drops older lines. */
const SHOWN = 300
/** Delay before the page requests a rejected tail again, ms. */
const AGAIN = 5000
/** Time without a key before the page searches, ms. */
const TYPING = 300

export function decisionsPage (element, params) {
  const agents = h('select', { id: 'agent', onchange: () => { search() } }, h('option', { value: '' }, 'all agents'))
  const outcomes = h(
    'select',
    { id: 'outcome', onchange: () => { search() } },
    h('option', { value: '' }, 'every outcome'),
    h('option', { value: '!' }, 'all but forwarded'),
    h('option', { value: 'would-reject' }, 'enforce would reject'),
    Object.entries(OUTCOMES).map(([value, name]) => h('option', { value }, name))
  )
  const words = h('input', {
    id: 'words',
    type: 'search',
    placeholder: 'Rule, request id, task id, text',
    autocomplete: 'off',
    spellcheck: 'false',
    value: params.get('q') ?? '',
    oninput: () => {
      clearTimeout(typing)
      typing = setTimeout(search, TYPING)
    }
  })
  const pause = h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => { toggle() } }, 'Pause')
  const state = h(
    'p',
    { class: 'pill', 'data-state': 'unknown' },
    h('span', { class: 'dot', 'aria-hidden': 'true' }),
    h('span', null, 'connecting')
  )
  const list = h('ol', { class: 'tail card flush', 'aria-label': 'Decisions, newest first' })
  const empty = h('div')
  const missing = h('div')
  replace(element,
    h('h1', null, 'Decisions'),
    h('p', { class: 'lead' }, 'What the gateway decided about each call, newest first: open a line for the reason, the rule and the ' +
      'corrected request.'),
    h('form', {
      class: 'card filters',
      onsubmit: event => {
        event.preventDefault()
        search()
      }
    },
    h('p', { class: 'field wide' }, h('label', { for: 'words' }, 'Search'), words),
    h('p', { class: 'field' }, h('label', { for: 'agent' }, 'Agent'), agents),
    h('p', { class: 'field' }, h('label', { for: 'outcome' }, 'Outcome'), outcomes),
    pause, h('button', { type: 'button', onclick: () => { clear() } }, 'Clear'), state),
    missing, empty, list)
  choose(agents, params.get('agent') ?? '')
  choose(outcomes, params.get('outcome') ?? '')

  let typing = null
  let paused = false
  let held = []
  let missed = 0
  let source = null
  let again = null
  const known = new Set()
  const tell = (kind, text) => {
    state.dataset.state = kind
    state.lastChild.textContent = text
  }
  const filters = () => ({ q: words.value.trim(), agent: agents.value, outcome: outcomes.value })
  const isFiltered = () => Object.values(filters()).some(value => value !== '')

  const tellEmpty = () => {
    replace(empty, list.children.length > 0
      ? null
      : isFiltered()
        ? [notice('No decision matches. The gateway keeps rejections, violations and failures; it shows other calls while this page is open.'),
            h('p', null, h('button', { type: 'button', onclick: reset }, 'Show all decisions'))]
        : notice('Nothing yet. Rejections, violations and failures are kept. Other calls are shown while this page is open.'))
  }
  const reset = () => {
    words.value = agents.value = outcomes.value = ''
    search()
    words.focus()
  }
  const clear = () => {
    replace(list)
    missed = 0
    replace(missing)
    tellEmpty()
  }

  const show = entries => {
    for (const entry of entries) {
      const body = h('div')
      const item = h('li', { 'data-agent': entry.agent, 'data-outcome': entry.outcome, 'data-id': entry.id }, h('details', {
        ontoggle: event => { if (event.target.open && body.firstChild === null) replace(body, details(entry, 'h2', actionsOf(entry))) }
      }, h('summary', null, summaryLine(entry)), body))
      list.prepend(item)
      choose(agents, agents.value, entry.agent)
    }
    while (list.children.length > SHOWN) list.lastChild.remove()
    tellEmpty()
  }

  /** @param first true for the decisions from before the page was connected */
  const take = (entries, gone, first) => {
    const fresh = entries.filter(({ id }) => !known.has(id))
    for (const { id } of fresh) known.add(id)
    if (known.size > 5000) for (const id of [...known].slice(0, 2500)) known.delete(id)
    missed += gone
    if (missed > 0) {
      replace(missing, notice(`${counted(missed, 'more call')} arrived too fast to be shown.`, 'warn'))
    }
    if (paused && !first) {
      held = [...held, ...fresh].slice(-SHOWN)
      pause.textContent = `Resume (${held.length} new)`
      return
    }
    show(fresh)
    if (first) return isFiltered() ? say(fresh.length === 1 ? '1 decision matches' : `${count(fresh.length)} decisions match`) : undefined
    const rejected = fresh.filter(one => one.outcome === 'rejected').length
    if (rejected > 0) say(counted(rejected, 'new rejection'))
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

  const open = () => {
    const query = new URLSearchParams(Object.entries(filters()).filter(([, value]) => value !== '')).toString()
    source = new EventSource(query === '' ? 'api/decisions' : `api/decisions?${query}`)
    let first = true
    source.onopen = () => { if (!paused) tell('good', 'live') }
    source.onmessage = ({ data }) => {
      const { entries, missed: gone } = JSON.parse(data)
      take(entries, gone, first)
      first = false
    }
    source.onerror = () => {
      tell('unknown', 'connecting')
      if (source.readyState !== EventSource.CLOSED) return
      tell('bad', 'no live calls: too many pages are connected')
      again = setTimeout(open, AGAIN)
    }
  }
  const close = () => {
    clearTimeout(again)
    clearTimeout(typing)
    source?.close()
  }
  /** The gateway searches everything that it keeps, and then sends the new calls that match. */
  const search = () => {
    close()
    setFilters(filters())
    known.clear()
    held = []
    missed = 0
    replace(list)
    replace(missing)
    replace(empty)
    if (paused) pause.textContent = 'Resume'
    open()
  }

  get('overview').then(({ agents: all }) => { for (const { name } of all) choose(agents, agents.value, name) }).catch(() => {})
  open()
  return close
}

/** Selects a value that may have no option yet, and adds options for other values. */
function choose (select, value, ...others) {
  for (const one of [value, ...others]) {
    if (![...select.options].some(option => option.value === one)) select.append(h('option', { value: one }, one))
  }
  select.value = value
}

function actionsOf (entry) {
  const curl = copyButton('Copy as curl', () => commandFor(entry))
  const place = h('div')
  const again = h('button', {
    type: 'button',
    onclick: () => { replay(entry).catch(error => { replace(place, notice(error.message, 'bad')) }) }
  }, 'Replay in Try it')
  return h('div', { class: 'actions' }, h('p', { class: 'buttons' }, curl.button, again), curl.place, place)
}
