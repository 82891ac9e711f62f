/** Determines whether a caller may read a card, by asking the agent with the credentials of the caller. */
import type { Dispatcher } from 'undici'
import type { CardConfig } from '#config/model/model.js'
import type { Version } from '#a2a/versions.js'
import { cardUrls, fetchCard } from './card-fetch.js'

/** `denied` has the status of the agent's response, 401 or 403. */
export type CardAccess =
  | { readonly kind: 'granted' }
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'denied', readonly status: 401 | 403 }

export interface CardAccessOptions {
  readonly config: CardConfig
  readonly upstream: URL
  readonly dispatcher: (origin: string) => Dispatcher
  /** Maximum size of a card, bytes. */
  readonly limit: number
}

/** Timeout of the agent's response, ms. */
const TIMEOUT = 10_000

/**
 * Requests the card from the agent with the credentials of a caller. Never rejects.
 * @param credentials headers of the caller, by name in lower case
 */
export async function requestAccess (
  { config, upstream, dispatcher, limit }: CardAccessOptions,
  version: Version,
  credentials: Readonly<Record<string, string>>,
  signal: AbortSignal
): Promise<CardAccess> {
  // Nobody can be asked about a card on disk.
  if (config.file !== null) return { kind: 'denied', status: 403 }
  const response = await fetchCard(cardUrls(upstream, config.url), {
    dispatcher,
    version: version === '1.0' ? version : null,
    headers: credentials,
    validators: null,
    limit,
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT)]),
    timeout: TIMEOUT
  })
  if (response.kind !== 'failed') return { kind: 'granted' }
  const { status } = response
  return status === 401 || status === 403 ? { kind: 'denied', status } : { kind: 'unavailable' }
}

/**
 * Returns the credentials of a caller: the headers that the card needs, or `Authorization`.
 * @param headers of the request, as Node returns them
 * @returns null when the caller has none
 */
export function credentialsIn (
  headers: Readonly<Record<string, string | string[] | undefined>>,
  config: CardConfig
): Readonly<Record<string, string>> | null {
  const headerPairs = credentialHeaders(config).flatMap((name): [string, string][] => {
    const value = headers[name]
    return typeof value === 'string' && value !== '' ? [[name, value]] : []
  })
  return headerPairs.length === 0 ? null : Object.fromEntries(headerPairs)
}

/** Names, in lower case, of the headers that may hold the credentials of a caller. */
export function credentialHeaders ({ headers }: CardConfig): readonly string[] {
  const names = Object.keys(headers).map(name => name.toLowerCase())
  return names.length === 0 ? ['authorization'] : names
}
