/** What all cases of a run share. */
import { randomBytes } from 'node:crypto'
import type { AgentControl } from '../client/control.js'
import type { Declaration } from './declaration.js'
import type { Target } from './targets.js'

export interface Context {
  readonly direct: Target
  readonly through: Target
  readonly control: AgentControl
  /** False: the agent is not `conform agent`, so there are no scripts, and nobody knows what arrives. */
  readonly scripted: boolean
  readonly declaration: Declaration
  /** URIs of extensions that the agent's card requires. */
  readonly required: readonly string[]
  /** A new name for a call. */
  name (): string
}

/** Names of calls, each once. */
export function callNames (): () => string {
  const run = randomBytes(2).toString('hex')
  let count = 0
  return () => `conform-call-${run}${(count++).toString(16).padStart(4, '0')}`
}
