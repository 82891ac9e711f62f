/** The request that is evaluated: a sample, a request that the gateway keeps, or pasted text. */
import { get } from '../api.js'
import { h, notice, replace } from '../dom.js'
import { bindingName } from '../words.js'

/**
 * @param {{name: string, samples: object[], requests: object[], text: string, onChange: (text: string, id: string | null) => void}} options
 */
export function requestPart ({ name, samples, requests, text, onChange }) {
  const area = h('textarea', {
    id: 'play-request',
    rows: '12',
    spellcheck: 'false',
    class: 'mono',
    value: text,
    oninput: () => {
      source.value = ''
      onChange(area.value, null)
    }
  })
  const trouble = h('div')
  const take = async value => {
    replace(trouble)
    const at = value.indexOf(':')
    const [kind, key] = [value.slice(0, at), value.slice(at + 1)]
    if (kind === 'sample') {
      area.value = samples[Number(key)].text
      return onChange(area.value, null)
    }
    if (kind !== 'live') return
    try {
      area.value = await get('playground/request', { agent: name, id: key })
      onChange(area.value, key)
    } catch (error) {
      replace(trouble, notice(error.message, 'bad'))
    }
  }
  const source = h(
    'select',
    { id: 'play-source', onchange: () => { take(source.value) } },
    h('option', { value: '' }, 'typed or pasted'),
    groups(samples).map(([policy, list]) =>
      h('optgroup', { label: policy === '' ? 'Samples' : `Samples for ${policy}` }, list.map(({ index, name: title, expected }) =>
        h('option', { value: `sample:${index}` }, policy === '' ? title : `${title} (${expected === 'reject' ? 'rejected' : 'forwarded'} in enforce)`)))),
    requests.length === 0
      ? null
      : h('optgroup', { label: 'Last requests' }, requests.filter(one => one.hasBody).map(one => h('option', { value: `live:${one.id}` }, title(one))))
  )
  if (text !== '' && text === samples[0]?.text) source.value = 'sample:0'

  return {
    element: h(
      'section',
      { class: 'card', 'aria-labelledby': 'play-request-title' },
      h('h2', { id: 'play-request-title' }, 'Request'),
      h('div', { class: 'field' }, h('label', { for: 'play-source' }, 'Take the request from'), source),
      h('div', { class: 'field' }, h('label', { for: 'play-request' }, 'Request: .http, a curl command, HAR, or a JSON-RPC body'), area),
      trouble
    ),
    /** Takes a kept request. */
    pick: async id => {
      const value = `live:${id}`
      if ([...source.options].some(option => option.value === value)) source.value = value
      await take(value)
      area.focus()
    }
  }
}

function groups (samples) {
  const found = new Map()
  samples.forEach((sample, index) => { found.set(sample.policy, [...found.get(sample.policy) ?? [], { ...sample, index }]) })
  return [...found]
}

function title ({ at, operation, binding, version, outcome, rule }) {
  const time = new Date(at).toLocaleTimeString()
  return `${time} ${operation}, ${bindingName(binding)} ${version}: ${outcome}${rule === null ? '' : ` by ${rule}`}`
}
