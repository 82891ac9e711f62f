/**
 * Finds where in a YAML document a position is, also while the document is incomplete: the path of keys, and whether a key or a value
 * stands there. Reads block mappings by their indentation, and flow collections (`{a: [b]}`) by their brackets.
 */

/** A line that may hold a key: its list markers, then the key and where its value begins. */
const KEY = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#:{}[\],&*!|>%@`'"-][^:#\n]*?|-[^\s:][^:#\n]*?)\s*:(?=\s|$)/

/**
 * @typedef {{path: (string | number)[], kind: 'key' | 'value', word: string, present: string[]}} Context
 * @param {string} text
 * @param {number} at offset of the position
 * @returns {Context} `word`: the text of the key or value before the position. `present`: keys of the same mapping
 */
export function contextAt (text, at) {
  const flow = openFlow(text, at)
  if (flow === null) return inBlock(text, at)
  const { path } = inBlock(text, flow)
  return inFlow(text.slice(flow, at), path)
}

/** Offset of the outermost flow collection that is open at a position, or null. */
function openFlow (text, at) {
  const open = []
  let before = '\n'
  for (let i = 0; i < at; i++) {
    const character = text[i]
    const starts = open.length > 0 ? /[:,{[\n]/.test(before) : /[:\-\n]/.test(before)
    if (character === '#' && /\s/.test(text[i - 1] ?? '\n')) {
      i = lineEnd(text, i) - 1
      continue
    }
    if ((character === '"' || character === "'") && starts) {
      const end = quoteEnd(text, i)
      if (end >= at) break
      i = end
      before = character
      continue
    }
    if (character === '{' || character === '[') {
      if (starts) open.push(i)
    } else if ((character === '}' || character === ']') && open.length > 0) open.pop()
    if (character === '\n' ? open.length === 0 : character !== ' ' && character !== '\r') before = character
  }
  return open[0] ?? null
}

function lineEnd (text, at) {
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end
}

/** Offset of the quote that ends a quoted text, or the end of the document. */
function quoteEnd (text, at) {
  const quote = text[at]
  for (let i = at + 1; i < text.length; i++) {
    if (quote === '"' && text[i] === '\\') i++
    else if (text[i] === quote) {
      if (quote === "'" && text[i + 1] === "'") i++
      else return i
    }
  }
  return text.length
}

/** @param {string} text from the bracket that opens the collection to the position */
function inFlow (text, path) {
  const frames = []
  let segment = ''
  const close = frame => {
    if (frame?.list === false && frame.key === null && segment.trim() !== '') frame.present.push(unquoted(segment.trim()))
    segment = ''
  }
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    const frame = frames.at(-1)
    if ((character === '"' || character === "'") && segment.trim() === '') {
      const end = Math.min(quoteEnd(text, i), text.length - 1)
      segment += text.slice(i, end + 1)
      i = end
    } else if (character === '{' || character === '[') {
      frames.push({ list: character === '[', key: null, index: 0, present: [] })
      segment = ''
    } else if (character === '}' || character === ']') {
      close(frame)
      frames.pop()
    } else if (character === ',') {
      close(frame)
      if (frame?.list === true) frame.index++
      else if (frame !== undefined) frame.key = null
    } else if (character === ':' && frame?.list === false && frame.key === null && /^[\s,{}[\]]?$/.test(text[i + 1] ?? '')) {
      frame.key = unquoted(segment.trim())
      frame.present.push(frame.key)
      segment = ''
    } else segment += character
  }
  const steps = frames.slice(0, -1).map(frame => frame.list ? frame.index : frame.key ?? '')
  const last = frames.at(-1) ?? { list: true, key: null, index: 0, present: [] }
  const own = last.list ? [last.index] : last.key === null ? [] : [last.key]
  return {
    path: [...path, ...steps, ...own],
    kind: !last.list && last.key === null ? 'key' : 'value',
    word: segment.trimStart(),
    present: last.present
  }
}

function inBlock (text, at) {
  const lines = text.split('\n')
  const start = text.lastIndexOf('\n', at - 1) + 1
  const number = text.slice(0, start).split('\n').length - 1
  const upTo = text.slice(start, at)
  const here = marks(upTo)
  const last = here.at(-1)
  const own = []
  let column = upTo.length - upTo.trimStart().length
  let word = upTo.trimStart()
  for (const mark of here) {
    if (mark.key === null) {
      own.push(itemsBefore(lines, number, mark.column))
      column = mark.content
      word = upTo.slice(mark.content)
    }
  }
  const isValue = last !== undefined && last.key !== null
  const limit = here[0]?.column ?? column
  const parents = ancestors(lines, number, limit, here[0]?.key === null)
  if (isValue) return { path: [...parents, ...own, last.key], kind: 'value', word: upTo.slice(last.content).trimStart(), present: [] }
  return { path: [...parents, ...own], kind: 'key', word, present: siblings(lines, number, column) }
}

/** The list markers and the key of a line. `content`: column of what follows. */
function marks (line) {
  const found = []
  let column = line.length - line.trimStart().length
  while (line[column] === '-' && /^\s?$/.test(line[column + 1] ?? '')) {
    let content = column + 1
    while (line[content] === ' ') content++
    found.push({ column, key: null, content })
    column = content
  }
  const key = KEY.exec(line.slice(column))
  if (key !== null) found.push({ column, key: unquoted(key[1]), content: column + key[0].length })
  return found
}

/** The keys and list items around a line, outermost first. @param list true when the line itself is an item of a list */
function ancestors (lines, number, column, list) {
  const path = []
  let limit = column
  let inList = list
  for (let i = number - 1; i >= 0 && (limit > 0 || inList); i--) {
    if (isBlank(lines[i])) continue
    for (const mark of marks(lines[i]).toReversed()) {
      // The items of a list may stand below the first character of its key.
      if (mark.key !== null ? mark.column < limit || (inList && mark.column === limit) : mark.column < limit) {
        path.unshift(mark.key ?? itemsBefore(lines, i, mark.column))
        limit = mark.column
        inList = mark.key === null
      }
    }
  }
  return path
}

/** Number of earlier items in the list of an item. */
function itemsBefore (lines, number, column) {
  let count = 0
  for (let i = number - 1; i >= 0; i--) {
    if (isBlank(lines[i])) continue
    const [first] = marks(lines[i])
    const indent = lines[i].length - lines[i].trimStart().length
    if (indent < column || (indent === column && first?.key !== null)) break
    if (first?.key === null && first.column === column) count++
  }
  return count
}

/** Keys of the mapping at a column around a line. */
function siblings (lines, number, column) {
  const found = []
  const look = i => {
    if (isBlank(lines[i])) return true
    const key = marks(lines[i]).find(mark => mark.key !== null && mark.column === column)
    const indent = lines[i].length - lines[i].trimStart().length
    if (key !== undefined) found.push(key.key)
    return indent >= column
  }
  for (let i = number - 1; i >= 0; i--) if (!look(i)) break
  for (let i = number + 1; i < lines.length; i++) {
    if (isBlank(lines[i])) continue
    const indent = lines[i].length - lines[i].trimStart().length
    if (indent < column || !look(i)) break
  }
  return found
}

function isBlank (line) {
  return /^\s*(?:#|$)/.test(line)
}

function unquoted (text) {
  return /^(["']).*\1$/s.test(text) ? text.slice(1, -1) : text
}
