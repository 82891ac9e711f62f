/** The folders of `src` in docs/contributing/architecture.md are those that exist, and their arrows are those that ESLint checks. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../helpers/paths.js'

const page = readFileSync(join(ROOT, 'docs/contributing/architecture.md'), 'utf8')
const { MAY_IMPORT } = await import(join(ROOT, 'eslint.config.js')) as { MAY_IMPORT: Readonly<Record<string, readonly string[]>> }

/** The folders that a row of the table names. `the same` stands for those of the row above. */
function rowsOf (text: string): Map<string, readonly string[]> {
  const rows = new Map<string, readonly string[]>()
  let above: readonly string[] = []
  for (const [, folder = '', cell = ''] of text.matchAll(/^\| `([a-z0-9]+)` \| (.*) \|$/gm)) {
    if (!Object.hasOwn(MAY_IMPORT, folder)) continue
    const named = [...cell.matchAll(/`([a-z0-9/]+)`/g)].map(([, name = '']) => name)
    above = cell === 'every folder' ? Object.keys(MAY_IMPORT).filter(name => name !== folder) : [...cell.startsWith('the same') ? above : [], ...named]
    rows.set(folder, above)
  }
  return rows
}

t.test('each folder of src has arrows, and the page shows the same arrows', async t => {
  const folders = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter(entry => entry.isDirectory()).map(({ name }) => name)
  t.same(Object.keys(MAY_IMPORT).sort(), folders.sort())
  const rows = rowsOf(page)
  for (const folder of folders) t.same([...rows.get(folder) ?? []].sort(), [...MAY_IMPORT[folder] ?? []].sort(), folder)
})

t.test('no arrow points back', async t => {
  const order = Object.keys(MAY_IMPORT)
  for (const [folder, targets] of Object.entries(MAY_IMPORT)) {
    for (const target of targets) {
      if (target !== 'config/model') t.ok(order.indexOf(target) < order.indexOf(folder), `${folder} may import ${target}`)
    }
  }
})

t.test('the page names each folder once', async t => {
  for (const folder of Object.keys(MAY_IMPORT)) t.match(page, new RegExp(`^src/${folder}/ `, 'm'), folder)
})
