/** Line charts over the last quarter of an hour, or over the time since the start, drawn as SVG. */
import { h, svg } from '../dom.js'
import { clock } from '../words.js'

const WIDTH = 360
const HEIGHT = 150
const LEFT = 46
const BOTTOM = 22
const TOP = 8
const RIGHT = 8

/** Returns round numbers from 0 to above the largest value. */
export function scale (greatest) {
  if (!(greatest > 0)) return [0, 1]
  const rough = greatest / 3
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map(one => one * power).find(one => one >= rough)
  const ticks = []
  for (let i = 0; ; i++) {
    ticks.push(step * i)
    if (step * i >= greatest) return ticks
  }
}

/**
 * Draws a chart.
 * @param title title of the figure
 * @param lines each `{name, kind, values}`: one value per time, null when there is none
 * @param times milliseconds since the epoch
 * @param format formats a value
 */
export function chart (title, lines, times, format) {
  const minutes = Math.max(1, Math.round((times.at(-1) - times[0]) / 60_000))
  const greatest = Math.max(0, ...lines.flatMap(line => line.values.filter(value => value !== null)))
  const ticks = scale(greatest)
  const top = ticks.at(-1)
  const x = i => LEFT + (times.length < 2 ? 0 : i / (times.length - 1)) * (WIDTH - LEFT - RIGHT)
  const y = value => HEIGHT - BOTTOM - value / top * (HEIGHT - BOTTOM - TOP)
  const cursor = svg('line', { class: 'cursor', y1: TOP, y2: HEIGHT - BOTTOM, visibility: 'hidden' })
  const readout = h('output', { class: 'readout' })
  const legend = lines.map(({ name, kind, values }) => {
    const last = values.at(-1) ?? null
    return h(
      'li',
      null,
      svg(
        'svg',
        { class: 'key', viewBox: '0 0 20 8', 'aria-hidden': 'true' },
        svg('line', { class: 'line', 'data-kind': kind, x1: 0, x2: 20, y1: 4, y2: 4 })
      ),
      name,
      h('b', null, last === null ? '–' : format(last))
    )
  })
  let at = -1
  const point = index => {
    at = Math.max(0, Math.min(times.length - 1, index))
    cursor.setAttribute('x1', x(at))
    cursor.setAttribute('x2', x(at))
    cursor.setAttribute('visibility', 'visible')
    readout.value = `${clock(times[at]).slice(0, 8)}: ${lines.map(({ name, values }) => `${name} ${values[at] === null ? '–' : format(values[at])}`).join(', ')}`
  }
  const leave = () => {
    at = -1
    cursor.setAttribute('visibility', 'hidden')
    readout.value = ''
  }
  const picture = svg(
    'svg',
    {
      class: 'chart',
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: 'img',
      tabindex: '0',
      'aria-label': `${title}, the last ${minutes === 1 ? 'minute' : `${minutes} minutes`}. ` +
        `${lines.map(({ name, values }) => `${name}: now ${values.at(-1) === null ? 'nothing' : format(values.at(-1) ?? 0)}, at most ` +
          `${format(Math.max(0, ...values.filter(value => value !== null)))}`).join('; ')}. Use the arrow keys to read single values.`,
      onpointermove: event => {
        const box = picture.getBoundingClientRect()
        const at = ((event.clientX - box.left) / box.width) * WIDTH
        point(Math.round(((at - LEFT) / (WIDTH - LEFT - RIGHT)) * (times.length - 1)))
      },
      onpointerleave: leave,
      onblur: leave,
      onkeydown: event => {
        if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return
        event.preventDefault()
        point(at === -1 ? times.length - 1 : at + (event.key === 'ArrowLeft' ? -1 : 1))
      }
    },
    ticks.map(tick => [
      svg('line', { class: 'grid', x1: LEFT, x2: WIDTH - RIGHT, y1: y(tick), y2: y(tick) }),
      svg('text', { x: LEFT - 6, y: y(tick) + 3.5, 'text-anchor': 'end' }, format(tick))
    ]),
    [
      [0, `−${minutes} min`, 'start'],
      ...(minutes % 3 === 0 ? [[1 / 3, `−${minutes * 2 / 3}`, 'middle'], [2 / 3, `−${minutes / 3}`, 'middle']] : []),
      [1, 'now', 'end']
    ].map(([part, text, anchor]) => svg('text', { x: LEFT + part * (WIDTH - LEFT - RIGHT), y: HEIGHT - 6, 'text-anchor': anchor }, text)),
    lines.map(line => [
      line.area === true ? svg('path', { class: 'area', 'data-kind': line.kind, d: area(line.values, x, y) }) : null,
      svg('path', { class: 'line', 'data-kind': line.kind, d: path(line.values, x, y) })
    ]),
    cursor
  )
  return h(
    'figure',
    { class: 'card figure' },
    h('figcaption', null, h('h3', null, title), h('ul', { class: 'legend' }, legend)),
    picture,
    readout
  )
}

function path (values, x, y) {
  let text = ''
  values.forEach((value, i) => {
    if (value === null) return
    const joined = i > 0 && values[i - 1] !== null
    text += `${joined ? 'L' : 'M'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`
    // Draw a single value between two gaps as a short stroke.
    if (!joined && (values[i + 1] ?? null) === null) text += 'h2'
  })
  return text
}

function area (values, x, y) {
  return `M${x(0).toFixed(1)} ${y(0).toFixed(1)}${values.map((value, i) => `L${x(i).toFixed(1)} ${y(value ?? 0).toFixed(1)}`).join('')}L${x(values.length - 1).toFixed(1)} ${y(0).toFixed(1)}Z`
}
