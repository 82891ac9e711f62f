/** A request as agents of the JavaScript SDK have read it, as ProtoJSON. */
import type { ServiceDefinition } from '@grpc/grpc-js'
import { fromBinary, toJson } from '@bufbuild/protobuf'
import * as sdk from '@a2a-js/sdk'
import { LegacyA2AService } from '@a2a-js/sdk/compat/v0_3/server/grpc'
import { grpcMethodOf } from '#a2a/grpc/methods.js'
import type { GrpcCall } from '../../helpers/grpc-agents.js'
import { registryOf } from '../../helpers/proto.js'

type Codec = Readonly<Record<string, { toJSON?: (message: unknown) => unknown } | undefined>>

const LEGACY = registryOf('0.3')

/**
 * The SDK exports the codecs of 1.0. For 0.3, the message is written as the SDK writes it, and protobuf-es makes JSON of those bytes.
 * @param legacy the service of 0.3 that has read the message: of SDK 1.3.0, or of SDK 0.3.14
 */
export function protoJsonOf ({ path, read }: Pick<GrpcCall, 'path' | 'read'>, legacy: ServiceDefinition = LegacyA2AService): unknown {
  const method = grpcMethodOf(path)
  if (method === null) throw new Error(`no method has the path ${path}`)
  const { name } = method.request
  if (method.version === '1.0') {
    const toJSON = (sdk as unknown as Codec)[name]?.toJSON
    if (toJSON === undefined) throw new Error(`the SDK exports no ${name}`)
    return toJSON(read)
  }
  const definition = Object.values(legacy).find(one => one.path === path)
  const schema = LEGACY.getMessage(`a2a.v1.${name}`)
  if (definition === undefined || schema === undefined) throw new Error(`0.3 has no ${name}`)
  const bytes = definition.requestSerialize(read)
  try {
    return toJson(schema, fromBinary(schema, bytes))
  } catch {
    return 'unprintable'
  }
}
