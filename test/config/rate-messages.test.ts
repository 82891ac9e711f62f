/** Prints the messages of {@link RATE_ROWS}. */
import t from 'tap'
import { RATE_ROWS } from './rate-rows.js'
import { lines } from './rows.js'

t.test('messages about rates and budgets', async t => {
  for (const [name, text, ...expected] of RATE_ROWS) t.same(lines(text), expected, name)
})
