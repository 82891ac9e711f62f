/** Compares the gateway's reading of a request with an agent's reading. */
import { isDeepStrictEqual } from 'node:util'
import type { MessageReading, PartReading, Reading } from './oracle.js'
import type { Same } from './same.js'
import { NO_PART, plain, sameParts } from './same.js'

export interface Mismatch {
  /** Such as `message.parts[0].value`. */
  readonly path: string
  readonly operation: string
  readonly gateway: unknown
  readonly agent: unknown
  /** The agent's part, when the mismatch concerns a part. */
  readonly agentPart: PartReading | null
}

export function compare (gateway: Reading, agent: Reading): Mismatch[] {
  const found: Mismatch[] = []
  const { operation } = gateway
  const same = (path: string, one: unknown, other: unknown, agentPart: PartReading | null = null): void => {
    if (!isDeepStrictEqual(plain(one), plain(other))) found.push({ path, operation, gateway: one, agent: other, agentPart })
  }
  same('operation', gateway.operation, agent.operation)
  same('tenant', gateway.tenant, agent.tenant)
  same('taskId', gateway.taskId, agent.taskId)
  same('requested', [...gateway.requested].sort(), [...agent.requested].sort())
  same('metadata', gateway.metadata, agent.metadata)
  if (gateway.message !== null && agent.message !== null) messages(gateway.message, agent.message, same)
  // When the gateway reads no message, the agent's message must be empty.
  else if (agent.message !== null) messages(EMPTY, agent.message, same)
  else same('message', gateway.message, agent.message)
  return found
}

const EMPTY: MessageReading = { role: undefined, contextId: undefined, parts: [], metadata: undefined, extensions: [] }

function messages (gateway: MessageReading, agent: MessageReading, same: Same): void {
  // An agent that does not know the role has none. An unknown role does not satisfy a policy that requires a role either.
  if (agent.role === 'user' || agent.role === 'agent') same('message.role', gateway.role, agent.role)
  same('message.contextId', gateway.contextId, agent.contextId)
  same('message.metadata', gateway.metadata, agent.metadata)
  same('message.extensions', gateway.extensions, agent.extensions ?? [])
  const length = Math.max(gateway.parts.length, agent.parts.length)
  for (let i = 0; i < length; i++) sameParts(`message.parts[${i}]`, gateway.parts[i] ?? NO_PART, agent.parts[i] ?? NO_PART, same)
}
