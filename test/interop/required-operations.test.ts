/**
 * On which operations do official clients request an extension? The table in docs/contributing/interoperability.md states the result for
 * each client, and is the reason for the default of `enforceOn`.
 */
import t from 'tap'
import { readFileSync } from 'node:fs'
import { matchRest, operationOfMethod } from '#a2a/operations.js'
import { packageRoot } from '#config/paths.js'
import { parseJson } from '#wire/json/parse-json.js'
import { quietSdk } from '../helpers/agents.js'
import { startGrpcAgent } from '../helpers/grpc-agents.js'
import type { GrpcAgent } from '../helpers/grpc-agents.js'
import { NIGHTLY_ONLY } from '../helpers/seed.js'
import type { ClientKind, Transport } from '../helpers/sdk-clients.js'
import { runMatrix } from '../e2e/matrix.js'
import { NO_JAVA_V1, SETUP_TIMEOUT, javaClient, programs, runClient } from './toolchains.js'

quietSdk()
t.setTimeout(2 * SETUP_TIMEOUT)

const REQUIRED = 'https://example.com/ext/required/v1'
type Binding = Transport | 'GRPC'
const ALL: readonly Binding[] = ['JSONRPC', 'HTTP+JSON', 'GRPC']
/** The others take two minutes more. */
const BINDINGS = NIGHTLY_ONLY === false ? ALL : ALL.slice(0, 1)

interface Client {
  /** First cell of its row in the table. */
  readonly row: string
  /** Bindings in which it can call this agent: Go 2 has other paths of 0.3, Python 0.3 needs an address of gRPC with a scheme. */
  readonly bindings?: readonly Binding[]
  readonly skip?: string | false
  run (agent: GrpcAgent, transport: Binding, extensions: readonly string[]): Promise<unknown>
}

const javascript = (row: string, client: ClientKind): Client => ({
  row,
  run: ({ cardUrl }, transport, extensions) =>
    runMatrix({ client, transport, cardUrl, authorization: 'Bearer x', ...extensions.length === 0 ? {} : { extensions } })
})
const foreign = (row: string, sdk: Parameters<typeof runClient>[0], more: Partial<Client> & { legacy?: boolean } = {}): Client => ({
  row,
  ...more,
  run: ({ url }, transport, extensions) => runClient(sdk, { url, transport, extensions, all: true, legacy: more.legacy === true })
})

const CLIENTS: readonly Client[] = [
  javascript('JavaScript 1.3.0, 1.0', 'v1'),
  javascript('JavaScript 1.3.0, 0.3', 'v1-as-03'),
  javascript('JavaScript 0.3.14', 'v03'),
  foreign('Python 1.3.0, 1.0', 'py-1'),
  foreign('Python 1.3.0, 0.3', 'py-1', { legacy: true }),
  foreign('Python 0.3.26', 'py-0.3', { bindings: ['JSONRPC', 'HTTP+JSON'] }),
  foreign('Go 2.3.1, 1.0', 'go-2'),
  foreign('Go 2.3.1, 0.3', 'go-2', { legacy: true, bindings: ['JSONRPC', 'GRPC'] }),
  foreign('Go 0.3.3', 'go-0.3', { bindings: ['JSONRPC'] }),
  foreign('Java 0.3.3.Final', 'java-0.3'),
  foreign('Java 1.2.0.Final', 'java-1', { skip: NO_JAVA_V1 })
]

const TABLE = readFileSync(`${packageRoot()}/docs/contributing/interoperability.md`, 'utf8')
  .split('\n')
  .filter(line => line.startsWith('|'))
  .map(line => line.split('|').slice(1, -1).map(cell => cell.trim()))
const OPERATIONS = [
  'SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask', 'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig', 'ListTaskPushNotificationConfigs', 'DeleteTaskPushNotificationConfig', 'GetExtendedAgentCard'
]
/** Names of the service of 0.3 that differ from those of 1.0. */
const GRPC_0_3: Readonly<Record<string, string>> = {
  TaskSubscription: 'SubscribeToTask', ListTaskPushNotificationConfig: 'ListTaskPushNotificationConfigs', GetAgentCard: 'GetExtendedAgentCard'
}

t.before(async () => {
  await javaClient()
  for (const sdk of ['py-1', 'py-0.3', 'go-2', 'go-0.3'] as const) await programs(sdk)
})

for (const { row, bindings = ALL, skip = false, run } of CLIENTS) {
  t.test(row, { skip }, async t => {
    const [, , ...expected] = TABLE.find(([name]) => name === row) ?? []
    t.equal(expected.length, OPERATIONS.length, 'the page has a row for it')
    const measured = async (transport: Binding, extensions: readonly string[]): Promise<string[]> => {
      const agent = await startGrpcAgent({
        kind: 'dual',
        card: { extensions: [{ uri: REQUIRED, required: extensions.length > 0 }], pushNotifications: true, extendedCard: true }
      })
      t.teardown(() => agent.close())
      await run(agent, transport, extensions)
      const requests = requestsOf(agent)
      return OPERATIONS.map(operation => {
        const sent = requests.filter(one => one.operation === operation).map(one => one.names)
        return sent.length === 0 ? '–' : sent.every(names => names) ? 'yes' : sent.some(names => names) ? 'some' : 'no'
      })
    }
    for (const transport of BINDINGS.filter(one => bindings.includes(one))) {
      const cells = await measured(transport, [REQUIRED])
      // A client may have fewer calls in one binding.
      t.same(cells, transport === 'JSONRPC' ? expected : expected.map((cell, i) => cells[i] === '–' ? '–' : cell), transport)
    }
    t.same(
      await measured('JSONRPC', []),
      expected.map(cell => cell === 'yes' ? 'no' : cell),
      'no client requests an extension by itself'
    )
  })
}

/** The operations that the agent got, and whether each names the extension. */
function requestsOf (agent: GrpcAgent): { readonly operation: string, readonly names: boolean }[] {
  const overHttp = agent.calls().map(({ method, url, headers, body }) => {
    const named = String(headers['a2a-extensions'] ?? headers['x-a2a-extensions'] ?? '')
    return { operation: operationOf(method, url, body), names: named.includes(REQUIRED) }
  })
  const overGrpc = agent.grpcCalls.map(({ path, metadata }) => {
    const name = path.slice(path.lastIndexOf('/') + 1)
    const named = [...metadata.get('a2a-extensions'), ...metadata.get('x-a2a-extensions')].join()
    return { operation: GRPC_0_3[name] ?? name, names: named.includes(REQUIRED) }
  })
  return [...overHttp, ...overGrpc]
}

function operationOf (verb: string, url: string, body: Buffer): string {
  if (url.includes('jsonrpc')) {
    const { method } = parseJson(body.toString()) as { method: string }
    return operationOfMethod(method, '1.0') ?? operationOfMethod(method, '0.3') ?? method
  }
  const path = url.replace(/\?.*/, '').replace(/^\/a2a\/rest/, '')
  const found = matchRest(verb, path, '1.0', '') ?? matchRest(verb, path, '0.3', '')
  return found !== null && 'operation' in found ? found.operation : `${verb} ${url}`
}
