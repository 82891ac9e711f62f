/** The editor of the policy, with the gateway's diagnostics below it. */
import { h, replace } from '../dom.js'
import { counted } from './plural.js'

/**
 * @param {{createEditor: Function, schema: object, policies: object[], text: string, onChange: Function, onReset: () => string}} options
 */
export function policyEditor ({ createEditor, schema, policies, text, onChange, onReset }) {
  const host = h('div', { class: 'play-editor' })
  const editor = createEditor(host, { label: 'Policy, as YAML', schema, policies, text, onChange })
  const state = h('p', { class: 'play-state', role: 'status', 'data-state': 'unknown' }, 'Not evaluated yet')
  const list = h('ol', { class: 'play-problems' })
  const reset = h('button', {
    type: 'button',
    onclick: () => {
      editor.set(onReset())
      editor.go({ line: 1, col: 1 })
    }
  }, 'Back to the policy in force')

  const show = ({ problems, warnings }) => {
    const all = [
      ...problems.map(one => ({ ...one, severity: 'error' })),
      ...warnings.map(one => ({ ...one, severity: 'warning' }))
    ]
    editor.show(all)
    state.dataset.state = problems.length > 0 ? 'bad' : warnings.length > 0 ? 'warn' : 'good'
    const text = problems.length > 0
      ? `${counted(problems.length, 'problem')}: the gateway would reject this configuration`
      : warnings.length > 0 ? `The policy can be used; ${counted(warnings.length, 'warning')}` : 'The policy can be used'
    if (state.textContent !== text) state.textContent = text
    replace(list, all.map(one => h('li', { 'data-severity': one.severity }, entry(one))))
  }
  const entry = one => h(
    'button',
    { type: 'button', class: 'play-problem', onclick: () => { editor.go(one) } },
    h('span', { class: 'mono' }, `${one.line}:${one.col}`),
    ' ',
    one.hint === undefined ? one.message : `${one.message} (${one.hint})`
  )

  return {
    element: h(
      'section',
      { class: 'card play-policy', 'aria-labelledby': 'play-policy' },
      h('div', { class: 'head' }, h('h2', { id: 'play-policy' }, 'Policy'), reset),
      host,
      state,
      list,
      h('p', { class: 'dim small' }, 'Ctrl+Space completes, F8 goes to the next problem. Point at a key to read about it. Copy the ' +
        'result into your configuration.')
    ),
    show,
    close: editor.close
  }
}
