/** The card of an agent that waits until somebody agrees, on the page of the agent. */
import { code, data, h, notice } from './dom.js'
import { counted } from './words.js'

/** What a difference does to enforcement, in words. */
const EFFECTS = { lowers: 'lowers enforcement', opens: 'offers more', raises: 'raises enforcement', neutral: 'enforces the same' }

/**
 * @param {string} name of the agent
 * @param agreement `card.agreement` of `/agents`
 * @returns null when no card waits
 */
export function agreementSection (name, agreement) {
  const held = agreement?.held ?? null
  if (held === null) return null
  const { reason, since, versions, digest, differences, omitted } = held
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'held' },
    h('h2', { id: 'held' }, 'A card waits for an agreement'),
    h(
      'p',
      null,
      reason === 'new'
        ? 'Nobody has agreed on a card of this agent. '
        : 'The agent serves a card that nobody has agreed on. The agreed ' +
        'card stays in use. ',
      'Since ',
      h('time', { datetime: since }, new Date(since).toLocaleString('en-GB')),
      versions > 1 ? `, ${counted(versions, 'different card')}` : null,
      '.'
    ),
    differences.length === 0
      ? null
      : h(
        'table',
        null,
        h('thead', null, h('tr', null, ['Effect', 'Place', 'Difference'].map(one => h('th', { scope: 'col' }, one)))),
        h('tbody', null, differences.map(({ effect, path, message }) =>
          h('tr', null, h('td', null, EFFECTS[effect]), h('td', null, code(path)), h('td', null, data(message)))
        ))
      ),
    omitted > 0 ? notice(`${counted(omitted, 'more difference')} not shown.`) : null,
    h('p', null, h('a', { href: `#/agents/${encodeURIComponent(name)}/card` }, 'The difference, line by line')),
    h('p', null, 'To see the card: ', code(`a2a-gateway agents diff --agent ${name}`)),
    h('p', null, 'To agree, and then review the change of agents.lock: ', code(`a2a-gateway agents lock --agent ${name}`)),
    h('p', { class: 'dim small' }, 'Digest of the card: ', code(digest))
  )
}
