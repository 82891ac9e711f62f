/** The agents in force. Replaces one configuration with the next without any effect on requests in flight. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Agents, servedHosts } from '#pipeline/agents.js'
import type { AgentConfig, Config } from '#config/model/model.js'
import { readSecrets } from '#config/secrets.js'
import { inlineSchemaProblems } from '#policy/compile/inline-schemas.js'
import { compileLimits } from '#policy/limits/compile.js'
import { callerSources } from '#identity/schemes.js'
import type { Log } from '#telemetry/log.js'
import type { Metrics } from '#telemetry/metrics/metrics.js'
import type { Tracing } from '#telemetry/traces/tracing.js'
import type { TlsFiles } from '#upstream/tls.js'
import { readTlsFiles, TlsFileError } from '#upstream/tls.js'
import type { PublicJwk } from '#identity/signing-key.js'
import { TrustedProxies } from '#wire/forwarded.js'
import { errorAt, OperatorError } from '#operator-errors.js'
import type { AgentOptions } from './agent.js'
import { Agent, identityOf } from './agent.js'
import type { CardKeys } from './card/key-files.js'
import { readCardKeys } from './card/key-files.js'
import type { Changes } from './changes.js'
import { changesBetween, inEffect } from './changes.js'
import { AgentCredentials } from './credentials/agent-credentials.js'
import { DecisionPoints } from './decision-points.js'
import { Delegations } from './delegations.js'
import { Identity } from './identity/identity.js'
import type { InFlight } from './in-flight.js'
import type { Snapshot } from './snapshot.js'
import type { LockFile } from './lock/lock-file.js'
import { readLockFile } from './lock/lock-file.js'

export interface AgentRegistryOptions {
  readonly metrics: Metrics
  readonly log: Log
  /** For fetches that no request causes alone. */
  readonly tracing?: Tracing | undefined
  readonly inFlight: InFlight
  readonly env: NodeJS.ProcessEnv
  /** As in {@link AgentOptions}. */
  readonly onCard?: AgentOptions['onCard'] | undefined
  readonly keeper?: AgentOptions['keeper'] | undefined
  readonly audit?: AgentOptions['audit'] | undefined
}

/** A configuration that is ready to put in force: all steps that may fail are done. The caller calls either `commit` or `discard`, once. */
export interface PreparedChange {
  /** The agents that will be in force. */
  readonly agents: readonly Agent[]
  /** @returns the changes */
  commit (): Changes
  discard (): Promise<void>
}

/** Milliseconds to wait for the cards of new agents, so that the gateway does not reject the first calls. */
const FIRST_CARDS_MS = 1_000

export class AgentRegistry {
  snapshot: Snapshot
  config: Config
  private readonly options: AgentRegistryOptions
  /** Agents that are no longer in force, and still have exchanges in flight. */
  private readonly retired = new Set<Agent>()

  constructor (config: Config, options: AgentRegistryOptions) {
    this.options = options
    this.config = config
    this.snapshot = snapshotOf(config, [], NO_SHARED_PARTS)
  }

  /** @throws Error with a readable message when the start fails, for example because of an unusable TLS file */
  async start (): Promise<void> {
    const shared = await prepareShared(this.config, NO_SHARED_PARTS, this.options)
    const agents = this.prepare(this.config)
    this.snapshot = snapshotOf(this.config, agents, shared)
    this.updateMetrics()
    await firstCards(agents)
  }

  /**
   * Creates everything that another configuration needs. The configuration is not in force before `commit`; no other may be prepared until
   * then.
   * @throws Error with a readable message when the configuration cannot be used
   */
  async prepareChange (wanted: Config): Promise<PreparedChange> {
    const before = this.config
    const config = inEffect(before, wanted)
    const problems = inlineSchemaProblems(config)
    if (problems.length > 0) throw new OperatorError('A2AGW_ERR_CONFIG_SCHEMA', problems.join('\n'))
    const old = new Map(this.snapshot.agents.all.map(agent => [agent.name, agent]))
    const earlier = this.snapshot
    const shared = await prepareShared(config, earlier, this.options)
    let next: Agent[]
    try {
      next = this.prepare(config)
    } catch (error) {
      closeShared(shared, earlier)
      throw error
    }
    const newAgents = next.filter(agent => old.get(agent.name) !== agent)
    await Promise.all(
      newAgents
        .map(agent => old.get(agent.name))
        .map((predecessor, i) => (predecessor === undefined ? null : newAgents[i]?.prepareToInherit(predecessor)))
    )
    const fresh = newAgents.filter(agent => {
      const predecessor = old.get(agent.name)
      return predecessor === undefined || !agent.inherit(predecessor)
    })
    if (fresh.length > 0) await firstCards(fresh)

    // The change is synchronous: a request sees either the old or the new configuration, never a mix.
    const commit = (): Changes => {
      for (const agent of newAgents) {
        const predecessor = old.get(agent.name)
        if (predecessor === undefined) continue
        agent.concurrency = predecessor.concurrency
        if (!fresh.includes(agent)) agent.takeOver(predecessor)
      }
      closeShared(earlier, shared)
      if (shared.identity !== null && shared.identity !== earlier.identity) this.options.log.info({}, 'the sources of callers have changed')
      this.snapshot = snapshotOf(config, next, shared)
      this.config = config
      this.updateMetrics()
      for (const agent of old.values()) if (!next.includes(agent)) this.retire(agent)
      const rebuilt = newAgents.map(agent => agent.name).filter(name => old.has(name))
      return changesBetween(before, wanted, rebuilt)
    }
    const discard = async (): Promise<void> => {
      closeShared(shared, earlier)
      await Promise.all(newAgents.map(agent => agent.close()))
    }
    return { agents: next, commit, discard }
  }

  /** Closes all agents, even those that exchanges still use. */
  async close (): Promise<void> {
    closeShared(this.snapshot, NO_SHARED_PARTS)
    await Promise.all([...this.snapshot.agents.all, ...this.retired].map(agent => agent.close()))
  }

  /** Returns one agent per entry: the current agent if nothing about it has changed, otherwise a new agent. */
  private prepare (config: Config): Agent[] {
    const { metrics, log, env, onCard, keeper, audit } = this.options
    const current = new Map(this.snapshot.agents.all.map(agent => [agent.name, agent]))
    const sources = config.identity === null ? null : callerSources(config.identity)
    const lock = lockOf(config)
    // All files are read before any agent is created, because any file may be unusable.
    const entries = config.agents.map(entry => {
      const { publicUrl } = config.server
      const tls = tlsFilesOf(entry)
      return {
        config: entry,
        limits: config.limits,
        metrics,
        log,
        publicUrl,
        tls,
        secrets: readSecrets(entry, env),
        sources,
        credentials: AgentCredentials.prepare(entry, { env, publicUrl, tls }),
        cardKeys: readAgentCardKeys(entry),
        agreed: Object.hasOwn(lock.agents, entry.name) ? lock.agents[entry.name] : null,
        onCard,
        keeper,
        audit
      }
    })
    return entries.map(options => {
      const agent = current.get(options.config.name)
      return agent !== undefined && agent.identity === identityOf(options) ? agent : new Agent(options)
    })
  }

  private updateMetrics (): void {
    const { metrics } = this.options
    const { all } = this.snapshot.agents
    const issuers = this.snapshot.identity?.issuerGauges ?? []
    metrics.read('identity_keys_age_seconds', () => issuers.map(({ name, age }) => [name, age()]))
    metrics.read('token_cache_entries', () => issuers.map(({ name, tokens }) => [name, tokens()]))
    metrics.read('requests_active', () => all.map(({ name, concurrency }) => [name, concurrency.requests]))
    metrics.read('requests_limit', () => all.map(({ name, config }) => [name, config.concurrency.requests]))
    metrics.read('streams_limit', () => all.map(({ name, config }) => [name, config.concurrency.streams]))
    metrics.read('card_age_seconds', () => all.map(({ name, cardAge }) => [name, cardAge]))
    metrics.read('card_max_stale_seconds', () => all.map(({ name, config }) => [name, config.card.maxStale / 1_000]))
    metrics.read('card_usable', () => all.map(({ name, state }) => [name, state === null ? 0 : 1]))
    metrics.read(
      'cards_held', () => all.map(({ name, awaitsAgreement }) => [name, awaitsAgreement === null ? null : Number(awaitsAgreement)])
    )
  }

  /** Retires an agent: it stops refreshing its card, and its connections close after its last exchange. */
  private retire (agent: Agent): void {
    const { inFlight, log } = this.options
    this.retired.add(agent)
    const over = async (): Promise<void> => {
      await agent.stopRefreshing()
      await inFlight.left(agent)
      await agent.close()
      this.retired.delete(agent)
      log.debug({ agent: agent.name }, `agent ${agent.name}: its last call under an earlier configuration is over`)
    }
    over().catch((error: unknown) => {
      log.error({ err: error, agent: agent.name }, 'an agent of an earlier configuration could not be closed')
    })
  }
}

/** What all agents of a configuration share. */
type Shared = Pick<Snapshot, 'identity' | 'decisionPoints' | 'delegations'>

const NO_SHARED_PARTS: Shared = { identity: null, decisionPoints: null, delegations: null }

/**
 * Creates what the agents of a configuration share. Parts that have not changed go on.
 * @throws Error with a readable message when a part cannot be created; the others are closed
 */
async function prepareShared (config: Config, earlier: Shared, options: AgentRegistryOptions): Promise<Shared> {
  let shared = NO_SHARED_PARTS
  try {
    shared = { ...shared, identity: await Identity.prepare(config.identity, earlier.identity, options) }
    shared = { ...shared, decisionPoints: DecisionPoints.prepare(config, earlier.decisionPoints, options.env) }
    return { ...shared, delegations: await Delegations.prepare(config.delegation, earlier.delegations, options) }
  } catch (error) {
    closeShared(shared, earlier)
    throw error
  }
}

/** Closes everything that `shared` does not use. */
function closeShared ({ identity, decisionPoints, delegations }: Shared, shared: Shared): void {
  identity?.close(shared.identity)
  decisionPoints?.close(shared.decisionPoints)
  delegations?.close(shared.delegations)
}

function snapshotOf (config: Config, agents: readonly Agent[], shared: Shared): Snapshot {
  return {
    limits: config.limits,
    trusted: new TrustedProxies(config.server.trustedProxies),
    hosts: servedHosts(config),
    agents: new Agents(agents),
    ...shared,
    rates: compileLimits(config),
    keys: publicKeysOf(agents, shared.delegations?.publicKeys ?? []),
    catalog: config.server.catalog
  }
}

/** All agents have one lock file. @throws LockFileError when it cannot be used */
function lockOf ({ agents }: Config): LockFile {
  const path = agents.map(({ card }) => card.lock).find(file => file !== null) ?? null
  return path === null ? { agents: {} } : readLockFile(path)
}

function readAgentCardKeys ({ name, card }: AgentConfig): CardKeys {
  try {
    return readCardKeys(card)
  } catch (error) {
    throw errorAt(`agent ${name}`, error, 'A2AGW_ERR_CONFIG_FILE')
  }
}

/** Several agents may have one key. No two keys have one `kid`: `unusableSigningKeys` has checked them. */
function publicKeysOf (agents: readonly Agent[], others: readonly PublicJwk[]): readonly PublicJwk[] | null {
  const keys = new Map([...agents.flatMap(agent => agent.publicKeys), ...others].map(key => [key.kid, key]))
  return keys.size === 0 ? null : [...keys.values()]
}

function tlsFilesOf (agent: AgentConfig): TlsFiles {
  try {
    return readTlsFiles(agent.upstream.tls)
  } catch (error) {
    const setting = error instanceof TlsFileError ? `: upstream.tls.${error.setting}: ${agent.upstream.tls[error.setting]}` : ''
    throw errorAt(`agent ${agent.name}${setting}`, error, 'A2AGW_ERR_CONFIG_FILE')
  }
}

async function firstCards (agents: readonly Agent[]): Promise<void> {
  await Promise.race([Promise.all(agents.map(agent => agent.start())), sleep(FIRST_CARDS_MS, undefined, { ref: false })])
}
