/** docs/start/first-policy.md: every command, and its output. */
import t from 'tap'
import { runPage, waitingForReload } from './page-commands.js'

t.test('the commands of the page', { timeout: 240_000 }, async t => {
  await runPage(t, { page: 'start/first-policy.md', atLeast: [16, 11], around: waitingForReload })
})
