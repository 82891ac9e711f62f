/** docs/start/secure.md: every command, and its output. Every address is on this machine. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { startIdentityProvider } from '../../examples/identity-provider.js'
import { packageRoot } from '#config/paths.js'
import { runPage, waitingForReload } from './page-commands.js'

t.test('the commands of the page', { timeout: 240_000 }, async t => {
  await runPage(t, { page: 'start/secure.md', atLeast: [20, 14], around: waitingForReload })
})

t.test('a port that is in use', async t => {
  const provider = await startIdentityProvider({ port: 0, audience: 'https://agents.example.com', lifetime: 60 })
  t.teardown(() => provider.close())
  const { port } = new URL(provider.url)
  for (const args of [['agent.js', 'fight'], ['identity-provider.js']] as const) {
    const [file, ...rest] = args
    const script = join(packageRoot(), 'dist/examples', file)
    const { status, stderr } = spawnSync(process.execPath, [script, ...rest], { env: { ...process.env, PORT: port }, encoding: 'utf8' })
    t.equal(status, 1, file)
    t.match(stderr, new RegExp(`^Port ${port} is already in use\\. Choose another one with PORT\\.$`, 'm'), file)
    t.notMatch(stderr, /at .*\.js:\d+/, `${file}: no stack`)
  }
})
