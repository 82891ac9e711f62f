/** Keeps the last good state of a source on disk (`server.stateDir`), for a start while the source cannot be read. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { digest } from '#config/digest.js'
import type { DiscoveredAgent } from '#config/discovered.js'
import type { AgentSourceConfig } from '#config/model/source-model.js'
import { parseStrict } from '#wire/json/json.js'
import { isObject } from '#wire/json/object.js'

export interface LastGood {
  readonly agents: readonly DiscoveredAgent[]
  /** Time of the reading, ms since the epoch. */
  readonly readAt: number
}

/** Another configuration of the source may admit other agents: its state is not used. */
function identityOf (config: AgentSourceConfig): string {
  const { catalog, kubernetes, select, admit, keys, allowPrivate, limit } = config
  return digest([catalog, kubernetes, select, admit, keys, allowPrivate, limit])
}

/** @returns null without a state of the same configuration */
export function readLastGood (stateDir: string, config: AgentSourceConfig): LastGood | null {
  let bytes: Buffer
  try {
    bytes = readFileSync(fileOf(stateDir, config))
  } catch {
    return null
  }
  const parsed = parseStrict(bytes, { depth: 8, members: 1_000_000 })
  if (!parsed.ok || !isObject(parsed.value)) return null
  const { identity, agents, readAt } = parsed.value
  if (identity !== identityOf(config) || !Array.isArray(agents) || !agents.every(isAgent) || typeof readAt !== 'number') return null
  return { agents, readAt }
}

/** @throws Error of the file system */
export function writeLastGood (stateDir: string, config: AgentSourceConfig, { agents, readAt }: LastGood): void {
  const file = fileOf(stateDir, config)
  mkdirSync(join(stateDir, 'sources'), { recursive: true, mode: 0o700 })
  // A process that stops in between leaves the old state whole.
  writeFileSync(`${file}.new`, JSON.stringify({ identity: identityOf(config), readAt, agents }), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

function fileOf (stateDir: string, { name }: AgentSourceConfig): string {
  return join(stateDir, 'sources', `${name}.json`)
}

function isAgent (value: unknown): value is DiscoveredAgent {
  if (!isObject(value)) return false
  const { name, identifier, published, upstream, card, cardFile, extensions } = value
  const isText = (text: unknown): boolean => typeof text === 'string'
  return isText(name) && isText(identifier) && isText(upstream) && (published === null || isText(published)) &&
    (card === null || isText(card)) && (cardFile === null || isText(cardFile)) && Array.isArray(extensions) && extensions.every(isText)
}
