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
}

export type AgentLanguage = 'JavaScript' | 'Python' | 'Go'

const KNOWN = 'https://example.com/ext/known/v1'
const REQUIRED = 'https://example.com/ext/required/v1'
/** Go servers read a list in one line as one URI, so only one means the same to all of them. */
export const EXTENSIONS: readonly string[] = [KNOWN]

/** Starts an agent that serves 1.0 and 0.3 on one port, and whose card offers an extension or requires one. */
export async function agentOf (t: Test, language: AgentLanguage, extension: 'offered' | 'required' = 'offered'): Promise<RunningAgent> {
  const required = extension === 'required'
  if (language === 'JavaScript') {
    const extensions = [{ uri: KNOWN }, ...required ? [{ uri: REQUIRED, required }] : []]
    const agent = await startGrpcAgent({ kind: 'dual', card: { extensions } })
    t.teardown(() => agent.close())
    return { url: agent.url, grpcAddress: agent.grpcAddress, calls: () => agent.grpcCalls.length }
  }
  const args = ['--legacy', '--optional', KNOWN, ...required ? ['--required', REQUIRED] : []]
  const agent = await startForeignGrpcAgent(t, language === 'Python' ? 'py-1' : 'go-2', args)
  return { url: agent.url, grpcAddress: agent.grpcAddress, calls: () => agent.reads().length }
}

export interface Told { readonly value?: unknown, readonly error?: unknown }

export interface Client {
  readonly name: string
  /** Drives every operation. */
  run (url: string, grpcAddress: string): Promise<Readonly<Record<string, Told>>>
}

const javascript = (client: ClientKind): Client => ({
  name: `JavaScript ${client}`,
  run: async (url, address) => {
    const story = await grpcStory({ client, cardUrl: `${url}/.well-known/agent-card.json`, address, extensions: EXTENSIONS })
    // A task that was not waited for may have come any distance.
    return story.sendNonBlocking?.value === undefined ? story : { ...story, sendNonBlocking: { value: 'a task' } }
  }
})

const foreign = (language: string, sdk: 'py-1' | 'go-2', legacy: boolean): Client => ({
  name: `${language} ${legacy ? '0.3' : '1.0'}`,
  run: (url, grpcAddress) => runClient(sdk, { url, grpcAddress, transport: 'GRPC', legacy, all: true, extensions: EXTENSIONS })
})

export const CLIENTS: readonly Client[] = [
  javascript('v1'), javascript('v1-as-03'), javascript('v03'),
  foreign('Python', 'py-1', false), foreign('Python', 'py-1', true), foreign('Go', 'go-2', false), foreign('Go', 'go-2', true)
]
