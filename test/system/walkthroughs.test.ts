/** docs/walkthroughs.md: every command, and its output. Every address is on this machine. */
import t from 'tap'
import { freePorts } from '../helpers/http.js'
import { runPage } from '../docs/page-commands.js'

/** The page promises five minutes for each session. */
const LIMIT_MS = 300_000

t.test('the commands of the page', { timeout: LIMIT_MS + 60_000 }, async t => {
  const begin = performance.now()
  const free = await freePorts(3)
  const ports = new Map(['8080', '9901', '9999'].map((port, index) => [port, String(free[index])]))
  await runPage(t, {
    page: 'walkthroughs.md',
    atLeast: [12, 11],
    ported: text =>
      text
        .replaceAll(/(?<=127\.0\.0\.1:|listen\()\d+/g, port => ports.get(port) ?? port)
        .replace('node dist/examples/agent.js', `PORT=${ports.get('9999')} $&`),
    env: { A2A_GATEWAY_LISTEN: `127.0.0.1:${ports.get('8080')}`, A2A_GATEWAY_ADMIN: `127.0.0.1:${ports.get('9901')}` }
  })
  const took = performance.now() - begin
  t.ok(took < LIMIT_MS, `all sessions take ${Math.round(took / 1_000)} s`)
})
