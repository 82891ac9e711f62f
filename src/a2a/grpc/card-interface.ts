/** gRPC interfaces of a card. Their address is `host:port`: gRPC clients take no URL, though A2A 1.0.1 §5.8 shows one. */
import type { Version } from '../versions.js'
import { parseUrl } from '#wire/url.js'

/** One gRPC interface of a card, of a version that the gateway supports. */
export interface GrpcInterface {
  readonly version: Version
  /** The port of the address. Null when the address has none that the gateway can use. */
  readonly port: number | null
  /** The reason for a null `port`: the rest of a sentence. */
  readonly problem: string | null
  /** The address as written in the card. */
  readonly text: string
  /** The address, shortened and free of credentials, suitable for a log. */
  readonly shown: string
  readonly tenant: string | null
  /** As in `CardInterface`. */
  readonly unknownMinor?: string
}

export type GrpcAddressReading =
  /** `odd`: the card writes a URL, and clients of the agent itself may fail. */
  | { readonly port: number, readonly problem: null, readonly odd: boolean }
  | { readonly port: null, readonly problem: string, readonly odd: boolean }

/** Schemes of gRPC names (gRPC naming) whose targets are not a host and a port. */
const OTHER_SCHEME = /^(unix|unix-abstract|vsock|xds|ipv4|ipv6|passthrough|[a-z][a-z0-9+.-]*(?=:\/\/)):/i

/**
 * Reads the port of `host:port`, `dns:host:port` and `dns:///host:port`. Also reads an http(s) URL with a port and without a path: older
 * cards have such URLs.
 */
export function readGrpcAddress (text: string): GrpcAddressReading {
  const url = /^https?:\/\/([^/?#]*)(.*)$/i.exec(text)
  if (url !== null) {
    if (url[2] !== '' && url[2] !== '/') return noPort('its URL has a path, and gRPC clients need host:port', true)
    const port = portOf(url[1] ?? '')
    return port === null ? noPort('its URL names no port, and gRPC clients need host:port', true) : { port, problem: null, odd: true }
  }
  const port = portOf(text) ?? portOf(/^dns:(?:\/\/\/)?([^/].*)$/i.exec(text)?.[1] ?? '')
  if (port !== null) return { port, problem: null, odd: false }
  const scheme = OTHER_SCHEME.exec(text)?.[1]?.slice(0, 20)
  return noPort(
    scheme === undefined ? 'its address is not host:port' : `its address has the scheme "${scheme}" instead of host:port`, false
  )
}

function noPort (problem: string, odd: boolean): GrpcAddressReading {
  return { port: null, problem, odd }
}

function portOf (text: string): number | null {
  const match = /^(\[[^[\]]+\]|[^:/?#@[\]\\]+):(\d{1,5})$/.exec(text)
  const port = Number(match?.[2])
  return match !== null && port > 0 && port <= 65535 && parseUrl(`http://${match[1] ?? ''}`) !== null ? port : null
}
