/** The agents and clients of the three languages that speak gRPC, behind one small interface. */
import type { Test } from 'tap'
import { startGrpcAgent } from '../helpers/grpc-agents.js'
import type { ClientKind } from '../helpers/sdk-clients.js'
import { grpcStory } from '../e2e/grpc-stories.js'
import { runClient, startForeignGrpcAgent } from './toolchains.js'

export interface RunningAgent {
  readonly url: string
  readonly grpcAddress: string
  /** Number of calls that arrived by gRPC so far. */
  calls (): number
  /** True when a message arrived. */
  sends (): boolean
}

export type AgentLanguage = 'JavaScript' | 'Python' | 'Go'

export const REQUIRED = 'https://example.com/ext/required/v1'

/** Starts an agent that serves 1.0 and 0.3 on one port, and whose card requires an extension. Only agents of JavaScript enforce it. */
export async function agentOf (t: Test, language: AgentLanguage): Promise<RunningAgent> {
  if (language === 'JavaScript') {
    const agent = await startGrpcAgent({ kind: 'dual', card: { extensions: [{ uri: REQUIRED, required: true }] } })
    t.teardown(() => agent.close())
    return {
      url: agent.url,
      grpcAddress: agent.grpcAddress,
      calls: () => agent.grpcCalls.length,
      sends: () => agent.grpcCalls.some(({ path }) => SEND.test(path))
    }
  }
  const args = ['--legacy', '--required', REQUIRED]
  const agent = await startForeignGrpcAgent(t, language === 'Python' ? 'py-1' : 'go-2', args)
  return {
    url: agent.url,
    grpcAddress: agent.grpcAddress,
    calls: () => agent.reads().length,
    sends: () => agent.calls().some(line => SEND.test(line))
  }
}

const SEND = /\/Send(?:Streaming)?Message\b/

export interface Told { readonly value?: unknown, readonly error?: unknown }

export interface Client {
  readonly name: string
  /** An operation for which no service of A2A has a call. */
  readonly unknown?: string
  /** True when the client has an error of its own for a missing extension. */
  readonly typed?: boolean
  /** Drives every operation. @param url of the card, without its well-known path */
  run (url: string, grpcAddress: string, extensions: readonly string[]): Promise<Readonly<Record<string, Told>>>
}

const javascript = (client: ClientKind): Client => ({
  name: `JavaScript ${client}`,
  run: async (url, address, extensions) => {
    const story = await grpcStory({ client, cardUrl: `${url}/.well-known/agent-card.json`, address, extensions })
    // A task that was not waited for may have come any distance.
    return story.sendNonBlocking?.value === undefined ? story : { ...story, sendNonBlocking: { value: 'a task' } }
  }
})

const foreign = (language: string, sdk: 'py-1' | 'go-2', legacy: boolean): Client => ({
  name: `${language} ${legacy ? '0.3' : '1.0'}`,
  run: (url, grpcAddress, extensions) => runClient(sdk, { url, grpcAddress, transport: 'GRPC', legacy, all: true, extensions })
})

export const CLIENTS: readonly Client[] = [
  { ...javascript('v1'), typed: true }, javascript('v1-as-03'), javascript('v03'),
  { ...foreign('Python', 'py-1', false), typed: true }, foreign('Python', 'py-1', true), foreign('Go', 'go-2', false),
  // The Go SDK has a ListTasks of its own in the service of 0.3. The gateway rejects a message that it cannot read.
  { ...foreign('Go', 'go-2', true), unknown: 'list' }
]
