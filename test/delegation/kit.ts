/** Three gateways of one trust domain, each in front of an agent of the official SDK that calls the next agent with the official client. */
import type { Test } from 'tap'
import { keyDigest } from '#identity/api-keys.js'
import { readSigningKey } from '#identity/signing-key.js'
import type { Behaviour } from '../helpers/agents.js'
import { quietSdk } from '../helpers/agents.js'
import { gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { startGrpcAgent } from '../helpers/grpc-agents.js'
import type { GrpcAgent } from '../helpers/grpc-agents.js'
import { freePort } from '../helpers/http.js'
import { connect } from '../helpers/sdk-clients.js'
import type { ClientOptions, SendOptions } from '../helpers/sdk-clients.js'
import { identityKeys } from '../identity/signing-keys.js'

export const HEADER = 'a2a-delegation'
export const NAMES = ['a', 'b', 'c'] as const
export type Name = typeof NAMES[number]
export type Transport = ClientOptions['transport']

/** API keys of callers: people, and the agents themselves. */
export const keyOf = (caller: string): string => `a2agw_${caller}-key-of-the-test-0123456789`

const CALLERS: Readonly<Record<string, string>> = { alice: 'staff', bob: 'guests', a: 'agents', b: 'agents', c: 'agents' }

export interface Line {
  readonly gateways: Readonly<Record<Name, TestGateway>>
  readonly agents: Readonly<Record<Name, GrpcAgent>>
  /** Directory of the key files. */
  readonly dir: string
  /** Card of an agent at its gateway. @param path of the agent, such as `c` */
  cardUrl (name: Name, path?: string): string
  /**
   * Sends a message with the official client, and returns the text of the response, or of the error.
   * @param route where the call goes: names of agents, such as `a b c`. `b@` is the agent itself, without its gateway; `-c` goes without
   * the chain; `b*3` is called three times; `c/strict` is another agent of the gateway
   */
  send (
    caller: string,
    route: string,
    transport?: Transport,
    headers?: Readonly<Record<string, string>>,
    options?: SendOptions
  ): Promise<string>
}

/**
 * Further agents of a gateway, by name, with their access as {@link accessOf} writes it. All of them have the upstream of the gateway's own
 * agent.
 */
export type Further = Readonly<Partial<Record<Name, Readonly<Record<string, string>>>>>

const USAGE = 'urn:usage'
const USAGE_POLICY = `extensions: {usage: {uri: "${USAGE}", activation: {signals: [always]}, observe: {metrics: [{name: tokens, type: counter, from: {metadata: {key: tokens}}}]}}}`

/** An extension by which callers send a budget, and agents report usage. */
export interface Reports {
  /** An entry of `extensions`, as flow YAML. */
  readonly policy: string
  readonly uri: string
  readonly metadata: (name: Name) => Record<string, unknown>
}

export interface LineOptions {
  readonly further?: Further
  /** Further root keys of every gateway. */
  readonly root?: readonly string[] | ((gateway: Name) => readonly string[])
  /** Further keys of `delegation`, as flow YAML. */
  readonly delegation?: string
  /** Tokens that each agent reports for each message. */
  readonly tokens?: Readonly<Record<Name, number>>
  /** Or what each agent reports by an extension of the catalogue, whose data the agents pass on as they read it. */
  readonly reports?: Reports
  /** What an agent does when the route ends. */
  readonly last?: Behaviour
}

const ALLOW = 'allow: [{id: everybody, on: [all], caller: {groups: [staff, guests, agents]}}]'

/** @param keys of `access.delegation`, as flow YAML */
export const accessOf = (keys: string, allow = ALLOW): string => `{${allow}, delegation: {${keys}}}`

export async function lineOf (t: Test, { further = {}, root = [], delegation = '', tokens, reports, last }: LineOptions = {}): Promise<Line> {
  quietSdk()
  const { ec, ed, rsa } = await identityKeys()
  // Gateways of one process share their entry in Via, and take the request of another for a loop: they read each other's keys from files.
  const pems: Readonly<Record<Name, string>> = { a: ec, b: ed, c: rsa }
  const dir = t.testdir({
    ...Object.fromEntries(NAMES.map(name => [`${name}.jwks.json`, keySetOf(pems[name])])),
    ...Object.fromEntries(NAMES.map(name => [`${name}.pem`, pems[name]])),
    'keys.yaml': Object.entries(CALLERS).map(([id, group]) =>
      `- {id: ${id}, sha256: ${keyDigest(keyOf(id))}, client: ${id}, groups: [${group}]}`).join('\n')
  })
  const agents = {} as Record<Name, GrpcAgent>
  const gateways = {} as Record<Name, TestGateway>
  const ports = {} as Record<Name, [http: number, grpc: number]>
  for (const name of NAMES) ports[name] = [await freePort(), await freePort()]
  const cardUrl = (name: Name, path: string = name): string => `http://127.0.0.1:${ports[name][0]}/${path}/.well-known/agent-card.json`

  const send: Line['send'] = async (caller, route, transport = 'JSONRPC', headers = {}, options) => {
    const [head = '', ...rest] = route.split(' ')
    const [first = '', times] = head.split('*')
    if (times !== undefined) {
      const texts: string[] = []
      for (let i = 0; i < Number(times); i++) texts.push(await send(caller, [first, ...rest].join(' '), transport, headers, options))
      return texts.join(' | ')
    }
    const [target = '', path] = first.replace('-', '').split('/')
    const name = target.replace('@', '') as Name
    try {
      const client = await connect({
        client: 'v1',
        cardUrl: target.endsWith('@') ? agents[name].cardUrl : cardUrl(name, path),
        transport,
        ...reports === undefined ? {} : { extensions: [reports.uri] },
        headers: { 'X-Api-Key': keyOf(caller), 'X-Transport': transport, ...(first.startsWith('-') ? {} : headers) }
      })
      return textOf(await client.send(rest.join(' ') || 'end', options))
    } catch (error) {
      return `${caller}: ${(error as Error).message}`
    }
  }
  const reported = (name: Name): { metadata?: Record<string, unknown> } =>
    reports !== undefined ? { metadata: reports.metadata(name) } : tokens === undefined ? {} : { metadata: { tokens: tokens[name] } }
  const relay = (name: Name): Behaviour => async turn => {
    const seen = headersOf(agents[name])
    if (turn.text === 'end') return last === undefined ? turn.messageWith(reported(name), { text: `${name} was reached` }) : await last(turn)
    const chain = seen[HEADER]
    const transport = seen['x-transport'] as Transport
    const options = reports === undefined ? {} : { message: { metadata: metadataOf(agents[name], transport) } }
    const headers: Readonly<Record<string, string>> = chain === undefined ? {} : { [HEADER]: chain }
    turn.messageWith(reported(name), { text: await send(name, turn.text, transport, headers, options) })
  }
  const uri = reports?.uri ?? (tokens === undefined ? undefined : USAGE)
  const policies = reports === undefined ? tokens === undefined ? [] : ['usage'] : [reports.policy]
  for (const name of NAMES) {
    agents[name] = await startGrpcAgent({ kind: 'v1', behaviour: relay(name), ...(uri === undefined ? {} : { card: { extensions: [{ uri }] } }) })
    t.teardown(() => agents[name].close())
  }
  for (const name of NAMES) {
    const others = NAMES.filter(one => one !== name).map(one => `{file: ${one}.jwks.json}`)
    const [http, grpc] = ports[name]
    const own: Readonly<Record<string, string>> = { [name]: accessOf(`as: {client: ${name}}`), ...further[name] }
    const yaml = [
      `server: {listen: "127.0.0.1:${http}", publicUrl: "http://127.0.0.1:${http}", admin: "127.0.0.1:0", drainTimeout: 200ms}`,
      `delegation: {gateway: ${name}, trustDomain: test, key: {file: ${name}.pem}, keys: [${others.join(', ')}], agents: {groups: [agents]}${delegation}}`,
      'identity: {audit: subject, sources: {keys: {apiKey: {header: X-Api-Key, keys: {file: keys.yaml}}}}}',
      'agents:',
      ...Object.entries(own).map(([one, access]) =>
        `  - {name: ${one}, path: /${one}, upstream: {url: "${agents[name].url}"}, ${policies.length === 0 ? '' : `extensions: [${policies.join(', ')}], `}card: {public: full}, grpc: {${one === name ? `listen: "127.0.0.1:${grpc}", publicAddress: "127.0.0.1:${grpc}", upstream: "grpc://${agents[name].grpcAddress}"` : 'enabled: false'}}, access: ${access}}`),
      ...tokens === undefined ? [] : [USAGE_POLICY],
      ...typeof root === 'function' ? root(name) : root
    ]
    gateways[name] = await gatewayFor(t, { yaml: yaml.join('\n'), baseDir: dir })
  }
  return { gateways, agents, dir, cardUrl, send }
}

/** Calls over gRPC of each agent at the last look: one more means that the last call came over gRPC. */
const looked = new WeakMap<GrpcAgent, { readonly calls: number, readonly http: number, readonly grpc: boolean }>()

/** Headers of the last call, over HTTP or gRPC. The agent looks at each of its calls. */
export function headersOf (agent: GrpcAgent): Readonly<Record<string, string>> {
  const before = looked.get(agent) ?? { calls: 0, grpc: false, http: 0 }
  const [calls, http] = [agent.grpcCalls.length, agent.calls().length]
  const grpc = calls > before.calls || (before.grpc && http === before.http)
  looked.set(agent, { calls, http, grpc })
  return (grpc ? agent.grpcCalls.at(-1)?.metadata.getMap() ?? {} : agent.calls().at(-1)?.headers ?? {}) as Readonly<Record<string, string>>
}

/** Metadata of the message of the last call over a transport. */
export function metadataOf (agent: GrpcAgent, transport: Transport): Record<string, unknown> {
  const body: unknown = transport === 'GRPC' ? agent.grpcCalls.at(-1)?.read : JSON.parse(agent.calls().at(-1)?.body.toString() ?? '{}')
  const { params, message } = body as { params?: { message?: Message }, message?: Message }
  return (params?.message ?? message)?.metadata ?? {}
}

interface Message { readonly metadata?: Record<string, unknown> }

/** Claims of a chain, without a look at its signature. */
export function claimsIn (chain: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(chain.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>
}

/** The key set with the public part of a private key. */
export function keySetOf (pem: string): string {
  const key = readSigningKey(pem, null)
  if ('problem' in key) throw new Error(key.problem)
  return JSON.stringify({ keys: [key.jwk] })
}

function textOf (result: unknown): string {
  const [, text] = /"value":("(?:[^"\\]|\\.)*")/.exec(JSON.stringify(result)) ?? []
  return text === undefined ? JSON.stringify(result) : JSON.parse(text) as string
}
