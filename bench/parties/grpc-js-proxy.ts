/**
 * A gRPC proxy made with @grpc/grpc-js, as its users write one: both calls are registered, and messages stay bytes.
 *
 *     node grpc-js-proxy.js HOST:PORT
 */
import { Client, Server, ServerCredentials, credentials } from '@grpc/grpc-js'
import type { Metadata, ServerUnaryCall, ServerWritableStream, ServiceError, StatusObject, sendUnaryData } from '@grpc/grpc-js'
import { SEND, STREAM } from '../agent/grpc-calls.js'
import { announce } from '../processes.js'

const identity = (bytes: Buffer): Buffer => bytes
const client = new Client(process.argv[2] as string, credentials.createInsecure())
const server = new Server({ 'grpc.max_concurrent_streams': 1_000 })

server.register(SEND, (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void => {
  const forwarded = client.makeUnaryRequest(SEND, identity, identity, call.request, call.metadata, (error, response) => {
    if (error === null) done(null, response ?? null)
    else done({ code: error.code, details: error.details, metadata: error.metadata })
  })
  forwarded.on('metadata', (metadata: Metadata) => { call.sendMetadata(metadata) })
  call.on('cancelled', () => { forwarded.cancel() })
}, identity, identity, 'unary')

server.register(STREAM, (call: ServerWritableStream<Buffer, Buffer>): void => {
  const forwarded = client.makeServerStreamRequest(STREAM, identity, identity, call.request, call.metadata)
  forwarded.on('metadata', (metadata: Metadata) => { call.sendMetadata(metadata) })
  forwarded.on('data', (message: Buffer) => { if (!call.write(message)) forwarded.pause() })
  call.on('drain', () => { forwarded.resume() })
  call.on('cancelled', () => { forwarded.cancel() })
  forwarded.on('error', (error: ServiceError) => { call.emit('error', error) })
  // The status can come before the last messages have been read.
  let trailers: Metadata | undefined
  forwarded.on('status', (status: StatusObject) => { trailers = status.metadata })
  forwarded.on('end', () => { call.end(trailers) })
}, identity, identity, 'serverStream')

server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error
  announce(port)
})
