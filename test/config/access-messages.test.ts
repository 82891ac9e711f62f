/** Prints the messages of {@link ACCESS_ROWS}. */
import t from 'tap'
import { ACCESS_FILES, ACCESS_ROWS, accessLines } from './access-rows.js'

t.test('messages about access', async t => {
  const directory = t.testdir(ACCESS_FILES)
  for (const [name, text, ...expected] of ACCESS_ROWS) t.same(accessLines(text, directory), expected, name)
})
