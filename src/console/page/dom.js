/** Builds elements from data: text only, never markup, and no invisible characters. */

/** Characters that change the text direction or have no width. An agent's card may contain them, and the page must show them. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu

export function visible (text) {
  return String(text).replace(UNSEEN, character => `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`)
}

const PROPERTIES = new Set(['value', 'checked', 'disabled', 'open', 'hidden', 'selected'])

/**
 * Builds an element.
 * @param {string} name
 * @param {Record<string, unknown> | null} [attributes] `on...` are listeners, `class` is a class; null and false are omitted
 * @param {...unknown} children nodes, or text
 */
export function h (name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children)
}

const SVG = 'http://www.w3.org/2000/svg'

export function svg (name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children)
}

function fill (element, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value)
    else if (PROPERTIES.has(key)) element[key] = value
    else element.setAttribute(key, value === true ? '' : String(value))
  }
  append(element, children)
  return element
}

function append (element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue
    if (Array.isArray(child)) append(element, child)
    else element.append(child instanceof Node ? child : visible(child))
  }
}

export function replace (element, ...children) {
  element.replaceChildren()
  append(element, children)
}

/** Wraps untrusted text, so that its writing direction does not affect the rest of the page. */
export function data (text, className) {
  return h('bdi', { class: className ?? null }, text)
}

export function code (text) {
  return h('code', null, h('bdi', null, text))
}

/** Announces changes for users of screen readers. */
let lastSaid = 0
let waiting = null
export function say (text) {
  const element = document.getElementById('said')
  clearTimeout(waiting)
  const wait = Math.max(0, lastSaid + 4000 - Date.now())
  waiting = setTimeout(() => {
    lastSaid = Date.now()
    element.textContent = visible(text)
  }, wait)
}

export function badge (kind, text) {
  return h('span', { class: 'badge', 'data-kind': kind }, text)
}

export function notice (text, kind = 'info') {
  return h('p', { class: 'notice', 'data-kind': kind }, text)
}

/** Builds tabs for several views of one object. Arrow keys move between them. */
export function tabs (label, list, current) {
  const buttons = list.map(({ id, title, href }) =>
    h(
      'a',
      {
        role: 'tab',
        id: `tab-${id}`,
        href,
        'aria-selected': String(id === current),
        'aria-controls': 'panel',
        tabindex: id === current ? '0' : '-1'
      },
      title
    )
  )
  const move = event => {
    const at = buttons.indexOf(document.activeElement)
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key]
    if (event.key === ' ') {
      event.preventDefault()
      document.activeElement.click()
    }
    if (to === undefined || at < 0) return
    event.preventDefault()
    buttons[(to + buttons.length) % buttons.length].focus()
  }
  return h('div', { class: 'tabs', role: 'tablist', 'aria-label': label, onkeydown: move }, buttons)
}
