/** The events of a stream, as they arrive. */
import { data, h } from '../dom.js'
import { counted, duration } from '../words.js'

/** Largest number of events on the page. */
const SHOWN = 200

export function liveView () {
  const title = h('h3', null, 'Events')
  const list = h('ol', { class: 'events' })
  const element = h('section', { class: 'card', 'aria-label': 'Events', hidden: true }, title, list)
  let rest = ''
  let number = 0
  const add = (text, milliseconds) => {
    const lines = text.split('\n').filter(line => line.startsWith('data:')).map(line => line.slice(5).replace(/^ /, ''))
    if (lines.length === 0) return
    title.textContent = counted(++number, 'event')
    list.append(h(
      'li',
      null,
      h('p', { class: 'dim small' }, `after ${duration(milliseconds / 1000)}`),
      h('pre', { tabindex: '0', 'aria-label': `Event ${number}` }, data(pretty(lines.join('\n'))))
    ))
    if (list.children.length > SHOWN) list.firstChild.remove()
  }
  const onLine = ({ head, data: text, milliseconds }) => {
    if (head !== undefined) {
      element.hidden = !head.headers.some(([name, value]) => /^content-type$/i.test(name) && /^text\/event-stream/i.test(value))
      return
    }
    if (element.hidden) return
    // A CR at the end of a chunk may belong to a CRLF.
    const events = (rest + text).replace(/\r\n|\r(?!$)/g, '\n').split('\n\n')
    rest = events.pop()
    for (const event of events) add(event, milliseconds)
  }
  return { element, onLine }
}

export function pretty (text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
