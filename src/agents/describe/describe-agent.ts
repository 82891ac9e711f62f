/** An agent, as `/agents` and the console show it. */
import type { AgentConfig, Mode, ResolvedPolicy } from '#config/model/model.js'
import { describeAccess } from '#pipeline/access/agent-security.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import { modeOf } from '#policy/compile/identity.js'
import type { CardStatus } from '../card/card-keeper.js'
import type { LockEntry } from '../lock/lock-file.js'
import type { ConcurrencyLimit } from '../concurrency-limit.js'
import { describeCard } from './describe-card.js'
import { describePolicy } from './describe-policy.js'
import type { Requirement } from '#identity/schemes.js'
import type { GrpcTarget } from '#a2a/card/map.js'

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
      state?.interfaces.map(one => ({
        binding: one.binding,
        version: one.version,
        ...(one.address === undefined
          ? { path: one.publicPath === '' ? '/' : one.publicPath }
          : { address: config.grpc?.publicAddress ?? null, upstream: grpcUrl(one.address) })
      })) ?? [],
    extensions: state === null ? null : { 0.3: describePolicy(state.policy['0.3']), '1.0': describePolicy(state.policy['1.0']) },
    policies: config.policies.map(one => describeLayers(one, config.mode)),
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
