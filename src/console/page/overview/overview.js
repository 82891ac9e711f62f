/** The first page: charts of current activity, and the agents. */
import { setFilters } from '../address.js'
import { get, poll } from '../api.js'
import { chart } from './charts.js'
import { badge, data, h, notice, replace } from '../dom.js'
import { perSecond, quantile, timeline, together } from './series.js'
import { age, bindingName, count, counted, duration, share, short } from '../words.js'

const MINUTE = 12

export function overviewPage (element, params) {
  const tiles = h('dl', { class: 'tiles' })
  const charts = h('div', { class: 'charts' })
  const agents = h('div')
  const pick = h('select', { id: 'of', onchange: () => { changed() } }, h('option', { value: '' }, 'all agents'))
  const filter = h('input', {
    id: 'find',
    type: 'search',
    placeholder: 'Name of an agent',
    autocomplete: 'off',
    value: params.get('q') ?? '',
    oninput: () => { changed() }
  })
  const find = h('p', { class: 'field inline', hidden: true }, h('label', { for: 'find' }, 'Find'), filter)
  const problem = h('div')
  replace(
    element,
    h('h1', null, 'Overview'),
    h('p', { class: 'lead' }, 'How many calls the gateway forwards and rejects now, and whether each agent is ready.'),
    problem,
    tiles,
    h(
      'section',
      { 'aria-labelledby': 'traffic' },
      h(
        'div',
        { class: 'head' },
        h('h2', { id: 'traffic' }, 'Calls over time'),
        h('p', { class: 'field inline' }, h('label', { for: 'of' }, 'Calls of'), pick)
      ),
      charts
    ),
    h('section', { 'aria-labelledby': 'agents' }, h('div', { class: 'head' }, h('h2', { id: 'agents' }, 'Agents'), find), agents)
  )

  let series = null
  const look = async () => {
    const [overview, page] = await Promise.all([get('overview', { q: filter.value.trim() }), get('series')])
    series = page
    replace(problem, overview.problems.map(reason => notice(reason, 'bad')), unavailable(overview))
    find.hidden = overview.agentCount <= 10 && filter.value === ''
    offer(pick, overview.agents.map(agent => agent.name))
    replace(tiles, ...tilesOf(overview, timeline(series, ''), series.bounds))
    drawCharts(charts, series, pick.value)
    drawAgents(agents, overview)
  }
  const changed = () => {
    setFilters({ q: filter.value.trim(), calls: pick.value })
    look().catch(() => {})
  }
  const calls = params.get('calls') ?? ''
  if (calls !== '') {
    offer(pick, [calls])
    pick.value = calls
  }
  return poll(3000, look, error => { replace(problem, notice(error.message, 'bad')) })
}

/** Agents without a usable card. The gateway itself works. */
function unavailable ({ agents, unavailable: number }) {
  if (number === 0) return null
  const shown = agents.filter(agent => !agent.ready).slice(0, 10)
  return h(
    'p',
    { class: 'notice', 'data-kind': 'warn' },
    `The gateway cannot serve ${counted(number, 'agent')}: `,
    shown.map(({ name, card }, i) => [
      i === 0 ? null : '; ',
      h('a', { href: `#/agents/${encodeURIComponent(name)}` }, name),
      card.problem === null ? null : [': ', data(card.problem)]
    ]),
    number > shown.length ? ' …' : null
  )
}

function offer (select, names) {
  const there = new Set([...select.options].map(one => one.value))
  for (const name of names) if (!there.has(name)) select.append(h('option', { value: name }, name))
}

function tilesOf ({ totals, streams, active }, times, bounds) {
  const minute = together(times.slice(-MINUTE))
  const all = Object.values(totals).reduce((a, b) => a + b, 0)
  const { upstream_error: agentFailed = 0, gateway_error: gatewayFailed = 0 } = totals
  return [
    tile('Calls since start', count(all), `${short(minute.calls / 60)} per second in the last minute`, 'calls'),
    tile('Rejected', count(totals.rejected ?? 0), `${share(totals.rejected ?? 0, all)} of all calls`, 'rejected'),
    tile('Error responses', count(totals.agent_error ?? 0), `${share(totals.agent_error ?? 0, all)} of all calls`, 'errors'),
    tile('Failed', count(agentFailed + gatewayFailed), `${count(agentFailed)} by agents, ${count(gatewayFailed)} by the gateway`, 'failed'),
    tile('Decision time', minute.decisions === 0 ? '–' : duration(quantile(minute, bounds, 0.99)), '99th percentile, last minute', 'p99'),
    tile('In flight', count(active + streams), `${counted(active, 'call')}, ${counted(streams, 'stream')}`, 'active')
  ]
}

function tile (name, value, note, id) {
  return h('div', { class: 'card tile', 'data-tile': id }, h('dt', null, name), h('dd', null, h('b', null, value), h('small', null, note)))
}

function drawCharts (element, page, agent) {
  // Keep a chart unchanged while it has the keyboard focus or the pointer.
  if (element.contains(document.activeElement) || element.matches(':hover')) return
  const times = timeline(page, agent)
  const at = times.map(one => one.at)
  const rate = value => perSecond(times, page.slot, value)
  replace(
    element,
    chart('Calls per second', [{ name: 'all', kind: 'calls', area: true, values: rate(row => row.calls) }], at, short),
    chart(
      'Rejected and failed calls, and error responses, per second',
      [
        { name: 'rejected', kind: 'rejected', values: rate(row => row.rejected) },
        { name: 'failed', kind: 'failed', values: rate(row => row.failed) },
        { name: 'error responses', kind: 'errors', values: rate(row => row.errors) }
      ],
      at,
      short
    ),
    chart(
      'Latency added by decisions',
      [
        { name: 'median', kind: 'median', values: times.map(({ row }) => quantile(row, page.bounds, 0.5)) },
        { name: '99 %', kind: 'p99', values: times.map(({ row }) => quantile(row, page.bounds, 0.99)) }
      ],
      at,
      duration
    )
  )
}

function drawAgents (element, { agents, matching }) {
  if (element.contains(document.activeElement)) {
    // Keep links with the keyboard focus, and update the numbers.
    const rows = new Map([...element.querySelectorAll('tbody tr')].map(row => [row.dataset.agent, row]))
    for (const agent of agents) {
      const cells = rows.get(agent.name)?.querySelectorAll('td')
      const fresh = rowOf(agent).querySelectorAll('td')
      cells?.forEach((cell, i) => { cell.replaceWith(fresh[i]) })
    }
    return
  }
  if (agents.length === 0) return replace(element, notice('No agent has this name.'))
  replace(
    element,
    h(
      'div',
      { class: 'card flush' },
      h(
        'table',
        { class: 'stack' },
        h('caption', { class: 'hidden' }, 'Agents with their cards, and their counts since the start'),
        h(
          'thead',
          null,
          h(
            'tr',
            null,
            ['Agent', 'State', 'Mode', 'Card', 'Interfaces'].map(name => h('th', { scope: 'col' }, name)),
            ['Forwarded', 'Error responses', 'Rejected', 'Failed'].map(name => h('th', { scope: 'col', class: 'number' }, name)),
            h('th', { scope: 'col' }, 'Last rejection')
          )
        ),
        h('tbody', null, agents.map(rowOf))
      )
    ),
    matching > agents.length ? notice(`${counted(matching - agents.length, 'more agent')}: search by name.`) : null
  )
}

function rowOf (agent) {
  const { name, url, cardName, ready, mode, responses, card, interfaces, counts, lastRefusals } = agent
  const last = lastRefusals.at(-1)
  return h(
    'tr',
    { 'data-agent': name },
    h(
      'th',
      { scope: 'row' },
      h('a', { href: `#/agents/${encodeURIComponent(name)}` }, name),
      h('small', null, data(cardName)),
      h('small', { class: 'mono' }, pathOf(url))
    ),
    cell(
      'State',
      ready ? (card.problem === null ? badge('good', 'ready') : badge('warn', 'ready, card old')) : badge('bad', 'not ready'),
      card.waits ? [' ', badge('warn', 'a card waits')] : null,
      ready && card.problem === null ? null : h('small', null, data(card.problem ?? card.state))
    ),
    cell('Mode', h('span', null, mode), h('small', null, `responses: ${responses}`)),
    cell(
      'Card',
      h('span', { title: card.etag?.['1.0'] ?? null }, `${age(card.ageSeconds)} old`),
      h('small', { class: 'mono' }, short8(card.etag?.['1.0']))
    ),
    cell('Interfaces', ...summary(interfaces).map(one => h('small', { class: 'plain' }, one))),
    number('Forwarded', counts.forwarded),
    number('Error responses', counts.errors),
    number('Rejected', counts.rejected),
    number('Failed', counts.agentFailed + counts.gatewayFailed, counts.gatewayFailed > 0 ? `${count(counts.gatewayFailed)} by the gateway` : null),
    cell(
      'Last rejection',
      last === undefined
        ? h('span', { class: 'dim' }, 'none')
        : [
            h('span', { class: 'mono clip', title: last.rule }, data(last.rule)),
            h('small', null, `${age((Date.now() - Date.parse(last.at)) / 1000)} ago`)
          ]
    )
  )
}

function cell (name, ...children) {
  return h('td', { 'data-label': name }, h('div', null, children))
}

function number (name, value, note = null) {
  return h('td', { 'data-label': name, class: 'number' }, h('div', null, count(value), note === null ? null : h('small', null, note)))
}

function pathOf (url) {
  return url.startsWith('http') ? new URL(url).pathname : url
}

function short8 (etag) {
  return etag === undefined || etag === null ? '' : etag.replaceAll('"', '').slice(0, 8)
}

/** Formats interfaces, such as `JSON-RPC 0.3, 1.0`. */
export function summary (interfaces) {
  const versions = new Map()
  for (const { binding, version } of interfaces) versions.set(binding, [...new Set([...versions.get(binding) ?? [], version])].sort())
  return [...versions].map(([binding, list]) => `${bindingName(binding)} ${list.join(', ')}`)
}
