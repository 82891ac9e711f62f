/** An agent of an official SDK behind a gateway that reads answers, and what an official client makes of it. */
import type { Test } from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import type { AgentKind, AgentOptions, TestAgent } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { connect } from '../helpers/sdk-clients.js'
import type { AgentClient, ClientKind, ClientOptions, Transport } from '../helpers/sdk-clients.js'

quietSdk()

export interface Combination {
  readonly name: string
  readonly client: ClientKind
  readonly kind: AgentKind
  readonly transport: Transport
  readonly version: '1.0' | '0.3'
}

const PAIRS = [
  ['v1', 'v1', '1.0'], ['v03', 'v03', '0.3'],
  // One generation's client with the other's agent.
  ['v03', 'dual', '0.3'], ['v1-as-03', 'v03', '0.3']
] as const

/** Both versions over both bindings, each SDK on both sides, and mixed. */
export const ALL: readonly Combination[] = PAIRS.flatMap(([client, kind, version]) => (['JSONRPC', 'HTTP+JSON'] as const).map(transport => (
  { name: `client ${client}, agent ${kind}, ${transport}`, client, kind, transport, version }
)))

/** Both versions over both bindings, each SDK on both sides. */
export const FOUR = ALL.slice(0, 4)

/**
 * The SDKs follow the proto of 0.3 over HTTP+JSON, whose DataPart has no metadata: the tag that names a media type does not get through.
 */
export function hasTags ({ version, transport }: Combination): boolean {
  return version === '1.0' || transport === 'JSONRPC'
}

export interface SetUp {
  readonly agent: Omit<AgentOptions, 'kind'>
  readonly responses: 'enforce' | 'observe' | 'off'
  /** Of the agent's `extensions:`, as YAML. */
  readonly policies: string
  /** Lines of the configuration's root. */
  readonly root?: readonly string[]
}

export interface Behind {
  readonly agent: TestAgent
  readonly gateway: TestGateway
  readonly cardUrl: string
  /** The combination's client, through the gateway. */
  readonly client: (options?: Partial<ClientOptions>) => Promise<AgentClient>
}

export async function behind (
  t: Test,
  { client, kind, transport }: Combination,
  { agent: options, responses, policies, root = [] }: SetUp
): Promise<Behind> {
  const agent = await startAgent({ kind, ...options })
  t.teardown(() => agent.close())
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [`extensions: ${policies}`, `responses: ${responses}`], root) })
  const cardUrl = `${gateway.url}/.well-known/agent-card.json`
  return { agent, gateway, cardUrl, client: more => connect({ client, transport, cardUrl, ...more }) }
}

export interface Failure {
  readonly name: string
  /** JSON-RPC code; null where the client tells none. */
  readonly code: number | null
  /** Everything that the error says. */
  readonly text: string
}

/** What the client was given, and what it threw then. */
export interface Told {
  readonly values: readonly unknown[]
  readonly failure: Failure | null
}

export async function told (work: Promise<unknown> | AsyncIterable<unknown>): Promise<Told> {
  const values: unknown[] = []
  try {
    if (work instanceof Promise) values.push(await work)
    else for await (const value of work) values.push(value)
  } catch (error) {
    return { values, failure: failureOf(error) }
  }
  return { values, failure: null }
}

function failureOf (error: unknown): Failure {
  if (!(error instanceof Error)) return { name: typeof error, code: null, text: String(error) }
  // 1.3.0 has `envelopeCode`, 0.3.14 the whole response; both write it into the message of a stream's error.
  const { envelopeCode, errorResponse } = error as { envelopeCode?: number, errorResponse?: { error?: { code?: number } } }
  const inText = /\(Code: (-?\d+)\)/.exec(error.message)?.[1]
  return {
    name: error.name,
    code: envelopeCode ?? errorResponse?.error?.code ?? (inText === undefined ? null : Number(inText)),
    text: `${error.message} ${JSON.stringify(error)}`
  }
}

/** As the client of a combination tells INVALID_AGENT_RESPONSE: -32006 in JSON-RPC, by its name or its words in HTTP+JSON. */
export function isRefusedAnswer (t: Test, { transport }: Combination, failure: Failure | null, rule: string, what: string): void {
  t.match(failure?.text, rule, `${what}: says the rule`)
  if (transport === 'JSONRPC') t.equal(failure?.code, -32006, `${what}: code`)
  else t.match(failure?.text, /INVALID_AGENT_RESPONSE|InvalidAgentResponse|The agent's response/, `${what}: an invalid answer`)
}

export interface Wire {
  readonly fetch: typeof fetch
  /** Of every call but those for cards, oldest first. */
  readonly exchanges: { readonly status: number, readonly headers: Headers, readonly body: Promise<string> }[]
}

/** What is on the wire on the client's side. */
export function wire (): Wire {
  const exchanges: Wire['exchanges'] = []
  return {
    exchanges,
    fetch: async (input, init) => {
      const response = await fetch(input, init)
      if (!String(input instanceof Request ? input.url : input).includes('/.well-known/')) {
        exchanges.push({
          status: response.status,
          headers: response.headers,
          body: response
            .clone()
            .text()
            .catch(error => `<cut: ${String(error)}>`)
        })
      }
      return response
    }
  }
}

/** JSON text of values of either generation, to look for what must or must not be there. */
export const textOf = (values: unknown): string => JSON.stringify(values)

/** The sample of violations of answers. */
export const violations = (extension: string, rule: string, mode: 'enforce' | 'observe'): string =>
  `a2a_gateway_violations_total{agent="agent",extension="${extension}",rule="${rule}",phase="response",mode="${mode}"}`

export const requests = ({ transport, version }: Combination, operation: string, outcome: string): string =>
  `a2a_gateway_requests_total{agent="agent",operation="${operation}",binding="${transport}",version="${version}",outcome="${outcome}"}`
