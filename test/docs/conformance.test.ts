/** Every test that docs/conformance.md cites exists, and every statement that is met cites a test. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { citations, conformanceDocuments } from '../../scripts/conformance-page.js'
import { ROOT } from '../helpers/paths.js'

const documents = conformanceDocuments()
const statements = documents.flatMap(document => document.statements)

/** True if the file names a test with this title, in any kind of quotes. Titles of tables are written as they are in the table. */
function names (source: string, title: string): boolean {
  return [`'${title.replaceAll("'", "\\'")}'`, `"${title}"`, `\`${title}\``].some(quoted => source.includes(quoted))
}

t.test('every cited file has a test of the cited title', async t => {
  const missing = statements.flatMap(statement => citations(statement)
    .filter(({ file, title }) => !existsSync(join(ROOT, file)) || !names(readFileSync(join(ROOT, file), 'utf8'), title))
    .map(({ file, title }) => `${statement.id}: ${file}: ${title}`))
  t.same(missing, [])
})

t.test('a statement that is met cites a test, and every statement says what the gateway does', async t => {
  t.same(statements.filter(one => /^(?:met|with policy)$/.test(one.verdict) && citations(one).length === 0).map(({ id }) => id), [])
  t.same(statements.filter(one => !/\.$/.test(one.text) || one.statement === '' || one.section === '').map(({ id }) => id), [])
})

t.test('ids are unique', async t => {
  const ids = statements.map(({ id }) => id)
  t.same(ids.filter((id, i) => ids.indexOf(id) !== i), [])
  t.ok(ids.length >= 148)
})

t.test('a missing test is found', async t => {
  t.notOk(names("t.test('a longer title', async t => {})", 'a long title'))
  t.ok(names("t.test('the agent\\'s', async t => {})", "the agent's"))
})
