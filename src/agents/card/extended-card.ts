/** Loads an agent's authenticated extended card, with credentials of the configuration. */
import type { Dispatcher } from 'undici'
import type { AgentCard } from '#a2a/card/card.js'
import { LEGACY_EXTENDED_CARD, mapInterfaces, parentPath } from '#a2a/card/map.js'
import type { MappedInterface } from '#a2a/card/map.js'
import type { ExtendedCard } from '#a2a/card/loaded-cards.js'
import type { PathScope } from '#a2a/card/path-scope.js'
import { inexactConstant, inexactConstantMessage } from '#a2a/inexact-constants.js'
import { isObject, own } from '#wire/json/object.js'
import { parseStrict } from '#wire/json/json.js'
import type { CardLimits } from './card-fetch.js'
import { fetchCard } from './card-fetch.js'

export interface ExtendedCardOptions {
  readonly upstream: URL
  /** Interfaces at paths outside the scope are not requested. */
  readonly scope: PathScope
  /** Values of `card.extended.headers`, by name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly limits: CardLimits
  readonly dispatcher: (origin: string) => Dispatcher
  readonly signal: AbortSignal
  /** ms */
  readonly timeout: number
}

export type ExtendedCardLoad =
  | { readonly ok: true, readonly extended: ExtendedCard | null }
  | { readonly ok: false, readonly status: number | null, readonly invalid: boolean, readonly problem: string }

/**
 * Requests the extended card at the first interface of the card that the gateway routes. Never rejects.
 * @param card the public card
 * @returns null as card when the agent has no extended card
 */
export async function loadExtendedCard (card: AgentCard, options: ExtendedCardOptions): Promise<ExtendedCardLoad> {
  if (!card.extendedCard) return { ok: true, extended: null }
  const { upstream, scope, headers, limits, dispatcher, signal, timeout } = options
  const invalid = (problem: string): ExtendedCardLoad => ({
    ok: false, status: null, invalid: true, problem: `the extended card: ${problem}`
  })
  const [first] = mapInterfaces(card.interfaces, scope).mapped
  if (first === undefined) return invalid('the card has no JSONRPC or HTTP+JSON interface that the gateway routes')
  const { path, post } = requestAt(first, card.legacyExtendedCard)
  const problem = scope.problem(path)
  if (problem !== null) return invalid(`${path} is not requested: ${problem}`)
  const response = await fetchCard([new URL(path, upstream.origin)], {
    dispatcher,
    version: first.version === '1.0' ? '1.0' : null,
    headers,
    setting: 'card.extended.headers',
    ...(post === null ? {} : { post }),
    validators: null,
    limit: limits.card,
    signal,
    timeout
  })
  if (response.kind === 'failed') return { ...response, ok: false, problem: `the extended card: ${response.problem}` }
  if (response.kind === 'notModified') return invalid(`${response.from} responded with 304 to a request that was not conditional`)
  const { from, bytes } = response
  const parsed = parseStrict(bytes, { depth: limits.jsonDepth, members: limits.jsonMembers })
  if (!parsed.ok) return invalid(`${from} does not contain a card: ${parsed.problem.message}`)
  const constant = inexactConstant(parsed.value, parsed.inexact)
  if (constant !== null) return invalid(`${from} does not contain a usable card: ${inexactConstantMessage(constant)}`)
  const cardValue = post === null ? parsed.value : isObject(parsed.value) ? own(parsed.value, 'result') : undefined
  if (!isObject(cardValue)) return invalid(`${from} responded without a card${post === null ? '' : errorOf(parsed.value)}`)
  return { ok: true, extended: { bytes: Buffer.from(JSON.stringify(cardValue)), raw: cardValue } }
}

function requestAt (mappedInterface: MappedInterface, legacy: boolean): { readonly path: string, readonly post: string | null } {
  const { binding, version, tenant, dialPath, upstreamPath } = mappedInterface
  if (legacy) return { path: parentPath(upstreamPath) + LEGACY_EXTENDED_CARD, post: null }
  if (binding === 'JSONRPC') {
    const method = version === '1.0' ? 'GetExtendedAgentCard' : 'agent/getAuthenticatedExtendedCard'
    return { path: dialPath, post: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: tenant === null ? {} : { tenant } }) }
  }
  const base = upstreamPath === '/' ? '' : upstreamPath
  if (version === '0.3') return { path: `${base}/v1/card`, post: null }
  return { path: `${base}${tenant === null ? '' : `/${encodeURIComponent(tenant)}`}/extendedAgentCard`, post: null }
}

/** Names the code of a JSON-RPC error. Its message is text of the agent. */
function errorOf (value: unknown): string {
  const error = isObject(value) ? own(value, 'error') : undefined
  const code = isObject(error) ? own(error, 'code') : undefined
  return typeof code === 'number' ? `, but with the JSON-RPC error ${code}` : ''
}
