/** Prints the messages of {@link OWNERSHIP_ROWS}. */
import t from 'tap'
import { IDENTITY_FILES, identityLines } from './identity-rows.js'
import { OWNERSHIP_ROWS } from './ownership-rows.js'

t.test('messages about owners of tasks', async t => {
  const directory = t.testdir(IDENTITY_FILES)
  for (const [name, text, ...expected] of OWNERSHIP_ROWS) t.same(identityLines(text, directory), expected, name)
})
