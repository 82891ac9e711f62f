/** Rejections over gRPC, as grpc-js and the official JavaScript client show them: unary and in the middle of a stream, in 1.0 and 0.3. */
import { once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc'
import type { ServiceError } from '@grpc/grpc-js'
import { Client, credentials } from '@grpc/grpc-js'
import type { AgentCard } from '@a2a-js/sdk'
import t from 'tap'
import type { Reason, Rejection } from '#a2a/errors.js'
import { REASONS } from '#a2a/errors.js'
import { GRPC_SERVICES, grpcMethodFor } from '#a2a/grpc/methods.js'
import { grpcStatusOf } from '#a2a/grpc/status.js'
import type { Version } from '#a2a/versions.js'
import { VERSIONS } from '#a2a/versions.js'
import { rejectionResponse } from '#pipeline/rejection-response.js'
import { grpcFrame } from '#wire/grpc/deframer.js'
import { writeProtobuf } from '#wire/protobuf/write.js'
import { detailsIn, rpcStatusOf } from '../helpers/rpc-status.js'

const reasons = Object.keys(REASONS) as Reason[]
const rejectionFor = (reason: Reason): Rejection => ({
  reason,
  message: `${reason}: größer als 100 %, "total" fehlt.`,
  rule: 'traced/data',
  metadata: { rule: 'data' },
  fields: Array.from({ length: 10_000 }, (_, i) => ({ field: `message.parts[${i}].data`, description: 'must be an object' }))
})
const CALLER = { binding: 'GRPC', id: 'null', eventStream: false, statedVersion: true, mediaType: null } as const

/** The fields of a list, for node:http2. */
function object (list: readonly string[]): Record<string, string> {
  return Object.fromEntries(list.flatMap((name, i) => i % 2 === 0 ? [[name, list[i + 1] ?? '']] : []))
}

/** Rejects every call: at once, or after one message of a stream. The task of the request names the reason. */
function respond (stream: ServerHttp2Stream, path: string, reason: Reason, version: Version): void {
  const rejection = rejectionFor(reason)
  const method = grpcMethodFor('SubscribeToTask', version)
  if (path !== method?.path) {
    return stream.respond({ ':status': 200, ...object(rejectionResponse(rejection, { ...CALLER, version }).headers) }, { endStream: true })
  }
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => { stream.sendTrailers(object(grpcStatusOf(rejection).trailers)) })
  stream.end(grpcFrame(writeProtobuf({ statusUpdate: { taskId: 't', status: { state: 'TASK_STATE_WORKING' } } }, method.response)))
}

async function served (version: Version): Promise<{ readonly address: string, readonly close: () => void }> {
  const server = createServer()
  server.on('stream', (stream, headers) => {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => { chunks.push(chunk) })
    stream.on('error', () => {})
    stream.on('end', () => {
      const reason = reasons.find(one => Buffer.concat(chunks).includes(`<${one}>`)) ?? 'INTERNAL_ERROR'
      respond(stream, String(headers[':path']), reason, version)
    })
  })
  const sessions = new Set<{ destroy: () => void }>()
  server.on('session', session => { sessions.add(session) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      for (const session of sessions) session.destroy()
      server.close()
    }
  }
}

const A2A_REASONS = reasons.filter(reason => REASONS[reason].protocol !== null)

for (const version of VERSIONS) {
  t.test(`A2A ${version}`, async t => {
    const { address, close } = await served(version)
    const client = new Client(address, credentials.createInsecure())
    const card = { supportedInterfaces: [{ url: address, protocolBinding: 'GRPC', protocolVersion: version, tenant: '' }] } as unknown as AgentCard
    const transport = await new GrpcTransportFactory({ legacyCompat: { enabled: true } }).create(address, card)
    t.teardown(() => {
      client.close()
      close()
    })
    const identity = (bytes: Buffer): Buffer => bytes

    t.test('grpc-js gets code, message and details of every rejection', async t => {
      const problems: string[] = []
      for (const reason of reasons) {
        const { code, message, trailers } = grpcStatusOf(rejectionFor(reason))
        const error = await new Promise<ServiceError | null>(resolve => {
          client.makeUnaryRequest(`/${GRPC_SERVICES[version]}/GetTask`, identity, identity, Buffer.from(`<${reason}>`), resolve)
        })
        const [bytes] = error?.metadata.get('grpc-status-details-bin') ?? []
        if (error?.code !== code || error.details !== message) problems.push(`${reason}: ${error?.code} ${error?.details}`)
        const decision = String(error?.metadata.get('gateway-decision'))
        if (!Buffer.isBuffer(bytes) || JSON.stringify(rpcStatusOf(bytes)) !== JSON.stringify(detailsIn(trailers))) problems.push(`${reason}: other details`)
        if (decision !== 'reject;rule="traced/data"') problems.push(`${reason}: ${decision}`)
      }
      t.same(problems, [])
    })

    t.test('the official client shows errors of A2A as its own, and the message of all others', async t => {
      const names: Partial<Record<Reason, string>> = {
        EXTENSION_SUPPORT_REQUIRED: 'GrpcExtensionSupportRequiredError',
        CONTENT_TYPE_NOT_SUPPORTED: 'GrpcContentTypeNotSupportedError',
        TASK_NOT_FOUND: 'GrpcTaskNotFoundError',
        UNSUPPORTED_OPERATION: 'GrpcUnsupportedOperationError',
        VERSION_NOT_SUPPORTED: 'GrpcVersionNotSupportedError',
        INVALID_AGENT_RESPONSE: 'GrpcInvalidAgentResponseError'
      }
      for (const reason of reasons) {
        const { protocol } = REASONS[reason]
        if (protocol === 'INVALID_PARAMS' || reason === 'INVALID_PARAMS') names[reason] = 'GrpcRequestMalformedError'
        if (protocol === 'UNSUPPORTED_OPERATION') names[reason] = 'GrpcUnsupportedOperationError'
      }
      t.same(Object.keys(names).sort(), [...A2A_REASONS].sort())
      const problems: string[] = []
      for (const reason of reasons) {
        const error = await failing(() => transport.getTask({ tenant: '', id: `<${reason}>`, historyLength: undefined }))
        if (!error.message.includes(rejectionFor(reason).message)) problems.push(`${reason}: ${error.message}`)
        const name = names[reason]
        if (name !== undefined && `Grpc${error.name}` !== name && error.name !== name) problems.push(`${reason}: ${error.name}`)
      }
      t.same(problems, [])
    })

    t.test('a rejection in the middle of a stream', async t => {
      const events: unknown[] = []
      const error = await failing(async () => {
        for await (const event of transport.resubscribeTask({ tenant: '', id: '<INVALID_AGENT_RESPONSE>' })) events.push(event)
      })
      t.equal(events.length, 1, 'the message before it has arrived')
      t.match(error.name, /InvalidAgentResponseError$/)
      t.match(error.message, /^INVALID_AGENT_RESPONSE: größer/)
    })
  })
}

async function failing (call: () => Promise<unknown>): Promise<Error> {
  try {
    await call()
  } catch (error) {
    return error as Error
  }
  throw new Error('the call did not fail')
}
