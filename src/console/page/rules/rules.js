/** Violations by rule, and what `mode: enforce` would reject. */
import { addressOf, setFilters } from '../address.js'
import { get, poll } from '../api.js'
import { badge, data, h, notice, replace } from '../dom.js'
import { count, counted } from '../words.js'

const SHOWN = 500
const EFFECTS = { reject: 'rejected', strip: 'data removed', warn: 'forwarded', annotate: 'forwarded with a notice' }
const SELECTIONS = {
  '': { title: 'all rules', selects: () => true },
  violated: { title: 'rules with violations', selects: row => row.enforced + row.observed > 0 },
  'would-reject': { title: 'what enforce would reject', selects: row => row.wouldReject > 0 }
}

export function rulesPage (element, params) {
  let rows = []
  let omitted = 0
  const find = h('input', {
    id: 'find',
    type: 'search',
    placeholder: 'Agent, policy or rule',
    autocomplete: 'off',
    value: params.get('q') ?? '',
    oninput: () => { changed() }
  })
  const which = h(
    'select',
    { id: 'which', onchange: () => { changed() } },
    Object.entries(SELECTIONS).map(([value, { title }]) => h('option', { value }, title))
  )
  which.value = Object.hasOwn(SELECTIONS, params.get('show') ?? '') ? params.get('show') ?? '' : ''
  const problem = h('div')
  const answer = h('div')
  const table = h('div')
  replace(
    element,
    h(
      'div',
      { class: 'head' },
      h('h1', null, 'Rules'),
      h('p', { class: 'field inline' }, h('label', { for: 'find' }, 'Find'), find),
      h('p', { class: 'field inline' }, h('label', { for: 'which' }, 'Show'), which)
    ),
    h('p', { class: 'lead' }, 'How often calls broke each rule since the start. One call can break several rules.'),
    problem,
    answer,
    table
  )
  const draw = () => {
    const wanted = find.value.trim().toLowerCase()
    const shown = rows.filter(row => `${row.agent} ${row.extension}/${row.rule}`.toLowerCase().includes(wanted))
      .filter(SELECTIONS[which.value].selects)
      .toSorted((a, b) => b.enforced + b.observed - a.enforced - a.observed)
    replace(answer, wouldReject(rows))
    drawRows(table, shown, omitted)
  }
  const changed = () => {
    setFilters({ q: find.value.trim(), show: which.value })
    draw()
  }
  return poll(5000, async () => {
    ({ rows, omitted } = await get('rules'))
    replace(problem)
    // Keep a link that has the keyboard focus.
    if (!table.contains(document.activeElement)) draw()
  }, error => { replace(problem, notice(error.message, 'bad')) })
}

/** The answer to the question that comes before a switch to enforce. */
function wouldReject (rows) {
  const found = rows.filter(row => row.wouldReject > 0)
  if (found.length === 0) {
    return notice('Switching every rule to enforce would have rejected no additional calls since the gateway started.', 'good')
  }
  const sum = found.reduce((total, row) => total + row.wouldReject, 0)
  const agents = new Set(found.map(row => row.agent)).size
  return h(
    'p',
    { class: 'notice', 'data-kind': 'warn' },
    `Enforcing every rule would have rejected ${counted(sum, 'more violation')} since the start: ${counted(found.length, 'rule')}, ` +
      `${counted(agents, 'agent')}. `,
    h('a', { href: addressOf('#/decisions', { outcome: 'would-reject' }) }, 'Show the calls')
  )
}

function drawRows (element, rows, omitted) {
  if (rows.length === 0) return replace(element, notice('No such rule.'))
  const more = omitted + Math.max(0, rows.length - SHOWN)
  replace(
    element,
    h(
      'div',
      { class: 'card flush' },
      h(
        'table',
        { class: 'stack hits' },
        h('caption', { class: 'hidden' }, 'Rules, the most violated first'),
        h(
          'thead',
          null,
          h(
            'tr',
            null,
            ['Rule', 'Agent', 'Phase', 'Mode', 'In enforce mode'].map(name => h('th', { scope: 'col' }, name)),
            ['Enforced', 'Observed', 'Would reject'].map(name => h('th', { scope: 'col', class: 'number' }, name))
          )
        ),
        h('tbody', null, rows.slice(0, SHOWN).map(rowOf))
      )
    ),
    more > 0 ? notice(`${counted(more, 'more rule')} not shown: search by name.`) : null
  )
}

function rowOf (row) {
  const name = `${row.extension}/${row.rule}`
  return h(
    'tr',
    { 'data-agent': row.agent, 'data-rule': name, 'data-phase': row.phase },
    h('th', { scope: 'row', class: 'mono wrap' }, ruleLink(row.agent, name, row), row.at === null ? null : h('small', { class: 'mono' }, row.at)),
    cell('Agent', h('a', { href: `#/agents/${encodeURIComponent(row.agent)}` }, row.agent)),
    cell('Phase', row.phase),
    cell('Mode', modeBadge(row.mode)),
    cell(
      'In enforce mode',
      EFFECTS[row.effect],
      row.effect === 'reject' && row.needs.length > 0 ? h('small', null, `needs ${row.needs.join(' and ')}`) : null
    ),
    number('Enforced', row.enforced, row, name),
    number('Observed', row.observed, row, name),
    number('Would reject', row.wouldReject, row, name)
  )
}

export function modeBadge (mode) {
  return badge(mode === 'enforce' ? 'good' : mode === 'observe' ? 'warn' : 'plain', mode)
}

/**
 * Links a rule to its line in the policy.
 * @param {{policy: string | null, key: string | null}} place
 */
export function ruleLink (agent, name, { policy, key }) {
  if (policy === null) return data(name)
  const address = addressOf(`#/agents/${encodeURIComponent(agent)}/policy`, { policy, key: key ?? '' })
  return h('a', { href: address }, data(name))
}

function cell (name, ...children) {
  return h('td', { 'data-label': name }, h('div', null, children))
}

function number (name, value, { agent }, rule) {
  return h(
    'td',
    { 'data-label': name, class: value === 0 ? 'number dim' : 'number' },
    h(
      'div',
      null,
      value === 0
        ? '0'
        : h('a', { href: addressOf('#/decisions', { agent, q: rule }), 'aria-label': `${count(value)}: decisions of ${rule}` }, count(value))
    )
  )
}
