/** The JDK's HttpClient offers `Upgrade: h2c` with its first request. A proxy must ignore the offer. */
import t from 'tap'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { startAgent } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { MESSAGE, rpcBody } from '../helpers/http.js'
import { inTests } from '../helpers/paths.js'

t.setTimeout(120_000)

t.test('a call of java.net.http.HttpClient', async t => {
  const agent = await startAgent({ kind: 'v1' })
  t.teardown(() => agent.close())
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const program = inTests('interop', 'java/Post.java')
  const { stdout } = await promisify(execFile)(
    'java',
    [program, `${gateway.url}/a2a/jsonrpc`, rpcBody('SendMessage', { message: MESSAGE })],
    { timeout: 100_000 }
  ).catch((error: Error) => {
    throw new Error(`install a JDK, 17 or later (Debian: default-jdk-headless)\n${error.message}`)
  })
  const lines = stdout.trim().split('\n')
  t.equal(lines.length, 3)
  for (const line of lines) t.match(line, /^HTTP_1_1 200 \{"jsonrpc":"2\.0","id":1,"result":/)
  t.equal(agent.calls().length, 3)
  t.equal(agent.calls()[0]?.headers.upgrade, undefined, 'the agent is not offered what it could not have')
})
