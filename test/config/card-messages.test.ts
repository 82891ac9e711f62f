/** Prints the messages of {@link CARD_ROWS}. */
import t from 'tap'
import { CARD_ROWS, cardFiles, cardLines } from './card-rows.js'

t.test('every message stands where its row says', async t => {
  const directory = cardFiles(t)
  for (const [name, text, ...expected] of CARD_ROWS) t.same(cardLines(text, directory), expected, name)
})
