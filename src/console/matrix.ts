/**
 * Builds the table of agents and extensions: who declares and requires an extension, which policy is in force in which mode, and who used
 * the extension.
 */
import type { Mode, PolicyConfig, ResolvedPolicy } from '#config/model/model.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import { modeOf } from '#policy/compile/identity.js'
import { keyOf, sumBy } from './counts.js'
import { clip } from './text.js'
import type { ConsoleAgent, ConsoleSource } from './source.js'

export interface MatrixRow {
  readonly agent: string
  readonly uri: string
  /** Declared by the agent's own card, or by an addition of the gateway. */
  readonly declared: 'card' | 'gateway' | null
  /** Required by the card, or by a policy whatever the card declares. */
  readonly required: 'card' | 'policy' | null
  readonly policy: string | null
  /** Null: the gateway evaluates nothing for the extension, because it has no policy and nobody requires it. */
  readonly mode: Mode | null
  readonly injected: boolean
  /** Null without a policy. */
  readonly has: Contents | null
  readonly seen: ActivationCounts
}

/** Number of entries in a policy, by kind. */
export interface Contents {
  /** Rules for requests and responses, correlations, and the rule about states. */
  readonly rules: number
  readonly methods: number
  readonly routes: number
  /** Names, media types and headers of the data that belongs to the extension (`owns`). */
  readonly evidence: number
  /** Methods and routes that the agent offers: with `need: none`, also when the card does not declare the extension. */
  readonly offered: number
}

/** Calls in which the extension was requested, by clients and by the gateway, and the activation that the agent's responses proved. */
export interface ActivationCounts {
  readonly client: number
  readonly gateway: number
  readonly confirmed: number
  readonly absent: number
  readonly unexpected: number
  /** Calls of the methods and routes of the policy, whatever their outcome. */
  readonly additions: number
}

const ROWS = 1_000
const VERSIONS = ['0.3', '1.0'] as const

export async function matrixOf (source: ConsoleSource): Promise<{ readonly rows: readonly MatrixRow[], readonly omitted: number }> {
  const metrics = await source.metrics()
  const activations = sumBy(metrics, 'activations_total', labels => keyOf(labels.agent, labels.extension, labels.source, labels.echo))
  const operations = sumBy(metrics, 'requests_total', labels => keyOf(labels.agent, labels.operation))
  const rows: MatrixRow[] = []
  let omitted = 0
  for (const agent of source.agents()) {
    const uris = urisOf(agent)
    const room = ROWS - rows.length
    rows.push(
      ...uris.slice(0, room).map(uri =>
        rowOf(agent, uri, {
          extension: (label, who, echo) => activations.get(keyOf(agent.name, label, who, echo)) ?? 0,
          operation: name => operations.get(keyOf(agent.name, name)) ?? 0
        })
      )
    )
    omitted += Math.max(0, uris.length - room)
  }
  return { rows, omitted }
}

/** Returns the URIs of the card, the URIs that the gateway requires or injects, and the URIs of policies that match no extension. */
function urisOf ({ config, state }: ConsoleAgent): string[] {
  const policies = state === null ? [] : VERSIONS.map(version => state.policy[version])
  const uris = new Set(policies.flatMap(policy => [...policy.declared, ...policy.required.map(({ uri }) => uri), ...policy.injected]))
  const labelled = new Set(policies.flatMap(policy => [...uris].map(uri => policy.labels.get(uri))))
  for (const { name, policy } of config.policies) {
    const uri = policy.uri ?? policy.uriPattern
    if (uri !== undefined && !labelled.has(name)) uris.add(uri)
  }
  return [...uris]
}

interface Counts {
  extension (label: string, who: 'client' | 'gateway', echo: 'confirmed' | 'absent' | 'unexpected'): number
  operation (name: string): number
}

function rowOf ({ name, config, state }: ConsoleAgent, uri: string, { extension: count, operation }: Counts): MatrixRow {
  const policies = state === null ? [] : VERSIONS.map(version => state.policy[version])
  const label = policies.map(policy => policy.labels.get(uri)).find(text => text !== undefined) ?? uri
  const listed = config.policies.find(policy => policy.name === label || policy.policy.uri === uri || policy.policy.uriPattern === uri)
  const required = policies.flatMap(policy => policy.required).find(requiredExtension => requiredExtension.uri === uri)
  const own = state !== null && VERSIONS.some(version =>
    state.loaded.byVersion[version].card.extensions.some(declared => declared.uri === uri))
  return {
    agent: name,
    uri: clip(uri, 300),
    declared: own ? 'card' : policies.some(policy => policy.declared.includes(uri)) ? 'gateway' : null,
    required: required === undefined ? null : listed?.policy.activation?.required === 'always' ? 'policy' : 'card',
    policy: listed?.name ?? null,
    mode: listed === undefined ? (required?.mode ?? null) : modeOf(config.mode, listed.policy),
    injected: policies.some(policy => policy.injected.includes(uri)),
    has: listed === undefined ? null : contentsOf(listed, policies),
    seen: {
      client: count(label, 'client', 'confirmed') + count(label, 'client', 'absent'),
      gateway: count(label, 'gateway', 'confirmed') + count(label, 'gateway', 'absent'),
      confirmed: count(label, 'client', 'confirmed') + count(label, 'gateway', 'confirmed'),
      absent: count(label, 'client', 'absent') + count(label, 'gateway', 'absent'),
      unexpected: count(label, 'client', 'unexpected'),
      additions: listed === undefined ? 0 : additionsOf(listed.policy).reduce((sum, addition) => sum + operation(addition), 0)
    }
  }
}

/** Names of methods and routes, as metrics have them. */
function additionsOf ({ methods = {}, routes = [] }: PolicyConfig): string[] {
  return [...new Set([...Object.keys(methods), ...routes.map(({ verb, path }) => `${verb} ${path}`)])]
}

function contentsOf ({ name, policy }: ResolvedPolicy, policies: readonly AgentPolicy[]): Contents {
  const { request = [], response = [], correlate = [], state, methods = {}, routes = [], owns = {} } = policy
  const offered = policies.flatMap(policy => [...policy.methods.values(), ...policy.routes.values()].flat())
  return {
    rules: request.length + response.length + correlate.length + (state === undefined ? 0 : 1),
    methods: Object.keys(methods).length,
    routes: routes.length,
    evidence: Object.values(owns).reduce((sum, list) => sum + list.length, 0),
    offered: new Set(offered.filter(addition => addition.policy === name).map(addition => addition.name)).size
  }
}
