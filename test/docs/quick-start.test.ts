/** docs/start/quick-start.md: every command, and its output. */
import t from 'tap'
import { runPage } from './page-commands.js'

t.test('the commands of the page', { timeout: 240_000 }, async t => {
  await runPage(t, { page: 'start/quick-start.md', atLeast: [10, 9] })
})
