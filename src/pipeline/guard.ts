/** What is looked at before an address is routed: requests that two readers could take differently, and addresses that nobody inspects. */
import type { Rejection } from '../a2a/errors.js'
import type { Router } from '../a2a/route.js'
import type { AgentConfig } from '../config/model/model.js'
import { duplicatedHeader } from '../wire/headers.js'
import { isAtOrBelow, joinPath } from '../wire/target.js'
import type { RequestHead } from './request-head.js'
import { scopeOf } from './scope.js'
import { badHost, chunksInHttp10, duplicateHeader, unexpectedBody, upgrade } from './rejections.js'

/** The Go SDK sends the body `null` with every request that has nothing to say, GET included (measured): who reads the body looks at it. */
export const MAX_GET_BODY = 16

/** RFC 9112 §3.2: what is no host with an optional port is refused; one reader of `a@b` or `a/b` finds a, another b. */
const HOST = /^(?:\[[\dA-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/

/** Requests that two readers could route, frame or attribute differently (node-stack §B.5, §B.2.7). */
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

/** The JDK's client offers h2c with each first request; a server may ignore that offer (RFC 9110 §7.8). Other protocols are rejected. */
export function isUpgrade (headers: RequestHead['headers']): boolean {
  return headers.upgrade !== undefined && headers.upgrade.toLowerCase() !== 'h2c'
}

/**
 * Framing that two readers could take differently although Node's parser takes it: Transfer-Encoding twice (RFC 9112 §6.3), or in HTTP/1.0 (§6.1).
 * Nobody knows where such a message ends, so nothing after it on its connection may be read.
 */
export function framingFault (head: RequestHead, httpVersion: string): Rejection | null {
  const coding = head.headers['transfer-encoding']
  if (coding === undefined) return null
  if (httpVersion === '1.0') return chunksInHttp10
  return duplicatedHeader(head.rawHeaders) === 'transfer-encoding' ? duplicateHeader('transfer-encoding') : null
}

/**
 * What is an operation of the card is inspected, whatever prefix covers it; while no card was ever seen, nobody can tell. What another agent's
 * `upstream.url` leads to is not this agent's to pass on.
 * @param router of the newest card ever used, null when there was none
 * @param path as `checkTarget` has passed it
 */
export function isPassthrough (config: AgentConfig, router: Router | null, path: string): boolean {
  const { passthrough, card } = config
  if (passthrough.length === 0) return false
  const prefix = passthrough.find(one => isAtOrBelow(path, one))
  if (prefix === undefined) return false
  const scope = scopeOf(config)
  if (scope.isForeign(joinPath(scope.base, path), scope.base + prefix)) return false
  return router === null ? card.onUnavailable === 'forward' : !router.claims(path)
}
