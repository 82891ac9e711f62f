/** docs/how-to/find-out-why.md: every command, and its output. */
import t from 'tap'
import { runPage } from './page-commands.js'

t.test('the commands of the page', { timeout: 240_000 }, async t => {
  await runPage(t, { page: 'how-to/find-out-why.md', atLeast: [5, 5] })
})
