/** The policy in force for an agent, and the source of each line. */
import { get } from './api.js'
import { code, data, h, notice, replace } from './dom.js'
import { modeBadge } from './rules/rules.js'

const FROM = { catalogue: 'catalogue', directory: 'policy directory', file: 'file', agent: 'agent\'s list', default: 'default' }

export function policyPanel (element, name, params) {
  replace(element, notice('Loading …'))
  get('policy', { name }).then(view => {
    if (view === null) return replace(element, notice('The configuration no longer names this agent.', 'bad'))
    replace(
      element,
      h(
        'p',
        { class: 'lead' },
        "Each line with the layer it comes from: an agent's own list wins over the file's policies, and these over the built-in " +
          'catalogue and the directory of extensions.from.'
      ),
      h('section', { class: 'card flush', 'aria-labelledby': 'settings' }, h('h2', { id: 'settings' }, 'The agent'), table(view.settings)),
      view.policies.map(policy =>
        h(
          'section',
          { class: 'card flush', 'aria-labelledby': `policy-${policy.name}` },
          h(
            'h2',
            { id: `policy-${policy.name}` },
            policy.name,
            ' ',
            modeBadge(policy.mode)
          ),
          h('p', { class: 'mono small under' }, data(policy.uri)),
          table(policy.lines)
        )
      ),
      view.policies.length === 0 ? notice('The agent uses no policy. The gateway only enforces what the card requires.') : null
    )
    pointOut(element, params.get('policy'), params.get('key'))
  }, error => { replace(element, notice(error.message, 'bad')) })
}

/** Shows the line that an address names: of a policy, or of one of its keys. */
function pointOut (element, policy, key) {
  if (policy === null) return
  const section = [...element.querySelectorAll('section')].find(one => one.getAttribute('aria-labelledby') === `policy-${policy}`)
  const row = [...section?.querySelectorAll('tr[data-key]') ?? []].find(one => one.dataset.key === key)
  const found = row ?? section
  if (found === undefined) return
  found.classList.add('pointed')
  found.tabIndex = -1
  found.focus({ preventScroll: true })
  found.scrollIntoView({ block: 'center' })
}

function table (lines) {
  return h(
    'table',
    { class: 'stack lines' },
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        ['Key', 'Value', 'From'].map(one => h('th', { scope: 'col' }, one))
      )
    ),
    h(
      'tbody',
      null,
      lines.map(({ key, value, from, at }) =>
        h(
          'tr',
          { 'data-key': key },
          h('th', { scope: 'row', class: 'mono' }, key),
          h(
            'td',
            { 'data-label': 'Value' },
            h('div', null, value.includes('\n') ? h('pre', { tabindex: '0', 'aria-label': key }, h('bdi', null, value)) : code(value))
          ),
          h(
            'td',
            { 'data-label': 'From' },
            h(
              'div',
              null,
              h('span', { class: 'from', 'data-from': from }, FROM[from]),
              at === null ? null : h('small', { class: 'mono' }, at)
            )
          )
        )
      )
    )
  )
}
