/** One agent: its health, its card, its policy, and calls to try. */
import { agreementSection } from './agreement.js'
import { get, poll } from './api.js'
import { cardPanel } from './card.js'
import { badge, code, data, h, notice, replace, tabs } from './dom.js'
import { reasonLink } from './entry.js'
import { policyPanel } from './policy.js'
import { tryPanel } from './try/panel.js'
import { age, bindingName, counted, signatureWords } from './words.js'

const PANELS = { health: healthPanel, card: cardPanel, policy: policyPanel, try: tryPanel }
/** Words for the changes that the gateway makes to parts of the card. */
const CHANGES = {
  added: 'added',
  merged: 'merged with additions',
  required: 'now required',
  optional: 'no longer required',
  replaced: 'replaced',
  removed: 'removed'
}
/** What each tab shows. */
const LEADS = {
  health: 'Whether the gateway can use the card of the agent, what the card offers, and the last rejections.',
  card: 'The card that clients get, compared with the card of the agent.',
  policy: 'The policies of the agent, with the layer that sets each key, and the violations of each rule.',
  try: 'A call to the agent through the gateway, and what the gateway decides about it.'
}
const TITLES = { health: 'Health', card: 'Card', policy: 'Policy', try: 'Try it' }

export function agentPage (element, name, tab, params) {
  const current = Object.hasOwn(PANELS, tab) ? tab : 'health'
  const panel = h('div', { id: 'panel', role: 'tabpanel', 'aria-labelledby': `tab-${current}` })
  replace(
    element,
    h('nav', { class: 'crumb', 'aria-label': 'Back' }, h('a', { href: '#/' }, 'Agents')),
    h('h1', null, name),
    tabs(
      `Agent ${name}`,
      Object.keys(PANELS).map(id => ({ id, title: TITLES[id], href: `#/agents/${encodeURIComponent(name)}/${id}` })),
      current
    ),
    h('p', { class: 'lead' }, LEADS[current]),
    panel
  )
  return PANELS[current](panel, name, params)
}

function healthPanel (element, name) {
  replace(element, notice('Loading …'))
  return poll(5000, async () => {
    const agent = await get('agent', { name })
    if (element.contains(document.activeElement)) return
    if (agent === null) return replace(element, notice('This agent is no longer configured.', 'bad'))
    replace(element, health(agent))
  }, error => { replace(element, notice(error.message, 'bad')) })
}

/** @param verified results of `card.verify` by version; null without it */
function signatures (verified) {
  return ['1.0', '0.3', 'extended']
    .filter(one => verified !== null && Object.hasOwn(verified, one))
    .map(one => [one === 'extended' ? 'Signature of the extended card' : `Signature ${one}`, data(signatureWords(verified[one]))])
}

function health (agent) {
  const { card, load } = agent
  const facts = [
    ['State', agent.ready ? badge('good', 'ready') : badge('bad', 'not ready')],
    ['Problem', card.problem === null ? null : data(card.problem)],
    ['Served at', code(agent.url)],
    ['Host', agent.host === null ? null : code(agent.host)],
    ['Agent', code(agent.upstream)],
    ['Found by', agent.origin === null ? null : data(`source ${agent.origin.source}: ${agent.origin.identifier}`)],
    ['Mode', `${agent.mode}, responses: ${agent.responses}`],
    ['Card', `${card.state}, ${age(card.ageSeconds)} old`],
    ['Card from', card.origin === null ? null : code(card.origin)],
    ['Served card 1.0', card.etag === null ? null : code(card.etag['1.0'])],
    ['Served card 0.3', card.etag === null ? null : code(card.etag['0.3'])],
    ...signatures(card.signature.verified),
    ['In flight', `${counted(load.requests, 'call')}, ${counted(load.streams, 'stream')}`]
  ].filter(([, value]) => value !== null)
  return [
    h(
      'div',
      { class: 'columns' },
      h(
        'section',
        { class: 'card', 'aria-labelledby': 'state' },
        h('h2', { id: 'state' }, 'State'),
        h(
          'dl',
          { class: 'facts' },
          facts.map(([key, value]) => h('div', null, h('dt', null, key), h('dd', null, value)))
        )
      ),
      h(
        'section',
        { class: 'card', 'aria-labelledby': 'interfaces' },
        h('h2', { id: 'interfaces' }, 'Interfaces'),
        agent.interfaces.length === 0
          ? notice('None, because there is no usable card.')
          : h(
            'table',
            null,
            h(
              'thead',
              null,
              h(
                'tr',
                null,
                ['Binding', 'Version', 'Path'].map(one => h('th', { scope: 'col' }, one))
              )
            ),
            h(
              'tbody',
              null,
              agent.interfaces.map(one =>
                h('tr', null, h('td', null, bindingName(one.binding)), h('td', null, one.version), h('td', null, code(one.path)))
              )
            )
          )
      )
    ),
    agreementSection(agent.name, card.agreement),
    card.changes.length === 0
      ? null
      : h(
        'section',
        { class: 'card', 'aria-labelledby': 'changes' },
        h('h2', { id: 'changes' }, 'Changes in the served card'),
        h(
          'ul',
          { class: 'plainlist' },
          card.changes.map(({ part, name, change, by }) => h(
            'li',
            null,
            part === 'signatures' ? 'signatures' : [`${part} `, data(name)],
            ` ${CHANGES[change]}, by ${by}`
          ))
        )
      ),
    card.warnings.length === 0
      ? null
      : h(
        'section',
        { class: 'card', 'aria-labelledby': 'odd' },
        h('h2', { id: 'odd' }, 'Warnings about card and configuration'),
        h(
          'ul',
          { class: 'plainlist' },
          card.warnings.slice(0, 50).map(one => h('li', null, data(one.slice(0, 1000))))
        )
      ),
    h(
      'section',
      { class: 'card', 'aria-labelledby': 'refusals' },
      h('h2', { id: 'refusals' }, 'Last rejections'),
      agent.lastRefusals.length === 0
        ? h('p', { class: 'dim' }, 'None since the start.')
        : h(
          'ol',
          { class: 'refusals' },
          agent.lastRefusals
            .toReversed()
            .map(({ at, rule, reason, message }) =>
              h(
                'li',
                null,
                h(
                  'p',
                  null,
                  h('time', { datetime: at, class: 'mono' }, new Date(at).toLocaleString('en-GB')),
                  ' ',
                  reasonLink(reason),
                  ' ',
                  h('span', { class: 'mono' }, data(rule))
                ),
                h('p', null, data(message))
              )
            )
        )
    )
  ]
}
