/** The form of a call: interface, operation, extensions, headers, and the message or the data of an extension's method or route. */
import { code, data, h, notice, replace } from '../dom.js'
import { formFor } from './form.js'
import { bindingName } from '../words.js'
import { messageFields } from './message-fields.js'

/**
 * Builds the form.
 * @returns `elements`; `read` returns the call, or null when the form shows what is wrong; `use` fills in a call
 */
export function callForm (form) {
  const { interfaces, extensions, methods, routes, streaming, grpc } = form
  let edited = false
  const body = h('textarea', { id: 'body', rows: '14', spellcheck: 'false', oninput: () => { byHand(true) } })
  const back = h('button', { type: 'button', hidden: true, onclick: () => { byHand(false) } }, 'Back to the form\'s')
  const raw = h(
    'details',
    { class: 'raw' },
    h('summary', null, 'The body, as JSON'),
    h('p', { class: 'field' }, h('label', { for: 'body' }, 'Body to send'), body),
    back
  )
  const changed = () => {
    if (!edited) body.value = textOf(content.build())
  }
  const byHand = now => {
    edited = now
    back.hidden = !now
    changed()
  }
  const where = h(
    'select',
    { id: 'where', onchange: () => { offer() } },
    interfaces.map((one, i) => h('option', { value: String(i) }, `${bindingName(one.binding)}, A2A ${one.version}`)),
    grpc ? h('option', { value: '', disabled: true }, 'gRPC (not available here)') : null
  )
  const operation = h(
    'select',
    { id: 'operation', onchange: () => { choose() } },
    h('option', { value: 'send' }, 'send a message'),
    streaming ? h('option', { value: 'stream' }, 'stream a message') : null,
    methods.map((one, i) => h('option', { value: `method ${i}`, 'data-method': one.name }, `${one.name} (method of ${one.policy})`)),
    routes.map((one, i) => h('option', { value: `route ${i}` }, `${one.id} (route of ${one.policy})`))
  )
  const boxes = extensions.map(({ uri, description, required }, i) => ({
    uri,
    required,
    description,
    box: h('input', { type: 'checkbox', id: `ext${i}`, checked: required, onchange: changed })
  }))
  const more = h('textarea', {
    id: 'more-extensions',
    rows: '2',
    spellcheck: 'false',
    placeholder: 'URI of the extension'
  })
  const headers = h('textarea', { id: 'headers', rows: '2', spellcheck: 'false', placeholder: 'Authorization: Bearer …' })
  const wrong = h('div')
  const place = h('div', { class: 'fields' })
  const at = () => interfaces[Number(where.value)]
  const chosen = list => list[Number(operation.value.split(' ')[1])]
  // One message for both operations, so that a change of the operation loses no input.
  const message = messageFields(form, () => ({ version: at().version, binding: at().binding, operation: operation.value }), () => { changed() })
  let content = message

  /** Methods need JSON-RPC. Routes are the same whatever the interface. */
  const offer = () => {
    const rpc = at().binding === 'JSONRPC'
    for (const option of operation.options) if (option.value.startsWith('method')) option.disabled = !rpc
    if (operation.selectedOptions[0]?.disabled === true) {
      operation.value = 'send'
      return choose()
    }
    changed()
  }
  const choose = () => {
    const [kind] = operation.value.split(' ')
    content = kind === 'method'
      ? methodFields(chosen(methods), changed)
      : kind === 'route'
        ? routeFields(chosen(routes), changed)
        : message
    const addition = kind === 'method' ? chosen(methods) : kind === 'route' ? chosen(routes) : null
    if (addition !== null && addition.needsActive) check([addition.uri])
    replace(place, content.element)
    byHand(false)
  }
  const check = uris => {
    for (const uri of uris) {
      const found = boxes.find(one => one.uri === uri)
      if (found !== undefined) found.box.checked = true
      else if (!more.value.split('\n').includes(uri)) more.value = `${more.value}${more.value === '' ? '' : '\n'}${uri}`
    }
  }
  choose()
  offer()

  const read = () => {
    const problem = content.problem()
    replace(wrong, problem === null ? null : notice(problem, 'bad'))
    if (problem !== null) return null
    const [kind] = operation.value.split(' ')
    const { version, binding } = at()
    return {
      binding,
      version,
      operation: kind === 'method' ? 'send' : kind,
      ...(kind === 'route' ? { route: chosen(routes).id, ...content.target() } : {}),
      extensions: [...boxes.filter(one => one.box.checked).map(one => one.uri), ...linesOf(more.value)],
      headers: headerLines(headers.value),
      body: body.value
    }
  }

  /** @param call as `callOf` of replay.js returns it */
  const use = call => {
    const index = interfaces.findIndex(one => one.binding === call.binding && one.version === call.version)
    if (index >= 0) where.value = String(index)
    for (const { box } of boxes) box.checked = false
    const method = methods.findIndex(one => one.name === call.method)
    const route = routes.findIndex(one => one.id === call.route?.id)
    const wanted = route >= 0 ? `route ${route}` : method >= 0 ? `method ${method}` : call.operation
    operation.value = [...operation.options].some(one => one.value === wanted) ? wanted : 'send'
    choose()
    check(call.extensions)
    offer()
    byHand(true)
    body.value = textOf(call.body)
    raw.open = true
  }

  const elements = [
    h(
      'section',
      { class: 'card', 'aria-labelledby': 'call' },
      h('h2', { id: 'call' }, 'The call'),
      h(
        'div',
        { class: 'pair' },
        h('p', { class: 'field' }, h('label', { for: 'where' }, 'Interface'), where),
        h('p', { class: 'field' }, h('label', { for: 'operation' }, 'Operation'), operation)
      ),
      grpc ? h('p', { class: 'dim small' }, WHY_NOT_GRPC) : null,
      h(
        'fieldset',
        null,
        h('legend', null, 'Extensions to request'),
        boxes.length === 0 ? h('p', { class: 'dim' }, 'The card declares none.') : h('ul', { class: 'checks' }, boxes.map(boxItem))
      ),
      h(
        'details',
        null,
        h('summary', null, 'More headers'),
        h('p', { class: 'field' }, h('label', { for: 'headers' }, 'One per line, such as Authorization'), headers),
        h('p', { class: 'field' }, h('label', { for: 'more-extensions' }, 'Extensions that the card does not declare, one per line'), more)
      )
    ),
    h('section', { class: 'card', 'aria-label': 'The data' }, place, raw, wrong)
  ]
  return { elements, read, use }
}

const WHY_NOT_GRPC = 'The agent also has gRPC interfaces. The page cannot call them, because it sends HTTP/1.1 and gRPC needs HTTP/2: ' +
  'use a client of gRPC, or a policy test with the binding GRPC.'

function boxItem ({ uri, description, required, box }) {
  return h(
    'li',
    { class: 'check' },
    box,
    h(
      'label',
      { for: box.id },
      h('span', { class: 'mono wrap' }, data(uri)),
      required ? h('span', { class: 'required' }, ' required') : null,
      description === '' ? null : h('small', null, data(description))
    )
  )
}

function methodFields (method, changed) {
  const params = formFor(method.schema ?? {}, changed)
  return {
    element: [
      h('h2', null, 'The params'),
      h('p', { class: 'dim small' }, 'The JSON-RPC method ', code(method.name), ' of the extension ', code(method.uri), '.'),
      params.element
    ],
    problem: () => null,
    build: () => ({ jsonrpc: '2.0', id: 1, method: method.name, params: params.read() })
  }
}

function routeFields (route, changed) {
  const names = [...route.path.matchAll(/\{([^/}]*)\}/g)].map(([, name]) => name)
  const inputs = names.map((name, i) => h('input', { id: `parameter${i}`, type: 'text', autocomplete: 'off', spellcheck: 'false', 'aria-required': 'true' }))
  const query = h('input', { id: 'query', type: 'text', autocomplete: 'off', spellcheck: 'false', placeholder: 'limit=10' })
  const content = route.verb === 'GET' ? null : formFor(route.schema ?? {}, changed)
  return {
    element: [
      h('h2', null, 'The request'),
      h('p', { class: 'dim small' }, 'The HTTP route ', code(route.id), ' of the extension ', code(route.uri), '.'),
      names.map((name, i) => h(
        'p',
        { class: 'field' },
        h('label', { for: `parameter${i}` }, data(name), h('span', { class: 'required' }, ' required')),
        inputs[i]
      )),
      h('p', { class: 'field' }, h('label', { for: 'query' }, 'Query, without ?'), query),
      content?.element ?? null
    ],
    problem: () => {
      const empty = names.filter((_, i) => inputs[i].value === '')
      return empty.length === 0 ? null : `The path needs ${empty.join(' and ')}.`
    },
    target: () => ({ parameters: Object.fromEntries(names.map((name, i) => [name, inputs[i].value])), query: query.value }),
    build: () => content?.read()
  }
}

/** An empty body is no body. */
function textOf (value) {
  return value === undefined ? '' : JSON.stringify(value, null, 2)
}

function linesOf (text) {
  return text.split('\n').map(line => line.trim()).filter(line => line !== '')
}

function headerLines (text) {
  return linesOf(text)
    .filter(line => line.includes(':'))
    .map(line => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()])
}
