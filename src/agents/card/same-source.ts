/** Whether an agent of a new configuration may keep the card of its predecessor. */
import type { LoadedCards } from '#a2a/card/loaded-cards.js'
import type { AgentConfig } from '#config/model/model.js'
import type { CardAgreement } from '../lock/agreement.js'

/** The parts of an agent that decide about its card. */
interface CardHolder {
  readonly config: Pick<AgentConfig, 'card' | 'upstream'>
  readonly trust: string
  readonly agreement: CardAgreement | null
  readonly sentCards: LoadedCards | null
}

/** @returns true if both agents get the card from one place, with the same trust, and the agreement allows the card */
export function sameSource (agent: CardHolder, predecessor: CardHolder): boolean {
  const [card, other] = [agent.config.card, predecessor.config.card]
  return (
    agent.config.upstream.url === predecessor.config.upstream.url &&
    agent.trust === predecessor.trust &&
    keepsAgreement(agent, predecessor) &&
    card.url === other.url &&
    card.file === other.file &&
    (card.extended === null) === (other.extended === null)
  )
}

/** True if the card of the predecessor may stay in force: by the same agreement, or by another one about the same card. */
function keepsAgreement ({ agreement }: CardHolder, predecessor: CardHolder): boolean {
  if (agreement === null || agreement.key === predecessor.agreement?.key) return true
  const sent = predecessor.sentCards
  return sent !== null && agreement.covers(sent)
}
