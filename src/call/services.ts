import type { Decisions } from '#console/decisions.js'
import type { RequestLog } from '#console/playground/request-log.js'
import type { InFlight } from '#agents/in-flight.js'
import type { Limits } from './limits.js'
import type { MemoryBudget } from './memory-budget.js'
import type { Overload } from './overload.js'
import type { Tasks } from './tasks.js'
import type { Audit } from '#telemetry/audit.js'
import type { Log } from '#telemetry/log.js'
import type { Metrics } from '#telemetry/metrics/metrics.js'
import type { Tracing } from '#telemetry/traces/tracing.js'

/** Services of the running gateway that every exchange needs. */
export interface Services {
  readonly metrics: Metrics
  readonly tracing: Tracing
  readonly audit: Audit
  readonly log: Log
  /** State of tasks. */
  readonly tasks: Tasks
  readonly limits: Limits
  /** Exchanges in flight. `draining` makes responses close their connection. */
  readonly inFlight: InFlight
  /** Overload detection; rejects new calls while the process is overloaded. */
  readonly overload: Overload
  readonly heldBytes: MemoryBudget
  /** For the console; null where there is none. */
  readonly decisions: Decisions | null
  /** Requests for the playground of the console; null without `console.requests`. */
  readonly requests: RequestLog | null
}
