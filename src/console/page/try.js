/** A form for a call to the agent, built from the agent's schemas. Sends the call through the gateway and shows the result. */
import { get, post } from './api.js'
import { code, data, h, notice, replace, say } from './dom.js'
import { details, outcomeBadge } from './entry.js'
import { formFor } from './form.js'
import { bodyFor } from './message.js'
import { bindingName, duration } from './words.js'

export function tryPanel (element, name) {
  replace(element, notice('Loading …'))
  get('form', { name }).then(form => {
    if (!form.tryIt) return replace(element, off())
    if (form.interfaces.length === 0 && form.grpc) return replace(element, notice(ONLY_GRPC))
    if (form.interfaces.length === 0) return replace(element, notice('There is no usable card, so the agent cannot be called.', 'bad'))
    draw(element, name, form)
  }, error => { replace(element, notice(error.message, 'bad')) })
}

const ONLY_GRPC = 'The agent has gRPC interfaces only, and the page cannot send calls over gRPC. Use a client of gRPC, or a policy test with the binding GRPC.'

function off () {
  return h(
    'section',
    { class: 'card' },
    h('h2', null, 'The console is read-only'),
    h(
      'p',
      null,
      'To send calls from here, change the configuration and restart the gateway. Anyone who reaches the admin listener can then call the agents through the gateway.'
    ),
    h('pre', { tabindex: '0', 'aria-label': 'Configuration' }, 'server:\n  console:\n    tryIt: true')
  )
}

function draw (element, name, form) {
  let edited = false
  const { interfaces, extensions, schemas, examples, streaming } = form
  const body = h('textarea', { id: 'body', rows: '14', spellcheck: 'false', oninput: () => { byHand(true) } })
  const back = h('button', { type: 'button', hidden: true, onclick: () => { byHand(false) } }, 'Back to the form\'s')
  const changed = () => { if (!edited) body.value = JSON.stringify(build(), null, 2) }
  const byHand = now => {
    edited = now
    back.hidden = !now
    changed()
  }
  const where = h(
    'select',
    { id: 'where', onchange: changed },
    interfaces.map((one, i) =>
      h('option', { value: String(i) }, `${bindingName(one.binding)}, A2A ${one.version}`)
    )
  )
  const operation = h(
    'select',
    { id: 'operation', onchange: changed },
    h('option', { value: 'send' }, 'send a message'),
    streaming ? h('option', { value: 'stream' }, 'stream a message') : null
  )
  const boxes = extensions.map(({ uri, description, required }, i) => ({
    uri,
    required,
    description,
    box: h('input', { type: 'checkbox', id: `ext${i}`, checked: required, onchange: changed })
  }))
  const text = h('textarea', { id: 'text', rows: '2', value: schemas.length === 0 ? examples[0] ?? 'hello' : '', oninput: changed })
  const headers = h('textarea', { id: 'headers', rows: '2', spellcheck: 'false', placeholder: 'Authorization: Bearer …' })
  const place = h('div')
  let current = null
  const which = h(
    'select',
    {
      id: 'schema',
      onchange: () => {
        use(which.value)
      }
    },
    h('option', { value: '' }, 'no data'),
    schemas.map((one, i) => h('option', { value: String(i) }, `${one.title} (${one.policy})`)),
    h('option', { value: 'json' }, 'data as JSON')
  )

  const use = value => {
    current =
      value === ''
        ? null
        : value === 'json'
          ? { place: { kind: 'part', mediaType: 'application/json' }, form: formFor({}, changed) }
          : { place: schemas[Number(value)].place, form: formFor(schemas[Number(value)].schema, changed) }
    replace(place, current === null ? null : [h('p', { class: 'dim small' }, ...sayPlace(current.place)), current.form.element])
    changed()
  }

  const build = () => {
    const { version, binding } = interfaces[Number(where.value)]
    const content = { text: text.value, parts: [], messageMetadata: {}, metadata: {} }
    const value = current?.form.read()
    if (current !== null && value !== undefined) {
      const { place } = current
      if (place.kind === 'part') content.parts.push({ data: value, mediaType: place.mediaType ?? 'application/json' })
      else if (place.kind === 'dataKey') content.parts.push({ data: { [place.name]: value }, mediaType: null })
      else (place.in === 'message' ? content.messageMetadata : content.metadata)[place.name] = value
    }
    return bodyFor({ version, binding, operation: operation.value }, content)
  }

  const results = h('section', { class: 'results', 'aria-label': 'Result', tabindex: '-1' })
  const button = h('button', { type: 'submit', class: 'primary' }, 'Send through the gateway')
  const send = async event => {
    event.preventDefault()
    const { version, binding } = interfaces[Number(where.value)]
    button.disabled = true
    replace(results, notice('Sending …'))
    try {
      const result = await post('try', {
        agent: name,
        binding,
        version,
        operation: operation.value,
        extensions: boxes.filter(one => one.box.checked).map(one => one.uri),
        headers: headerLines(headers.value),
        body: body.value
      })
      replace(
        results,
        h('h2', null, 'Result'),
        h('div', { class: 'three' }, requestCard(result.request), answerCard(result), decisionCard(result.decision))
      )
      say(result.decision === null ? 'The response has arrived.' : `The gateway's decision: ${result.decision.outcome}.`)
      results.focus({ preventScroll: true })
      results.scrollIntoView({ block: 'nearest' })
    } catch (error) {
      replace(results, notice(error.message, 'bad'))
    } finally {
      button.disabled = false
    }
  }

  replace(
    element,
    h(
      'form',
      { class: 'try', onsubmit: send },
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
        h(
          'fieldset',
          null,
          h('legend', null, 'Extensions to request'),
          boxes.length === 0
            ? h('p', { class: 'dim' }, 'The card declares none.')
            : h(
              'ul',
              { class: 'checks' },
              boxes.map(({ uri, description, required, box }) =>
                h(
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
              )
            )
        ),
        h(
          'details',
          null,
          h('summary', null, 'More headers'),
          h('p', { class: 'field' }, h('label', { for: 'headers' }, 'One per line, such as Authorization'), headers)
        )
      ),
      h(
        'section',
        { class: 'card', 'aria-labelledby': 'message' },
        h('h2', { id: 'message' }, 'The message'),
        h('p', { class: 'field' }, h('label', { for: 'text' }, 'Text'), text),
        h('p', { class: 'field' }, h('label', { for: 'schema' }, 'Data'), which),
        place,
        h(
          'details',
          { class: 'raw' },
          h('summary', null, 'The body, as JSON'),
          h('p', { class: 'field' }, h('label', { for: 'body' }, 'Body to send'), body),
          back
        )
      ),
      h('div', { class: 'go' }, button)
    ),
    results
  )
  // Start with data when the agent declares a schema for its data, because its callers send such data.
  use(schemas.length > 0 ? '0' : '')
  which.value = schemas.length > 0 ? '0' : ''
}

function sayPlace (place) {
  if (place.kind === 'part') return ['A data part of media type ', code(place.mediaType ?? 'application/json'), '.']
  return place.kind === 'dataKey'
    ? ['The member ', code(place.name), ' of a data part.']
    : [`Metadata of the ${place.in === 'message' ? 'message' : 'request'}: `, code(place.name), '.']
}

function headerLines (text) {
  return text
    .split('\n')
    .filter(line => line.includes(':'))
    .map(line => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()])
}

function requestCard ({ method, path, headers, body }) {
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'sent' },
    h('h3', { id: 'sent' }, 'Request'),
    h('p', { class: 'mono wrap' }, `${method} ${path}`),
    headerList(headers),
    bodyBlock('Body of the request', body)
  )
}

function answerCard ({ answer, problem }) {
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'answered' },
    h('h3', { id: 'answered' }, 'Response'),
    problem === null ? null : notice(problem, 'bad'),
    answer === null
      ? null
      : [
          h('p', { class: 'mono wrap' }, `${answer.status} `, data(answer.phrase), ` in ${duration(answer.milliseconds / 1000)}`),
          headerList(answer.headers),
          bodyBlock('Body of the response', answer.body)
        ]
  )
}

function decisionCard (decision) {
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'decided' },
    h('h3', { id: 'decided' }, 'Decision'),
    decision === null
      ? notice('The gateway did not report its decision in time.')
      : [h('p', null, outcomeBadge(decision.outcome), ' ', h('span', { class: 'mono' }, data(decision.rule ?? ''))), details(decision)]
  )
}

function headerList (headers) {
  return h(
    'dl',
    { class: 'headers mono' },
    headers.map(([key, value]) => h('div', null, h('dt', null, data(key), ': '), h('dd', null, data(value))))
  )
}

function bodyBlock (label, body) {
  return h('pre', { tabindex: '0', 'aria-label': label }, body === '' ? h('span', { class: 'dim' }, '(empty)') : pretty(body))
}

function pretty (text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
