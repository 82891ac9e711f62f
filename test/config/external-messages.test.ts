/** Prints the messages of {@link EXTERNAL_ROWS}. */
import t from 'tap'
import { EXTERNAL_ROWS } from './external-rows.js'
import { lines } from './rows.js'

t.test('messages about policy servers', async t => {
  for (const [name, text, ...expected] of EXTERNAL_ROWS) t.same(lines(text), expected, name)
})
