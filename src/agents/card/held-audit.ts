/** Audit lines about cards that wait for an agreement (`card.changes: hold`). */
import type { HeldCard } from '#a2a/card/loaded-cards.js'
import type { Audit } from '#telemetry/audit.js'

/** Records that a card waits, or that none waits any more. A card that changes at every fetch has a line for each power of two. */
export function auditHeld (audit: Audit | undefined, agent: string, held: HeldCard | null): void {
  if (audit === undefined || (held !== null && !Number.isInteger(Math.log2(held.versions)))) return
  audit.record({
    phase: 'card',
    agent,
    operation: 'AgentCard',
    binding: 'HTTP+JSON',
    version: '1.0',
    decision: held === null ? 'agreed' : 'held',
    reason: null,
    extension: null,
    rule: null,
    edited: [],
    violations: [],
    ...(held === null
      ? {}
      : { card_digest: held.digest, lowers: held.differences.filter(({ effect }) => effect === 'lowers').map(({ path }) => path) }),
    task_id: null,
    context_id: null,
    trace_id: null,
    client: null,
    request_id: null
  })
}
