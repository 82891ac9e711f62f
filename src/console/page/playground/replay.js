/** Evaluates the last requests of the agent with the policy of the editor. */
import { post } from '../api.js'
import { badge, code, h, notice, replace, say } from '../dom.js'
import { bindingName } from '../words.js'
import { counted } from './plural.js'

/**
 * @param {{name: string, keeps: number, kept: number, policy: () => string, onPick: (id: string) => void}} options
 */
export function replayPart ({ name, keeps, kept, policy, onPick }) {
  const results = h('div', { class: 'play-replay', tabindex: '-1', 'aria-label': 'Result of the replay', role: 'group' })
  const button = h('button', { type: 'button', class: 'primary', disabled: keeps === 0 }, 'Replay the last requests')
  let shown = false
  const run = async () => {
    button.disabled = true
    replace(results, notice('Evaluating …'))
    try {
      const answer = await post('playground/replay', { agent: name, policy: policy() })
      replace(results, view(answer, onPick))
      say(answer.replay === null ? 'The policy has problems.' : summary(answer.replay))
      shown = true
      results.focus()
    } catch (error) {
      replace(results, notice(error.message, 'bad'))
    }
    button.disabled = false
  }
  button.addEventListener('click', run)
  const intro = keeps === 0
    ? [
        h('p', null, 'The gateway keeps no requests. To replay the last requests of each agent, set how many stay in memory, and restart ' +
          'the gateway:'),
        h('pre', { tabindex: '0', 'aria-label': 'Configuration' }, 'server:\n  console:\n    playground: true\n    requests: 200')
      ]
    : [h('p', null, `Evaluates the last requests of ${name} with the policy in force and with the policy above, and shows what would ` +
      `change. ${counted(kept, 'request')} ${kept === 1 ? 'was' : 'were'} kept when the page was opened.`)]
  return {
    element: h('section', { class: 'card play-replay-card', 'aria-labelledby': 'play-replay' }, h('h2', { id: 'play-replay' }, 'Replay'), intro, button, results),
    /** The policy has changed since the replay. */
    outdated: () => {
      if (shown) replace(results, notice('The policy has changed. Replay again to see its effect.'))
      shown = false
    }
  }
}

function view ({ replay, problem, problems }, onPick) {
  if (replay === null) return notice(problem ?? `The policy has ${counted(problems.length, 'problem')}. Fix them, then replay.`, 'warn')
  const { evaluated, withoutBody, since, requests } = replay
  if (evaluated === 0) return notice(withoutBody === 0 ? 'There were no requests yet.' : nothingKept(withoutBody))
  return [
    h('p', { class: 'play-summary' }, summary(replay)),
    h('p', { class: 'dim small' }, `${counted(evaluated, 'request')} since ${new Date(since).toLocaleString()}. Replay does not follow ` +
      'tasks: the state of each task is unknown.', withoutBody === 0 ? '' : ` ${nothingKept(withoutBody)}`),
    requests.length === 0 ? null : h('ul', { class: 'play-requests' }, requests.map(one => row(one, onPick)))
  ]
}

function nothingKept (count) {
  return `The ${count === 1 ? 'body' : 'bodies'} of ${counted(count, 'request')} ${count === 1 ? 'was' : 'were'} too large to keep.`
}

function summary ({ evaluated, rejected, newlyRejected, newlyForwarded, observed }) {
  const changes = [
    ...newlyRejected === 0 ? [] : [`rejects ${counted(newlyRejected, 'request')} that the policy in force forwards`],
    ...newlyForwarded === 0 ? [] : [`forwards ${counted(newlyForwarded, 'request')} that the policy in force rejects`]
  ]
  const change = changes.length === 0 ? 'changes no decision' : changes.join(', and ')
  return `The changed policy ${change}. In all, it rejects ${rejected} of ${evaluated}, and observes violations in ${observed}.`
}

function row (one, onPick) {
  const { id, at, operation, binding, version, before, after, rule, violations } = one
  const [kind, word] = before === after
    ? after === 'reject' ? ['bad', 'still rejected'] : ['warn', 'observed']
    : after === 'reject' ? ['bad', 'newly rejected'] : ['good', 'newly forwarded']
  return h(
    'li',
    { 'data-before': before, 'data-after': after },
    h(
      'p',
      null,
      badge(kind, word),
      ' ',
      h('time', null, new Date(at).toLocaleTimeString()),
      ` ${operation}, ${bindingName(binding)} ${version} `,
      rule === null ? '' : code(rule)
    ),
    violations.length === 0
      ? one.message === null ? null : h('p', { class: 'small' }, one.message)
      : h('ul', { class: 'small' }, violations.slice(0, 3).map(({ path, message }) => h('li', null, path === '' ? '' : code(path), ' ', message))),
    h('button', { type: 'button', onclick: () => { onPick(id) } }, 'Explain this request')
  )
}
