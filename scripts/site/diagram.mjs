/** Draws the flowcharts of the pages as SVG. VitePress draws no Mermaid, and the package that does is as large as all others together. */

const BOX = { height: 40, gapY: 26, letter: 7.6, padding: 14 }
const escaped = text => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** Nodes and arrows of a `flowchart LR`. Throws at a line that it does not know. */
function parsed (source) {
  const nodes = new Map()
  const edges = []
  const node = text => {
    const [, id, label] = /^([\w-]+)(?:\[(.+)\])?$/.exec(text.trim()) ?? []
    if (id === undefined) throw new Error(`diagram: "${text}" is no node`)
    if (label !== undefined || !nodes.has(id)) nodes.set(id, label ?? nodes.get(id) ?? id)
    return id
  }
  for (const line of source.split('\n').map(line => line.trim()).filter(line => line !== '' && !line.startsWith('flowchart'))) {
    const parts = line.split(/\s(--\s.+?\s-->|-\.\s.+?\s\.->|-->|-\.->)\s/)
    if (parts.length < 3) throw new Error(`diagram: "${line}" is no arrow`)
    for (let i = 0; i + 2 < parts.length; i += 2) {
      const [, label = ''] = /^-[-.]\s(.+?)\s(?:-->|\.->)$/.exec(parts[i + 1]) ?? []
      edges.push({ from: node(parts[i]), to: node(parts[i + 2]), label: label.replace(/^"|"$/g, ''), dotted: parts[i + 1].startsWith('-.') })
    }
  }
  return { nodes, edges }
}

/** The column of each node: one more than its farthest predecessor. Arrows that lead back to an earlier node do not count. */
function columnsOf (nodes, edges) {
  const order = [...nodes.keys()]
  const column = new Map(order.map(id => [id, 0]))
  for (let round = 0; round < order.length; round++) {
    for (const { from, to } of edges) {
      if (order.indexOf(from) < order.indexOf(to)) column.set(to, Math.max(column.get(to), column.get(from) + 1))
    }
  }
  return column
}

/** @param source text of a Mermaid block. @returns SVG without blank lines, so that Markdown takes it as one block */
export function drawn (source) {
  const { nodes, edges } = parsed(source)
  const column = columnsOf(nodes, edges)
  const count = Math.max(...column.values()) + 1
  const columns = Array.from({ length: count }, (_, index) => [...nodes.keys()].filter(id => column.get(id) === index))
  const widthOf = id => nodes.get(id).length * BOX.letter + 2 * BOX.padding
  const rows = Math.max(...columns.map(ids => ids.length))
  const height = rows * (BOX.height + BOX.gapY) + BOX.gapY + 30
  const place = new Map()
  let x = 10
  for (const [index, ids] of columns.entries()) {
    const width = Math.max(...ids.map(widthOf))
    const top = (height - ids.length * (BOX.height + BOX.gapY) + BOX.gapY) / 2
    for (const [row, id] of ids.entries()) place.set(id, { x, y: top + row * (BOX.height + BOX.gapY), width })
    const behind = edges.filter(({ from, to }) => Math.min(column.get(from), column.get(to)) === index)
    const labels = behind.map(({ label }) => label.length * 6.2 + 40)
    x += width + Math.max(60, ...labels)
  }
  const pairs = new Map()
  const arrows = edges.map(({ from, to, label, dotted }) => {
    const [a, b] = [place.get(from), place.get(to)]
    const forward = a.x <= b.x
    const pair = [from, to].sort().join(' ')
    const offset = pairs.get(pair) ?? 0
    pairs.set(pair, offset + 1)
    const shift = offset === 0 ? -7 : 11
    const [x1, x2] = forward ? [a.x + a.width, b.x - 4] : [a.x, b.x + b.width + 4]
    const [y1, y2] = [a.y + BOX.height / 2 + shift, b.y + BOX.height / 2 + shift]
    const text = label === '' ? '' : `<text x="${(x1 + x2) / 2}" y="${(y1 + y2) / 2 + (offset === 0 ? -6 : 16)}" text-anchor="middle" font-size="12">${escaped(label)}</text>`
    return `<path d="M${x1} ${y1}L${x2} ${y2}" stroke="currentColor"${dotted ? ' stroke-dasharray="4 3"' : ''} marker-end="url(#arrow)"/>${text}`
  })
  const boxes = [...place].map(([id, { x, y, width }]) => `<rect x="${x}" y="${y}" width="${width}" height="${BOX.height}" rx="6" fill="none" stroke="currentColor"/>` +
    `<text x="${x + width / 2}" y="${y + BOX.height / 2 + 5}" text-anchor="middle" font-size="14">${escaped(nodes.get(id))}</text>`)
  const words = edges.map(({ from, to, label }) => `${nodes.get(from)} to ${nodes.get(to)}${label === '' ? '' : `: ${label}`}`).join('; ')
  return `<svg class="diagram" role="img" aria-label="${escaped(words).replaceAll('"', '&quot;')}" viewBox="0 0 ${Math.round(x)} ${height}" xmlns="http://www.w3.org/2000/svg">` +
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="currentColor"/></marker></defs>' +
    `<g fill="currentColor" stroke-width="1.2">${arrows.join('')}${boxes.join('')}</g></svg>`
}
