/** The agent that the playground evaluates requests with: the agent in force, or the agent as a document changes it. */
import type { SandboxAgent } from '#console/playground/tasks.js'
import type { AgentConfig } from '#config/model/model.js'
import { callerSources } from '#identity/schemes.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import { buildAgentState } from '#pipeline/agent-snapshot.js'
import { SECRET_HIDDEN } from '#policy/request/inject.js'
import { unpackCards } from '#agents/card/unpack-cards.js'
import type { ReadPolicy } from './policy-document.js'
import { readPolicyDocument } from './policy-document.js'

/** The request cannot be evaluated. The message says why, in words. */
export class CannotEvaluate extends Error {}

/** The agent of the configuration in force. */
export function agentIn ({ name, config }: SandboxAgent): AgentConfig {
  const agent = config.agents.find(agent => agent.name === name)
  if (agent === undefined) throw new CannotEvaluate(`the configuration no longer names the agent ${name}`)
  return agent
}

/** The last states: most tasks repeat the agent, and many repeat the policy. The keys are the texts that they were built from. */
const built = { inForce: { key: '', state: null as AgentState | null }, changed: { key: '', state: null as AgentState | null } }
let read: { readonly key: string, readonly policy: ReadPolicy } | null = null

/** Reads a policy. The same text is read once. */
export function policyOf (sandboxAgent: SandboxAgent, text: string): ReadPolicy {
  const key = JSON.stringify([sandboxAgent.config.hash, sandboxAgent.name, text])
  if (read?.key !== key) read = { key, policy: readPolicyDocument(text, sandboxAgent.config, agentIn(sandboxAgent)) }
  return read.policy
}

/**
 * Builds the state of the agent in force (policy null), or of the agent as a policy changes it.
 * @param text document of the changed agent, which identifies it; null: the agent in force
 * @throws CannotEvaluate
 */
export function sandboxState (sandboxAgent: SandboxAgent, agent: AgentConfig, text: string | null): AgentState {
  const { cards, config: { hash, limits, identity } } = sandboxAgent
  if (cards === null) throw new CannotEvaluate(`the agent ${sandboxAgent.name} has no card that can be used, so no request can be evaluated`)
  const key = JSON.stringify([hash, sandboxAgent.name, cards.fetchedAt, text])
  const slot = text === null ? built.inForce : built.changed
  if (slot.state !== null && slot.key === key) return slot.state
  try {
    slot.state = buildAgentState(unpackCards(cards, { limits, verify: agent.card.verify }), {
      agent,
      maxExtensions: limits.extensions,
      previous: null,
      secretOf: SECRET_HIDDEN,
      sources: identity === null ? null : callerSources(identity)
    })
    slot.key = key
    return slot.state
  } catch (error) {
    slot.state = null
    throw new CannotEvaluate(`with this policy, the card of the agent cannot be used: ${(error as Error).message}`)
  }
}
