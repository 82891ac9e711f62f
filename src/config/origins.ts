/**
 * File positions of configuration values, for displaying where a value comes from. They are not part of the configuration: moved lines
 * change nothing.
 */
import type { Path } from './diagnostics.js'
import type { Config } from './model/model.js'

/**
 * Returns the line of a key in the file.
 * @returns line, from 1; null when the file does not have the key
 */
type LineOf = (path: Path) => number | null

export interface Origins {
  /** The file as the user named it. */
  readonly file: string
  readonly lineOf: LineOf
}

/** Origins by the agent list. The configuration in effect and the loaded configuration share this list. */
const originsByAgents = new WeakMap<Config['agents'], Origins>()

export function rememberOrigins (config: Config, origins: Origins): void {
  originsByAgents.set(config.agents, origins)
}

/**
 * Returns the origins of a configuration.
 * @returns null for a configuration without a file, or from a large file
 */
export function originsOf (config: Config): Origins | null {
  return originsByAgents.get(config.agents) ?? null
}
