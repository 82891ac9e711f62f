/** The extended card: a response that is a card. The gateway rewrites the URLs of its interfaces, as it does for the public card. */
import { protoCard } from '#a2a/grpc/proto-card.js'
import { rewriteCard } from '#a2a/card/rewrite.js'
import type { RewriteOptions } from '#a2a/card/rewrite.js'
import type { ExtendedCardNames } from '#a2a/card/extended-card-names.js'
import type { Binding } from '#a2a/versions.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject, own } from '#wire/json/object.js'
import { parseStrict } from '#wire/json/json.js'
import { memberSpan } from '#wire/json/span.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import type { MessageTable } from '#wire/protobuf/table.js'
import { writeProtobuf } from '#wire/protobuf/write.js'
import type { JsonLimits } from '#wire/json/json-result.js'

export interface ExtendedCardPlan {
  readonly rewrite: RewriteOptions
  /** Returns the part of the card that the caller sees, with the additions of the configuration. Null: the whole card. */
  readonly select: ((card: JsonObject) => JsonObject) | null
  readonly binding: Binding
  /** Learns the names in the card; null for none. */
  readonly seen: ExtendedCardNames | null
  /** Bytes. */
  readonly size: number
  readonly json: JsonLimits
}

/**
 * Rewrites a card over gRPC. Fields that the table does not know are lost.
 * @param message AgentCard
 * @returns null when the message is not a card
 */
export function rewriteCardMessage (message: Buffer, table: MessageTable, plan: ExtendedCardPlan): Buffer | null {
  const { rewrite, select, seen: extendedCardNames, json } = plan
  const read = readProtobuf(message, table, json, true)
  if (!read.ok) return null
  extendedCardNames?.learn(read.value)
  const card = rewriteCard(select === null ? read.value : select(read.value), rewrite)
  // `card.signature: verbatim`: the card keeps its bytes.
  return card === read.value ? message : cardMessage(card, table)
}

/**
 * Writes a card as the message of the gRPC binding.
 * @throws TypeError for a card with members of other types than A2A defines
 */
export function cardMessage (card: JsonObject, table: MessageTable): Buffer {
  return writeProtobuf(protoCard(card, table), table)
}

/** @returns null when the body is not a card: unchanged, its URLs would lead past the gateway */
export function rewriteExtendedCard (
  bytes: Buffer,
  { rewrite, select, binding, seen: extendedCardNames, json }: ExtendedCardPlan
): Buffer | null {
  const rewritten = (card: JsonObject): Buffer => Buffer.from(JSON.stringify(rewriteCard(select === null ? card : select(card), rewrite)))
  const parsed = parseStrict(bytes, json)
  if (!parsed.ok || !isObject(parsed.value)) return null
  if (binding === 'HTTP+JSON') {
    extendedCardNames?.learn(parsed.value)
    return rewritten(parsed.value)
  }
  const card = own(parsed.value, 'result')
  // A JSON-RPC error has HTTP status 200.
  if (card === undefined) return Object.hasOwn(parsed.value, 'error') ? bytes : null
  const span = memberSpan(bytes, ['result'])
  if (!isObject(card) || span === null) return null
  extendedCardNames?.learn(card)
  // The envelope keeps its bytes, so that the id keeps its digits.
  return Buffer.concat([bytes.subarray(0, span.start), rewritten(card), bytes.subarray(span.end)])
}
