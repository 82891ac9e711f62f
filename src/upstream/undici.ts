/**
 * Loads the parts of undici that the gateway uses: 24 of its 110 modules. The rest, such as `fetch` with its caches and WebSockets, also
 * makes Node load the copy of undici that Node itself contains (measured, for a start: 90 of 690 ms without the bundle, and 10 MB).
 * `require` is faster than `import`: Node 20 first reads an imported CommonJS package for its export names, and `check` and `init` run
 * outside of the bundle.
 */
import { createRequire } from 'node:module'
import type * as Undici from 'undici'

// The bundle (scripts/bundle/) follows this form of `require`.
export const Dispatcher = createRequire(import.meta.url)('undici/lib/dispatcher/dispatcher.js') as typeof Undici.Dispatcher
// The package's main module adds the methods to all dispatchers in the same way. The gateway calls only this one, besides `dispatch`.
Dispatcher.prototype.request = createRequire(import.meta.url)('undici/lib/api/api-request.js') as Undici.Dispatcher['request']

export const Client = createRequire(import.meta.url)('undici/lib/dispatcher/client.js') as typeof Undici.Client
export const buildConnector = createRequire(import.meta.url)('undici/lib/core/connect.js') as typeof Undici.buildConnector

/** Loaded on demand: few gateways call other servers than agents. */
export function agentClass (): typeof Undici.Agent {
  return createRequire(import.meta.url)('undici/lib/dispatcher/agent.js') as typeof Undici.Agent
}
