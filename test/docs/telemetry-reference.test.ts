/**
 * docs/reference/metrics.md, docs/reference/logs.md and docs/reference/traces.md list the real telemetry. The test sends traffic of every
 * kind through gateways. The tables contain everything that the gateways report. The gateways report everything in the tables, or another
 * test that is named here covers the entry.
 */
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { testEngine } from '#wire/json/engine-faults.js'
import type { Test } from 'tap'
import ts from 'typescript'
import { FORMATS } from '#config/schema/formats.js'
import { packageRoot } from '#config/paths.js'
import type { Described } from '#telemetry/described.js'
import { AUDIT_FIELDS, VIOLATION_FIELDS } from '#telemetry/audit-fields.js'
import { LOG_FIELDS } from '#telemetry/log-fields.js'
import type { DescribedAttribute } from '#telemetry/traces/span-attributes.js'
import { SPAN_ATTRIBUTES } from '#telemetry/traces/span-attributes.js'
import { GRPC_CODE_NAMES } from '#wire/grpc/code-names.js'
import { Metrics } from '#telemetry/metrics/metrics.js'
import { configOf, gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, JSON_TYPE, MESSAGE, MESSAGE_03, open, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import type { FakeAgent, RawRequest } from '../helpers/raw.js'
import { fakeAgent, plainCard, rawExchange } from '../helpers/raw.js'
import { tokenEndpoint } from '../identity/token-endpoint.js'

type Told = Record<string, unknown>

const page = (name: string): string => readFileSync(join(packageRoot(), 'docs', name), 'utf8')

/** Rows of the tables of a page below a heading, cell by cell; without a heading, of all its tables. */
function rowsOf (name: string, heading?: string): string[][] {
  const text = heading === undefined ? page(name) : page(name).split(/^## /m).find(one => one.startsWith(`${heading}\n`)) ?? ''
  return [...text.matchAll(/^\| (.*) \|$/gm)]
    .map(([, row = '']) => row.split(/(?<!\\)\|/).map(cell => cell.trim()))
    .filter(([first = '']) => first.startsWith('`'))
}

const named = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
const firsts = (name: string, heading?: string): string[] => rowsOf(name, heading).flatMap(([first]) => named(first))

const NEED = 'urn:need'
const SAID = 'urn:said'
const INJECTED = 'urn:injected'
const RULED = 'urn:ruled'
const PLAIN = 'urn:plain'

const EXTENSIONS = `extensions:
  injected: {uri: "${INJECTED}", activation: {default: inject}, owns: {metadata: [added]}, inactive: {request: strip}, inject: [{metadata: added, value: 1}]}
  ruled:
    uri: "${RULED}"
    mode: enforce
    owns: {metadata: [cost]}
    request:
      - {id: total, select: {part: {data: true}}, schema: {type: object, required: [total]}}
    response:
      - {id: note, select: {metadata: {key: note}}, count: {max: 0}, verdict: strip}
      - {id: bad, select: {metadata: {key: bad}}, count: {max: 0}, verdict: reject}
      - {id: odd, select: {metadata: {key: odd}}, count: {max: 0}}
    state: {from: {metadata: {in: [status], key: cost.step}}, taskStates: {done: [completed]}, transitions: {'': [done], done: []}}
    observe:
      spanAttributes: {answer.cost: {metadata: {key: cost}}}
      metrics:
        - {name: spent, type: counter, from: {metadata: {key: cost}}}
        - {name: price, type: gauge, from: {metadata: {key: cost}}}
  watched: {uri: urn:watched, mode: observe, activation: {required: always}}
  stripped: {uri: urn:stripped, inactive: {request: strip, response: forward}, owns: {metadata: [loose]}}
  tool: {uri: urn:tool, activation: {signals: [header]}, routes: [{verb: GET, path: /listCommands, need: declared}]}
`

/** Methods and routes of the policies. */
const DECLARED = ['GET /listCommands']

/** Answers by what the message id says. */
function answer (request: RawRequest, response: ServerResponse): void {
  const body = request.body.toString()
  const wish = /wish-([a-z]+)/.exec(body + request.url)?.[1] ?? ''
  const message = (metadata: object = {}, more: object = {}): object => ({
    message: { messageId: 'a', role: 'ROLE_AGENT', parts: [{ text: 'ok' }], metadata, ...more }
  })
  const send = (result: object): void => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))
  }
  switch (wish) {
    case 'die': response.socket?.resetAndDestroy(); return
    case 'wait': response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders(); return
    case 'page': response.writeHead(500, { 'content-type': 'text/html' }).end('<html>'); return
    case 'moved': response.writeHead(302, { location: '/' }).end(); return
    case 'garbage': response.setHeader('content-type', 'application/json').end('{'); return
    case 'fault': response.setHeader('content-type', 'application/json').end('{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no"}}'); return
    case 'text': response.setHeader('content-type', 'text/plain').end('ok'); return
    case 'packed': response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end('x'); return
    case 'large': send(message({ cost: 1, filler: 'x'.repeat(100_000) })); return
    case 'cost': send(message({ cost: 3, odd: 1 }, { extensions: [SAID, RULED] })); return
    case 'note': send(message({ note: 1 })); return
    case 'bad': send(message({ bad: 1 })); return
    case 'task': send({ task: { id: 't1', contextId: 'c', status: { state: 'TASK_STATE_INPUT_REQUIRED' } } }); return
    case 'events':
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (let i = 0; i < 25; i++) response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: message({ odd: 1 }) })}\n\n`)
      response.end()
      return
    default: send(message())
  }
}

const wishing = (wish: string, more: object = {}): object => ({ message: { ...MESSAGE, messageId: `wish-${wish}`, ...more } })
const asking = (...uris: string[]): string[] => ['a2a-extensions', [NEED, ...uris].join()]

const OPERATIONS = [
  'GetTask',
  'ListTasks',
  'CancelTask',
  'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs',
  'DeleteTaskPushNotificationConfig',
  'GetExtendedAgentCard'
]

async function traffic (t: Test): Promise<TestGateway> {
  const card = (url: string): object =>
    plainCard(url, {
      capabilities: {
        streaming: true,
        extendedAgentCard: true,
        extensions: [{ uri: NEED, required: true }, ...[SAID, INJECTED, RULED, PLAIN, 'urn:tool'].map(uri => ({ uri }))]
      }
    })
  const agent: FakeAgent = await fakeAgent(t, { card, answer })
  let cards = 0
  const changing = await fakeAgent(t, {
    card: url =>
      ++cards > 6
        ? 'broken'
        : plainCard(url, {
          description: `number ${cards < 3 ? 1 : cards}`,
          supportedInterfaces: [
            ...(plainCard(url).supportedInterfaces as object[]),
            { url: 'grpc://h', protocolBinding: 'GRPC', protocolVersion: '1.0' }
          ]
        })
  })
  const endpoint = await tokenEndpoint(t)
  const token = `{clientCredentials: {endpoint: "${endpoint.url}", client: {id: gateway, secret: {env: CLIENT_SECRET}}}}`
  const entry = (name: string, url: string, more = ''): string =>
    `  - {name: ${name}, path: /${name}, upstream: {url: "${url}", timeouts: {connect: 500ms, total: 10s}}, card: {refresh: 10ms, maxStale: 100ms}, responses: enforce, extensions: [injected, ruled, stripped, tool]${more}}`
  const yaml = [
    'limits: {response: 50KiB, headers: 4KiB}',
    'server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, console: {public: /catalogue}}',
    'telemetry: {logs: {level: trace}, traces: {enabled: true}, audit: {forwarded: true}}',
    'agents:',
    entry('agent', agent.url, ', passthrough: [/docs]'),
    entry('watching', agent.url, ', passthrough: [/docs]')
      .replace('responses: enforce', 'responses: observe')
      .replace('[injected', '[watched, injected'),
    entry('carded', agent.url)
      .replace('extensions: [injected', 'extensions: [{ruled: {card: {params: {type: object, required: [x]}}}}, injected')
      .replace('[{ruled', '[{ruled')
      .replace(', ruled, stripped', ', stripped')
      .replace('responses', 'mode: observe, responses'),
    entry('open', agent.url, ', unknownMethods: forward'),
    entry('changing', changing.url),
    entry('paid', agent.url).replace('upstream: {', `upstream: {credentials: {send: [${token}]}, `),
    entry('away', 'http://127.0.0.1:1'),
    entry('waiting', agent.url).replace('card: {', 'card: {changes: hold, '),
    EXTENSIONS
  ].join('\n')
  const env = { OTEL_TRACES_EXPORTER: 'console', CLIENT_SECRET: 'secret' }
  const gateway = await gatewayFor(t, { yaml, env }, false)
  const { url } = gateway
  await until(async () => (await rpc(`${url}/agent/rpc`, 'GetTask', {})).status === 200, 'a card')
  await until(async () => (await rpc(`${url}/watching/rpc`, 'GetTask', {})).status === 200, 'a card')

  const trace = ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01']
  const at = `${url}/agent/rpc`
  await rpc(at)
  await rpc(at, 'SendMessage', wishing('cost'), [...asking(RULED, PLAIN), ...trace])
  await rpc(`${url}/watching/rpc`, 'SendMessage', wishing('cost'), asking(RULED))
  await rpc(at, 'SendMessage', wishing('', { parts: [{ data: {} }] }), asking(RULED))
  await rpc(at, 'SendMessage', wishing('', { parts: Array.from({ length: 25 }, () => ({ data: {} })) }), asking(RULED))
  await rpc(at, 'SendMessage', wishing('', { metadata: { loose: 1 } }), asking())
  await rpc(at, 'SendMessage', wishing('', { metadata: { cost: 1 } }), asking(RULED))
  for (const wish of ['note', 'bad', 'garbage', 'text', 'packed', 'large', 'die', 'page', 'moved', 'task', 'fault']) {
    await rpc(at, 'SendMessage', wishing(wish), asking(RULED))
  }
  await rpc(at, 'SendMessage', wishing('', { taskId: 't1' }), asking(RULED))
  await rpc(at, 'SendMessage', wishing('', { taskId: 'none' }), asking(RULED))
  for (const place of [at, `${url}/watching/rpc`]) await rpc(place, 'SendStreamingMessage', wishing('events'), asking(RULED))
  for (const operation of OPERATIONS) await rpc(at, operation, { id: 't1', taskId: 't1' }, asking())
  await rpc(`${url}/open/rpc`, 'acme/own', {}, asking())
  await call(at, { headers: JSON_TYPE, body: rpcBody('message/send', { message: MESSAGE_03 }) })
  await call(`${url}/agent/rest/tasks/1`, { headers: V1 })
  await call(`${url}/agent/rest/tasks/1`)
  await call(`${url}/nowhere/x`)
  await call(`${url}/agent/.well-known/agent-card.json`)
  await call(`${url}/catalogue`)
  await call(`${url}/agent/docs/x`)
  await call(`${url}/agent/listCommands`, { headers: [...V1, 'a2a-extensions', 'urn:tool'] })
  await call(at, { method: 'OPTIONS', headers: V1 })
  await rpc(`${url}/away/rpc`)
  await until(async () => (await rpc(`${url}/paid/rpc`)).status !== 503, 'a card')
  await rpc(`${url}/paid/rpc`, 'SendMessage', wishing(''), asking())
  await until(async () => (await (await fetch(`${gateway.adminUrl}/agents`)).text()).includes('carded'))
  await rpc(`${url}/carded/rpc`)
  const leaving = open(`${url}/agent/rest/tasks/wish-wait:subscribe`, { headers: [...V1, ...asking()] })
  leaving.on('error', () => {})
  leaving.end()
  const [incoming] = await once(leaving, 'response')
  incoming.on('error', () => {})
  leaving.destroy()
  await rawExchange(url, 'NOT HTTP\r\n\r\n')
  await rawExchange(url, `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(10_000)}\r\n\r\n`)
  await until(() => gateway.logs().some(line => /the card has expired/.test(String(line.msg))), 'a card to expire')
  await gateway.reload(configOf({ yaml: yaml.replace('50KiB', '40KiB').replace('responses: observe', 'responses: enforce'), env }), [
    'a warning'
  ])
  gateway.reject([{ file: 'gateway.yaml', line: 1, col: 1, message: 'a problem', code: 'A2AGW_ERR_CONFIG_VALUE' }])
  await until(
    async () =>
      (await gateway.metric(
        'a2a_gateway_requests_total{agent="agent",operation="SubscribeToTask",binding="HTTP+JSON",version="1.0",outcome="client_aborted"}'
      )) === 1
  )
  return gateway
}

/** A gateway in trouble: what it is to send to and remember on is away. */
async function trouble (t: Test): Promise<TestGateway> {
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { extensions: [{ uri: RULED }, { required: true }] } }),
    answer
  })
  const gateway = await gatewayFor(t, {
    yaml: `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", publicUrl: "https://agents.example.com"}\nagents: [{name: agent, upstream: {url: "${agent.url}"}, extensions: [ruled]}]\n${EXTENSIONS}\nstate: {store: "redis://127.0.0.1:1"}\ntelemetry: {logs: {level: trace}, traces: {enabled: true}}`,
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_TRACES_SAMPLER: 'sometimes'
    }
  })
  await rpc(`${gateway.url}/rpc`, 'SendMessage', wishing('task', { taskId: 't1' }), asking(RULED))
  await until(
    () => gateway.logs().some(line => 'spans_lost' in line) && gateway.logs().some(line => 'reason' in line),
    'all troubles',
    60_000
  )
  return gateway
}

/** One that has too much to do. */
async function crowded (t: Test): Promise<TestGateway> {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, {
    yaml: `agents: [{name: agent, upstream: {url: "${agent.url}"}}]\nshedding: {heapUsed: 1MiB}\ntelemetry: {logs: {level: warn}}`
  })
  await until(() => gateway.logs().some(line => 'signs' in line), 'load to be shed', 60_000)
  await rpc(`${gateway.url}/rpc`)
  return gateway
}

const OVER_GRPC = 'test/front/grpc-telemetry.test.ts'
const IN_A_MESH = 'test/front/mesh-responses.test.ts'

/** In the tables, and not told by the traffic here: the test whose text has it. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'requests_total operation Catalog': 'test/gateway/catalog.test.ts',
  a2a_gateway_agent_sources: 'test/agents/catalog-source.test.ts',
  a2a_gateway_agent_source_age_seconds: 'test/agents/catalog-source.test.ts',
  a2a_gateway_agent_source_readable: 'test/agents/catalog-source.test.ts',
  'agent_sources state admitted': 'test/agents/catalog-source.test.ts',
  'agent_sources state waiting': 'test/agents/catalog-source.test.ts',
  'agent_sources state rejected': 'test/agents/catalog-source.test.ts',
  'log identifier': 'test/agents/catalog-source.test.ts',
  'log admitted': 'test/agents/catalog-source.test.ts',
  'log waiting': 'test/agents/catalog-source.test.ts',
  'log rejected': 'test/agents/catalog-source.test.ts',
  a2a_gateway_workers: 'test/cluster/workers.test.ts',
  a2a_gateway_worker_restarts_total: 'test/cluster/workers.test.ts',
  // Only where something bounds the memory.
  a2a_gateway_memory_limit_bytes: 'test/telemetry/metrics.test.ts',
  // Needs a client that is slow, or many.
  'client_errors_total kind timeout': 'test/limits/connections.test.ts',
  'client_errors_total kind memory': 'test/front/mesh-memory.test.ts',
  'client_errors_total kind other': 'test/limits/connections.test.ts',
  'client_errors_total kind dropped': 'test/limits/connections.test.ts',
  'client_errors_total kind tls_handshake': 'test/front/listener-tls.test.ts',
  'client_errors_total kind write_timeout': 'test/limits/slow-readers.test.ts',
  'answers_unread_total reason no_memory': 'test/limits/memory.test.ts',
  // Faults of agents have a table of their own.
  'upstream_errors_total kind refused': 'test/faults/table.test.ts',
  'upstream_errors_total kind dns': 'test/faults/dns.test.ts',
  'upstream_errors_total kind connect_timeout': 'test/upstream/upstream-failures.test.ts',
  'upstream_errors_total kind tls': 'test/faults/tls.test.ts',
  'upstream_errors_total kind headers_timeout': 'test/faults/table.test.ts',
  'upstream_errors_total kind body_timeout': 'test/faults/table.test.ts',
  'upstream_errors_total kind queue_timeout': 'test/limits/queue.test.ts',
  'upstream_errors_total kind total_timeout': 'test/limits/queue.test.ts',
  'upstream_errors_total kind too_large': 'test/upstream/upstream-failures.test.ts',
  'upstream_errors_total kind resources': 'test/faults/shortage.test.ts',
  'upstream_errors_total kind other': 'test/upstream/upstream-failures.test.ts',
  // Needs an agent that knows ETag.
  'card_refreshes_total outcome not_modified': 'test/upstream/card-source.test.ts',
  // Lines of several processes, whose fields test/cluster/workers.test.ts holds to the table.
  // The version of Node, where it reads JSON wrongly.
  ...(testEngine().faults.length > 0 ? {} : { 'log node': 'test/wire/parse-json.test.ts' }),
  // Nothing known causes such an error.
  'log place': 'test/front/mesh-responses.test.ts',
  'log worker': 'test/cluster/workers.test.ts',
  'log metrics': 'test/admin/hosts.test.ts',
  'log certificate': 'test/front/listener-tls.test.ts',
  'log validTo': 'test/front/listener-tls.test.ts',
  'log workers': 'test/cluster/workers.test.ts',
  'log of': 'test/cluster/workers.test.ts',
  'log pid': 'test/cluster/workers.test.ts',
  'log serving': 'test/cluster/workers.test.ts',
  'log how': 'test/cluster/workers.test.ts',
  // A request tells at most 20 violations of a rule; a reader must be slower than a test can wait for.
  'audit violations_omitted': 'test/telemetry/audit.test.ts',
  'audit dropped': 'test/telemetry/audit.test.ts',
  // Only with `unique`.
  a2a_gateway_unique_claims_total: 'test/gateway/unique.test.ts',
  'unique_claims_total outcome new': 'test/gateway/unique.test.ts',
  'unique_claims_total outcome seen': 'test/gateway/unique.test.ts',
  'unique_claims_total outcome unavailable': 'test/gateway/unique.test.ts',
  // Only with `pause`.
  a2a_gateway_paused_requests_total: 'test/pause/lifecycle.test.ts',
  'paused_requests_total outcome paused': 'test/pause/lifecycle.test.ts',
  'paused_requests_total outcome resumed': 'test/pause/lifecycle.test.ts',
  'paused_requests_total outcome declined': 'test/pause/lifecycle.test.ts',
  'paused_requests_total outcome canceled': 'test/pause/lifecycle.test.ts',
  'audit paused_rules': 'test/pause/lifecycle.test.ts',
  // Only with `rates` and `budgets`.
  a2a_gateway_rate_limited_total: 'test/limits/rates.test.ts',
  a2a_gateway_rate_store_total: 'test/system/redis-limits.test.ts',
  'rate_store_total outcome ok': 'test/system/redis-limits.test.ts',
  'rate_store_total outcome unavailable': 'test/system/redis-limits.test.ts',
  a2a_gateway_budget_spent_total: 'test/limits/budgets.test.ts',
  'audit limit': 'test/limits/rates.test.ts',
  'span a2a_gateway.limit': 'test/limits/rates.test.ts',
  // Only with `access.delegation`.
  a2a_gateway_delegations_total: 'test/delegation/chain.test.ts',
  'delegations_total outcome direct': 'test/delegation/gateway.test.ts',
  'delegations_total outcome delegated': 'test/delegation/chain.test.ts',
  'delegations_total outcome malformed': 'test/pipeline/delegation.test.ts',
  'delegations_total outcome signature': 'test/delegation/chain.test.ts',
  'delegations_total outcome unknown_key': 'test/delegation/chain.test.ts',
  'delegations_total outcome expired': 'test/delegation/chain.test.ts',
  'delegations_total outcome presenter': 'test/delegation/chain.test.ts',
  'delegations_total outcome missing': 'test/pipeline/delegation.test.ts',
  'delegations_total outcome depth': 'test/delegation/chain.test.ts',
  'delegations_total outcome loop': 'test/pipeline/delegation.test.ts',
  'delegations_total outcome target': 'test/delegation/chain.test.ts',
  'delegations_total outcome initiator': 'test/delegation/chain.test.ts',
  'delegations_total outcome unavailable': 'test/delegation/gateway.test.ts',
  'delegations_total outcome length': 'test/pipeline/delegation.test.ts',
  'delegations_total outcome time': 'test/pipeline/delegation.test.ts',
  'audit delegation': 'test/delegation/chain.test.ts',
  'span a2a_gateway.delegation.depth': 'test/delegation/span.test.ts',
  // Only with `external`.
  a2a_gateway_external_decisions_total: 'test/external/http.test.ts',
  'external_decisions_total outcome allow': 'test/external/http.test.ts',
  'external_decisions_total outcome deny': 'test/external/http.test.ts',
  'external_decisions_total outcome obligation': 'test/external/http.test.ts',
  'external_decisions_total outcome error': 'test/external/faults.test.ts',
  'external_decisions_total outcome forwarded': 'test/external/faults.test.ts',
  a2a_gateway_external_decision_duration_seconds: 'test/external/http.test.ts',
  'external_decision_duration_seconds phase request': 'test/external/http.test.ts',
  'external_decision_duration_seconds phase response': 'test/external/responses.test.ts',
  'audit external': 'test/external/http.test.ts',
  'audit notices': 'test/external/http.test.ts',
  'log decision_point': 'test/external/telemetry.test.ts',
  'span ExternalDecision': 'test/external/telemetry.test.ts',
  'span a2a_gateway.external': 'test/external/telemetry.test.ts',
  // Only with `push`.
  a2a_gateway_push_urls_total: 'test/gateway/push-resolve.test.ts',
  'push_urls_total decision allow': 'test/gateway/push-resolve.test.ts',
  'push_urls_total decision observe': 'test/gateway/push-resolve.test.ts',
  'push_urls_total decision reject': 'test/gateway/push-resolve.test.ts',
  // Only with `access.tasks`.
  a2a_gateway_task_owner_checks_total: 'test/gateway/task-ownership.test.ts',
  'task_owner_checks_total outcome match': 'test/gateway/task-ownership.test.ts',
  'task_owner_checks_total outcome mismatch': 'test/gateway/task-ownership.test.ts',
  'task_owner_checks_total outcome unknown': 'test/gateway/task-ownership.test.ts',
  'task_owner_checks_total outcome unavailable': 'test/gateway/task-owners-responses.test.ts',
  'task_owner_checks_total outcome shared': 'test/gateway/task-ownership.test.ts',
  'audit owner': 'test/gateway/task-ownership.test.ts',
  // Only with `access`.
  a2a_gateway_access_decisions_total: 'test/identity/access.test.ts',
  'access_decisions_total decision allow': 'test/identity/access.test.ts',
  'access_decisions_total decision deny': 'test/identity/access.test.ts',
  'log access_rule': 'test/identity/access.test.ts',
  'audit access_rule': 'test/identity/access.test.ts',
  'span a2a_gateway.access.rule': 'test/identity/access.test.ts',
  // Only with `upstream.credentials`.
  'upstream_credentials_total kind exchange': 'test/identity/upstream-tokens.test.ts',
  'upstream_credentials_total kind identity': 'test/identity/identity-header.test.ts',
  'upstream_credentials_total outcome cached': 'test/identity/upstream-tokens.test.ts',
  'upstream_credentials_total outcome rejected': 'test/identity/upstream-tokens.test.ts',
  'upstream_credentials_total outcome unavailable': 'test/identity/upstream-tokens.test.ts',
  'upstream_credentials_total outcome dropped': 'test/identity/upstream-tokens.test.ts',
  'audit exchange': 'test/identity/upstream-tokens.test.ts',
  // Only with `identity`.
  a2a_gateway_card_signatures_total: 'test/gateway/signed-cards.test.ts',
  'card_signatures_total outcome verified': 'test/gateway/signed-cards.test.ts',
  'card_signatures_total outcome partial': 'test/gateway/signed-cards.test.ts',
  'card_signatures_total outcome unsigned': 'test/gateway/signed-cards.test.ts',
  'card_signatures_total outcome invalid': 'test/gateway/signed-cards.test.ts',
  'card_signatures_total outcome unknown_key': 'test/gateway/signed-cards.test.ts',
  'card_signatures_total outcome unavailable': 'test/gateway/signed-cards.test.ts',
  'log form': 'test/gateway/signed-cards.test.ts',
  'log key': 'test/gateway/signed-cards.test.ts',
  a2a_gateway_authentications_total: 'test/identity/api-keys.test.ts',
  'authentications_total outcome ok': 'test/identity/api-keys.test.ts',
  'authentications_total outcome missing': 'test/identity/api-keys.test.ts',
  'authentications_total outcome malformed': 'test/identity/api-keys.test.ts',
  'authentications_total outcome expired': 'test/identity/api-keys.test.ts',
  'authentications_total outcome opaque': 'test/identity/jwt.test.ts',
  'authentications_total outcome unknown_key': 'test/identity/api-keys.test.ts',
  'authentications_total outcome audience': 'test/identity/jwt.test.ts',
  'authentications_total outcome issuer': 'test/identity/jwt.test.ts',
  'authentications_total outcome signature': 'test/identity/jwt.test.ts',
  'authentications_total outcome source': 'test/identity/require.test.ts',
  'authentications_total outcome incomplete': 'test/identity/require.test.ts',
  'authentications_total outcome unavailable': 'test/identity/jwt.test.ts',
  a2a_gateway_authentication_duration_seconds: 'test/identity/flood.test.ts',
  'authentication_duration_seconds cache hit': 'test/identity/flood.test.ts',
  'authentication_duration_seconds cache miss': 'test/identity/flood.test.ts',
  'authentication_duration_seconds cache none': 'test/identity/certificates.test.ts',
  a2a_gateway_identity_key_refreshes_total: 'test/identity/jwt.test.ts',
  'identity_key_refreshes_total outcome changed': 'test/identity/jwt.test.ts',
  'identity_key_refreshes_total outcome unchanged': 'test/identity/keys-source.test.ts',
  'identity_key_refreshes_total outcome failed': 'test/identity/jwt.test.ts',
  a2a_gateway_identity_keys_age_seconds: 'test/identity/jwt.test.ts',
  a2a_gateway_token_cache_entries: 'test/identity/jwt.test.ts',
  'log caller': 'test/identity/api-keys.test.ts',
  'log source': 'test/identity/api-keys.test.ts',
  'log omitted': 'test/identity/api-keys.test.ts',
  'audit caller': 'test/identity/api-keys.test.ts',
  'audit credential': 'test/identity/api-keys.test.ts',
  'span IssuerKeys': 'test/identity/keys-source.test.ts',
  'span enduser.pseudo.id': 'test/identity/api-keys.test.ts',
  'span a2a_gateway.caller.source': 'test/identity/api-keys.test.ts',
  // Only with `server.grpc`.
  a2a_gateway_grpc_responses_total: OVER_GRPC,
  'requests_total binding GRPC': OVER_GRPC,
  ...Object.fromEntries(GRPC_CODE_NAMES.map(name => [`grpc_responses_total status ${name}`, OVER_GRPC])),
  'log grpc_status': OVER_GRPC,
  'log grpc': OVER_GRPC,
  'audit grpc_status': OVER_GRPC,
  'requests_total outcome gateway_error': 'test/gateway/responses-json.test.ts',
  'requests_total front grpc': OVER_GRPC,
  'requests_total front ext_authz': 'test/front/mesh-requests.test.ts',
  'requests_total front ext_proc': IN_A_MESH,
  'log front': IN_A_MESH,
  'log mesh': IN_A_MESH,
  'audit front': IN_A_MESH,
  'span a2a_gateway.front': IN_A_MESH
}

const used = new Set<string>()
/** Names that were not told, here or elsewhere. */
function untold (names: readonly string[], seen: ReadonlySet<string>, kind = ''): string[] {
  return names.filter(name => {
    const key = kind === '' ? name : `${kind} ${name}`
    if (seen.has(name)) return false
    if (Object.hasOwn(ELSEWHERE, key)) used.add(key)
    return !Object.hasOwn(ELSEWHERE, key)
  })
}

interface Samples {
  readonly types: Map<string, string>
  readonly labels: { readonly metric: string; readonly label: string; readonly value: string }[]
  readonly sampled: ReadonlySet<string>
}

function samplesOf (text: string): Samples {
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]))
  const labels = [...text.matchAll(/^(\w+)\{(.*)\} \S+$/gm)].flatMap(([, name = '', list = '']) => {
    const metric = types.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, '')
    return [...list.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)]
      .filter(([, label]) => label !== 'le')
      .map(([, label = '', value = '']) => ({ metric, label, value }))
  })
  const sampled = new Set(
    [...text.matchAll(/^(\w+)(?:\{.*\})? \S+$/gm)].map(([, name = '']) =>
      types.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, '')
    )
  )
  return { types, labels, sampled }
}

const keysOf = (all: readonly Told[]): Set<string> => new Set(all.flatMap(one => Object.keys(one)))
const always = (name: string, heading: string): string[] =>
  rowsOf(name, heading)
    .filter(([, , third, fourth]) => third === 'always' || fourth === 'always')
    .flatMap(([first]) => named(first))

t.test('telemetry of gateways under every kind of traffic', async t => {
  const [gateway, ...others] = [await traffic(t), await trouble(t), await crowded(t)] as const
  const { types, labels, sampled } = samplesOf(
    (await Promise.all([gateway, ...others].map(async one => await (await fetch(`${one.adminUrl}/metrics`)).text()))).join('')
  )
  await gateway.close()
  const logs = [gateway, ...others].flatMap(one => one.logs())
  const [audits, spans] = [gateway.audits(), gateway.spans()]

  t.test('metrics', async t => {
    const table = new Map(
      rowsOf('reference/metrics.md', 'The gateway').map(([name, type, names]) => [named(name)[0] ?? '', { type, labels: named(names) }])
    )
    t.ok(table.size > 20)
    t.same([...types].filter(([name, type]) => table.get(name)?.type !== type), [], 'each is in the table')
    if (sampled.has('a2a_gateway_memory_limit_bytes')) used.add('a2a_gateway_memory_limit_bytes')
    t.same(untold([...table.keys()], sampled), [], 'each of the table has a sample')
    t.same(labels.filter(({ metric, label }) => table.get(metric)?.labels.includes(label) !== true), [], 'each label too')
    for (const [label, of, values] of rowsOf('reference/metrics.md', 'Labels').map(
      ([first, second = '', third]) => [named(first)[0] ?? '', second, third] as const
    )) {
      const metrics = /^\d+ metrics$/.test(of)
        ? [...table].filter(([, one]) => one.labels.includes(label)).map(([name]) => name)
        : named(of).map(name => `a2a_gateway_${name}`)
      t.ok(metrics.length > 0 && metrics.every(metric => table.get(metric)?.labels.includes(label) === true), `${label}: ${of}`)
      if (label !== 'operation' && values?.replaceAll(/`[^`]*`/g, '').trim() !== '') continue
      const seen = new Set(
        labels.filter(one => one.label === label && metrics.includes(one.metric) && !DECLARED.includes(one.value)).map(({ value }) => value)
      )
      t.same(
        [...seen].filter(value => !named(values).includes(value)),
        [],
        `${label} of ${of}: no other value`
      )
      t.same(untold(named(values), seen, `${named(of)[0] ?? ''} ${label}`), [], `${label} of ${of}: each value`)
    }
  })

  t.test('log lines', async t => {
    const table = firsts('reference/logs.md', 'Log').filter(name => !['reqId', 'req', 'res'].includes(name))
    t.same([...keysOf(logs)].filter(name => !table.includes(name)), [], 'each field is in the table')
    t.same(untold(table, keysOf(logs), 'log'), [], 'each of the table was there')
    for (const name of always('reference/logs.md', 'Log')) t.ok(logs.every(line => name in line), `${name} is in every line`)
  })

  t.test('audit lines', async t => {
    const table = firsts('reference/logs.md', 'Audit')
    const found = audits.flatMap(line => line.violations as Told[])
    t.same([...keysOf(audits), ...keysOf(found)].filter(name => !table.includes(name)), [], 'each member is in the table')
    t.same(untold(table, new Set([...keysOf(audits), ...keysOf(found)]), 'audit'), [], 'each of the table was there')
    const [line = ''] = page('reference/logs.md').split('\nEach of `violations`')
    for (const name of rowsOfText(line.split('## Audit')[1] ?? '')
      .filter(([, , when]) => when === 'always')
      .flatMap(([first]) => named(first))) {
      t.ok(
        audits.every(one => name in one),
        `${name} is in every line`
      )
    }
  })

  t.test('spans', async t => {
    const table = new Map(rowsOf('reference/traces.md', 'Attributes').map(([name, , on, when]) => [named(name)[0] ?? '', { on, when }]))
    const policies = new Set(['answer.cost'])
    const seen = new Set<string>()
    for (const { kind, attributes } of spans as { kind: string, attributes: Told }[]) {
      for (const name of Object.keys(attributes)) {
        const one = table.get(name)
        if (!policies.has(name) && one?.on !== kind && one?.on !== 'both') t.fail(`${name} on a ${kind} span`)
        seen.add(name)
      }
      for (const [name, one] of table) {
        if (one.when === 'always' && one.on === kind && !(name in attributes)) t.fail(`${name} is not on every ${kind} span`)
      }
    }
    t.ok(seen.has('answer.cost'))
    t.same(untold([...table.keys()], seen, 'span'), [], 'each of the table was there')
    const operations = named(rowsOf('reference/metrics.md', 'Labels').find(([label]) => label === '`operation`')?.[2])
    const names = new Set(spans.map(({ name }) => String(name)))
    t.ok(names.has('GET /listCommands'), 'a route by its name')
    t.same([...names].filter(name => ![...operations, ...DECLARED, ...firsts('reference/traces.md', 'Names')].includes(name)), [], 'each name')
    t.same(untold(firsts('reference/traces.md', 'Names'), names, 'span'), [])
    const failed = (span: Told): boolean => span.status === 'ERROR'
    const statusOf = (span: Told): number => (span.attributes as Record<string, number>)['http.response.status_code'] ?? 0
    for (const span of spans) {
      const outcome = (span.attributes as Told)['a2a_gateway.outcome']
      const failure = 'error.type' in (span.attributes as Told)
      const expected =
        span.kind === 'SERVER'
          ? outcome === 'upstream_error' || outcome === 'gateway_error' || statusOf(span) >= 500 ||
            'rpc.response.status_code' in (span.attributes as Told)
          : failure
      if (failure !== expected || failed(span) !== expected || (span.kind === 'CLIENT' && statusOf(span) >= 400 && !failed(span))) {
        t.fail(`status of ${JSON.stringify(span)}`)
      }
    }
  })
})

function rowsOfText (text: string): string[][] {
  return [...text.matchAll(/^\| (.*) \|$/gm)]
    .map(([, row = '']) => row.split('|').map(cell => cell.trim()))
    .filter(([first = '']) => first.startsWith('`'))
}

t.test('exceptions are reported elsewhere', async t => {
  t.same(Object.keys(ELSEWHERE).filter(key => !used.has(key)), [], 'no exception outlives its reason')
  for (const [key, file] of Object.entries(ELSEWHERE)) {
    const [word = ''] = key.split(' ').slice(-1)
    t.ok(existsSync(join(packageRoot(), file)), file)
    if (!key.startsWith('log ')) {
      t.match(readFileSync(join(packageRoot(), file), 'utf8'), new RegExp(`\\b${word}\\b`), `${file} has ${word}`)
    }
  }
})

t.test('a policy cannot name an attribute of the gateway\'s own SERVER spans', async t => {
  for (const [name, { on }] of Object.entries<DescribedAttribute>(SPAN_ATTRIBUTES)) {
    if (on !== 'CLIENT') t.match(FORMATS['attribute-name'](name), { message: /is reserved for the gateway's own attributes/ }, name)
  }
})

t.test('the audit lines in docs/how-to/monitor.md', async t => {
  const examples = [...page('how-to/monitor.md').matchAll(/^\{"audit".*\}$/gm)].map(([line]) => JSON.parse(line) as { phase: string, violations: Told[] })
  t.same(examples.map(({ phase }) => phase), ['response', 'task'])
  for (const example of examples) {
    const present = ([, { when }]: [string, Described]): boolean => when === undefined || when === `phase \`${example.phase}\``
    t.same(Object.keys(example), Object.entries<Described>(AUDIT_FIELDS).filter(present).map(([name]) => name), example.phase)
  }
  t.same(Object.keys(examples[0]?.violations[0] ?? {}), Object.keys(VIOLATION_FIELDS))
})

t.test(
  'every metric of the process',
  { skip: process.platform === 'linux' ? false : 'which there are differs between systems' },
  async t => {
    const metrics = new Metrics()
    t.teardown(() => {
      metrics.close()
    })
    const there = (await metrics.snapshot())
      .filter(({ name }) => !name.startsWith('a2a_gateway_'))
      .map(({ name, type }) => `${name} ${String(type)}`)
    t.same(
      rowsOf('reference/metrics.md', 'The process').map(([name, type]) => `${named(name)[0] ?? ''} ${type ?? ''}`),
      there
    )
  }
)

t.test('every field of a log line in the sources is in the table', async t => {
  const table = [...Object.keys(LOG_FIELDS)]
  const found = readdirSync(join(packageRoot(), 'src'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .flatMap(name => fieldsLogged(join(packageRoot(), 'src', name)))
  t.ok(found.length > 60)
  t.same(found.filter(({ field }) => !table.includes(field)), [])
  t.same(table.filter(name => !found.some(({ field }) => field === name)).toSorted(), THROUGH_SPREADS.toSorted(), 'and no other is')
})

/**
 * Fields that are not written as members of what a line is given: the changes of a reload, a sample of the load, a card that is logged by a
 * name.
 */
const THROUGH_SPREADS = [
  'admitted',
  'waiting',
  'rejected',
  'front',
  'status',
  'rules',
  'modes',
  'eventLoopDelay',
  'eventLoopUtilized',
  'heapUsed',
  'rssBytes',
  'name',
  'interfaces',
  'extensions',
  'form',
  'key',
  'uncarried'
]

/** Names of the members of object literals that are the first argument of a method of a log. */
function fieldsLogged (file: string): { readonly field: string, readonly at: string }[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const found: { field: string, at: string }[] = []
  const visit = (node: ts.Node): void => {
    if (
      ts.isCallExpression(node) &&
      /\b\w*[lL]og(?:ger)?\??(?:\.(?:fatal|error|warn|info|debug|trace|child)|\[[^\]]*\])$/.test(node.expression.getText())
    ) {
      const collect = (value: ts.Node): void => {
        if (ts.isObjectLiteralExpression(value)) {
          for (const member of value.properties) {
            if (member.name !== undefined) {
              found.push({
                field: member.name.getText(),
                at: `${file}:${source.getLineAndCharacterOfPosition(member.getStart()).line + 1}`
              })
            }
          }
        }
        ts.forEachChild(value, child => {
          if (
            ts.isSpreadAssignment(value) ||
            ts.isObjectLiteralExpression(value) ||
            ts.isParenthesizedExpression(value) ||
            ts.isConditionalExpression(value)
          ) { collect(child) }
        })
      }
      const [first] = node.arguments
      if (first !== undefined) collect(first)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}
