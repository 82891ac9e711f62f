/** Rejections of callers. Each message says what to send; none says what the gateway knows of the credentials. */
import type { Rejection } from '../a2a/errors.js'
import type { Carrier, Problem } from './authentication.js'
import { shownCarrier } from './authentication.js'

const RULE = 'gateway/authentication'

export function missing (carriers: readonly Carrier[]): Rejection {
  return {
    reason: 'UNAUTHENTICATED',
    message: `This agent requires credentials: send ${carriers.map(shownCarrier).join(', or ')}.`,
    rule: RULE,
    metadata: { problem: 'missing' satisfies Problem }
  }
}

const SENTENCES: Readonly<Record<Exclude<Problem, 'missing'>, string>> = {
  malformed: 'The credentials cannot be read; send one credential, in the form that its scheme defines.',
  expired: 'The credentials have expired, or are not valid yet; get new ones.',
  audience: 'The access token is for another audience; request one for this agent.',
  issuer: 'The access token is of an issuer that is not accepted here.',
  signature: 'The signature of the access token is not valid.',
  unknown_key: 'The credentials are not valid here.'
}

export function failed (problem: Exclude<Problem, 'missing'>): Rejection {
  return { reason: 'UNAUTHENTICATED', message: SENTENCES[problem], rule: RULE, metadata: { problem } }
}

export function several (carriers: readonly Carrier[]): Rejection {
  return {
    reason: 'BAD_REQUEST_HEADER',
    message: `The request has two kinds of credentials, ${carriers.map(shownCarrier).join(', and ')}; send one of them.`,
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

/** @param milliseconds until the next attempt */
export function tooManyFailures (milliseconds: number): Rejection {
  return {
    reason: 'RATE_LIMITED',
    message: 'Too many requests from this address had credentials that are not valid; wait before the next one.',
    rule: 'gateway/failed-authentications',
    metadata: { limit: 'failed-authentications' },
    retryAfter: Math.max(1, Math.ceil(milliseconds / 1_000))
  }
}
