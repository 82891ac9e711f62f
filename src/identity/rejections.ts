/** Rejections of callers. Each message says what to send; none says what the gateway knows of the credentials. */
import type { Rejection } from '#a2a/errors.js'
import type { Carrier, Carriers, Problem } from './authentication.js'
import { isCertificate, shownCarrier } from './authentication.js'

const RULE = 'gateway/authentication'

export function missing (carriers: Carriers): Rejection {
  return {
    reason: 'UNAUTHENTICATED',
    message: `This agent requires credentials: send ${shownCarriers(carriers)}.`,
    rule: RULE,
    metadata: { problem: 'missing' satisfies Problem }
  }
}

function shownCarriers (carriers: Carriers): string {
  return [...new Set(carriers.map(carrier => carrier.map(shownCarrier).join(' and ')))].join(', or ')
}

/** @param carriers those of the credentials that the request lacks */
export function incomplete (carriers: Carriers): Rejection {
  return {
    reason: 'UNAUTHENTICATED',
    message: `The credentials are valid, but this agent requires more: also send ${shownCarriers(carriers)}.`,
    rule: RULE,
    metadata: { problem: 'incomplete' satisfies Problem }
  }
}

/** The message names no scheme: those of the card are not for this gateway. */
export const unmeetable: Rejection = {
  reason: 'AGENT_NOT_READY',
  message: 'The gateway supports none of the security requirements of this agent\'s card, so it accepts no caller.',
  rule: 'gateway/requirement'
}

const SENTENCES: Readonly<Record<Exclude<Problem, 'missing' | 'incomplete'>, string>> = {
  malformed: 'The credentials cannot be read; send one credential, in the form that its scheme defines.',
  opaque: 'The access token is not a JSON Web Token, the only kind that this gateway can verify; configure the client or its ' +
    'authorization server to use one.',
  expired: 'The credentials have expired, or are not valid yet; get new ones.',
  audience: 'The access token is for another audience; request one for this agent.',
  issuer: 'The access token is of an issuer that is not accepted here.',
  signature: 'The signature of the access token is not valid.',
  unknown_key: 'The credentials are not valid here.',
  source: 'The credentials are not of a kind that this agent accepts.'
}

const CERTIFICATE_SENTENCES: typeof SENTENCES = {
  ...SENTENCES,
  malformed: 'The client certificate does not name exactly one caller; use a certificate with one SPIFFE ID, or one name of the expected kind.',
  expired: 'The client certificate has expired, or is not valid yet; connect with a new one.',
  unknown_key: 'The client certificate names no caller that is accepted here.'
}

export function failed (problem: Exclude<Problem, 'missing' | 'incomplete'>, carrier: Carrier): Rejection {
  const sentences = isCertificate(carrier) ? CERTIFICATE_SENTENCES : SENTENCES
  return { reason: 'UNAUTHENTICATED', message: sentences[problem], rule: RULE, metadata: { problem } }
}

export function several (carriers: readonly Carrier[]): Rejection {
  return {
    reason: 'BAD_REQUEST_HEADER',
    message: carriers.every(isCertificate)
      ? 'The request has two client certificates, in headers of two kinds; a proxy must write one of them and remove the other.'
      : `The request has two kinds of credentials, ${carriers.map(shownCarrier).join(', and ')}; send one of them.`,
    rule: 'gateway/credentials'
  }
}

/** Never 401: the caller's credentials may be right. @param retryAfter seconds */
export function unavailable (retryAfter: number): Rejection {
  return {
    reason: 'IDENTITY_UNAVAILABLE',
    message: 'The gateway cannot get the keys that verify the credentials; try again later.',
    rule: 'gateway/identity-unavailable',
    retryAfter
  }
}

/** The authorization server does not accept the caller's token, although its signature and times are valid. */
export const exchangeRejected: Rejection = {
  reason: 'UNAUTHENTICATED',
  message: 'The issuer does not accept the access token any more; get a new one.',
  rule: 'gateway/exchange',
  metadata: { problem: 'revoked' }
}

export const noUpstreamCredentials: Rejection = {
  reason: 'UPSTREAM_CREDENTIALS_UNAVAILABLE',
  message: 'The gateway cannot get the credentials that the agent requires; try again later.',
  rule: 'gateway/upstream-credentials'
}

/**
 * @param limit id of the limit
 * @param milliseconds until the next attempt
 */
export function tooManyFailures (limit: string, milliseconds: number): Rejection {
  return {
    reason: 'RATE_LIMITED',
    message: 'Too many requests from this address had credentials that are not valid; wait before the next one.',
    rule: 'gateway/failed-authentications',
    metadata: { limit },
    retryAfter: Math.max(1, Math.ceil(milliseconds / 1_000))
  }
}
