/**
 * Checks a request before its address is routed: requests that two readers could interpret differently, and addresses that nobody inspects.
 */
import type { Rejection } from '#a2a/errors.js'
import type { Router } from '#a2a/route.js'
import type { AgentConfig } from '#config/model/model.js'
import { duplicatedHeader } from '#wire/headers.js'
import { isAtOrBelow, joinPath } from '#wire/target.js'
import type { RequestHead } from './request-head.js'
import { scopeOf } from './scope.js'
import { badHost, chunksInHttp10, duplicateHeader, otherHttpVersion, unexpectedBody, upgrade } from './rejections.js'

/**
 * Maximum body of a GET request. The Go SDK sends the body `null` with every request that has no content, GET included (measured). The code
 * that reads the body checks it.
 */
export const MAX_GET_BODY = 16

/**
 * RFC 9112 §3.2: the gateway rejects a value that is not a host with an optional port. For `a@b` or `a/b`, one reader finds host a, another
 * finds host b.
 */
const HOST = /^(?:\[[\dA-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/

/** Finds requests that two readers could route, frame or attribute differently (node-stack §B.5, §B.2.7). */
export function guard (head: RequestHead): Rejection | null {
  const twice = duplicatedHeader(head.rawHeaders)
  if (twice !== null) return duplicateHeader(twice)
  const { headers, method } = head
  if (headers.host !== undefined && !HOST.test(headers.host)) return badHost
  if (method === 'GET' || method === 'HEAD') {
    const length = Number(headers['content-length'] ?? 0)
    if (headers['transfer-encoding'] !== undefined || length > (method === 'GET' ? MAX_GET_BODY : 0)) return unexpectedBody(method)
  }
  return isUpgrade(headers) ? upgrade : null
}

/**
 * True for a real preflight of a browser: no page and no client gets data through it, and an agent that reads a body of OPTIONS gets none.
 * It needs no caller.
 */
export function isPreflight ({ method, headers }: RequestHead): boolean {
  return (
    method === 'OPTIONS' &&
    headers['origin'] !== undefined &&
    headers['access-control-request-method'] !== undefined &&
    headers['transfer-encoding'] === undefined &&
    (headers['content-length'] ?? '0') === '0'
  )
}

/**
 * True for an upgrade that is rejected: every protocol except h2c. The JDK's client offers h2c with each first request, and a server may
 * ignore that offer (RFC 9110 §7.8).
 */
export function isUpgrade (headers: RequestHead['headers']): boolean {
  return headers.upgrade !== undefined && headers.upgrade.toLowerCase() !== 'h2c'
}

/**
 * Finds framing that two readers could interpret differently although Node's parser accepts it: Transfer-Encoding twice (RFC 9112 §6.3), or
 * in HTTP/1.0 (§6.1), and the versions 0.9 and 2.0 in the form of 1.1 (§2.3). The end of such a message is uncertain, so the gateway must
 * not read anything after it on the connection.
 */
export function framingFault (head: RequestHead, httpVersion: string): Rejection | null {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return otherHttpVersion
  const coding = head.headers['transfer-encoding']
  if (coding === undefined) return null
  if (httpVersion === '1.0') return chunksInHttp10
  return duplicatedHeader(head.rawHeaders) === 'transfer-encoding' ? duplicateHeader('transfer-encoding') : null
}

/**
 * True when the gateway forwards a path without inspection. The gateway inspects every operation of the card, even below a passthrough
 * prefix. Before the first card is loaded, the operations are unknown, and `card.onUnavailable` decides. Paths that belong to another
 * agent's `upstream.url` are never forwarded for this agent.
 * @param router of the newest card ever used, null when there was none
 * @param path a path that `checkTarget` has accepted
 */
export function isPassthrough (config: AgentConfig, router: Router | null, path: string): boolean {
  const { passthrough, card } = config
  if (passthrough.length === 0) return false
  const prefix = passthrough.find(candidate => isAtOrBelow(path, candidate))
  if (prefix === undefined) return false
  const scope = scopeOf(config)
  if (scope.isForeign(joinPath(scope.base, path), scope.base + prefix)) return false
  return router === null ? card.onUnavailable === 'forward' : !router.claims(path)
}
