/** The admin listener accepts no schema and no policy: cards are the only source of schemas from strangers. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '#config/paths.js'

/** What compiles or reads a schema, a policy or a configuration. */
const COMPILES =
  /import \{[^}]*\b(?:compileSchema|compilePattern|writeSchemas?|Patterns|buildAgentState|compileAgentPolicy|loadConfig|loadValue|parseConfig)\b[^}]*\} from/

t.test('no route of the admin listener or the console compiles anything', async t => {
  const files = ['src/server/admin', 'src/console'].flatMap(folder =>
    readdirSync(join(packageRoot(), folder), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts'))
      .map(name => join(folder, name))
  )
  t.ok(files.length > 15)
  t.same(files.filter(file => COMPILES.test(readFileSync(join(packageRoot(), file), 'utf8'))), [])
})
