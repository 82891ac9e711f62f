/**
 * Builds input fields from a JSON Schema. The fields help to write data and do not validate it: the user can also write invalid data, to
 * test the gateway. Schemas are untrusted. When a schema is too deep, too large or unusual, the user writes JSON.
 */
import { data, h, replace } from '../dom.js'

const DEEP = 6
const MANY = 100

let last = 0

/**
 * Builds the form.
 * @param schema the whole schema, for its own references
 * @param changed called after every change
 * @returns {{element: Element, read: () => unknown}} `read` returns undefined when there is nothing to send
 */
export function formFor (schema, changed) {
  return field(schema, { root: schema, changed, depth: 0, name: 'data', label: null, required: true })
}

function field (schema, context) {
  const resolved = resolve(schema, context.root, new Set())
  if (typeof resolved !== 'object' || resolved === null || context.depth > DEEP) return jsonField(context, resolved)
  if ('const' in resolved) return choiceField([resolved.const], resolved, context)
  if (Array.isArray(resolved.enum)) return choiceField(resolved.enum.slice(0, 500), resolved, context)
  const variants = resolved.oneOf ?? resolved.anyOf
  if (Array.isArray(variants) && variants.length > 0 && resolved.properties === undefined) {
    return variantField(variants.slice(0, MANY), resolved, context)
  }
  const type = Array.isArray(resolved.type)
    ? resolved.type.find(one => one !== 'null')
    : (resolved.type ?? (resolved.properties !== undefined ? 'object' : resolved.items !== undefined ? 'array' : undefined))
  if (type === 'object' && resolved.properties !== undefined && Object.keys(resolved.properties).length <= MANY) {
    return objectField(resolved, context)
  }
  if (type === 'array') return arrayField(resolved, context)
  if (type === 'boolean') return choiceField([true, false], resolved, context)
  if (type === 'string' || type === 'number' || type === 'integer') return textField(resolved, type, context)
  return jsonField(context, resolved)
}

/** Resolves references within the schema only. A cycle becomes a JSON field. */
function resolve (schema, root, seen) {
  const ref = schema?.$ref
  if (typeof ref !== 'string') return schema
  if (!ref.startsWith('#') || seen.has(ref)) return null
  seen.add(ref)
  let at = root
  for (const step of ref.slice(1).split('/').slice(1)) {
    let name
    try {
      name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    } catch {
      return null
    }
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return null
    at = at[name]
  }
  return resolve(at, root, seen)
}

function labelled (input, schema, { label, required, name }, id) {
  if (label === null) {
    input.setAttribute('aria-label', name)
    return h('div', { class: 'field' }, input)
  }
  const about = typeof schema?.description === 'string' ? schema.description.slice(0, 500) : ''
  if (about !== '') input.setAttribute('aria-describedby', `${id}-about`)
  if (required) input.setAttribute('aria-required', 'true')
  return h(
    'div',
    { class: 'field' },
    h(
      'label',
      { for: id },
      data(label.slice(0, 100)),
      required ? h('span', { class: 'required' }, ' required') : h('span', { class: 'dim' }, ' optional')
    ),
    about === '' ? null : h('small', { id: `${id}-about` }, data(about)),
    input
  )
}

function nextId () {
  return `f${++last}`
}

function textField (schema, type, context) {
  const id = nextId()
  const hint =
    type === 'string'
      ? typeof schema.format === 'string'
        ? schema.format
        : ''
      : [type, schema.minimum === undefined ? null : `from ${schema.minimum}`, schema.maximum === undefined ? null : `to ${schema.maximum}`]
          .filter(one => one !== null)
          .join(' ')
  const first = schema.default ?? ''
  const input = h('input', {
    id,
    type: 'text',
    autocomplete: 'off',
    spellcheck: 'false',
    inputmode: type === 'string' ? null : 'decimal',
    placeholder: hint.slice(0, 60),
    value: typeof first === 'object' ? '' : String(first),
    oninput: context.changed
  })
  const read = () => {
    const text = input.value
    // An empty field sends nothing, even if it is required. The user can write an empty string in the body.
    if (text === '') return undefined
    if (type === 'string') return text
    // A text that is not a number is sent unchanged, so that the gateway reports it.
    return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text.trim()) ? Number(text) : text
  }
  return { element: labelled(input, schema, context, id), read }
}

function choiceField (values, schema, context) {
  const id = nextId()
  const optional = !context.required
  const select = h(
    'select',
    { id, onchange: context.changed },
    optional ? h('option', { value: '' }, '(left out)') : null,
    values.map((value, i) =>
      h('option', { value: String(i) }, typeof value === 'string' ? value.slice(0, 100) : JSON.stringify(value).slice(0, 100))
    )
  )
  const preset = values.indexOf(schema.default)
  if (preset >= 0) select.value = String(preset)
  return { element: labelled(select, schema, context, id), read: () => select.value === '' ? undefined : values[Number(select.value)] }
}

function objectField (schema, context) {
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const members = Object.entries(schema.properties).map(([name, member]) => [
    name,
    field(member, { ...context, depth: context.depth + 1, name, label: name, required: required.has(name) })
  ])
  const read = () => {
    const value = {}
    for (const [name, one] of members) {
      const found = one.read()
      if (found !== undefined) Object.defineProperty(value, name, { value: found, enumerable: true, configurable: true, writable: true })
    }
    return Object.keys(value).length === 0 && !context.required ? undefined : value
  }
  return { element: group(schema, context, members.map(([, one]) => one.element)), read }
}

function group (schema, { label, required }, children) {
  if (label === null) return h('div', { class: 'fields' }, children)
  const about = typeof schema?.description === 'string' ? schema.description.slice(0, 500) : ''
  return h(
    'fieldset',
    null,
    h(
      'legend',
      null,
      data(label.slice(0, 100)),
      required ? h('span', { class: 'required' }, ' required') : h('span', { class: 'dim' }, ' optional')
    ),
    about === '' ? null : h('small', null, data(about)),
    children
  )
}

function arrayField (schema, context) {
  const items = []
  const list = h('div', { class: 'fields' })
  const redraw = () => {
    replace(list, items.map((one, i) => h('div', { class: 'item' }, one.element, h('button', {
      type: 'button',
      'aria-label': `Remove item ${i + 1} of ${context.name}`,
      onclick: () => {
        items.splice(i, 1)
        redraw()
        context.changed()
        add.focus()
      }
    }, '×'))))
  }
  const grow = () => {
    items.push(
      field(schema.items ?? {}, {
        ...context,
        depth: context.depth + 1,
        name: `${context.name} ${items.length + 1}`,
        label: `${items.length + 1}`,
        required: true
      })
    )
    redraw()
  }
  const add = h('button', {
    type: 'button',
    onclick: () => {
      if (items.length < MANY) grow()
      context.changed()
      list.lastChild?.querySelector('input, select, textarea')?.focus()
    }
  }, `Add an item${context.label === null ? '' : ` to ${context.name}`}`)
  if (context.required && (schema.minItems ?? 0) > 0) grow()
  return {
    element: group(schema, context, [list, add]),
    read: () => (items.length === 0 && !context.required ? undefined : items.map(one => one.read()).filter(one => one !== undefined))
  }
}

function variantField (variants, schema, context) {
  const id = nextId()
  const place = h('div', { class: 'fields' })
  let current = null
  const use = index => {
    current = field(variants[index], { ...context, depth: context.depth + 1, label: null })
    replace(place, current.element)
  }
  const select = h('select', {
    id,
    onchange: () => {
      use(Number(select.value))
      context.changed()
    }
  }, variants.map((one, i) => h('option', { value: String(i) }, titleOf(one, i))))
  use(0)
  return {
    element: h('div', { class: 'variant' }, labelled(select, schema, { ...context, label: context.label ?? 'variant' }, id), place),
    read: () => current.read()
  }
}

function titleOf (schema, i) {
  const title = schema?.title ?? schema?.description ?? schema?.type
  return typeof title === 'string' ? title.slice(0, 60) : `variant ${i + 1}`
}

function jsonField (context, schema) {
  const id = nextId()
  const input = h('textarea', {
    id,
    rows: '3',
    spellcheck: 'false',
    placeholder: 'JSON',
    value: schema?.default === undefined ? '' : JSON.stringify(schema.default),
    oninput: context.changed
  })
  const read = () => {
    if (input.value.trim() === '') return undefined
    try {
      return JSON.parse(input.value)
    } catch {
      return input.value
    }
  }
  return { element: labelled(input, schema, { ...context, label: context.label ?? 'data, as JSON' }, id), read }
}
