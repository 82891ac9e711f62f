/**
 * Lists the policy in force for one agent, key by key and rule by rule, with the source of each: the catalogue, the directory of
 * `extensions.from`, the file's own policies, the agent's own list, or the default.
 */
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Path } from '#config/diagnostics.js'
import { readText } from '#config/load.js'
import type { Config, Layer, ResolvedPolicy } from '#config/model/model.js'
import type { Origins } from '#config/origins.js'
import { originsOf } from '#config/origins.js'
import { packageRoot } from '#config/paths.js'
import { readYaml } from '#config/yaml/document.js'
import { modeOf } from '#policy/compile/identity.js'
import { isSchemaRef } from '#policy/compile/schema-source.js'
import { parseJson } from '#wire/json/parse-json.js'
import { clip } from '../text.js'

export interface PolicyLine {
  /** The key, such as `activation.required`; of a rule with its id, such as `request.data-valid`. */
  readonly key: string
  /** The value as YAML. */
  readonly value: string
  readonly from: Layer | 'default'
  /** `file:line`, or null when the position is not known. */
  readonly at: string | null
}

export interface PolicyView {
  readonly settings: readonly PolicyLine[]
  readonly policies: readonly {
    readonly name: string
    readonly uri: string
    readonly mode: string
    readonly layers: readonly Layer[]
    readonly lines: readonly PolicyLine[]
  }[]
}

const SETTINGS = [
  'mode',
  'responses',
  'enforceOn',
  'unlistedExtensions',
  'unknownMethods',
  'untaggedData',
  'access',
  'push',
  'jsonSchema',
  'passthrough',
  'concurrency',
  'host',
  'path'
] as const
const VALUE = 4_000
/** Keys whose rules have a line each. */
const RULES: ReadonlySet<string> = new Set(['request', 'response', 'correlate'])

/**
 * Lists the lines of an agent.
 * @returns null for an agent that is not in the configuration
 */
export function policyLinesOf (config: Config, name: string): PolicyView | null {
  const index = config.agents.findIndex(agent => agent.name === name)
  const agent = config.agents[index]
  if (agent === undefined) return null
  const places = placesOf(config)
  const { origins } = places
  const setting = (key: typeof SETTINGS[number]): PolicyLine => {
    const at = lineAt(origins, ['agents', index, key])
    const value = key === 'path' && agent.path === '' ? '/' : agent[key]
    return { key, value: formatValue(value), from: origins !== null && at === null ? 'default' : 'file', at }
  }
  return {
    settings: SETTINGS.map(setting),
    policies: agent.policies.map((resolved, position) => {
      const lines: PolicyLine[] = keysOf(resolved).map(({ key, steps, value, from }) => ({
        key,
        value: formatValue(key === 'inject' ? withoutValues(value) : value),
        from,
        at: placeOf(places, { index, position, resolved }, from, steps)
      }))
      if (resolved.policy.mode === undefined) lines.push({ key: 'mode', value: agent.mode, from: 'default', at: null })
      return {
        name: resolved.name,
        uri: resolved.policy.uri ?? resolved.policy.uriPattern ?? '',
        mode: modeOf(agent.mode, resolved.policy),
        layers: resolved.layers,
        lines
      }
    })
  }
}

/** Returns the `file:line` of each key of an agent's policies, by policy and key, without the values. */
export function positionsOf (config: Config, index: number): ReadonlyMap<string, ReadonlyMap<string, string | null>> {
  const places = placesOf(config)
  return new Map(config.agents[index]?.policies.map((resolved, position) => [
    resolved.name,
    new Map(keysOf(resolved).map(({ key, steps, from }) => [key, placeOf(places, { index, position, resolved }, from, steps)]))
  ]))
}

interface Key {
  readonly key: string
  readonly steps: Path
  readonly value: unknown
  readonly from: Layer
}

function keysOf ({ policy, from }: ResolvedPolicy): Key[] {
  const keys: Key[] = []
  for (const [key, value] of Object.entries(policy)) {
    if (key === 'about') continue
    const layer = from[key]
    if (layer !== undefined && RULES.has(key)) {
      const rules = value as readonly { readonly id: string }[]
      keys.push(...rules.map((rule, i) => ({ key: `${key}.${rule.id}`, steps: [key, i], value: rule, from: layer })))
    } else if (layer !== undefined) keys.push({ key, steps: [key], value, from: layer })
    else {
      for (const [member, content] of Object.entries(value as object)) {
        keys.push({ key: `${key}.${member}`, steps: [key, member], value: content, from: from[`${key}.${member}`] ?? 'file' })
      }
    }
  }
  return keys
}

/** Where the configuration is written. `directory`: of `extensions.from`. */
interface Places {
  readonly origins: Origins | null
  readonly directory: string | null
  /** Files of the directory that were read for these places. */
  readonly files: Map<string, PolicyYaml>
}

type PolicyYaml = ReturnType<typeof readYaml> | null

function placesOf (config: Config): Places {
  return { origins: originsOf(config), directory: config.policyDirectory, files: new Map() }
}

interface Listed { readonly index: number, readonly position: number, readonly resolved: ResolvedPolicy }

function placeOf (
  { origins, directory, files }: Places,
  { index, position, resolved: { name } }: Listed,
  layer: Layer,
  steps: Path
): string | null {
  if (layer === 'catalogue') return catalogueLine(name, steps)
  if (layer === 'directory') return directory === null ? null : directoryLine(files, join(directory, `${name}.yaml`), steps)
  return lineAt(origins, layer === 'file' ? ['extensions', name, ...steps] : ['agents', index, 'extensions', position, name, ...steps])
}

function lineAt (origins: Origins | null, path: Path): string | null {
  const line = origins?.lineOf(path) ?? null
  return origins === null || line === null ? null : `${origins.file}:${line}`
}

/** Hides the values that the platform adds to requests. A value may be a secret that the file took from the environment. */
function withoutValues (inject: unknown): unknown {
  return Array.isArray(inject)
    ? inject.map(entry => (typeof entry === 'object' && entry !== null && 'value' in entry ? { ...entry, value: '(not shown)' } : entry))
    : inject
}

function formatValue (value: unknown): string {
  if (typeof value === 'string') return clip(value, VALUE)
  const plain = JSON.stringify(value, (_key, inner: unknown) => isSchemaRef(inner) ? { ref: inner.ref } : inner) ?? 'null'
  return clip(stringify(parseJson(plain), { lineWidth: 0, indentSeq: false }).trimEnd(), VALUE)
}

/** @returns the place in a file of `extensions.from`, as the file is now: it may have changed since it was loaded */
function directoryLine (files: Places['files'], file: string, steps: Path): string {
  let yaml = files.get(file)
  if (yaml === undefined) files.set(file, yaml = yamlIn(file))
  return placeIn(yaml, file, steps)
}

function yamlIn (file: string): PolicyYaml {
  const read = readText(file)
  return 'text' in read ? readYaml(read.text, null) : null
}

/** Files of the built-in catalogue. The files do not change while the gateway runs. */
const catalogue = new Map<string, PolicyYaml>()

function catalogueLine (name: string, steps: Path): string {
  const file = `${name}.yaml`
  let yaml = catalogue.get(name)
  if (yaml === undefined) {
    catalogue.set(name, yaml = yamlIn(join(packageRoot(), 'config', 'extensions', file)))
  }
  return placeIn(yaml, `config/extensions/${file}`, steps)
}

function placeIn (yaml: PolicyYaml, file: string, steps: Path): string {
  let node = yaml?.root ?? null
  for (const step of steps) node = node?.children.get(String(step)) ?? null
  return yaml === null || node === null ? file : `${file}:${yaml.position(node.keyOffset).line}`
}
