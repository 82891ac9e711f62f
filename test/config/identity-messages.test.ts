/** Prints the messages of {@link IDENTITY_ROWS} and {@link REQUIRE_ROWS}. */
import t from 'tap'
import { IDENTITY_FILES, IDENTITY_ROWS, identityLines } from './identity-rows.js'
import { REQUIRE_ROWS } from './require-rows.js'

t.test('messages about identity', async t => {
  const directory = t.testdir(IDENTITY_FILES)
  for (const [name, text, ...expected] of [...IDENTITY_ROWS, ...REQUIRE_ROWS]) t.same(identityLines(text, directory), expected, name)
})
