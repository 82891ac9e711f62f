/** Reads the response to a call about push notification configurations, for the count of `push.perTask`. */
import type { GrpcMethod } from '#a2a/grpc/methods.js'
import { GrpcDeframer } from '#wire/grpc/deframer.js'
import { readProtobuf } from '#wire/protobuf/read.js'

/** A configuration is small. */
const LIMITS = { depth: 32, members: 1_000 }

/**
 * @param body messages with their prefixes
 * @returns the message as the JSON body of an HTTP+JSON response; null when it cannot be read
 */
export function pushResponseOf (body: Buffer | null, { response }: GrpcMethod): Buffer | null {
  if (body === null) return null
  const [message] = new GrpcDeframer(body.length).feed(body)
  if (message === undefined || message.compressed) return null
  const read = readProtobuf(message.bytes, response, LIMITS)
  return read.ok ? Buffer.from(JSON.stringify(read.value)) : null
}
