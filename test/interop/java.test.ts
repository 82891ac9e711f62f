/**
 * Clients of Java: the JDK's own, which offers `Upgrade: h2c` with its first request, and the official SDKs for 0.3 and 1.0, whose
 * operations have the same results through the gateway as without it.
 */
import t from 'tap'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { MESSAGE, rpcBody } from '../helpers/http.js'
import { grpcGatewayFor } from '../helpers/grpc-gateway.js'
import { inTests } from '../helpers/paths.js'
import { REQUIRED, agentOf } from './grpc-agents.js'
import { JAVA_V1, JAVA_VERSION, NO_JAVA_V1, SETUP_TIMEOUT, javaClient, programs, runClient } from './toolchains.js'
import type { ClientRun, ForeignStory } from './toolchains.js'

quietSdk()
t.setTimeout(2 * SETUP_TIMEOUT)

t.before(async () => {
  await javaClient()
  for (const sdk of ['py-1', 'go-2'] as const) await programs(sdk)
})

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

const WORKING = ['card', 'message', 'send', 'sendData', 'stream', 'get', 'sendLong', 'cancel'] as const
const OVER_GRPC = [...WORKING, 'pushCreate', 'pushGet', 'pushList', 'pushDelete'] as const

for (const language of ['JavaScript', 'Python', 'Go'] as const) {
  t.test(`the Java SDK ${JAVA_VERSION} and the ${language} agent`, async t => {
    const agent = await agentOf(t, language)
    const gateway = await grpcGatewayFor(t, { upstream: agent.url })
    // Go has another idea of the paths of 0.3 than the other languages: without /v1.
    for (const transport of ['GRPC', 'JSONRPC', ...language === 'Go' ? [] : ['HTTP+JSON'] as const] as const) {
      const run = async ({ url, grpcAddress }: Served, more: Partial<ClientRun>): Promise<ForeignStory> =>
        onceSeen(await runClient('java-0.3', { transport, url, grpcAddress, ...more }))
      const all = { all: true, extensions: [REQUIRED] }
      const before = agent.calls()
      const direct = await run(agent, all)
      for (const operation of transport === 'GRPC' ? OVER_GRPC : WORKING) t.ok(direct[operation]?.value, `${transport}: ${operation} works at all`)
      if (transport === 'GRPC') t.ok(agent.calls() - before > 10, 'the calls arrive over gRPC')
      t.same(await run(gateway, all), direct, `${transport}: the same through the gateway`)
      const { sendData } = await run(gateway, { data: { a: 1 } })
      // From errors over HTTP+JSON, the SDK expects a form that A2A 0.3 does not define.
      t.match(sendData?.error, transport === 'HTTP+JSON' ? /Exception/ : REQUIRED, `${transport}: without the extension, it is rejected`)
    }
  })
}

for (const language of ['JavaScript', 'Python', 'Go'] as const) {
  t.test(`the Java SDK ${JAVA_V1} and the ${language} agent`, { skip: NO_JAVA_V1 }, async t => {
    const agent = await agentOf(t, language)
    const gateway = await grpcGatewayFor(t, { upstream: agent.url })
    for (const transport of ['GRPC', 'JSONRPC', 'HTTP+JSON'] as const) {
      const run = async ({ url, grpcAddress }: Served, more: Partial<ClientRun>): Promise<ForeignStory> =>
        onceSeen(await runClient('java-1', { transport, url, grpcAddress, ...more }))
      const required = { extensions: [REQUIRED] }
      const direct = await run(agent, required)
      for (const operation of WORKING) t.ok(direct[operation]?.value, `${transport}: ${operation} works at all: ${direct[operation]?.error ?? ''}`)
      t.same(await run(gateway, required), direct, `${transport}: the same through the gateway`)
      const { sendData } = await run(gateway, { data: { a: 1 } })
      t.match(sendData?.error, /ExtensionSupportRequiredError/, `${transport}: without the extension, the SDK raises its own error`)
    }
  })
}

interface Served { readonly url: string, readonly grpcAddress: string }

/** Over gRPC, the SDK requests each extension twice. The gateway requests it once, and agents of Go list what was requested. */
function onceSeen (story: ForeignStory): ForeignStory {
  return JSON.parse(JSON.stringify(story).replaceAll(`"${REQUIRED} ${REQUIRED}"`, `"${REQUIRED}"`)) as ForeignStory
}
