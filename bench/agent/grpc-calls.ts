/** The messages of gRPC calls, encoded by the official SDK: what clients and agents send. */
import { SendMessageRequest, SendMessageResponse, StreamResponse } from '@a2a-js/sdk'
import { A2AService } from '@a2a-js/sdk/server/grpc'
import { DATA_TYPE, REQUIRED } from './card.js'

export const SEND = A2AService.sendMessage.path
export const STREAM = A2AService.sendStreamingMessage.path
/** Names and values of the metadata of a call, for h2load and for `node:http2`. */
export const METADATA: Readonly<Record<string, string>> = {
  'content-type': 'application/grpc', te: 'trailers', 'a2a-version': '1.0', 'a2a-extensions': REQUIRED
}

const BYTES = 400
const ORDER = { data: { items: [{ sku: 'A-17', quantity: 2 }] }, mediaType: DATA_TYPE }

/** A message with the five bytes of its prefix. */
function framed (message: Buffer): Buffer {
  const frame = Buffer.alloc(5 + message.length)
  frame.writeUInt32BE(message.length, 1)
  message.copy(frame, 5)
  return frame
}

/** @param encode encodes a message that contains the text; the text fills the message up to 400 bytes */
function filled (encode: (text: string) => Buffer): Buffer {
  // With a filler the message has the length prefixes that it needs in the end.
  const filler = 'x'.repeat(200)
  return framed(encode('x'.repeat(filler.length + BYTES - encode(filler).length)))
}

/** A call with a DataPart that conforms to the schema of the card. */
export const REQUEST = filled(text => A2AService.sendMessage.requestSerialize(SendMessageRequest.fromJSON({
  message: { messageId: 'm-1', role: 'ROLE_USER', parts: [ORDER, { text }] }
})))

/** A task whose artifact conforms to the schema. */
export const RESPONSE = framed(A2AService.sendMessage.responseSerialize(SendMessageResponse.fromJSON({
  task: {
    id: 'task-1',
    contextId: 'context-1',
    status: { state: 'TASK_STATE_COMPLETED' },
    artifacts: [{ artifactId: 'a-1', parts: [ORDER, { text: 'It is on its way.' }] }]
  }
})))

/** One event of a stream. */
export const EVENT = filled(text => A2AService.sendStreamingMessage.responseSerialize(StreamResponse.fromJSON({
  statusUpdate: {
    taskId: 'task-1',
    contextId: 'context-1',
    status: { state: 'TASK_STATE_WORKING', message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text }] } }
  }
})))

/** Events of one stream. */
export const EVENTS = 100
