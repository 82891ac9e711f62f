/** Every operation of an official JavaScript client over gRPC, told as `matrix.ts` tells the other bindings. */
import type { GrpcAgent } from '../helpers/grpc-agents.js'
import type { ClientKind } from '../helpers/sdk-clients.js'
import type { Story } from './matrix.js'
import { runMatrix } from './matrix.js'

export interface GrpcRun {
  readonly client: ClientKind
  readonly cardUrl: string
  /** `127.0.0.1:PORT` of the listener that the card names. */
  readonly address: string
  readonly extensions: readonly string[]
}

export async function grpcStory ({ address, ...run }: GrpcRun): Promise<Story> {
  const story = await runMatrix({ ...run, transport: 'GRPC', authorization: 'Bearer x' })
  return JSON.parse(JSON.stringify(story).replaceAll(address, '<grpc>')) as Story
}

/** The calls since the last look, with what A2A says in metadata and with ids replaced in the messages. */
export function grpcSeen (agent: GrpcAgent): unknown[] {
  const calls = agent.grpcCalls.map(({ path, metadata, read }) => ({
    path,
    read: anonymous(JSON.stringify(read)),
    authorization: metadata.get('authorization'),
    version: metadata.get('a2a-version'),
    extensions: [...metadata.get('a2a-extensions'), ...metadata.get('x-a2a-extensions')].map(String).join(',').split(/\s*,\s*/)
  }))
  agent.grpcCalls.length = 0
  return calls
}

const anonymous = (text: string): string => text.replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
