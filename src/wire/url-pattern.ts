/** Patterns of URLs for allow-lists of operators. */
import type { Glob } from './glob.js'
import { compileGlob } from './glob.js'
import { parseAddress } from './ip.js'
import { parseUrl } from './url.js'

export const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: '80', https: '443' }

export interface UrlPattern {
  /** True when the pattern names the host, so that the operator has chosen it. */
  readonly namesHost: boolean
  matches (url: URL): boolean
}

const PATTERN = /^(https?):\/\/(\*|\[[0-9a-f:.]+\]|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)(?::(\d{1,5}|\*))?(\/[^?#\s\\]*)?$/i

/**
 * Compiles `scheme://host[:port][/path]`. The host is `*`, a name, an address, or `*.` and a name, for all names below it. Without a port,
 * the default port of the scheme; `:*` is any. Without a path, any path; `*` in the path is any text. The query is always free.
 * @returns null for any other text
 */
export function compileUrlPattern (pattern: string): UrlPattern | null {
  const parts = PATTERN.exec(pattern)
  if (parts === null) return null
  const [, scheme = '', host = '', port, path] = parts
  if (port !== undefined && port !== '*' && (Number(port) > 65_535 || Number(port) === 0)) return null
  const plain = `${scheme}://${host.replace(/^\*\./, '')}`.toLowerCase()
  // An address such as 127.1, or a host that parsers change, would never match.
  const url = host === '*' ? null : parseUrl(plain)
  if (host !== '*' && url?.origin !== plain) return null
  if (host.startsWith('*.') && url !== null && addressOf(url.hostname) !== null) return null
  const matchesHost = hostTest(host.toLowerCase())
  const protocol = `${scheme.toLowerCase()}:`
  const wantedPort = port === undefined || port === DEFAULT_PORTS[scheme.toLowerCase()] ? '' : port
  const matchesPath = path === undefined || path === '/*' ? null : pathTest(compileGlob(path))
  return {
    namesHost: host !== '*',
    matches: url =>
      url.protocol === protocol &&
      (wantedPort === '*' || url.port === wantedPort) &&
      matchesHost(withoutFinalDot(url.hostname)) &&
      (matchesPath === null || matchesPath(url.pathname))
  }
}

function hostTest (host: string): (name: string) => boolean {
  if (host === '*') return () => true
  if (!host.startsWith('*.')) return name => name === host
  const suffix = host.slice(1)
  return name => name.length > suffix.length && name.endsWith(suffix) && addressOf(name) === null
}

/** Some servers decode an encoded slash or backslash before they read dot segments: such a path may leave the allowed one. */
const ENCODED_SEPARATOR = /%(?:2f|5c)/i

function pathTest (path: Glob): (pathname: string) => boolean {
  return pathname => path.test(pathname) && !ENCODED_SEPARATOR.test(pathname)
}

/** @param hostname of a URL. @returns null for a name */
export function addressOf (hostname: string): ReturnType<typeof parseAddress> {
  return parseAddress(hostname.startsWith('[') ? hostname.slice(1, -1) : hostname)
}

export function withoutFinalDot (hostname: string): string {
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname
}
