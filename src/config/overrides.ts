import type { PathProblem } from './diagnostics.js'
import type { Environment } from './yaml/substitute.js'
import { isObject } from '#wire/json/object.js'

/** Settings that flags and environment variables may give. They override the file. */
export interface Overrides {
  readonly listen?: string | undefined
  readonly admin?: string | undefined
  readonly upstream?: string | undefined
  readonly logLevel?: string | undefined
  readonly workers?: string | undefined
  /** The source of each setting, for use in problems. A setting that is not listed came from its flag. */
  readonly sources?: Readonly<Partial<Record<Setting, string>>> | undefined
}

export type Setting = 'listen' | 'admin' | 'upstream' | 'logLevel' | 'workers'

const FLAGS: Readonly<Record<Setting, string>> = {
  listen: '--listen',
  admin: '--admin',
  upstream: '--upstream',
  logLevel: '--log-level',
  workers: '--workers'
}

const VARIABLES: Readonly<Record<Setting, string>> = {
  listen: 'A2A_GATEWAY_LISTEN',
  admin: 'A2A_GATEWAY_ADMIN',
  upstream: 'A2A_GATEWAY_UPSTREAM',
  logLevel: 'A2A_GATEWAY_LOG_LEVEL',
  workers: 'A2A_GATEWAY_WORKERS'
}

const PLACES: Readonly<Record<Setting, readonly (string | number)[]>> = {
  listen: ['server', 'listen'],
  admin: ['server', 'admin'],
  upstream: ['agents', 0, 'upstream', 'url'],
  logLevel: ['telemetry', 'logs', 'level'],
  workers: ['server', 'workers']
}

const SETTINGS = Object.keys(PLACES) as Setting[]

/** Returns the settings of the environment. Empty variables count as unset. */
export function overridesFromEnvironment (env: Environment): Overrides {
  const values: Partial<Record<Setting, string>> = {}
  const sources: Partial<Record<Setting, string>> = {}
  for (const setting of SETTINGS) {
    const value = env[VARIABLES[setting]]
    if (value === undefined || value === '') continue
    values[setting] = value
    sources[setting] = VARIABLES[setting]
  }
  return { ...values, sources }
}

/** Merges flags over environment. The result keeps the source of each setting. */
export function mergeOverrides (flags: Overrides, environment: Overrides): Overrides {
  const sources: Partial<Record<Setting, string>> = { ...environment.sources }
  const values: Partial<Record<Setting, string>> = {}
  for (const setting of SETTINGS) {
    const value = flags[setting] ?? environment[setting]
    if (value !== undefined) values[setting] = value
    if (flags[setting] !== undefined) sources[setting] = sourceOf(flags, setting)
  }
  return { ...values, sources }
}

/** Returns the flag or variable that gave a setting. */
export function sourceOf (overrides: Overrides, setting: Setting): string {
  return overrides.sources?.[setting] ?? FLAGS[setting]
}

/** Writes the overrides into a configuration value. Problems name the flag or variable. */
export function applyOverrides (value: unknown, overrides: Overrides): { source: string, problem: PathProblem }[] {
  const problems: { source: string, problem: PathProblem }[] = []
  for (const setting of SETTINGS) {
    const text = overrides[setting]
    if (text === undefined) continue
    if (setting === 'upstream' && isObject(value) && Array.isArray(value.agents) && value.agents.length !== 1) {
      problems.push({
        source: sourceOf(overrides, setting),
        problem: {
          path: [],
          at: 'value',
          message: `needs a file with exactly one agent, and this one has ${value.agents.length}`,
          hint: 'set upstream.url of each agent in the file',
          code: 'A2AGW_ERR_CONFIG_INCONSISTENT'
        }
      })
      continue
    }
    put(value, PLACES[setting], setting === 'workers' && /^\d{1,9}$/.test(text) ? Number(text) : text)
  }
  return problems
}

/** Returns the source of the setting that was written to this path, or null. */
export function overriding (overrides: Overrides, path: readonly (string | number)[]): string | null {
  const setting = SETTINGS.find((name) => overrides[name] !== undefined && PLACES[name].join('/') === path.join('/'))
  return setting === undefined ? null : sourceOf(overrides, setting)
}

/** Creates missing sections on the path. Leaves any other obstacle for validation to report. */
function put (root: unknown, path: readonly (string | number)[], value: string | number): void {
  let node = root
  path.forEach((step, index) => {
    if (!isObject(node) && !Array.isArray(node)) return
    const parent = node as Record<string | number, unknown>
    if (index === path.length - 1) parent[step] = value
    else if (parent[step] === undefined && isObject(node) && step !== 'agents') parent[step] = {}
    node = parent[step]
  })
}
