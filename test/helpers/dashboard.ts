/** The dashboard as Grafana reads it: its panels, and their queries with the variables replaced as Grafana replaces them. */
import { readFileSync } from 'node:fs'

export interface Target { readonly refId: string, readonly expr: string, readonly legendFormat: string, readonly instant: boolean }
export interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly datasource?: { readonly uid: string }
  readonly targets?: readonly Target[]
  readonly panels?: readonly Panel[]
  readonly gridPos: { readonly x: number, readonly y: number, readonly w: number, readonly h: number }
}
export interface Variable { readonly name: string, readonly type: string, readonly definition?: string, readonly allValue?: string }
interface Dashboard {
  readonly uid: string
  readonly schemaVersion: number
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly Variable[] }
  readonly annotations: { readonly list: readonly { readonly name: string, readonly expr: string }[] }
}

export function readDashboard (): Dashboard {
  return JSON.parse(readFileSync('deploy/grafana/dashboards/a2a-gateway.json', 'utf8')) as Dashboard
}

/** All panels, including the panels of collapsed rows but not the rows themselves. */
export function panelsOf ({ panels }: Pick<Dashboard, 'panels'>): Panel[] {
  return panels.flatMap(panel => panel.type === 'row' ? panelsOf({ panels: panel.panels ?? [] }) : [panel])
}

/** Replaces `$name` and `${name}`. @throws Error for a variable without a value */
export function substituted (expr: string, values: Readonly<Record<string, string>>): string {
  return expr.replace(/\$(?:\{(\w+)\}|(\w+))/g, (_all, braced?: string, plain?: string) => {
    const value = values[braced ?? plain ?? '']
    if (value === undefined) throw new Error(`no value for ${braced ?? plain} in ${expr}`)
    return value
  })
}
