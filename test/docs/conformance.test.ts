/** Every test that docs/contributing/conformance.md cites exists, and every statement that is met cites a test. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { citations, conformanceDocuments } from '../../scripts/conformance-page.js'
import type { Schema } from '#config/schema/schema-builder.js'
import { configSchema } from '#config/schema/schema.js'
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
  t.ok(ids.length >= 144)
})

/** What a setting makes untrue: each is a sentence that the page had after the setting was there. */
const DENIALS: readonly (readonly [setting: string, denial: RegExp])[] = [
  ['identity', /authenticates no(?:body| caller)|verifies no (?:signature and no )?token|reads no (?:token|claim|certificate)|never with 401|no authentication/i],
  ['rates', /no rate|no quota/i],
  ['budgets', /no budget/i],
  ['server.console.public', /lists no agents|no page for developers/i],
  ['server.adminAccess', /admin listener (?:has|without) (?:no )?authentication/i],
  ['server.grpc', /no gRPC|does not serve gRPC/i],
  ['server.tls', /(?:speaks|serves) (?:only )?plain HTTP/i],
  ['agents.access', /no access list/i],
  ['agents.push', /does not check (?:the )?(?:URL|webhook)/i]
]

function has (setting: string): boolean {
  let schema: Schema | undefined = configSchema
  for (const key of setting.split('.')) schema = schema?.properties?.[key]?.items ?? schema?.properties?.[key]
  return schema !== undefined
}

t.test('no verdict contradicts a setting of the configuration', async t => {
  for (const [setting, denial] of DENIALS) {
    t.ok(has(setting), `${setting} is a setting`)
    t.same(statements.filter(({ text }) => denial.test(text)).map(({ id, text }) => `${id}: ${text}`), [], setting)
  }
  t.notOk(has('server.nothing'))
  t.match('The gateway authenticates no caller.', DENIALS[0]?.[1])
})

t.test('only statements of specifications count', async t => {
  t.same(documents.filter(({ counted }) => counted === false).map(({ document }) => document), ['HTTP: RFC 9110, RFC 9111 and the Fetch standard'])
  t.same(documents.filter(({ document, url, official }) => /^A2A topics|^Extensions in A2A/.test(document) && official?.startsWith('https://a2a-protocol.org/latest/') !== true && url !== '').map(({ document }) => document), [])
})

t.test('a missing test is found', async t => {
  t.notOk(names("t.test('a longer title', async t => {})", 'a long title'))
  t.ok(names("t.test('the agent\\'s', async t => {})", "the agent's"))
})
