/** Builds the headers of a gRPC call to the agent. */
import type { UpstreamConfig } from '#config/model/model.js'
import type { RequestHead } from '../request-head.js'
import type { UpstreamHeadersOptions } from '../upstream-headers.js'
import { upstreamHeaders } from '../upstream-headers.js'

/** Returns the headers for the agent, as a flat list of names and values, without `te`, which each call has. */
export function grpcUpstreamHeaders (head: RequestHead, { peer, config, trusted, trace, negotiated }: UpstreamHeadersOptions): string[] {
  const headers = upstreamHeaders(head, { peer, config: withLines(config), trusted, trace, negotiated })
  return negotiated?.read === true ? uncompressed(headers) : headers
}

const configs = new WeakMap<UpstreamConfig, UpstreamConfig>()

/** Each activated extension has a line of its own: the only form that all gRPC servers of A2A read. */
function withLines (config: UpstreamConfig): UpstreamConfig {
  let lines = configs.get(config)
  if (lines === undefined) configs.set(config, lines = { ...config, extensionHeader: { ...config.extensionHeader, form: 'repeated' } })
  return lines
}

/** Asks for messages that the gateway can read. `accept-encoding` has no meaning in gRPC. */
function uncompressed (headers: readonly string[]): string[] {
  const out: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    if (name !== 'grpc-accept-encoding' && name !== 'accept-encoding') out.push(name, headers[i + 1] as string)
  }
  out.push('grpc-accept-encoding', 'identity')
  return out
}
