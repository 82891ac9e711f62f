/**
 * The real Envoy in front of an official agent asks the gateway by ext_authz and by ext_proc. The decisions are those of the gateway itself
 * in front of the same agent, and so are the bytes, except for the differences that docs/reference/envoy.md lists.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { envoyPath } from '../../bench/parties/envoy.js'
import { quietSdk } from '../helpers/agents.js'
import { runMatrix } from '../e2e/matrix.js'
import { managerOf, NO_ENVOY, startEnvoy } from '../helpers/envoy.js'
import type { Envoy, Listener } from '../helpers/envoy.js'
import { AGENT_LINES, behaviour, BINDINGS, DECLARED, HITL, ORDERS, REQUIRED, ROOT_LINES, see, WATCHED } from '../helpers/envoy-scenarios.js'
import type { Binding, Call, Seen, Target } from '../helpers/envoy-scenarios.js'
import { gatewayFor } from '../helpers/gateway.js'
import { startGrpcAgent } from '../helpers/grpc-agents.js'
import type { GrpcAgent } from '../helpers/grpc-agents.js'
import { freePorts, MESSAGE, rpc, until } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import type { Tree } from '../helpers/kubernetes.js'

quietSdk()

const DUPLEX = 'FULL_DUPLEX_STREAMED'
const modes = (mode: object): Listener => ({ mode: 'ext-proc', filter: filter => { Object.assign(filter.processing_mode, mode) } })

/** The ways in which Envoy can ask, as the table of docs/reference/envoy.md names them. */
const WAYS: Readonly<Record<string, Listener>> = {
  ext_authz: { mode: 'ext-authz' },
  'ext_proc, requests only': {
    mode: 'ext-proc',
    filter: filter => {
      filter.allow_mode_override = false
      Object.assign(filter.processing_mode, { response_header_mode: 'SKIP', response_body_mode: 'NONE' })
    }
  },
  ext_proc: { mode: 'ext-proc' },
  'ext_proc, responses by mode_override': modes({ response_header_mode: 'SKIP', response_body_mode: 'NONE' }),
  'ext_proc, full duplex': modes({ request_body_mode: DUPLEX, response_body_mode: DUPLEX, request_trailer_mode: 'SEND', response_trailer_mode: 'SEND' }),
  'ext_proc, full duplex for responses': modes({ response_body_mode: DUPLEX, response_trailer_mode: 'SEND' })
}

const active = (...uris: readonly string[]): Pick<Call, 'extensions'> => ({ extensions: [REQUIRED, ...uris] })
const CALLS: Readonly<Record<string, Call>> = {
  forwarded: active(),
  'forwarded, three extensions': { ...active(ORDERS, WATCHED), metadata: { [ORDERS]: { count: 1 } } },
  'no required extension': { extensions: [] },
  'data that breaks a rule': { ...active(ORDERS), metadata: { [ORDERS]: {} } },
  'a violation that is observed': { ...active(WATCHED), metadata: { [WATCHED]: {} } },
  'bytes that are no message': { ...active(), bytes: Buffer.from('{"jsonrpc":"2.0","id":"7","method":'), recorded: false },
  'an unknown method': { ...active(), unknown: true, recorded: false },
  'two versions': { ...active(), headers: ['a2a-version', '0.3'], recorded: false },
  'an error of the agent': { ...active(), operation: 'GetTask', taskId: 'unknown' },
  'a response that breaks a rule': { ...active(ORDERS), text: 'bad receipt' },
  'a response with an annotation': { ...active(ORDERS), text: 'bad note' },
  'a response with data to remove': { ...active(ORDERS), text: 'internal' },
  'a stream': { ...active(), stream: true },
  'a stream without the required extension': { extensions: [], stream: true },
  'a stream whose second event breaks a rule': { ...active(ORDERS), text: 'late bad receipt', stream: true }
}

const APPROVALS = ['a pause', 'an approval that is incomplete', 'an approval'] as const

/** A task that pauses, and goes on when the client approves all that the agent has asked for. */
async function approvals (target: Target, agent: GrpcAgent, binding: Binding): Promise<Seen[]> {
  const paused = await see(target, agent, binding, { ...active(HITL), text: 'ask' })
  const approving = (...ids: readonly string[]): Call => ({
    ...active(HITL),
    taskId: paused.task,
    metadata: { [HITL]: { type: 'tool_approval_response', approvals: ids.map(id => ({ id, approved: true })) } }
  })
  return [paused, await see(target, agent, binding, approving('a1')), await see(target, agent, binding, approving('a1', 'a2'))]
}

/** Addresses in the cards that the gateway behind Envoy writes. */
const PUBLIC = 'agents.test:443'
const PUBLIC_URL = 'http://agents.test'

/** What an official client makes of each operation, with the addresses of all listeners replaced. */
async function story ({ url, grpc }: Target, agent: GrpcAgent, transport: 'JSONRPC' | 'HTTP+JSON' | 'GRPC'): Promise<unknown> {
  // Cards are the gateway's in every mode. The test has several Envoys, and the configuration one public address.
  const addressed: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    if (!String(input).endsWith('/agent-card.json')) return response
    return new Response((await response.text()).replaceAll(PUBLIC, grpc).replaceAll(PUBLIC_URL, url), { headers: response.headers })
  }
  const told = await runMatrix({
    client: 'v1', transport, cardUrl: `${url}/.well-known/agent-card.json`, extensions: [REQUIRED], authorization: 'Bearer x', fetch: addressed
  })
  const text = JSON.stringify(told)
  return JSON.parse([agent.url, url, agent.grpcAddress, grpc, PUBLIC, PUBLIC_URL].reduce((all, one) => all.replaceAll(one, '<address>'), text).replaceAll('<agent>', '<address>'))
}

interface Fleet {
  readonly agent: GrpcAgent
  readonly standalone: Target
  readonly ways: ReadonlyMap<string, Target>
  readonly envoy: Envoy
}

async function fleet (): Promise<Fleet> {
  const agent = await startGrpcAgent({ kind: 'v1', card: { extensions: DECLARED }, behaviour })
  t.teardown(() => agent.close())
  const [http = 0, grpc = 0, mesh = 0, unused = 0] = await freePorts(4)
  const common = (server: readonly string[]): string => [
    `server: {${[...server, 'admin: "127.0.0.1:0"', 'drainTimeout: 200ms'].join(', ')}}`,
    'agents:',
    '  - name: agent',
    `    upstream: {url: "${agent.url}"}`,
    `    grpc: {upstream: "grpc://${agent.grpcAddress}"}`,
    ...AGENT_LINES.map(line => `    ${line}`),
    ...ROOT_LINES
  ].join('\n')
  const grpcListener = `grpc: {listen: "127.0.0.1:${grpc}", publicAddress: "127.0.0.1:${grpc}"}`
  const alone = await gatewayFor(t, { yaml: common([`listen: "127.0.0.1:${http}"`, grpcListener]) })
  // The gRPC listener is there for the address in cards: calls come from Envoy.
  const addressed = `grpc: {listen: "127.0.0.1:${unused}", publicAddress: "${PUBLIC}"}`
  const yaml = common(['listen: null', `mesh: {listen: "127.0.0.1:${mesh}"}`, `publicUrl: "${PUBLIC_URL}"`, addressed])
  const asked = await gatewayFor(t, { yaml })
  const envoy = await startEnvoy({
    listeners: Object.values(WAYS),
    gateways: [mesh],
    agent: { http: Number(new URL(agent.url).port), grpc: Number(agent.grpcAddress.split(':')[1]) }
  })
  t.teardown(() => envoy.stop())
  const ways = Object.keys(WAYS).map((name, i): [string, Target] => {
    const url = envoy.urls[i] ?? ''
    return [name, { url, grpc: new URL(url).host, gateway: asked }]
  })
  return { agent, envoy, standalone: { url: alone.url, grpc: `127.0.0.1:${grpc}`, gateway: alone }, ways: new Map(ways) }
}

interface Explained {
  readonly ways: RegExp
  readonly calls: RegExp
  readonly what: RegExp
  /** A row of the table in docs/reference/envoy.md. */
  readonly row: string
}

const UNSEEN = /^(?:ext_authz|ext_proc, requests only)$/
/** All differences between a call through Envoy and the same call through the gateway alone. */
const EXPLAINED: readonly Explained[] = [
  {
    ways: UNSEEN,
    calls: /^(?:a response (?:that|with)|a stream whose)/,
    what: /^(?!agent)/,
    row: "| ext_authz, or ext_proc without responses | a response that breaks a rule is the agent's | Envoy does not show it |"
  },
  {
    ways: UNSEEN,
    calls: /^an approval that is incomplete$/,
    what: /^(?:status|header|trailer|body|audit)/,
    row: '| ext_authz, or ext_proc without responses | conditions on a task find no state | the state is in earlier responses |'
  },
  {
    ways: UNSEEN,
    calls: /^/,
    what: /^(?:header|trailer) a2a-extensions$/,
    row: '| ext_authz, or ext_proc without responses | `A2A-Extensions` of the response is as the agent wrote it | the gateway does not rewrite it |'
  },
  {
    ways: /full duplex/,
    calls: /^/,
    what: /^header (?:content-length|transfer-encoding)$/,
    row: '| FULL_DUPLEX_STREAMED or STREAMED responses | `transfer-encoding: chunked` in place of `content-length` | Envoy removes it |'
  }
]

/** What differs, in words: `status`, `body`, `header NAME`, `trailer NAME`, `agent`, `audit`. */
function differences (a: Seen, b: Seen): string[] {
  const named = (kind: string, x: Readonly<Record<string, string>> = {}, y: Readonly<Record<string, string>> = {}): string[] =>
    [...new Set([...Object.keys(x), ...Object.keys(y)])].filter(name => x[name] !== y[name]).map(name => `${kind} ${name}`)
  return [
    ...(a.status === b.status ? [] : ['status']),
    ...named('header', a.headers, b.headers),
    ...named('trailer', a.trailers, b.trailers),
    ...(a.body === b.body ? [] : ['body']),
    ...(a.agent.join('\n') === b.agent.join('\n') ? [] : ['agent']),
    ...(a.audit.join('\n') === b.audit.join('\n') ? [] : ['audit'])
  ]
}

if (NO_ENVOY !== false) {
  t.test('Envoy', { skip: NO_ENVOY }, async () => {})
} else {
  t.test('Envoy accepts the bootstraps', async t => {
    for (const name of ['ext-authz', 'ext-proc']) {
      const { status, stderr } = spawnSync(envoyPath() as string, ['--mode', 'validate', '--log-level', 'error', '-c', join('deploy/envoy', `${name}.yaml`)], { encoding: 'utf8' })
      t.equal(status, 0, stderr)
    }
  })

  const { agent, standalone, ways } = await fleet()

  t.test('the same decisions and bytes as the gateway alone', async t => {
    const found: string[] = []
    const compare = (way: string, binding: Binding, name: string, alone: Seen, seen: Seen): void => {
      found.push(...differences(alone, seen).map(what => `${way} | ${binding} | ${name} | ${what}`))
    }
    for (const binding of BINDINGS) {
      for (const [name, one] of Object.entries(CALLS)) {
        const alone = await see(standalone, agent, binding, one)
        for (const [way, target] of ways) compare(way, binding, name, alone, await see(target, agent, binding, one))
      }
      const alone = await approvals(standalone, agent, binding)
      for (const [way, target] of ways) {
        const seen = await approvals(target, agent, binding)
        for (const [i, name] of APPROVALS.entries()) compare(way, binding, name, alone[i] as Seen, seen[i] as Seen)
      }
    }
    const page = readFileSync('docs/reference/envoy.md', 'utf8')
    const used = new Set<Explained>()
    const unexplained = found.filter(line => {
      const [way = '', , name = '', what = ''] = line.split(' | ')
      const reason = EXPLAINED.find(({ ways, calls, what: which }) => ways.test(way) && calls.test(name) && which.test(what))
      if (reason !== undefined) used.add(reason)
      return reason === undefined
    })
    t.same(unexplained, [])
    t.same(EXPLAINED.filter(one => !used.has(one)).map(({ row }) => row), [], 'each explanation has a difference')
    t.same(EXPLAINED.filter(({ row }) => !page.includes(`\n${row}\n`)).map(({ row }) => row), [], 'docs/reference/envoy.md explains each difference')
  })

  t.test('every operation of an official client', async t => {
    for (const transport of ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const) {
      const alone = await story(standalone, agent, transport)
      for (const [way, target] of ways) {
        if (way !== 'ext_proc, requests only') t.same(await story(target, agent, transport), alone, `${way}, ${transport}`)
      }
    }
  })

  t.test('Envoy names the agent, by its route or by a header of the request', async t => {
    const [mesh = 0] = await freePorts(1)
    const server = `server: {listen: null, mesh: {listen: "127.0.0.1:${mesh}"}, admin: "127.0.0.1:0", publicUrl: "${PUBLIC_URL}", drainTimeout: 200ms}`
    const agents = ['one', 'two'].map(name => `  - {name: ${name}, path: /${name}, upstream: {url: "${agent.url}"}}`)
    const gateway = await gatewayFor(t, { yaml: [server, 'agents:', ...agents, 'telemetry: {logs: {level: silent}, audit: {forwarded: true}}'].join('\n') })
    const type = (name: string): string => `type.googleapis.com/envoy.extensions.filters.http.${name}`
    const routed = (config: object) => (listener: Tree): void => {
      for (const route of managerOf(listener).route_config.virtual_hosts[0].routes) route.typed_per_filter_config = { 'a2a-gateway': config }
    }
    const inMetadata = (listener: Tree): void => {
      managerOf(listener).http_filters.unshift({
        name: 'agent',
        typed_config: { '@type': type('set_metadata.v3.Config'), metadata: [{ metadata_namespace: 'a2a-gateway', value: { agent: 'two' } }] }
      })
    }
    const byHeader = (filter: Tree): void => { filter.grpc_service.initial_metadata = [{ key: 'a2a-agent', value: '%REQ(x-agent)%' }] }
    const envoy = await startEnvoy({
      listeners: [
        {
          mode: 'ext-authz',
          listener: routed({ '@type': type('ext_authz.v3.ExtAuthzPerRoute'), check_settings: { context_extensions: { 'a2a-agent': 'two' } } })
        },
        {
          mode: 'ext-proc',
          listener: routed({ '@type': type('ext_proc.v3.ExtProcPerRoute'), overrides: { grpc_initial_metadata: [{ key: 'a2a-agent', value: 'two' }] } })
        },
        { mode: 'ext-authz', listener: inMetadata, filter: filter => { filter.metadata_context_namespaces = ['a2a-gateway'] } },
        { mode: 'ext-proc', listener: inMetadata, filter: filter => { filter.metadata_options = { forwarding_namespaces: { untyped: ['a2a-gateway'] } } } },
        {
          mode: 'ext-authz',
          listener: listener => {
            for (const route of managerOf(listener).route_config.virtual_hosts[0].routes) route.metadata = { filter_metadata: { 'a2a-gateway': { agent: 'two' } } }
          },
          filter: filter => { filter.route_metadata_context_namespaces = ['a2a-gateway'] }
        },
        { mode: 'ext-authz', filter: byHeader },
        { mode: 'ext-proc', filter: byHeader }
      ],
      gateways: [mesh],
      agent: { http: Number(new URL(agent.url).port) }
    })
    t.teardown(() => envoy.stop())
    for (const [i, url] of envoy.urls.entries()) {
      const send = (name: string): Promise<Answer> => rpc(`${url}/a2a/jsonrpc`, 'SendMessage', { message: MESSAGE }, ['a2a-extensions', REQUIRED, 'x-agent', name])
      const before = gateway.audits().length
      agent.received.length = 0
      t.match((await send('two')).json(), { result: {} }, `${i}`)
      await until(() => gateway.audits().length > before)
      t.equal(gateway.audits()[before]?.agent, 'two')
      t.equal(agent.calls().length, 1)
      if (i < 5) continue
      t.match((await send('three')).text, /"error"/, 'an unknown name')
      t.equal(agent.calls().length, 1)
    }
  })
}
