/** What a call holds while it is in flight: its place at the agent, memory for bodies, and what counts until the agent has the request. */
import type { Agent } from '#agents/agent.js'
import { isStreaming } from '#a2a/operations.js'
import { tooManyRequests, tooManyStreams } from '#pipeline/rejections.js'
import type { ClaimKey } from '#state/store.js'
import type { Exchange } from './exchange.js'
import { NO_CLAIMS } from './exchange.js'
import { reject } from './reply.js'
import { dropRequest } from './work.js'

/**
 * Counts the call as in flight for its agent.
 * @returns false when the call was rejected because the limit is reached, or when the client is gone
 */
export function enter (exchange: Exchange, agent: Agent): boolean {
  if (exchange.ended) return false
  const { concurrency: load, config: { concurrency } } = agent
  exchange.streaming = isStreaming(exchange.label)
  if (load.enter(exchange.streaming, concurrency)) {
    exchange.load = load
    return true
  }
  const { retryAfter } = exchange.services.overload
  reject(
    exchange,
    exchange.streaming ? tooManyStreams(concurrency.streams, retryAfter) : tooManyRequests(concurrency.requests, retryAfter),
    'rejected'
  )
  return false
}

/** Reserves memory for bodies. @returns false when the memory budget of the process is used up, or when the call is over */
export function reserveMemory (exchange: Exchange, bytes: number): boolean {
  if (exchange.ended) return false
  const prepaid = Math.min(exchange.prepaid, bytes)
  if (!exchange.services.heldBytes.reserve(bytes - prepaid, exchange.held)) return false
  exchange.prepaid -= prepaid
  exchange.held += bytes - prepaid
  return true
}

/** Takes over bytes of the body that the front has reserved before the exchange. */
export function takeOver (exchange: Exchange, bytes: number): void {
  exchange.held += bytes
  prepay(exchange, bytes)
}

/** Lets a later `hold` have bytes that are held already. */
export function prepay (exchange: Exchange, bytes: number): void {
  exchange.prepaid += bytes
}

/** Frees what the steps hold: the request with its bodies, and what counts only for a request that reaches its agent. */
export function release (exchange: Exchange): void {
  dropRequest(exchange)
  if (exchange.forwarding === null) releaseUnsent(exchange)
}

/** The agent does not get the request: its push notification configurations and unique values are free again. */
export function releaseUnsent (exchange: Exchange): void {
  exchange.push?.unsent()
  if (exchange.claimed.length === 0) return
  exchange.services.tasks.release(exchange.agentName, exchange.claimed)
  spendClaims(exchange)
}

/** Adds values that the request was the first to use. They are free again if the agent does not get the request. */
export function holdClaims (exchange: Exchange, claims: readonly ClaimKey[]): void {
  exchange.claimed = [...exchange.claimed, ...claims]
}

/** The values that the call holds stay used, whether the agent gets the request or not. */
export function spendClaims (exchange: Exchange): void {
  exchange.claimed = NO_CLAIMS
}

/** The call is over: its place at the agent is free. */
export function releaseCapacity ({ load, streaming }: Exchange): void {
  load?.leave(streaming)
}
