/** docs/quick-start.md: every command, and its output. */
import t from 'tap'
import { startEightball } from '../../examples/eightball.js'
import { freePorts } from '../helpers/http.js'
import { runPage } from './page-commands.js'

t.test('the commands of the page', { timeout: 240_000 }, async t => {
  const agent = await startEightball({ port: 0 })
  t.teardown(() => agent.close())
  const [port = 0, admin = 0] = await freePorts(2)
  await runPage(t, {
    page: 'quick-start.md',
    atLeast: [10, 9],
    ported: text =>
      text
        .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
        .replaceAll('127.0.0.1:9901', `127.0.0.1:${admin}`)
        .replaceAll('http://127.0.0.1:9999', agent.url),
    env: {
      DEMO_PORT: String(port),
      DEMO_ADMIN_PORT: String(admin),
      A2A_GATEWAY_LISTEN: `127.0.0.1:${port}`,
      A2A_GATEWAY_ADMIN: `127.0.0.1:${admin}`
    }
  })
})
