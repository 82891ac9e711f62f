/** One official agent behind a real gateway, with the gateway's own evaluation of each request. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request as httpRequest } from 'node:http'
import type { Test } from 'tap'
import { readCard } from '#a2a/card/card.js'
import { dryRunRequest } from '#pipeline/dry-run.js'
import { buildAgentState } from '#pipeline/agent-snapshot.js'
import { SECRET_HIDDEN } from '#policy/request/inject.js'
import { splitTarget } from '#wire/target.js'
import type { AgentKind } from '../helpers/agents.js'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { OddRequest } from './requests.js'
import type { Oracle, Reading } from './oracle.js'
import { startOracle } from './oracle.js'
import type { DryRun } from '#pipeline/dry-run-operation.js'

export interface Seen {
  readonly judgement: DryRun
  /** True when the agent got a request through the gateway. */
  readonly arrived: boolean
  /** The agent's reading of that request. */
  readonly through: Reading | null
  readonly executed: readonly unknown[] | null
  /** The agent's reading of the same bytes without a gateway. */
  readonly direct: Reading | null
}

export interface Bench {
  readonly kind: AgentKind
  run (request: OddRequest): Promise<Seen>
}

/** Root settings of a gateway that rejects nothing because of a busy machine. */
export const CALM = ['shedding: {eventLoopDelay: 0s}']

export async function benchFor (t: Test, kind: AgentKind): Promise<Bench> {
  const oracle: Oracle = await startOracle(t, kind)
  const options = { yaml: oneAgent(oracle.agent.url, [], CALM) }
  const gateway = await gatewayFor(t, options)
  const { agents: [config], limits } = configOf(options)
  if (config === undefined) throw new Error('no agent')
  const state = buildAgentState(await loadedCards(oracle.agent.cardUrl), {
    agent: config,
    maxExtensions: limits.extensions,
    previous: null,
    secretOf: SECRET_HIDDEN
  })
  const connections = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => { connections.destroy() })
  return {
    kind,
    async run (request) {
      const { path, query } = splitTarget(request.target)
      const judgement = dryRunRequest(
        { config, state },
        {
          method: request.method,
          path,
          query,
          rawHeaders: ['Host', new URL(gateway.url).host, ...request.headers, ...framing(request)],
          body: request.body
        },
        limits
      )
      const before = oracle.agent.calls().length
      await send(gateway.url, request, connections)
      const through = oracle.take()
      const executed = oracle.takeExecuted()
      const arrived = oracle.agent.calls().length > before
      await send(oracle.agent.url, request, connections)
      const direct = oracle.take()
      oracle.takeExecuted()
      return { judgement, arrived, through, executed, direct }
    }
  }
}

/** The cards as the gateway loads them: agents of both generations serve one card for each. */
export async function loadedCards (url: string): Promise<Parameters<typeof buildAgentState>[0]> {
  const one = async (headers: Record<string, string>) => {
    const bytes = Buffer.from(await (await fetch(url, { headers })).arrayBuffer())
    const value: unknown = JSON.parse(bytes.toString())
    const read = readCard(value)
    if (!read.ok) throw new Error(read.problem)
    return { bytes, value: value as Record<string, unknown>, card: read.card }
  }
  return { byVersion: { 0.3: await one({}), '1.0': await one({ 'A2A-Version': '1.0' }) }, fetchedAt: 0, origin: 'test' }
}

function framing ({ body, chunked }: OddRequest): string[] {
  return body === null ? [] : chunked ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', String(body.length)]
}

async function send (origin: string, request: OddRequest, agent: Agent): Promise<void> {
  const { hostname, port, host } = new URL(origin)
  const headers = ['Host', host, ...request.headers, ...framing(request)]
  const outgoing = httpRequest({ hostname, port, method: request.method, path: request.target, headers: headers as never, agent })
  outgoing.end(request.body ?? undefined)
  const [response] = await once(outgoing, 'response') as [IncomingMessage]
  response.resume()
  await once(response, 'end')
}
