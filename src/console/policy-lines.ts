/**
 * Lists the policy in force for one agent, key by key, with the source of each key: the catalogue, the file's own policies, the agent's own
 * list, or the default.
 */
import { join } from 'node:path'
import { stringify } from 'yaml'
import { readText } from '../config/load.js'
import type { AgentConfig, Config, Layer, ResolvedPolicy } from '../config/model/model.js'
import { originsOf } from '../config/origins.js'
import { packageRoot } from '../config/paths.js'
import { readYaml } from '../config/yaml/document.js'
import { modeOf } from '../policy/compile/identity.js'
import { isSchemaRef } from '../policy/compile/schema-source.js'
import { clip } from './text.js'

export interface PolicyLine {
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

/**
 * Lists the lines of an agent.
 * @returns null for an agent that is not in the configuration
 */
export function policyLinesOf (config: Config, name: string): PolicyView | null {
  const index = config.agents.findIndex(agent => agent.name === name)
  const agent = config.agents[index]
  if (agent === undefined) return null
  const origins = originsOf(config)
  const lineAt = (path: readonly (string | number)[]): string | null => {
    const line = origins?.lineOf(path) ?? null
    return origins === null || line === null ? null : `${origins.file}:${line}`
  }
  const setting = (key: typeof SETTINGS[number]): PolicyLine => {
    const at = lineAt(['agents', index, key])
    const value = key === 'path' && agent.path === '' ? '/' : agent[key]
    return { key, value: shown(value), from: origins !== null && at === null ? 'default' : 'file', at }
  }
  return {
    settings: SETTINGS.map(setting),
    policies: agent.policies.map((resolved, position) => ({
      name: resolved.name,
      uri: resolved.policy.uri ?? resolved.policy.uriPattern ?? '',
      mode: modeOf(agent.mode, resolved.policy),
      layers: resolved.layers,
      lines: linesOf(resolved, agent, (layer, steps) =>
        layer === 'catalogue'
          ? catalogueLine(resolved.name, steps)
          : lineAt(
            layer === 'file'
              ? ['extensions', resolved.name, ...steps]
              : ['agents', index, 'extensions', position, resolved.name, ...steps]
          )
      )
    }))
  }
}

function linesOf (
  { policy, from }: ResolvedPolicy,
  agent: AgentConfig,
  placeOf: (layer: Layer, steps: readonly string[]) => string | null
): PolicyLine[] {
  const lines: PolicyLine[] = []
  const line = (steps: readonly string[], value: unknown, layer: Layer): void => {
    lines.push({ key: steps.join('.'), value: shown(value), from: layer, at: placeOf(layer, steps) })
  }
  for (const [key, value] of Object.entries(policy)) {
    if (key === 'about') continue
    const layer = from[key]
    if (layer !== undefined) line([key], key === 'inject' ? withoutValues(value) : value, layer)
    else for (const [member, content] of Object.entries(value as object)) line([key, member], content, from[`${key}.${member}`] ?? 'file')
  }
  if (policy.mode === undefined) lines.push({ key: 'mode', value: agent.mode, from: 'default', at: null })
  return lines
}

/** Hides the values that the platform adds to requests. A value may be a secret that the file took from the environment. */
function withoutValues (inject: unknown): unknown {
  return Array.isArray(inject)
    ? inject.map(one => (typeof one === 'object' && one !== null && 'value' in one ? { ...one, value: '(not shown)' } : one))
    : inject
}

function shown (value: unknown): string {
  if (typeof value === 'string') return clip(value, VALUE)
  const plain = JSON.stringify(value, (_key, inner: unknown) => isSchemaRef(inner) ? { ref: inner.ref } : inner) ?? 'null'
  return clip(stringify(JSON.parse(plain), { lineWidth: 0, indentSeq: false }).trimEnd(), VALUE)
}

/** Files of the built-in catalogue. The files do not change while the gateway runs. */
const catalogue = new Map<string, ReturnType<typeof readYaml> | null>()

function catalogueLine (name: string, steps: readonly string[]): string {
  const file = `${name}.yaml`
  let yaml = catalogue.get(name)
  if (yaml === undefined) {
    const read = readText(join(packageRoot(), 'config', 'extensions', file))
    catalogue.set(name, yaml = 'text' in read ? readYaml(read.text, null) : null)
  }
  let node = yaml?.root ?? null
  for (const step of steps) node = node?.children.get(step) ?? null
  return yaml === null || node === null ? `config/extensions/${file}` : `config/extensions/${file}:${yaml.position(node.keyOffset).line}`
}
