/**
 * Real policy servers: Open Policy Agent and Cerbos with the policies of `examples`, and a plain Fastify server. Each decides by caller,
 * operation, extension and selected data, about calls over JSON-RPC, HTTP+JSON, gRPC, and the real Envoy with ext_proc and ext_authz.
 */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Fastify from 'fastify'
import t from 'tap'
import type { Test } from 'tap'
import { keyDigest } from '#identity/api-keys.js'
import { requestOf } from '../front/grpc-kit.js'
import { quietSdk } from '../helpers/agents.js'
import { NO_ENVOY, startEnvoy } from '../helpers/envoy.js'
import { gatewayFor } from '../helpers/gateway.js'
import { startGrpcAgent } from '../helpers/grpc-agents.js'
import type { GrpcAgent } from '../helpers/grpc-agents.js'
import { RawGrpc } from '../helpers/grpc-raw.js'
import { call, freePorts, JSON_TYPE, rpc, until, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { ROOT } from '../helpers/paths.js'
import type { Question } from '../external/kit.js'

quietSdk()

const PAYMENTS = 'https://example.com/ext/payments/v1'
const OPA = process.env.OPA ?? 'opa'
const CERBOS = process.env.CERBOS ?? 'cerbos'
const missing = (program: string, args: readonly string[], install: string): string | false =>
  spawnSync(program, args).status === 0 ? false : `needs ${program}: ${install}`

interface PolicyServer {
  readonly name: string
  /** The folder of `examples` with its configuration of the gateway. */
  readonly example: 'opa' | 'cerbos'
  readonly skip: string | false
  /** True for a server whose answers have obligations, and reasons for users. */
  readonly obliges: boolean
  /** @returns the evaluation endpoint */
  readonly start: (t: Test, directory: string) => Promise<string>
}

async function started (t: Test, program: string, args: readonly string[], health: string): Promise<void> {
  const child = spawn(program, args, { stdio: 'ignore' })
  t.teardown(() => { child.kill('SIGKILL') })
  await until(async () => await fetch(health).then(response => response.ok, () => false), program, 60_000)
}

async function opa (t: Test): Promise<string> {
  const [port] = await freePorts(1)
  const at = `127.0.0.1:${port}`
  await started(t, OPA, ['run', '--server', '--addr', at, join(ROOT, 'examples/opa/policy.rego')], `http://${at}/health`)
  return `http://${at}/v0/data/a2a/answer`
}

async function cerbos (t: Test, directory: string): Promise<string> {
  const [http, grpc] = await freePorts(2)
  const file = join(directory, 'cerbos.yaml')
  const text = readFileSync(join(ROOT, 'examples/cerbos/cerbos.yaml'), 'utf8')
  writeFileSync(file, text.replace(':3592', `:${http}`).replace(':3593', `:${grpc}`).replace('examples/cerbos/policies', join(ROOT, 'examples/cerbos/policies')))
  await started(t, CERBOS, ['server', '--config', file], `http://127.0.0.1:${http}/_cerbos/health`)
  return `http://127.0.0.1:${http}/access/v1/evaluation`
}

async function plain (t: Test): Promise<string> {
  const app = Fastify()
  app.post<{ Body: Question }>('/access/v1/evaluation', ({ body: { subject, action, context } }) => {
    const { rule, selected, extensions } = context as unknown as
      { rule?: string, selected?: { value: number }[], extensions: { active: string[] } }
    const groups = (subject?.['properties']?.['groups'] ?? []) as unknown as string[]
    const denied = (reason: string) => ({ decision: false, context: { reason_user: reason } })
    if (String(action?.['name']) === 'CancelTask') return denied('Tasks cannot be cancelled.')
    if (rule === 'payments/amount' && !groups.includes('treasury') && selected?.some(({ value }) => value > 1000) === true) {
      return denied('Payments above 1000 need a member of treasury.')
    }
    const strip = { type: 'custom', id: 'no-iban', properties: { vendor: 'a2a', action: 'strip', path: '/message/parts/*/data/iban' } }
    return { decision: true, context: { obligations: extensions.active.includes(PAYMENTS) ? [strip] : [] } }
  })
  t.teardown(() => app.close())
  return `${await app.listen({ port: 0, host: '127.0.0.1' })}/access/v1/evaluation`
}

const SERVERS: readonly PolicyServer[] = [
  { name: 'Open Policy Agent', example: 'opa', skip: missing(OPA, ['version'], 'go install github.com/open-policy-agent/opa@latest'), obliges: true, start: opa },
  { name: 'Cerbos', example: 'cerbos', skip: missing(CERBOS, ['--version'], 'npm install --global cerbos@0.51'), obliges: false, start: cerbos },
  { name: 'Fastify', example: 'opa', skip: false, obliges: true, start: plain }
]

const KEYS = { ada: 'a2agw_key-of-ada-0123456789abcdef', tess: 'a2agw_key-of-tess-0123456789abcdef' }
type Caller = keyof typeof KEYS

interface One {
  readonly operation: 'SendMessage' | 'CancelTask' | 'GetTask'
  readonly params: object
  readonly caller: Caller
  readonly extension: boolean
}

/** `passed`, or how the call was rejected. */
type Way = (one: One) => Promise<string>

const linesOf = ({ caller, extension }: One): string[] => ['x-api-key', KEYS[caller], ...(extension ? ['a2a-extensions', PAYMENTS] : [])]

/** What the gateway says about a call; the errors of the agent are no decision. */
function said ({ status, text }: Pick<Answer, 'status' | 'text'>): string {
  if (text.includes('EXTERNAL_DECISION_')) return `denied: ${/does not allow the call: ([^"]*?)"/.exec(text)?.[1] ?? ''}`
  return status === 500 ? 'cannot be changed' : 'passed'
}

const overJsonRpc = (url: string): Way => async one => said(await rpc(`${url}/a2a/jsonrpc`, one.operation, one.params, linesOf(one)))

const overRest = (url: string): Way => async one => {
  const { id } = one.params as { id?: string }
  const headers = [...JSON_TYPE, ...V1, ...linesOf(one)]
  if (one.operation === 'GetTask') return said(await call(`${url}/a2a/rest/tasks/${id}`, { headers }))
  const path = one.operation === 'SendMessage' ? 'message:send' : `tasks/${id}:cancel`
  return said(await call(`${url}/a2a/rest/${path}`, { headers, body: JSON.stringify(one.operation === 'SendMessage' ? one.params : {}) }))
}

const overGrpc = (client: RawGrpc): Way => async one => {
  const lines = linesOf(one)
  const headers = Object.fromEntries(lines.flatMap((name, i) => i % 2 === 0 ? [[name, lines[i + 1] ?? '']] : []))
  const { status, message } = await client.call({
    path: `/lf.a2a.v1.A2AService/${one.operation}`, headers, body: requestOf(one.params, one.operation)
  })
  return status === 7 ? `denied: ${/does not allow the call: (.*)$/.exec(message)?.[1] ?? ''}` : 'passed'
}

interface SetUp { readonly agent: GrpcAgent, readonly ways: Record<string, Way> }

async function setUp (t: Test, { example, start }: PolicyServer): Promise<SetUp> {
  const agent = await startGrpcAgent({ kind: 'dual', card: { extensions: [{ uri: PAYMENTS }] } })
  t.teardown(() => agent.close())
  const keys = Object.entries(KEYS).map(([id, key]) => `- {id: ${id}, sha256: ${keyDigest(key)}, groups: [${id === 'tess' ? 'treasury' : 'users'}]}`)
  const directory = t.testdir({ 'keys.yaml': keys.join('\n') })
  const url = await start(t, directory)
  const [http, grpc, mesh] = await freePorts(3)
  const own = readFileSync(join(ROOT, 'examples', example, 'gateway.yaml'), 'utf8')
    .replace(/^version: 1\n/m, '').replace('timeout: 300ms', 'timeout: 10s')
    .replace(/^server:.*$/m, `server: {listen: "127.0.0.1:${http}", publicUrl: "http://127.0.0.1:${http}", admin: "127.0.0.1:0", drainTimeout: 200ms, grpc: {listen: "127.0.0.1:${grpc}", publicAddress: "127.0.0.1:${grpc}"}, mesh: {listen: "127.0.0.1:${mesh}"}}`)
    .replace(/\$\{(?:OPA|CERBOS)_URL:-.*?\}/, url).replace(/\$\{AGENT_URL:-.*?\}/, agent.url)
    .replace('    extensions: [payments]\n', '    extensions: [payments]\n    access: {}\n')
  const yaml = `${own}\nidentity: {sources: {keys: {apiKey: {header: x-api-key, keys: {file: "${join(directory, 'keys.yaml')}"}}}}}`
  await gatewayFor(t, { yaml })
  const client = await RawGrpc.to(`127.0.0.1:${grpc}`)
  t.teardown(() => { client.close() })
  const ways: Record<string, Way> = {
    'JSON-RPC': overJsonRpc(`http://127.0.0.1:${http}`), 'HTTP+JSON': overRest(`http://127.0.0.1:${http}`), gRPC: overGrpc(client)
  }
  if (NO_ENVOY === false) {
    const ports = { http: Number(new URL(agent.url).port), grpc: Number(agent.grpcAddress.split(':')[1]) }
    const envoy = await startEnvoy({ listeners: [{ mode: 'ext-proc' }, { mode: 'ext-authz' }], gateways: [mesh as number], agent: ports })
    t.teardown(() => envoy.stop())
    ways['ext_proc'] = overJsonRpc(envoy.urls[0] ?? '')
    ways['ext_authz'] = overJsonRpc(envoy.urls[1] ?? '')
  }
  return { agent, ways }
}

const pay = (caller: Caller, data: object, extension = true): One =>
  ({ operation: 'SendMessage', params: { message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ data }] } }, caller, extension })

for (const server of SERVERS) {
  t.test(server.name, { skip: server.skip }, async t => {
    const { agent, ways } = await setUp(t, server)
    /** What the agent got, since the last call of this function. */
    const arrived = (): string[] => {
      const all = [...agent.calls().map(({ body }) => body.toString()), ...agent.grpcCalls.map(({ read }) => JSON.stringify(read))]
      agent.received.length = agent.grpcCalls.length = 0
      return all
    }
    const because = (reason: string): string => server.obliges ? `denied: ${reason}` : 'denied: '
    for (const [name, way] of Object.entries(ways)) {
      arrived()
      t.equal(await way(pay('ada', { amount: 900 })), 'passed', `${name}: selected data`)
      t.match(arrived(), [/900/])
      t.equal(await way(pay('ada', { amount: 2000 })), because('Payments above 1000 need a member of treasury.'), `${name}: selected data`)
      t.same(arrived(), [])
      t.equal(await way(pay('tess', { amount: 2000 })), 'passed', `${name}: caller`)
      t.match(arrived(), [/2000/])
      const withIban = await way(pay('ada', { amount: 900, iban: 'DE1' }))
      if (!server.obliges) t.match(withIban, /^denied/, `${name}: extension`)
      else t.equal(withIban, name === 'ext_authz' ? 'cannot be changed' : 'passed', `${name}: extension`)
      const stripped = arrived()
      t.equal(stripped.length, withIban === 'passed' ? 1 : 0)
      t.notMatch(stripped.join(), /DE1/, `${name}: the agent gets no account number`)
      t.equal(await way(pay('ada', { amount: 900, iban: 'DE1' }, false)), 'passed', `${name}: without the extension`)
      t.match(arrived(), [/DE1/])
      t.equal(await way({ operation: 'CancelTask', params: { id: 't1' }, caller: 'ada', extension: false }), because('Tasks cannot be cancelled.'), `${name}: operation`)
      t.same(arrived(), [])
      t.equal(await way({ operation: 'GetTask', params: { id: 't1' }, caller: 'ada', extension: false }), 'passed', `${name}: operation`)
      t.equal(arrived().length, 1)
    }
    if (NO_ENVOY !== false) t.comment(NO_ENVOY)
  })
}
