import { isIPv4, isIPv6 } from 'node:net'
import type { HostPort } from '../model/listener-model.js'

const HOST_LABELS = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i

/** True for a host name or an IPv4 address. */
export function isHost (text: string): boolean {
  return isIPv4(text) || (HOST_LABELS.test(text) && !/(^|\.)\d+$/.test(text))
}

/**
 * Parses `host:port`, `:port` (every IPv4 interface) or `[v6]:port`. Port 0 lets the system choose.
 * @returns null for any other text
 */
export function parseHostPort (text: string): HostPort | null {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text)
  if (match === null) return null
  const port = Number(match[3])
  if (port > 65535) return null
  if (match[1] !== undefined) return isIPv6(match[1]) && !match[1].includes('%') ? { host: match[1], port } : null
  const host = match[2] === '' ? '0.0.0.0' : match[2] ?? ''
  return isHost(host) ? { host, port } : null
}

/** True for a listener on every interface of the machine, by IPv4 or IPv6. */
export function isEveryInterface ({ host }: HostPort): boolean {
  return host === '' || host === '0.0.0.0' || /^[0:]+$/.test(host)
}

/** Writes `host:port`, with IPv6 addresses in brackets. */
export function hostPortText ({ host, port }: HostPort): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Names a listener for gRPC: its address in the configuration, or the shared listener. */
export type ListenerName = string

export const SHARED_LISTENER: ListenerName = 'shared'

/** @param listen null for the shared listener */
export function listenerName (listen: HostPort | null): ListenerName {
  return listen === null ? SHARED_LISTENER : `${listen.host} ${listen.port}`
}
