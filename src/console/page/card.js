/** The agent's own card compared with the served card, and a card that waits compared with the agreed card. */
import { get } from './api.js'
import { code, h, notice, replace } from './dom.js'
import { counted } from './words.js'

const SIGNS = { same: ' ', added: '+', removed: '−', changed: '~' }
const WORDS = { added: 'added', removed: 'removed', changed: 'changed' }

export function cardPanel (element, name) {
  const version = h('select', { id: 'version', onchange: () => { load() } }, ['1.0', '0.3'].map(one => h('option', { value: one }, one)))
  const only = h('input', { type: 'checkbox', id: 'only', onchange: () => { element.classList.toggle('onlychanges', only.checked) } })
  const view = h('div')
  replace(element,
    h('form', { class: 'card filters', onsubmit: event => { event.preventDefault() } },
      h('p', { class: 'field' }, h('label', { for: 'version' }, 'As served to clients of A2A'), version),
      h('p', { class: 'check' }, only, h('label', { for: 'only' }, 'Differences only'))),
    view)
  const load = () => {
    get('card', { name, version: version.value }).then(
      card => {
        replace(view, cardView(card))
      },
      error => {
        replace(view, notice(error.message, 'bad'))
      }
    )
  }
  load()
}

function cardView ({ diff, held, origin, signature, etag, same }) {
  return [
    held === null ? null : heldView(held),
    diff === null ? notice('There is no usable card, so the gateway serves none.', 'bad') : servedView({ diff, origin, signature, etag, same })
  ]
}

function heldView (held) {
  const { added, removed, changed } = held
  return h(
    'section',
    { 'aria-labelledby': 'waits' },
    h('h2', { id: 'waits' }, 'The card that waits for an agreement'),
    h(
      'p',
      { class: 'lead' },
      `Compared with the agreed card, ${counted(changed, 'value')} changed, ${counted(added, 'line')} added and ` +
        `${counted(removed, 'line')} removed.`
    ),
    linesOf(held, 'The card that waits, with its differences from the agreed card')
  )
}

function servedView ({ diff, origin, signature, etag, same }) {
  const { added, removed, changed } = diff
  return [
    h(
      'p',
      { class: 'lead' },
      added + removed + changed === 0
        ? 'The gateway serves the card unchanged.'
        : `The gateway changed ${counted(changed, 'value')}, added ${counted(added, 'line')} and removed ${counted(removed, 'line')}. `,
      signature === 'verbatim' ? 'The card is signed and served unchanged.' : null
    ),
    h(
      'p',
      { class: 'dim small' },
      'From ',
      code(origin),
      etag === undefined ? null : [', served as ', code(etag)],
      same ? '; the agent has one card for both versions' : null
    ),
    linesOf(diff, "The served card, with its differences from the agent's own")
  ]
}

function linesOf ({ lines, omitted }, label) {
  return [
    h(
      'pre',
      { class: 'card diff', tabindex: '0', 'aria-label': label },
      lines.map(({ mark, indent, text, was }) => {
        const pad = '  '.repeat(indent)
        return h(
          'span',
          { class: 'line', 'data-mark': mark },
          h('span', { class: 'sign' }, SIGNS[mark]),
          mark === 'same' ? null : h('span', { class: 'hidden' }, `${WORDS[mark]}: `),
          pad,
          h('bdi', null, text),
          was === undefined ? null : h('span', { class: 'was' }, ' was ', h('del', null, h('bdi', null, was))),
          '\n'
        )
      })
    ),
    omitted > 0 ? notice(`${counted(omitted, 'more line')} not shown.`) : null
  ]
}
