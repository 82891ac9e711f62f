/** The decision about the request, as `explain` explains it. */
import { post } from '../api.js'
import { badge, code, h, notice, replace } from '../dom.js'

const WORDS = { forward: ['good', 'forward'], reject: ['bad', 'reject'], answer: ['info', 'the gateway responds'] }

export function resultPart () {
  const banner = h('div', { class: 'play-banner', role: 'status' }, 'Not evaluated yet')
  const violations = h('ul', { class: 'violations' })
  const details = h('details', { open: true, hidden: true }, h('summary', null, 'Explanation'))
  const text = h('pre', { class: 'play-text', tabindex: '0', 'aria-label': 'Explanation' })

  details.append(text)

  const draw = ({ explanation, text: words, problem, problems }) => {
    const why = problems.length > 0 ? 'The policy has problems. Fix them to evaluate the request.' : problem ?? 'Write or choose a request.'
    details.hidden = explanation === null
    if (explanation === null) {
      replace(banner, notice(why, problem === null ? 'info' : 'warn'))
      replace(violations)
      return replace(text)
    }
    const [kind, word] = WORDS[explanation.decision]
    replace(banner, h('p', null, badge(kind, word), ' ', explanation.rule === null ? observed(explanation) : code(explanation.rule)))
    replace(violations, broken(explanation).map(one =>
      h('li', null, badge(one.verdict === 'observed' ? 'warn' : 'bad', one.verdict === 'observed' ? 'observe' : 'enforce'), code(one.rule), ' ', one.path === '' ? '' : code(one.path), ' ', one.message)))
    replace(text, words)
  }

  return {
    element: h(
      'section',
      { class: 'card play-result', 'aria-labelledby': 'play-result' },
      h('h2', { id: 'play-result' }, 'Decision'),
      banner,
      violations,
      details
    ),
    /** @returns what the gateway says about the policy; null when the request failed */
    explain: async request => {
      try {
        const answer = await post('playground/explain', request)
        draw(answer)
        return answer
      } catch (error) {
        replace(banner, notice(error.message, 'bad'))
        replace(violations)
        details.hidden = true
        return null
      }
    }
  }
}

function observed (explanation) {
  const count = broken(explanation).length
  return count === 0 ? 'no rule is broken' : 'broken rules are only observed'
}

function broken ({ policies, checks }) {
  const ofRules = policies.flatMap(policy => policy.rules.filter(rule => rule.verdict === 'broken' || rule.verdict === 'observed')
    .flatMap(rule => rule.violations.map(one => ({ ...one, verdict: rule.verdict, rule: `${policy.name}/${rule.id}` }))))
  return [...checks, ...ofRules]
}
