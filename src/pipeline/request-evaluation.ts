/** The decision on a request, with its inputs. */
import type { AgentPolicy } from '#policy/compile/compiled.js'
import type { Decision } from '#policy/request/decision.js'
import type { AccessOutcome } from './access/access.js'

export interface RequestEvaluation {
  readonly decision: Decision
  /** Null without `access`, and when the call cannot be judged and is not rejected for it. */
  readonly access: AccessOutcome | null
  /** Decision of the access lists on the initiator of a delegated call; null when there is none. */
  readonly initiator: AccessOutcome['decision'] | null
  readonly policy: AgentPolicy
  /** URIs that the client requests. */
  readonly requested: readonly string[]
  /** Name of the extension header that the client gets. */
  readonly headerName: string
}
