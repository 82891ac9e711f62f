/** The table of agents and extensions. */
import { setFilters } from './address.js'
import { get, poll } from './api.js'
import { badge, data, h, notice, replace } from './dom.js'
import { modeBadge } from './rules/rules.js'
import { count, counted } from './words.js'

export function extensionsPage (element, params) {
  const filter = h('input', {
    id: 'find',
    type: 'search',
    placeholder: 'Agent, URI or policy',
    autocomplete: 'off',
    value: params.get('q') ?? '',
    oninput: () => { changed() }
  })
  const group = h(
    'select',
    {
      id: 'group',
      onchange: () => { changed() }
    },
    h('option', { value: 'agent' }, 'agent'),
    h('option', { value: 'uri' }, 'extension')
  )
  group.value = params.get('by') === 'uri' ? 'uri' : 'agent'
  const table = h('div')
  const problem = h('div')
  replace(
    element,
    h(
      'div',
      { class: 'head' },
      h('h1', null, 'Extensions'),
      h('p', { class: 'field inline' }, h('label', { for: 'find' }, 'Find'), filter),
      h('p', { class: 'field inline' }, h('label', { for: 'group' }, 'By'), group)
    ),
    h('p', { class: 'lead' }, 'The extensions that each agent declares, what the gateway enforces for them, and how calls used them ' +
      'since the start.'),
    problem,
    table
  )
  let found = { rows: [], omitted: 0 }
  const draw = () => {
    const wanted = filter.value.trim().toLowerCase()
    const rows = found.rows.filter(row => `${row.agent} ${row.uri} ${row.policy ?? ''}`.toLowerCase().includes(wanted))
    drawRows(table, rows, group.value, found.omitted)
  }
  const changed = () => {
    setFilters({ q: filter.value.trim(), by: group.value === 'uri' ? 'uri' : '' })
    draw()
  }
  return poll(5000, async () => {
    found = await get('extensions')
    replace(problem)
    // Keep a link that has the keyboard focus.
    if (!table.contains(document.activeElement)) draw()
  }, error => { replace(problem, notice(error.message, 'bad')) })
}

function drawRows (element, rows, by, omitted) {
  if (rows.length === 0) return replace(element, notice('No agent declares such an extension, and no policy names one.'))
  const groups = Map.groupBy === undefined ? grouped(rows, by) : Map.groupBy(rows, row => row[by])
  const other = by === 'agent' ? 'uri' : 'agent'
  replace(
    element,
    h(
      'div',
      { class: 'card flush' },
      h(
        'table',
        { class: 'stack matrix' },
        h('caption', { class: 'hidden' }, 'Extensions of each agent'),
        h(
          'thead',
          null,
          h(
            'tr',
            null,
            [by === 'agent' ? 'Extension' : 'Agent', 'Declared', 'Required', 'Policy', 'Mode'].map(name =>
              h('th', { scope: 'col' }, name)
            ),
            ['Requested', 'Confirmed', 'Not confirmed', 'Not requested', 'Calls of methods and routes'].map(name => h('th', { scope: 'col', class: 'number' }, name))
          )
        ),
        [...groups].map(([name, list]) =>
          h(
            'tbody',
            null,
            h(
              'tr',
              { class: 'group' },
              h(
                'th',
                { scope: 'rowgroup', colspan: '10' },
                by === 'agent' ? h('a', { href: `#/agents/${encodeURIComponent(name)}` }, name) : data(name, 'mono')
              )
            ),
            list.map(row => rowOf(row, other))
          )
        )
      )
    ),
    omitted > 0 ? notice(`${counted(omitted, 'more row')} not shown.`) : null
  )
}

function grouped (rows, by) {
  const groups = new Map()
  for (const row of rows) groups.set(row[by], [...groups.get(row[by]) ?? [], row])
  return groups
}

function rowOf (row, other) {
  const { seen } = row
  return h(
    'tr',
    { 'data-agent': row.agent, 'data-uri': row.uri },
    h('th', { scope: 'row', class: 'mono wrap' }, data(row[other])),
    cell('Declared', row.declared === null ? no() : row.declared === 'card' ? 'card' : 'gateway'),
    cell(
      'Required',
      row.required === null ? no() : badge('info', row.required),
      row.injected ? h('small', null, 'injected by the gateway') : null
    ),
    cell(
      'Policy',
      row.policy === null
        ? no()
        : [h('span', { class: 'mono' }, row.policy), h('small', null, contents(row))]
    ),
    cell('Mode', row.mode === null ? h('span', { class: 'dim' }, 'not evaluated') : modeBadge(row.mode)),
    number('Requested', seen.client, 'client'),
    number('Confirmed', seen.confirmed, 'confirmed'),
    number('Not confirmed', seen.absent, 'absent'),
    number('Not requested', seen.unexpected, 'unexpected'),
    own(row)
  )
}

/** Describes the contents of a policy, and says which of them no declaration puts in use. */
function contents ({ has: { rules, methods, routes, evidence, offered }, declared, required }) {
  const parts = [
    [rules, 'rule'],
    [methods, 'method'],
    [routes, 'route'],
    [evidence, 'kind of evidence', 'kinds of evidence']
  ].filter(([value]) => value > 0).map(([value, ...nouns]) => counted(value, ...nouns))
  const text = parts.length === 0 ? 'no rules' : parts.join(', ')
  if (declared !== null || required !== null) return text
  return offered === 0
    ? `${text}; idle: not declared`
    : `${text}; not declared, ` +
    `${counted(offered, 'method or route', 'methods or routes')} offered`
}

/** Calls of methods and routes that the extension adds. */
function own ({ has, seen }) {
  if (has !== null && has.methods + has.routes > 0) return number('Calls of methods and routes', seen.additions, 'additions')
  return h('td', { 'data-label': 'Calls of methods and routes', class: 'number dim' }, h('div', null, '–'))
}

function no () {
  return h('span', { class: 'dim' }, 'no')
}

function cell (name, ...children) {
  return h('td', { 'data-label': name }, h('div', null, children))
}

function number (name, value, id) {
  return h('td', { 'data-label': name, class: value === 0 ? 'number dim' : 'number', 'data-seen': id }, h('div', null, count(value)))
}
