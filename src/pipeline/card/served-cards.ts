/** The cards that the gateway serves, by version and caller, rewritten and signed once for each loaded card. */
import type { CardAdditions } from '#a2a/card/additions.js'
import { withAdditions } from '#a2a/card/additions.js'
import type { CardDocument } from '#a2a/card/loaded-cards.js'
import { minimalCard, publicCard } from '#a2a/card/minimal.js'
import type { CardRewrite } from '#a2a/card/rewrite.js'
import type { CardSigner } from '#a2a/card/served-card.js'
import { ServedCard } from '#a2a/card/served-card.js'
import { withExtendedCard } from '#a2a/card/view.js'
import type { Version } from '#a2a/versions.js'
import type { AgentConfig } from '#config/model/model.js'
import type { CallerMatcher } from '#policy/access/caller.js'
import type { CardView } from '#policy/card/views.js'
import { compileViews, requiredInViews } from '#policy/card/views.js'
import type { Principal } from '#identity/principal.js'
import type { JsonObject } from '#wire/json/object.js'

type ByVersion<T> = Readonly<Record<Version, T>>

export interface ServedView extends CardView { readonly served: ByVersion<ServedCard> }

export interface ServedCards {
  readonly served: ByVersion<ServedCard>
  /** The cards for callers without credentials under `card.public: minimal`; null otherwise. */
  readonly minimal: ByVersion<ServedCard> | null
  readonly views: readonly ServedView[]
  /** True where the gateway itself responds to requests for the extended card: there are views, and the agent has no extended card. */
  readonly servesExtended: boolean
  readonly warnings: readonly string[]
}

export interface ServedCardsOptions {
  readonly agent: AgentConfig
  readonly documents: ByVersion<CardDocument>
  readonly rewrite: CardRewrite
  readonly additions: CardAdditions
  /** Null or absent: served cards are not signed. */
  readonly signer?: CardSigner | null | undefined
  readonly matcher: CallerMatcher
}

/** @throws Error in plain words when a view cannot be compiled */
export function servedCards ({ agent, documents, rewrite, additions, signer = null, matcher }: ServedCardsOptions): ServedCards {
  const views = compileViews(agent, matcher)
  const all = [documents['1.0'], documents['0.3']]
  const servesExtended = views.length > 0 && !all.some(({ card }) => card.extendedCard)
  const flagged = (raw: JsonObject): JsonObject => servesExtended ? withExtendedCard(raw) : raw
  const { additions: _, ...plain } = rewrite
  const signs = agent.card.signature === 'resign' ? signer : null
  const problems = new Set<string>()
  const serve = (change: ((raw: JsonObject) => JsonObject) | null): ByVersion<ServedCard> => {
    const cardOf = (version: Version): ServedCard => {
      const { bytes, card: { raw } } = documents[version]
      const card = change === null
        ? new ServedCard({ bytes, raw }, rewrite, signs)
        : new ServedCard({ bytes, raw: change(withAdditions(raw, additions)) }, plain, signs)
      if (card.problem !== null) problems.add(card.problem)
      return card
    }
    const v03 = cardOf('0.3')
    return { 0.3: v03, '1.0': documents['1.0'] === documents['0.3'] ? v03 : cardOf('1.0') }
  }
  const { publicSkills } = agent.card
  const served = serve(servesExtended ? flagged : null)
  const minimal = publicCard(agent.card) === 'minimal' ? serve(raw => flagged(minimalCard(raw, publicSkills))) : null
  const ofViews = views.map(view => ({ ...view, served: serve(raw => flagged(view.select(raw))) }))
  const hidden = all.flatMap(({ card }) => requiredInViews(agent, withAdditions(card.raw, additions)))
  return { served, minimal, views: ofViews, servesExtended, warnings: [...problems, ...hidden] }
}

/** Returns the first view for a caller, or null. */
export function viewFor (views: readonly ServedView[], caller: Principal | null): ServedView | null {
  return views.find(view => view.matches(caller)) ?? null
}
