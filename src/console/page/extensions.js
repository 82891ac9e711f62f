/** The table of agents and extensions. */
import { get, poll } from './api.js'
import { badge, data, h, notice, replace } from './dom.js'
import { count } from './words.js'

export function extensionsPage (element) {
  const filter = h('input', {
    id: 'find',
    type: 'search',
    placeholder: 'Agent, URI or policy',
    autocomplete: 'off',
    oninput: () => {
      draw()
    }
  })
  const group = h(
    'select',
    {
      id: 'group',
      onchange: () => {
        draw()
      }
    },
    h('option', { value: 'agent' }, 'agent'),
    h('option', { value: 'uri' }, 'extension')
  )
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
    h('p', { class: 'lead' }, 'The extensions that each agent declares, what clients must do, and how calls used them since the start.'),
    problem,
    table
  )
  let found = { rows: [], omitted: 0 }
  const draw = () => {
    const wanted = filter.value.trim().toLowerCase()
    const rows = found.rows.filter(row => `${row.agent} ${row.uri} ${row.policy ?? ''}`.toLowerCase().includes(wanted))
    drawRows(table, rows, group.value, found.omitted)
  }
  return poll(5000, async () => {
    found = await get('extensions')
    replace(problem)
    draw()
  }, error => { replace(problem, notice(`The gateway does not respond: ${error.message}`, 'bad')) })
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
            [by === 'agent' ? 'Extension' : 'Agent', 'Declared', 'Required', 'Policy', 'Mode', 'Requested by'].map(name =>
              h('th', { scope: 'col' }, name)
            ),
            ['Client calls', 'Confirmed', 'No echo', 'Unasked'].map(name => h('th', { scope: 'col', class: 'number' }, name))
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
    omitted > 0 ? notice(`${count(omitted)} more rows are not shown.`) : null
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
    cell('Required', row.required === null ? no() : badge('info', row.required)),
    cell(
      'Policy',
      row.policy === null
        ? no()
        : [
            h('span', { class: 'mono' }, row.policy),
            h(
              'small',
              null,
              `${row.rules} ${row.rules === 1 ? 'rule' : 'rules'}${row.declared === null && row.rules > 0 ? ', idle: not declared' : ''}`
            )
          ]
    ),
    cell('Mode', badge(row.mode === 'enforce' ? 'good' : row.mode === 'observe' ? 'warn' : 'plain', row.mode)),
    cell('Requested by', row.injected ? 'gateway and clients' : 'clients'),
    number('Client calls', seen.client, 'client'),
    number('Confirmed', seen.confirmed, 'confirmed'),
    number('No echo', seen.absent, 'absent'),
    number('Unasked', seen.unexpected, 'unexpected')
  )
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
