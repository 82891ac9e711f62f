/** GetExtendedAgentCard under `card.views`: the caller sees its view of the extended card. */
import { minimalCard } from '#a2a/card/minimal.js'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { ExtendedCardPlan } from '#pipeline/card/extended-card.js'
import { cardMessage } from '#pipeline/card/extended-card.js'
import { GRPC_CODES } from '#wire/grpc/codes.js'
import { grpcFrame } from '#wire/grpc/deframer.js'
import type { JsonObject } from '#wire/json/object.js'
import * as rejections from '#pipeline/rejections.js'
import { viewFor } from '#pipeline/card/served-cards.js'
import type { Work } from './work.js'
import { parseJson } from '#wire/json/parse-json.js'
import type { Exchange } from './exchange.js'
import { publicCardOf } from './serve-card.js'
import { begin, reject, respond, write } from './reply.js'

/** Selection of the agent's extended card; null for the whole card. */
export interface ShownCard { readonly select: ExtendedCardPlan['select'] }

/**
 * Responds itself where the agent has no extended card, and rejects callers that see no card.
 * @param publicBase the gateway's public URL with the agent's path, without trailing slash
 * @returns null when the exchange has its response
 */
export function shownCard (exchange: Exchange, { agent, state, route }: Work, publicBase: string): ShownCard | null {
  const { card } = agent.config
  const view = viewFor(state.views, exchange.principal)
  const served = view?.served ?? publicCardOf(card, state)
  if (served === null) {
    reject(exchange, rejections.noView, 'rejected', 403)
    return null
  }
  if (state.servesExtended) {
    serveOwn(exchange, served[route.version].at(publicBase).bytes)
    return null
  }
  if (view !== null) return view
  return { select: served === state.minimal ? raw => minimalCard(raw, card.publicSkills) : null }
}

function serveOwn (exchange: Exchange, card: Buffer): void {
  if (exchange.binding === 'GRPC') {
    respondMessage(exchange, card)
    return
  }
  const body = exchange.binding === 'JSONRPC'
    ? Buffer.concat([Buffer.from(`{"jsonrpc":"2.0","id":${exchange.idToken()},"result":`), card, Buffer.from('}')])
    : card
  const headers = ['content-type', 'application/json', 'content-length', String(body.length), 'cache-control', 'private, no-store']
  if (exchange.cors?.replaces === false) headers.push(...exchange.cors.headers)
  respond(exchange, 200, headers, body)
}

function respondMessage (exchange: Exchange, card: Buffer): void {
  const method = grpcMethodFor('GetExtendedAgentCard', exchange.version)
  if (method === null) throw new Error('a version without the method that was called')
  const message = cardMessage(parseJson(card) as JsonObject, method.response)
  begin(exchange, 200, ['content-type', 'application/grpc'])
  write(exchange, grpcFrame(message))
  exchange.response.endWith?.(['grpc-status', String(GRPC_CODES.OK)])
}
