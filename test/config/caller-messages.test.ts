/** Prints the messages of {@link CALLER_ROWS}. */
import t from 'tap'
import { CALLER_ROWS } from './caller-rows.js'
import { lines } from './rows.js'

t.test('messages about callers', async t => {
  for (const [name, text, ...expected] of CALLER_ROWS) t.same(lines(text), expected, name)
})
