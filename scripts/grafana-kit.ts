/**
 * Builds a dashboard of Grafana from panels. A panel states only what differs between panels, and the kit places the panels from left to
 * right.
 */

/** Schema version of Grafana 12.0 and 12.1. Later versions migrate the dashboard when they load it. */
const SCHEMA_VERSION = 41
const COLUMNS = 24
// eslint-disable-next-line no-template-curly-in-string -- Grafana's variable
const SOURCE = { type: 'prometheus', uid: '${datasource}' }

export interface Query {
  /** PromQL, with Grafana's variables. */
  readonly expr: string
  /** Text of the legend; `{{label}}` stands for the value of a label. */
  readonly legend?: string
}

type Kind = 'timeseries' | 'stat' | 'table' | 'heatmap' | 'state-timeline'

export interface Panel {
  readonly kind: Kind
  readonly title: string
  /** Describes what the panel shows and how to interpret the values. */
  readonly about: string
  readonly queries: readonly Query[]
  /** Unit by Grafana's name: `reqps`, `s`, `percentunit`, `bytes`, `short` … */
  readonly unit: string
  /** Width in columns; a row has 24. */
  readonly width: number
  readonly height: number
  readonly stacked: boolean
  /** From `warn` the value is orange, and from `bad` the value is red. */
  readonly limits: readonly [warn: number, bad: number] | null
  readonly max: number | null
}

type Given = Pick<Panel, 'title' | 'about' | 'unit'> & {
  readonly queries: readonly (Query | readonly [expr: string, legend: string])[]
} & Partial<Pick<Panel, 'width' | 'height' | 'stacked' | 'limits' | 'max'>>

function panel (kind: Kind, width: number, height: number, given: Given): Panel {
  const queries = given.queries.map((one): Query => 'expr' in one ? one : { expr: one[0], legend: one[1] })
  return { kind, width, height, stacked: false, limits: null, max: null, ...given, queries }
}

export const lines = (given: Given): Panel => panel('timeseries', 8, 8, given)
export const stacked = (given: Given): Panel => panel('timeseries', 8, 8, { ...given, stacked: true })
export const stat = (given: Given): Panel => panel('stat', 3, 4, given)
export const table = (given: Given): Panel => panel('table', 12, 8, given)
export const heatmap = (given: Given): Panel => panel('heatmap', 8, 8, given)
export const states = (given: Given): Panel => panel('state-timeline', 8, 8, given)

export interface Row {
  readonly title: string
  readonly collapsed?: boolean
  readonly panels: readonly Panel[]
}

/** A variable with the values of a label. */
export interface Variable { readonly name: string, readonly label: string, readonly query: string }

export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly about: string
  readonly variables: readonly Variable[]
  /** Marks in all panels at the times where the expression has a value. */
  readonly marks: readonly { readonly name: string, readonly expr: string, readonly text: string }[]
  readonly rows: readonly Row[]
}

/** The JSON file that Grafana imports. */
export function dashboardText (dashboard: Dashboard): string {
  const { uid, title, about, variables, marks, rows } = dashboard
  return (
    JSON.stringify(
      {
        uid,
        title,
        description: about,
        tags: ['a2a'],
        schemaVersion: SCHEMA_VERSION,
        version: 1,
        editable: true,
        graphTooltip: 1,
        refresh: '30s',
        time: { from: 'now-1h', to: 'now' },
        timezone: 'browser',
        templating: {
          list: [
            {
              name: 'datasource',
              label: 'Prometheus',
              type: 'datasource',
              query: 'prometheus',
              current: {},
              hide: 0,
              refresh: 1,
              regex: ''
            },
            ...variables.map(variable)
          ]
        },
        annotations: {
          list: marks.map(({ name, expr, text }) => ({
            name,
            datasource: SOURCE,
            enable: true,
            hide: false,
            iconColor: 'blue',
            expr,
            titleFormat: name,
            textFormat: text,
            step: '30s'
          }))
        },
        links: [],
        panels: laidOut(rows)
      },
      null,
      2
    ) + '\n'
  )
}

function variable ({ name, label, query }: Variable): object {
  return {
    name,
    label,
    type: 'query',
    datasource: SOURCE,
    definition: query,
    query: { query, refId: `${name}-values` },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { selected: true, text: ['All'], value: ['$__all'] },
    hide: 0,
    options: [],
    regex: ''
  }
}

function laidOut (rows: readonly Row[]): object[] {
  const found: object[] = []
  let id = 1
  let y = 0
  for (const { title, panels, collapsed = false } of rows) {
    const row = { id: id++, type: 'row', title, collapsed, gridPos: { x: 0, y: y++, w: COLUMNS, h: 1 } }
    const placed: object[] = []
    let [x, height] = [0, 0]
    for (const one of panels) {
      if (x + one.width > COLUMNS) {
        y += height
        x = height = 0
      }
      placed.push({ id: id++, ...rendered(one), gridPos: { x, y, w: one.width, h: one.height } })
      x += one.width
      height = Math.max(height, one.height)
    }
    y += height
    found.push(collapsed ? { ...row, panels: placed } : { ...row, panels: [] })
    if (!collapsed) found.push(...placed)
  }
  return found
}

function rendered (one: Panel): object {
  const atOnce = one.kind === 'stat' || one.kind === 'table'
  return {
    type: one.kind,
    title: one.title,
    description: one.about,
    datasource: SOURCE,
    targets: one.queries.map(({ expr, legend }, at) => ({
      refId: String.fromCharCode(65 + at),
      datasource: SOURCE,
      editorMode: 'code',
      expr,
      legendFormat: legend ?? '__auto',
      instant: atOnce,
      range: !atOnce,
      format: one.kind === 'table' ? 'table' : one.kind === 'heatmap' ? 'heatmap' : 'time_series'
    })),
    fieldConfig: {
      defaults: { unit: one.unit, min: one.kind === 'timeseries' ? 0 : undefined, max: one.max ?? undefined, ...LOOK[one.kind](one) },
      overrides: []
    },
    options: OPTIONS[one.kind],
    ...(one.kind === 'table' ? { transformations: TABLE } : {})
  }
}

function thresholds (one: Panel): object {
  if (one.limits === null) return { mode: 'absolute', steps: [{ color: 'green', value: null }] }
  const [warn, bad] = one.limits
  return { mode: 'absolute', steps: [{ color: 'green', value: null }, { color: 'orange', value: warn }, { color: 'red', value: bad }] }
}

const LOOK: Readonly<Record<Kind, (one: Panel) => object>> = {
  timeseries: one => ({
    color: { mode: 'palette-classic' },
    custom: {
      drawStyle: 'line',
      lineWidth: 1,
      fillOpacity: one.stacked ? 30 : 8,
      showPoints: 'never',
      spanNulls: false,
      stacking: { mode: one.stacked ? 'normal' : 'none', group: 'A' },
      thresholdsStyle: { mode: one.limits === null ? 'off' : 'dashed' }
    },
    thresholds: thresholds(one)
  }),
  stat: one => ({ color: { mode: 'thresholds' }, noValue: '0', thresholds: thresholds(one) }),
  table: one => ({ custom: { align: 'auto', filterable: true }, thresholds: thresholds(one) }),
  heatmap: () => ({ custom: { hideFrom: { legend: false, tooltip: false, viz: false } } }),
  'state-timeline': () => ({
    color: { mode: 'thresholds' },
    custom: { fillOpacity: 70, lineWidth: 0 },
    mappings: [{ type: 'value', options: { 0: { text: 'no', color: 'red', index: 0 }, 1: { text: 'yes', color: 'green', index: 1 } } }],
    thresholds: { mode: 'absolute', steps: [{ color: 'red', value: null }, { color: 'green', value: 1 }] }
  })
}

const OPTIONS: Readonly<Record<Kind, object>> = {
  timeseries: {
    legend: { calcs: [], displayMode: 'list', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' }
  },
  stat: {
    colorMode: 'value',
    graphMode: 'none',
    justifyMode: 'auto',
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    textMode: 'auto'
  },
  table: { showHeader: true, cellHeight: 'sm' },
  heatmap: {
    calculate: false,
    yAxis: { unit: 's' },
    cellGap: 1,
    color: { mode: 'scheme', scheme: 'Turbo', steps: 64, exponent: 0.5, fill: 'dark-orange', reverse: false },
    legend: { show: true },
    tooltip: { mode: 'single', yHistogram: false }
  },
  'state-timeline': {
    mergeValues: true,
    showValue: 'never',
    rowHeight: 0.8,
    legend: { calcs: [], displayMode: 'list', placement: 'bottom', showLegend: false },
    tooltip: { mode: 'single', sort: 'none' }
  }
}

/** Hides the column of the time, because an instant query has the same time in each line. */
const TABLE = [{ id: 'organize', options: { excludeByName: { Time: true }, indexByName: {}, renameByName: { Value: 'value' } } }]
