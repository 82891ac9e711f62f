/** Reads the trailers of a gRPC rejection with protobufjs and the definitions of google.rpc. */
import protobufjs from 'protobufjs'

const { root } = protobufjs.parse(`
  syntax = "proto3";
  message Any { string type_url = 1; bytes value = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message ErrorInfo { string reason = 1; string domain = 2; map<string, string> metadata = 3; }
  message BadRequest {
    message FieldViolation { string field = 1; string description = 2; }
    repeated FieldViolation field_violations = 1;
  }
  message Help { message Link { string description = 1; string url = 2; } repeated Link links = 1; }
`)

export interface RpcStatus {
  readonly code: number
  readonly message: string
  readonly details: readonly ({ readonly type: string } & Record<string, unknown>)[]
}

/** The first value of a field in a flat list. */
export function fieldOf (list: readonly string[], name: string): string | undefined {
  const at = list.findIndex((one, i) => i % 2 === 0 && one === name)
  return at === -1 ? undefined : list[at + 1]
}

export function rpcStatusOf (bytes: Buffer): RpcStatus {
  const type = root.lookupType('Status')
  const { code, message, details } = type.toObject(type.decode(bytes), { defaults: true }) as {
    readonly code: number
    readonly message: string
    readonly details: readonly { readonly typeUrl: string, readonly value: Buffer }[]
  }
  return {
    code,
    message,
    details: details.map(({ typeUrl, value }) => {
      const name = typeUrl.replace('type.googleapis.com/google.rpc.', '')
      const detail = root.lookupType(name)
      return { type: name, ...detail.toObject(detail.decode(value)) }
    })
  }
}

/** The status in trailers. */
export function detailsIn (trailers: readonly string[]): RpcStatus {
  return rpcStatusOf(Buffer.from(fieldOf(trailers, 'grpc-status-details-bin') ?? '', 'base64'))
}
