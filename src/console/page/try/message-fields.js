/** The fields of a message: text, data, and metadata. */
import { code, h, replace } from '../dom.js'
import { formFor } from './form.js'
import { bodyFor } from './message.js'

/**
 * Builds the fields.
 * @param callOf returns version, binding and operation of the call
 */
export function messageFields ({ schemas, examples }, callOf, changed) {
  const text = h('textarea', { id: 'text', rows: '2', value: schemas.length === 0 ? examples[0] ?? 'hello' : '', oninput: changed })
  const ofMessage = metadataField('metadata-message', 'Metadata of the message, as JSON', changed)
  const ofRequest = metadataField('metadata-request', 'Metadata of the request, as JSON', changed)
  const place = h('div')
  let current = null
  const which = h(
    'select',
    { id: 'schema', onchange: () => { use(which.value) } },
    h('option', { value: '' }, 'no data'),
    schemas.map((one, i) => h('option', { value: String(i) }, `${one.title} (${one.policy})`)),
    h('option', { value: 'json' }, 'data as JSON')
  )
  const draw = value => {
    current =
      value === ''
        ? null
        : value === 'json'
          ? { place: { kind: 'part', mediaType: 'application/json' }, form: formFor({}, changed) }
          : { place: schemas[Number(value)].place, form: formFor(schemas[Number(value)].schema, changed) }
    replace(place, current === null ? null : [h('p', { class: 'dim small' }, ...sayPlace(current.place)), current.form.element])
  }
  const use = value => {
    draw(value)
    changed()
  }
  // Start with data when the agent declares a schema for its data, because its callers send such data.
  which.value = schemas.length > 0 ? '0' : ''
  draw(which.value)

  const build = () => {
    const content = { text: text.value, parts: [], messageMetadata: { ...ofMessage.read() }, metadata: { ...ofRequest.read() } }
    const value = current?.form.read()
    if (current !== null && value !== undefined) {
      const { place } = current
      if (place.kind === 'part') content.parts.push({ data: value, mediaType: place.mediaType ?? 'application/json' })
      else if (place.kind === 'dataKey') content.parts.push({ data: { [place.name]: value }, mediaType: null })
      else (place.in === 'message' ? content.messageMetadata : content.metadata)[place.name] = value
    }
    return bodyFor(callOf(), content)
  }
  return {
    element: [
      h('h2', null, 'The message'),
      h('p', { class: 'field' }, h('label', { for: 'text' }, 'Text'), text),
      h('p', { class: 'field' }, h('label', { for: 'schema' }, 'Data'), which),
      place,
      h('details', null, h('summary', null, 'Metadata'), h('div', { class: 'fields' }, ofMessage.element, ofRequest.element))
    ],
    problem: () => ofMessage.problem() ?? ofRequest.problem(),
    build
  }
}

/** A field for a JSON object. */
function metadataField (id, label, changed) {
  const about = h('small', { id: `${id}-about`, class: 'problem' })
  const input = h('textarea', {
    id,
    rows: '3',
    spellcheck: 'false',
    placeholder: '{"name": "value"}',
    'aria-describedby': about.id,
    oninput: () => {
      replace(about, problem() === null ? '' : 'This is not a JSON object.')
      changed()
    }
  })
  const read = () => {
    try {
      const value = JSON.parse(input.value)
      return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null
    } catch {
      return null
    }
  }
  const problem = () => input.value.trim() === '' || read() !== null ? null : `${label}: this is not a JSON object.`
  return { element: h('p', { class: 'field' }, h('label', { for: id }, label), input, about), read, problem }
}

function sayPlace (place) {
  if (place.kind === 'part') return ['A data part of media type ', code(place.mediaType ?? 'application/json'), '.']
  return place.kind === 'dataKey'
    ? ['The member ', code(place.name), ' of a data part.']
    : [`Metadata of the ${place.in === 'message' ? 'message' : 'request'}: `, code(place.name), '.']
}
