/** The page of promises names only tests and scenarios that exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '#config/paths.js'

const page = readFileSync(join(packageRoot(), 'docs/explain/security.md'), 'utf8')
const scenarios = readdirSync(join(packageRoot(), 'test/hostile/scenarios'))

for (const [heading, least] of [['Promises', 10], ['Threats', 6]] as const) {
  t.test(`${heading}: every row names a test, and every test is there`, async t => {
    const [, table = ''] = page.split(`## ${heading}\n`)
    const rows = (table.split('## ')[0] ?? '').split('\n').filter(line => line.startsWith('| ')).slice(1)
    t.ok(rows.length >= least)
    const names = rows.map(row => row.split('|')[1])
    t.same(names, [...new Set(names)], 'each row once')
    for (const row of rows) {
      const named = [...row.matchAll(/`(test\/[\w./-]+\.ts)`/g)].map(([, file = '']) => file)
      t.ok(named.length > 0, row)
      for (const file of named) t.ok(existsSync(join(packageRoot(), file)), file)
      for (const [, list = ''] of row.matchAll(/scenarios\.test\.ts` \(([^)]*)\)/g)) {
        for (const [, name = ''] of list.matchAll(/`([a-z-]+)\*?`/g)) t.ok(scenarios.some(file => file.startsWith(name)), name)
      }
    }
  })
}
