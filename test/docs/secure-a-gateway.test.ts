/** docs/secure-a-gateway.md: every command, and its output. Every address is on this machine. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { startIdentityProvider } from '../../examples/identity-provider.js'
import { packageRoot } from '../../src/config/paths.js'
import { freePorts } from '../helpers/http.js'
import { runPage } from './page-commands.js'

/** Readers take a moment between two blocks. The test waits until the gateway has applied the file that a block has changed. */
const RELOADS = 'reloads() { curl -s http://127.0.0.1:9901/metrics | grep \'config_reloads_total{outcome="ok"}\' || true; }'
const CHANGES = /(?:>> |mv new\.yaml )gateway\.yaml/
function waiting (commands: string): string {
  if (!CHANGES.test(commands) || commands.includes('a2a-gateway serve')) return commands
  return `before=$(reloads)\n${commands}\nfor i in $(seq 300); do [ "$(reloads)" = "$before" ] || break; sleep 0.1; done`
}

t.test('the commands of the page', { timeout: 240_000 }, async t => {
  const free = await freePorts(4)
  const ports = new Map(['8080', '9901', '9999', '4000'].map((port, index) => [port, String(free[index])]))
  await runPage(t, {
    page: 'secure-a-gateway.md',
    atLeast: [20, 14],
    ported: text =>
      text
        .replaceAll(/(?<=127\.0\.0\.1:)\d+/g, port => ports.get(port) ?? port)
        .replace('node dist/examples/agent.js', `PORT=${ports.get('9999')} $&`)
        .replace('node dist/examples/identity-provider.js', `PORT=${ports.get('4000')} $&`),
    around: waiting,
    before: RELOADS
  })
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
