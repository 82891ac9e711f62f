/** Texts of `server.grpc` and `agents[].grpc`. Each check returns null for a valid text. */
import { GRPC_SERVICES } from '#a2a/grpc/methods.js'
import type { GrpcUpstreamConfig } from '../model/listener-model.js'
import { hostPortText, parseHostPort } from './host-port.js'
import { parseUrl } from '#wire/url.js'

/** The problem of a string: the rest of a sentence that begins with the key's name. */
export interface Fault { readonly message: string, readonly hint?: string }

const A2A_SERVICES = Object.values(GRPC_SERVICES).map(name => name.toLowerCase())

/** An address that clients can use: gRPC clients take `host:port`, and no URL. */
export function grpcAddressFault (text: string): Fault | null {
  const parsed = parseHostPort(text)
  if (parsed === null || text.startsWith(':')) {
    const { host } = /^(?:[a-z][a-z0-9+.-]*:)?\/\/\/?(?<host>[^/]+)/i.exec(text)?.groups ?? {}
    const hint = host !== undefined && parseHostPort(host) !== null
      ? `write "${host}": gRPC clients take no URL`
      : 'such as "agents.example.com:443"'
    return { message: 'must be host:port', hint }
  }
  if (parsed.port === 0) return { message: 'must not have port 0', hint: 'name the port that clients use' }
  return parsed.host === '0.0.0.0' || parsed.host === '::'
    ? { message: 'must not be an address that means every interface', hint: 'name the host that clients use' }
    : null
}

/**
 * Parses `grpc://host:port` and `grpcs://host:port`.
 * @returns null for any other text
 */
export function parseGrpcUpstream (text: string): GrpcUpstreamConfig | null {
  const match = /^(grpcs?):\/\/([^/?#@\\\s]+):(\d{1,5})$/i.exec(text)
  const url = match === null ? null : parseUrl(`http://${match[2] ?? ''}`)
  const port = Number(match?.[3])
  if (match === null || url === null || url.port !== '' || !(port > 0 && port <= 65535)) return null
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port, tls: match[1]?.toLowerCase() === 'grpcs' }
}

export function grpcUpstreamFault (text: string): Fault | null {
  if (parseGrpcUpstream(text) !== null) return null
  const message = 'must be grpc://host:port or grpcs://host:port'
  const { scheme, rest = '' } = /^(?:(?<scheme>[a-z][a-z0-9+.-]*):\/\/\/?)?(?<rest>[^/]*)/i.exec(text)?.groups ?? {}
  if (/^(?:unix|xds|ipv4|ipv6)\b/i.test(text)) return { message, hint: 'only host and port; no other scheme of gRPC' }
  const address = parseHostPort(rest)
  if (address === null || address.port === 0) return { message, hint: 'with a port, such as "grpc://127.0.0.1:50051"; grpcs:// for TLS' }
  const tls = scheme !== undefined && /^(?:https|grpcs)$/i.test(scheme)
  return { message, hint: `did you mean "grpc${tls ? 's' : ''}://${hostPortText(address)}"?` }
}

export function grpcServiceFault (text: string): Fault | null {
  if (!/^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/.test(text) || text.length > 200) {
    return { message: 'must be the full name of a gRPC service', hint: 'such as "grpc.health.v1.Health", without "/" and without a method' }
  }
  return A2A_SERVICES.includes(text.toLowerCase())
    ? { message: 'must not be a service of A2A', hint: 'its calls would be forwarded without any check' }
    : null
}
