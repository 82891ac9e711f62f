/** Extension headers and the required check in the Go SDK: one line per URI, no split at commas, and a check on every operation. */
import t from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { rpc } from '../helpers/http.js'
import type { Answer, Json } from '../helpers/http.js'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { SETUP_TIMEOUT, programs, runClient, startForeignAgent } from './toolchains.js'

quietSdk()
t.setTimeout(2 * SETUP_TIMEOUT)

const A = 'https://example.com/ext/a/v1'
const B = 'https://example.com/ext/b/v1'

t.before(async () => {
  for (const sdk of ['go-2', 'go-0.3'] as const) await programs(sdk)
})

const message = (text: string): unknown => ({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }] } })
const seen = (answer: Answer): Json | undefined => answer.json().result?.message?.metadata?.seen

t.test('the agent that requires two extensions', async t => {
  const agent = await startForeignAgent(t, 'go-2', ['--capability-checks', '--required', A, '--required', B])
  const joined = ['a2a-extensions', `${A},${B}`]
  const direct = await rpc(`${agent.url}/a2a/jsonrpc`, 'SendMessage', message('message'), joined)
  t.equal(direct.json().error?.code, -32008, 'the SDK does not split commas: what the specification says is refused')

  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  for (const headers of [joined, ['a2a-extensions', A, 'a2a-extensions', B], ['x-a2a-extensions', `${B} , ${A}`]]) {
    t.match(
      seen(await rpc(`${gateway.url}/a2a/jsonrpc`, 'SendMessage', message('message'), headers)),
      A,
      `works through the gateway: ${headers.join(' ')}`
    )
  }
  const asJoined = await gatewayFor(t, {
    yaml: ['agents:', '  - name: agent', '    upstream:', `      url: "${agent.url}"`, '      extensionHeader: {form: joined}'].join('\n')
  })
  t.equal(
    (await rpc(`${asJoined.url}/a2a/jsonrpc`, 'SendMessage', message('message'), joined)).json().error?.code,
    -32008,
    'form: joined does not'
  )
})

t.test('the check of required extensions on operations without a message', async t => {
  const agent = await startForeignAgent(t, 'go-2', ['--capability-checks', '--required', A])
  const asked = ['a2a-extensions', A]
  const inject = ['extensions: [always]']
  const policy = ['extensions:', '  always:', `    uri: ${A}`, '    activation: {default: inject}']
  const plain = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const injecting = await gatewayFor(t, { yaml: oneAgent(agent.url, inject, policy) })
  const task = (await rpc(`${plain.url}/a2a/jsonrpc`, 'SendMessage', message('task'), asked)).json().result?.task
  const get = (url: string, headers: readonly string[] = []): Promise<Answer> =>
    rpc(`${url}/a2a/jsonrpc`, 'GetTask', { id: task?.id }, headers)
  t.equal((await get(agent.url)).json().error?.code, -32008, 'the SDK wants it on GetTask too')
  t.equal((await get(plain.url)).json().error?.code, -32008, 'which the gateway leaves to the agent')
  t.match((await get(plain.url, asked)).json().result, { id: task?.id })
  t.match((await get(injecting.url)).json().result, { id: task?.id }, 'an injected one works on GetTask')
  t.match((await rpc(`${injecting.url}/a2a/jsonrpc`, 'SendMessage', message('task'))).json().result, { task: {} }, 'and on SendMessage')
})

t.test('a 0.3 agent gets the spelling and the lines that it reads', async t => {
  const agent = await startForeignAgent(t, 'go-0.3', ['--required', A, '--optional', B])
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const sdk = 'go-0.3'
  const direct = await runClient(sdk, { url: agent.url, extensions: [A, B] })
  t.match(direct.message?.value, { metadata: { seen: `${A} ${B}` } })
  t.same((await runClient(sdk, { url: gateway.url, extensions: [A, B] })).message, direct.message)
  // 2.x speaking 0.3 to it, and asking in the 0.3 spelling.
  const legacy = await runClient('go-2', { url: gateway.url, extensions: [A, B], legacy: true })
  t.match(legacy.message?.value, { metadata: { seen: `${A} ${B}` } })
})

t.test('lines of the Go client are read one by one', async t => {
  const agent = await startAgent({ kind: 'dual', card: { extensions: [{ uri: A, required: true }, { uri: B, required: true }] } })
  t.teardown(() => agent.close())
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  for (const sdk of ['go-2', 'go-0.3'] as const) {
    const told = await runClient(sdk, { url: gateway.url, extensions: [A, B] })
    t.match(told.message?.value, {}, sdk)
    t.ok(told.message?.value, sdk)
  }
})

t.test('HTTP+JSON of the Go client, which sends "null" instead of no body', async t => {
  const agent = await startForeignAgent(t, 'go-2', ['--optional', A])
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const run = { transport: 'HTTP+JSON', extensions: [A] } as const
  const direct = await runClient('go-2', { ...run, url: agent.url })
  t.same(await runClient('go-2', { ...run, url: gateway.url }), direct)
  for (const operation of ['message', 'send', 'stream', 'get', 'cancel'] as const) t.ok(direct[operation]?.value, operation)
})

t.test('an error of the gateway that is not a JSON-RPC error', async t => {
  const agent = await startForeignAgent(t, 'go-2')
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) + '\nlimits: {body: 1KiB}' })
  const told = await runClient('go-2', { url: gateway.url, data: 'x'.repeat(5_000) })
  t.match(told.sendData?.error, /413/, 'the caller sees the status at least')
})
