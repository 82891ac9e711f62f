/** What tests that drive the response machines by hand share: a policy that does nothing, and a driver without effects. */
import type { ResponseDriver } from '#pipeline/response/driver.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import { ExtensionAliases } from '#policy/compile/identity.js'

/** The part of a policy that an echo plan reads: no extension is declared, hidden or confirmed. */
export const NO_POLICY = {
  hidden: new Set(),
  echoes: new Map(),
  declared: [],
  labels: new Map(),
  names: new ExtensionAliases()
} as unknown as AgentPolicy

/** A client that is always ready, memory without an end, and no state. Faults of the machine and aborted responses fail the test. */
export const STILL = {
  begin: () => {},
  unusable: () => {},
  remember: () => null,
  owners: () => 'unavailable',
  ask: () => [],
  answered: () => {},
  resume: () => {},
  reserveMemory: () => true,
  schedule: (_kind, run) => { run() },
  gone: false,
  blocked: false,
  headFirst: false,
  retryAfter: 1,
  echoed: () => {},
  evaluating: () => {},
  before: () => {},
  evaluated: () => {},
  unreadable: () => {},
  fault: error => { throw error },
  abort: error => { throw error }
} satisfies Partial<ResponseDriver>
