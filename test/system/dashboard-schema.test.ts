/**
 * Checks the dashboard against the types that Grafana publishes for its JSON: no unknown key, and no missing key. Installs the types from
 * npm's registry.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { panelsOf, readDashboard } from '../helpers/dashboard.js'

/** Of the Grafana in deploy/compose.yaml, or a later one of the same minor version. */
const TYPES = '@grafana/schema@12.4.11'
const KINDS = ['timeseries', 'stat', 'table', 'heatmap', 'statetimeline']
const STRICT = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--moduleResolution', 'nodenext', '--target', 'es2023']

interface Rendered { readonly options: object, readonly fieldConfig: { readonly defaults: { readonly custom?: object } } }

t.test('every key of the dashboard exists in Grafana', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'grafana-'))
  t.teardown(() => { rmSync(folder, { recursive: true }) })
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const env = { ...process.env, NODE_OPTIONS: '' }
  const installed = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', TYPES], {
    cwd: folder,
    encoding: 'utf8',
    env
  })
  t.equal(installed.status, 0, installed.stderr)

  const lines = [
    "import type { Dashboard } from '@grafana/schema'",
    ...KINDS.map(
      kind => `import type * as ${kind} from './node_modules/@grafana/schema/dist/types/raw/composable/${kind}/panelcfg/x/types.gen.js'`
    ),
    // Its enumerations are texts in JSON.
    'type Loose<T> = T extends string ? `$' +
      '{T}` : T extends (infer E)[] ? Loose<E>[] : T extends object ? { [K in keyof T]: Loose<T[K]> } : T',
    // Of these two it leaves out what plugins add.
    `export const dashboard: Loose<Omit<Dashboard, 'annotations' | 'templating'>> = ${JSON.stringify({ ...readDashboard(), annotations: undefined, templating: undefined })}`,
    ...panelsOf(readDashboard()).flatMap((panel, i) => {
      const { options, fieldConfig } = panel as unknown as Rendered
      const kind = panel.type.replace('-', '')
      const { custom } = fieldConfig.defaults
      return [
        `export const options${i}: Loose<Partial<${kind}.Options>> = ${JSON.stringify(options)}`,
        ...(custom === undefined || kind === 'table'
          ? []
          : [`export const custom${i}: Loose<Partial<${kind}.FieldConfig>> = ${JSON.stringify(custom)}`])
      ]
    })
  ]
  const file = join(folder, 'check.ts')
  const compile = (text: string): { status: number | null, stdout: string } => {
    writeFileSync(file, text)
    return spawnSync(process.execPath, [resolve('node_modules', 'typescript', 'bin', 'tsc'), ...STRICT, file], {
      cwd: folder,
      encoding: 'utf8',
      env
    })
  }
  const { status, stdout } = compile(lines.join('\n'))
  t.equal(status, 0, stdout)
  for (const [from, to] of [
    ['"lineWidth"', '"lineWidht"'],
    ['"graphTooltip"', '"graphToolTip"'],
    ['"placement":"bottom"', '"placement":"below"']
  ] as const) {
    const broken = lines.join('\n').replaceAll(from, to)
    t.not(broken, lines.join('\n'))
    t.match(compile(broken).stdout, to.slice(to.lastIndexOf(':') + 2, -1), `${to} is noticed`)
  }
})
