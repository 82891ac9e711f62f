/** An agent, as `/agents` and the console show it. */
import type { AgentConfig, Mode, ResolvedPolicy, CardConfig } from '#config/model/model.js'
import { describeAccess } from '#pipeline/access/agent-security.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import { modeOf } from '#policy/compile/identity.js'
import type { CardStatus } from '../card/card-keeper.js'
import type { LockEntry } from '../lock/lock-file.js'
import type { ConcurrencyLimit } from '../concurrency-limit.js'
import type { Requirement } from '#identity/schemes.js'
import type { GrpcTarget } from '#a2a/card/map.js'
import type { CardSignatures } from '#a2a/card/loaded-cards.js'
import { publicCard } from '#a2a/card/minimal.js'
import type { Version } from '#a2a/versions.js'
import type { AgentPolicy, CompiledPolicy } from '#policy/compile/compiled.js'

export interface PastRejection { readonly at: string, readonly rule: string, readonly reason: string, readonly message: string }

export interface DescribedAgent {
  readonly config: AgentConfig
  /** The agreement about its card; null for none. */
  readonly agreed: LockEntry | null
  readonly upstream: URL
  readonly publicBase: string | null
  readonly ready: boolean
  /** Null without a usable card. */
  readonly state: AgentState | null
  readonly status: CardStatus
  /** `kid` of the key that signs served cards; null for none. */
  readonly signedBy: string | null
  readonly concurrency: ConcurrencyLimit
  /** Requirements of the agent for its callers; null without `identity`, and while the card that decides is missing. */
  readonly requirement: Requirement | null
  readonly rejections: readonly PastRejection[]
}

function originOf ({ origin }: AgentConfig): object | null {
  if (origin === null) return null
  const { source, kind, identifier } = origin
  return { source, kind, identifier }
}

export function describeAgent (agent: DescribedAgent): object {
  const { config, agreed, upstream, publicBase, ready, state, status, signedBy, concurrency, requirement, rejections } = agent
  return {
    name: config.name,
    url: publicBase ?? (config.path === '' ? '/' : config.path),
    host: config.host,
    origin: originOf(config),
    upstream: upstream.origin + upstream.pathname,
    mode: config.mode,
    responses: config.mode === 'off' ? 'off' : config.responses,
    ready,
    card: describeCard({ config: config.card, agreed, status, state, publicBase, signedBy }),
    interfaces:
      state?.interfaces.map(mappedInterface => ({
        binding: mappedInterface.binding,
        version: mappedInterface.version,
        ...(mappedInterface.address === undefined
          ? { path: mappedInterface.publicPath === '' ? '/' : mappedInterface.publicPath }
          : { address: config.grpc?.publicAddress ?? null, upstream: grpcUrl(mappedInterface.address) })
      })) ?? [],
    extensions: state === null ? null : { 0.3: describePolicy(state.policy['0.3']), '1.0': describePolicy(state.policy['1.0']) },
    policies: config.policies.map(policy => describeLayers(policy, config.mode)),
    load: { requests: concurrency.requests, streams: concurrency.streams },
    enforceOn: config.enforceOn,
    unlistedExtensions: config.unlistedExtensions,
    untaggedData: config.untaggedData,
    access: describeAccess(config, requirement, state?.security ?? null),
    push: config.push,
    jsonSchema: config.jsonSchema,
    passthrough: config.passthrough,
    lastRefusals: rejections
  }
}

function grpcUrl ({ host, port, tls }: GrpcTarget): string {
  return `grpc${tls ? 's' : ''}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function describeLayers ({ name, policy, layers }: ResolvedPolicy, agentMode: Mode): object {
  return { name, uri: policy.uri ?? policy.uriPattern, mode: modeOf(agentMode, policy), layers }
}

/* The card of an agent, as `/agents` and the console show it. */

interface DescribedCard {
  readonly config: CardConfig
  readonly agreed: LockEntry | null
  readonly status: CardStatus
  readonly state: AgentState | null
  readonly publicBase: string | null
  /** `kid` of the key that signs served cards; null for none. */
  readonly signedBy: string | null
}

function describeCard ({ config, agreed, status, state, publicBase, signedBy }: DescribedCard): object {
  return {
    state: status.state,
    public: publicCard(config),
    extended: state === null || config.extended === null ? null : state.loaded.extended != null,
    origin: status.origin,
    ageSeconds: status.fetchedAt === null ? null : Math.round((Date.now() - status.fetchedAt) / 1_000),
    etag: state === null || publicBase === null ? null : etagsOf(state, publicBase),
    signature: {
      served: config.signature,
      ...(signedBy === null ? {} : { signedBy }),
      verified: verifiedOf(state?.loaded.signatures ?? null, config)
    },
    views: config.views.map(({ id }) => id),
    problem: status.problem,
    agreement: config.changes === 'apply' ? null : describeAgreement(agreed, status),
    texts: config.texts,
    changes: state?.changes ?? [],
    warnings: state === null ? [] : [...state.cardWarnings, ...state.warnings]
  }
}

/** What was agreed, and the card that waits. */
function describeAgreement (agreed: LockEntry | null, { held }: CardStatus): object {
  return {
    ...(agreed === null ? { digest: null } : { digest: agreed.digest, pinnedAt: agreed.pinnedAt, pinnedBy: agreed.pinnedBy }),
    held: held === null ? null : { ...held, since: new Date(held.since).toISOString() }
  }
}

/** @returns null without `card.verify`, and while there is no card */
function verifiedOf (signatures: CardSignatures | null, { verify }: CardConfig): object | null {
  if (signatures === null || verify === null) return null
  const { '1.0': recent, 0.3: old, extended, replaced } = signatures
  return { 0.3: old, '1.0': recent, ...(extended === null ? {} : { extended }), ...(replaced === null ? {} : { replaced }) }
}

function etagsOf ({ served }: AgentState, publicBase: string): Readonly<Record<Version, string>> {
  return { 0.3: served['0.3'].at(publicBase).etag, '1.0': served['1.0'].at(publicBase).etag }
}

/* Describes the policies in force for one agent and one version, for `/agents`: names and modes, nothing of requests or responses. */

function describePolicy (policy: AgentPolicy): object {
  return {
    declared: policy.declared,
    required: policy.required.map(requiredExtension => requiredExtension.uri),
    injected: policy.injected,
    checked: policy.policies.map(compiledPolicy => describeOne(compiledPolicy, policy)),
    remembersTasks: policy.remembers,
    unusableSchemas: policy.unusable
  }
}

/**
 * Describes one policy. `responses` is the effective mode: `enforce` only if both the policy's mode and the agent's `responses` are
 * `enforce`.
 */
function describeOne (
  { name, uri, mode, rules, responses: responseRules, state, correlations }: CompiledPolicy,
  { responses, echoes }: AgentPolicy
): object {
  return {
    policy: name,
    uri,
    mode,
    rules: rules.map(rule => rule.id),
    responses: responses === 'enforce' && responseRules?.acts !== true ? 'observe' : responses,
    responseRules: responseRules?.rules.map(({ id, verdict }) => ({ id, verdict })) ?? [],
    state: state === null ? null : { request: state.mode.request, response: state.mode.response, onUnknown: state.onUnknown },
    correlate: correlations.map(correlation => ({
      id: correlation.id,
      remembers: correlation.remember.on,
      checks: correlation.check.on,
      mode: correlation.mode,
      onUnknown: correlation.onUnknown
    })),
    observe: {
      spanAttributes: responseRules?.attributes.map(attribute => attribute.name) ?? [],
      metrics: responseRules?.metrics.map(metric => metric.name) ?? []
    },
    inactiveResponse: responseRules?.strips === true ? 'strip' : 'forward',
    redacts: responseRules?.redact.length ?? 0,
    echo: echoes.get(uri) ?? 'passthrough'
  }
}
