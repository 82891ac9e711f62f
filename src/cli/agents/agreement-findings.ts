/** What `check` says about agents whose cards need an agreement. */
import { readLockFile } from '#agents/lock/lock-file.js'
import { diagnostic } from '#config/diagnostics.js'
import type { Diagnostic } from '#config/diagnostics.js'
import type { Config } from '#config/model/model.js'

/** Warns of agents with `card.changes: hold` and no agreed card. @param config that was read before: its lock file can be used */
export function agreementFindings ({ agents }: Config): Diagnostic[] {
  const holding = agents.filter(({ card }) => card.lock !== null)
  const path = holding[0]?.card.lock ?? null
  if (path === null) return []
  const pinned = readLockFile(path).agents
  return holding.flatMap(({ name }) => {
    const entry = Object.hasOwn(pinned, name) ? pinned[name] : undefined
    if (entry?.card !== undefined) return []
    return [diagnostic(`agent ${name}`, 0, 0, entry === undefined
      ? {
          message: `agents.lock has no entry for ${name}, so its card waits`,
          hint: `run a2a-gateway agents lock --agent ${name}, and review the file`
        }
      : {
          message: `agents.lock has only the digest of the card of ${name}: a gateway that starts while the agent serves another card has no card`,
          hint: `run a2a-gateway agents lock --agent ${name}`
        })]
  })
}
