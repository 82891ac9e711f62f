/** Where the values of a configuration stand in its file, for people who ask why something is so. No part of the configuration: moved lines change nothing. */
import type { Path } from './diagnostics.js'
import type { Config } from './model/model.js'

/** @returns line of the key in the file, from 1; null where the file does not have it */
type LineOf = (path: Path) => number | null

export interface Origins {
  /** As the user named it. */
  readonly file: string
  readonly lineOf: LineOf
}

/** By the list of agents, which the configuration in effect has in common with the one that was loaded. */
const known = new WeakMap<Config['agents'], Origins>()

export function rememberOrigins (config: Config, origins: Origins): void {
  known.set(config.agents, origins)
}

/** @returns null for a configuration that did not come from a file, or from a large one */
export function originsOf (config: Config): Origins | null {
  return known.get(config.agents) ?? null
}
