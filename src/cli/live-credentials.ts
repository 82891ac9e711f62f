/** `check --live`: compares what a card asks of callers with the credentials that the agent gets. */
import type { CardFinding } from '#a2a/card/lint.js'
import type { LoadedCards } from '#a2a/card/loaded-cards.js'
import type { AgentConfig, Config } from '#config/model/model.js'
import { isObject, own } from '#wire/json/object.js'

/** Warns of an agent that gets no credentials, although its card asks for some. */
export function credentialFindings ({ upstream: { credentials } }: AgentConfig, { identity }: Config, cards: LoadedCards): CardFinding[] {
  const none = identity !== null && credentials.client === 'strip' && credentials.send.length === 0
  if (!none || !Object.values(cards.byVersion).some(({ value }) => asksForCredentials(value))) return []
  return [{
    message: 'the card asks for credentials, but the gateway removes those of callers and sends none itself',
    hint: 'set upstream.credentials.send, or upstream.credentials.client: forward'
  }]
}

/** True when no alternative of the card's root lets a caller in without credentials. */
function asksForCredentials (card: unknown): boolean {
  if (!isObject(card)) return false
  const lists = ['securityRequirements', 'security_requirements', 'security'].map(name => own(card, name)).filter(list => Array.isArray(list))
  return lists.some(list => list.length > 0 && list.every((one: unknown) => isObject(one) && Object.keys(schemesOf(one)).length > 0))
}

/** 1.0 has `{"schemes": {name: {"list": […]}}}`, 0.3 `{name: […]}`. */
function schemesOf (requirement: Readonly<Record<string, unknown>>): object {
  const schemes = own(requirement, 'schemes')
  return isObject(schemes) ? schemes : requirement
}
