/** Describes the effect of a new configuration, for the operator who changed it. */
import { digest } from '#config/digest.js'
import type { AgentConfig, Config, ListenerTlsConfig } from '#config/model/model.js'
import type { HostPort } from '#config/model/listener-model.js'
import type { GrpcListenerConfig } from '#config/model/model.js'
import type { MeshListenerConfig } from '#config/model/model.js'
import { listenerName } from '#config/listeners/host-port.js'

export interface Changes {
  readonly agents: { readonly added: readonly string[], readonly removed: readonly string[], readonly changed: readonly string[] }
  /**
   * Rules of agents that exist before and after, as `agent/policy/rule`, and other keys of a policy as `agent/policy.key`, such as
   * `a/x402.activation`.
   */
  readonly rules: { readonly added: readonly string[], readonly removed: readonly string[], readonly changed: readonly string[] }
  /**
   * `agent: enforce -> observe`, `agent responses: observe -> enforce`, `agent access: observe -> enforce`,
   * `agent/policy: observe -> enforce`.
   */
  readonly modes: readonly string[]
  /** Settings outside the agents that are in force now. */
  readonly settings: readonly string[]
  /** Settings that differ from those in force. The settings in force stay until a restart. */
  readonly needsRestart: readonly string[]
}

/** Result of a reload, all or nothing: a rejected configuration has changed nothing. */
export type ReloadReport =
  | ({ readonly ok: true } & Changes)
  | { readonly ok: false, readonly problems: readonly string[] }

/** Returns the new configuration, with the old values of settings that only a restart can change. */
export function inEffect (before: Config, after: Config): Config {
  const { listen, admin, metrics, adminHosts, drainTimeout, workers, console } = before.server
  const { telemetry } = before
  const [tls, wanted] = [before.server.tls, after.server.tls]
  return {
    ...after,
    server: {
      ...after.server,
      listen,
      admin,
      metrics,
      adminHosts,
      drainTimeout,
      workers,
      console,
      tls: tls === null || wanted === null ? tls : { ...wanted, clientCertificate: tls.clientCertificate },
      grpc: grpcInEffect(before, after),
      mesh: meshInEffect(before, after)
    },
    agents: grpcAgentsInEffect(before, after),
    telemetry: { ...telemetry, logs: { ...telemetry.logs, level: after.telemetry.logs.level } }
  }
}

/**
 * Lists the changes between two configurations.
 * @param before configuration that was in effect until now
 * @param wanted configuration as the file has it; settings that need a restart are reported, and are not in effect
 * @param rebuilt names of the agents that existed before and have changed
 */
export function changesBetween (before: Config, wanted: Config, rebuilt: readonly string[]): Changes {
  const effective = inEffect(before, wanted)
  const old = new Map(before.agents.map(agent => [agent.name, agent]))
  const names = new Set(effective.agents.map(agent => agent.name))
  const rules: { added: string[], removed: string[], changed: string[] } = { added: [], removed: [], changed: [] }
  const modes: string[] = []
  for (const agent of effective.agents) {
    const earlier = old.get(agent.name)
    if (earlier === undefined) continue
    if (earlier.mode !== agent.mode) modes.push(`${agent.name}: ${earlier.mode} -> ${agent.mode}`)
    if (earlier.responses !== agent.responses) modes.push(`${agent.name} responses: ${earlier.responses} -> ${agent.responses}`)
    if (earlier.access.mode !== agent.access.mode) modes.push(`${agent.name} access: ${earlier.access.mode} -> ${agent.access.mode}`)
    compareRules(rulesOf(earlier), rulesOf(agent), rules)
    modes.push(...compareModes(earlier, agent))
  }
  return {
    agents: {
      added: [...names].filter(name => !old.has(name)),
      removed: [...old.keys()].filter(name => !names.has(name)),
      changed: rebuilt
    },
    rules,
    modes,
    settings: differences(before, effective),
    needsRestart: differences(effective, wanted)
  }
}

/** Returns one line for the log. The fields of the log line hold the complete lists. */
export function summary (changes: Changes): string {
  const { agents, rules, modes, settings } = changes
  const parts: [string, readonly string[]][] = [
    ['agents added', agents.added],
    ['agents removed', agents.removed],
    ['agents changed', agents.changed],
    ['rules added', rules.added],
    ['rules removed', rules.removed],
    ['rules changed', rules.changed],
    ['modes', modes],
    ['settings', settings]
  ]
  const said = parts.filter(([, list]) => list.length > 0).map(([what, list]) => `${what}: ${shortened(list)}`)
  return said.length === 0 ? 'configuration reloaded: nothing has changed' : `configuration reloaded: ${said.join('; ')}`
}

const MAX_LISTED_NAMES = 10

function shortened (list: readonly string[]): string {
  return list.length <= MAX_LISTED_NAMES
    ? list.join(', ')
    : `${list.slice(0, MAX_LISTED_NAMES).join(', ')} and ${list.length - MAX_LISTED_NAMES} more`
}

const SERVER = [
  'listen', 'admin', 'metrics', 'adminHosts', 'adminAccess', 'publicUrl', 'hosts', 'trustedProxies', 'drainTimeout', 'stateDir', 'workers', 'console', 'catalog', 'tls', 'grpc', 'mesh'
] as const

function differences (a: Config, b: Config): string[] {
  const pairs: [string, unknown, unknown][] = [
    ...SERVER.map((key): [string, unknown, unknown] => [`server.${key}`, a.server[key], b.server[key]]),
    ...(Object.keys(a.limits) as (keyof Config['limits'])[]).map((key): [string, unknown, unknown] => [
      `limits.${key}`,
      a.limits[key],
      b.limits[key]
    ]),
    ...(Object.keys(a.shedding) as (keyof Config['shedding'])[]).map((key): [string, unknown, unknown] => [
      `shedding.${key}`,
      a.shedding[key],
      b.shedding[key]
    ]),
    ['agents[].grpc.listen', grpcListens(a), grpcListens(b)],
    ['agentSources', a.agentSources, b.agentSources],
    ['identity', a.identity, b.identity],
    ['delegation', a.delegation, b.delegation],
    ['decisionPoints', a.decisionPoints, b.decisionPoints],
    ['rates', a.rates, b.rates],
    ['budgets', a.budgets, b.budgets],
    ...(Object.keys(a.state) as (keyof Config['state'])[]).map((key): [string, unknown, unknown] => [
      `state.${key}`,
      a.state[key],
      b.state[key]
    ]),
    ['telemetry.logs.level', a.telemetry.logs.level, b.telemetry.logs.level],
    ['telemetry.logs.format', a.telemetry.logs.format, b.telemetry.logs.format],
    ['telemetry.traces', a.telemetry.traces, b.telemetry.traces],
    ['telemetry.metrics', a.telemetry.metrics, b.telemetry.metrics],
    ['telemetry.audit', a.telemetry.audit, b.telemetry.audit]
  ]
  return pairs.filter(([, value, other]) => digest(value) !== digest(other)).map(([name]) => name)
}

function rulesOf (agent: AgentConfig): Map<string, string> {
  const rules = new Map<string, string>()
  for (const { name, policy } of agent.policies) {
    for (const rule of [...(policy.request ?? []), ...(policy.response ?? []), ...(policy.correlate ?? [])]) {
      rules.set(`${agent.name}/${name}/${rule.id}`, digest([policy.uri, rule]))
    }
    for (const [key, value] of Object.entries(policy)) {
      if (!TOLD_OTHERWISE.has(key)) rules.set(`${agent.name}/${name}.${key}`, digest(value))
    }
  }
  return rules
}

/** Keys of a policy that are rules, are reported as modes, are part of every rule, or have no effect. */
const TOLD_OTHERWISE: ReadonlySet<string> = new Set(['request', 'response', 'correlate', 'mode', 'uri', 'about'])

function compareRules (
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
  into: { added: string[]; removed: string[]; changed: string[] }
): void {
  for (const [rule, content] of after) {
    const earlier = before.get(rule)
    if (earlier === undefined) into.added.push(rule)
    else if (earlier !== content) into.changed.push(rule)
  }
  for (const rule of before.keys()) if (!after.has(rule)) into.removed.push(rule)
}

/** Compares modes that policies set themselves. A mode that follows the agent's mode is reported with the agent. */
function compareModes (before: AgentConfig, after: AgentConfig): string[] {
  const earlier = new Map(before.policies.map(({ name, policy }) => [name, policy]))
  return after.policies.flatMap(({ name, policy }) => {
    const was = earlier.get(name)
    return was === undefined || was.mode === policy.mode
      ? []
      : [`${after.name}/${name}: ${was.mode ?? before.mode} -> ${policy.mode ?? after.mode}`]
  })
}

// The open HTTP/2 listeners: a reload changes their agents and their TLS files, but opens and closes no listener.

/** Listeners are opened at start only. */
function grpcInEffect (before: Config, after: Config): GrpcListenerConfig | null {
  const [old, wanted] = [before.server.grpc, after.server.grpc]
  if (old === null || wanted === null) return old
  return { ...wanted, listen: old.listen, maxConcurrentStreams: old.maxConcurrentStreams, tls: tlsInEffect(old.tls, wanted.tls) }
}

/** As {@link grpcInEffect}, for the listener of a mesh. */
function meshInEffect (before: Config, after: Config): MeshListenerConfig | null {
  const [old, wanted] = [before.server.mesh, after.server.mesh]
  return old === null || wanted === null ? old : { listen: old.listen, tls: tlsInEffect(old.tls, wanted.tls) }
}

function tlsInEffect (old: ListenerTlsConfig | null, wanted: ListenerTlsConfig | null): ListenerTlsConfig | null {
  return old === null || wanted === null ? old : { ...wanted, clientCertificate: old.clientCertificate }
}

/**
 * An agent keeps its listener. A new agent can use a listener that is open; with another one, it is not served by gRPC. A mesh carries the
 * calls of any agent.
 */
function grpcAgentsInEffect (before: Config, after: Config): readonly AgentConfig[] {
  const open = new Set(Object.values(grpcListens(before)).map(listenerName))
  const { grpc, mesh } = before.server
  if (grpc !== null && grpc.listen !== null) open.add(listenerName(null))
  const old = new Map(before.agents.map(agent => [agent.name, agent]))
  return after.agents.map(agent => {
    if (agent.grpc === null) return agent
    const earlier = old.get(agent.name)?.grpc ?? null
    const listen = earlier === null ? agent.grpc.listen : earlier.listen
    if (!open.has(listenerName(listen)) && mesh === null) return { ...agent, grpc: null }
    if (listenerName(listen) === listenerName(agent.grpc.listen)) return agent
    // Its card names the address of the listener that is open.
    return { ...agent, grpc: { ...agent.grpc, listen, publicAddress: earlier?.publicAddress ?? agent.grpc.publicAddress } }
  })
}

/** The listener of each agent that is served by gRPC; null for the shared one. */
function grpcListens ({ agents }: Config): Readonly<Record<string, HostPort | null>> {
  return Object.fromEntries(agents.flatMap(({ name, grpc }) => (grpc === null ? [] : [[name, grpc.listen]])))
}
