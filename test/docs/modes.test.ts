/** docs/explain/modes.md: each cell of the table is what `explain` prints, and the commands print what the page shows. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '#config/paths.js'
import { commandLine } from '../helpers/command-line.js'
import { runPage, sectionOf } from './page-commands.js'

const PAGE = readFileSync(join(packageRoot(), 'docs/explain/modes.md'), 'utf8')
const EXAMPLE = join(packageRoot(), 'examples/modes')

/** Makes the change that a row names. */
const CHANGES: Readonly<Record<string, (yaml: string) => string>> = {
  none: yaml => yaml,
  '`verdict: warn` in the rule for requests': yaml => yaml.replace(/schema: \{type: object, required: \[from, to\]\}/, '$&\n        verdict: warn'),
  '`verdict: warn` in the rule for responses': yaml => yaml.replace('verdict: reject', 'verdict: warn'),
  '`responses: observe` of the agent': yaml => yaml.replace('responses: enforce', 'responses: observe'),
  '`responses: off` of the agent': yaml => yaml.replace('responses: enforce', 'responses: off'),
  '`mode: observe` of the policy': yaml => yaml.replace('    request:', '    mode: observe\n$&'),
  '`mode: off` of the policy': yaml => yaml.replace('    request:', '    mode: off\n$&'),
  '`mode: observe` of the agent': yaml => yaml.replace('    responses:', '    mode: observe\n$&'),
  '`mode: off` of the agent': yaml => yaml.replace('    responses:', '    mode: off\n$&'),
  '`activation: {required: never}` of the policy': yaml => yaml.replace('    request:', '    activation: {required: never}\n$&')
}

/** The calls of the columns: the request, the response, and what a violation's line begins with. */
const COLUMNS = [
  { request: 'without-extension.http', more: [], rule: 'delivery-window/required' },
  { request: 'broken.http', more: [], rule: 'window' },
  { request: 'good.http', more: ['--answer', 'answer.json'], rule: 'receipt' }
] as const

t.test('the table', async t => {
  const folder = t.testdir({})
  cpSync(EXAMPLE, folder, { recursive: true })
  const yaml = readFileSync(join(EXAMPLE, 'gateway.yaml'), 'utf8')
  const rows = [...sectionOf(PAGE, 'The table').matchAll(/^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$/gm)].map(([, ...cells]) => cells).filter(([name]) => !/^(?:change|-+)$/.test(name ?? ''))
  t.same(rows.map(([name]) => name), Object.keys(CHANGES))
  for (const [name = '', ...cells] of rows) {
    const changed = CHANGES[name]?.(yaml) ?? ''
    t.equal(changed === yaml, name === 'none', `${name} changes the file`)
    writeFileSync(join(folder, 'changed.yaml'), changed)
    for (const [index, { request, more, rule }] of COLUMNS.entries()) {
      const args = ['explain', '--config', join(folder, 'changed.yaml'), '--card', join(folder, 'card.json'), ...more.map(one => one.startsWith('-') ? one : join(folder, one)), join(folder, request)]
      const { out } = await commandLine(args)
      t.equal(outcomeOf(out, rule), cells[index]?.replaceAll('*', ''), `${name}, ${request}: ${out}`)
    }
  }
})

/** In the words of the table. */
function outcomeOf (explained: string, rule: string): string {
  const [, observed] = new RegExp(`^ +${rule}: violated(, observed only)?$`, 'm').exec(explained) ?? []
  if (!new RegExp(`^ +${rule}: violated`, 'm').test(explained)) return 'not evaluated'
  return observed === undefined && /^decision {3}reject/m.test(explained) ? 'rejected' : 'recorded'
}

t.test('the commands of the page', { timeout: 120_000 }, async t => {
  await runPage(t, { page: 'explain/modes.md', atLeast: [3, 3] })
})
