/** The card of an agent, as `/agents` and the console show it. */
import type { CardSignatures } from '#a2a/card/loaded-cards.js'
import { publicCard } from '#a2a/card/minimal.js'
import type { Version } from '#a2a/versions.js'
import type { CardConfig } from '#config/model/model.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import type { LockEntry } from '../lock/lock-file.js'
import type { CardStatus } from '../card/card-keeper.js'

export interface DescribedCard {
  readonly config: CardConfig
  readonly agreed: LockEntry | null
  readonly status: CardStatus
  readonly state: AgentState | null
  readonly publicBase: string | null
  /** `kid` of the key that signs served cards; null for none. */
  readonly signedBy: string | null
}

export function describeCard ({ config, agreed, status, state, publicBase, signedBy }: DescribedCard): object {
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
