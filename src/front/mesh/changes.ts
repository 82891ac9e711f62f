/** Computes the changes that a proxy makes in headers, so that they become those of the gateway. */
import { isForwarding } from '#wire/forwarded.js'
import { HOP_BY_HOP } from '#wire/headers.js'
import type { HeaderChanges } from '#wire/envoy/headers.js'

/** `x-forwarded-client-cert` of Envoy. */
export const XFCC = 'x-forwarded-client-cert'

/** Headers that the proxy itself writes, or that it does not let others change. */
const OF_THE_PROXY: ReadonlySet<string> = new Set([
  'host', 'content-length', 'via', 'date', 'server', 'x-request-id', 'x-forwarded-for', 'x-forwarded-proto', XFCC
])

function isOfProxy (name: string): boolean {
  return name.startsWith(':') || name.startsWith('x-envoy-') || OF_THE_PROXY.has(name) || HOP_BY_HOP.has(name)
}

/**
 * Compares header lines. Names with the same lines in both lists are left alone.
 * @param before the lines at the proxy: flat list of names in lower case and values
 * @param after as the gateway would send them, without headers of the proxy
 */
export function changesBetween (before: readonly string[], after: readonly string[]): HeaderChanges {
  const old = linesOf(before)
  const wanted = linesOf(after)
  const set: string[] = []
  const remove: string[] = []
  for (const name of old.keys()) if (!wanted.has(name)) remove.push(name)
  for (const [name, lines] of wanted) {
    // The agent gets the host of the client.
    if (isForwarding(name) && !old.has(name)) continue
    if (!isSame(old.get(name), lines)) for (const line of lines) set.push(name, line)
  }
  return { set, remove }
}

function linesOf (headers: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const lines = new Map<string, string[]>()
  for (let i = 0; i < headers.length; i += 2) {
    const name = (headers[i] as string).toLowerCase()
    if (isOfProxy(name)) continue
    const values = lines.get(name)
    if (values === undefined) lines.set(name, [headers[i + 1] as string])
    else values.push(headers[i + 1] as string)
  }
  return lines
}

function isSame (lines: readonly string[] | undefined, other: readonly string[]): boolean {
  return lines !== undefined && lines.length === other.length && lines.every((line, i) => line === other[i])
}

/** Lines of a response that the gateway writes. The proxy frames the response. */
export function ownLines (headers: readonly string[]): string[] {
  return headers.filter((_, i) => {
    const name = (headers[i - i % 2] as string).toLowerCase()
    return name !== 'content-length' && name !== 'date' && !HOP_BY_HOP.has(name)
  })
}

/** Joins the lines of each name: ext_authz cannot add a line to those that it sets. */
export function joined ({ set, remove }: HeaderChanges): HeaderChanges {
  const values = new Map<string, string>()
  for (let i = 0; i < set.length; i += 2) {
    const name = set[i] as string
    const before = values.get(name)
    values.set(name, before === undefined ? set[i + 1] as string : `${before}, ${set[i + 1] as string}`)
  }
  return { set: [...values].flat(), remove }
}
