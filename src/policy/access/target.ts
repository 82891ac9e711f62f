/** Compares the targets of an `access` entry (`on`, `methods`, `routes`) with the target of a request. */
import { routeKey, routeOfKey } from '#a2a/extension-routes.js'
import type { Operation } from '#a2a/operations.js'
import type { AccessEntry } from '#config/model/model.js'

/** Target of a request. */
export type Target =
  | { readonly kind: 'operation', readonly operation: Operation }
  /** A method or a route that a policy declares. `route` is the key of the route (`routeKey`). */
  | { readonly kind: 'extension', readonly method: string | null, readonly route: string | null }
  /** A JSON-RPC method that nothing declares. An agent may take it for any operation. */
  | { readonly kind: 'method', readonly method: string }
  /** A path below a prefix of `passthrough` that is no operation of the card. */
  | { readonly kind: 'passthrough' }
  /** Nobody can know the operation: the agent has no card, or nobody reads the body. */
  | { readonly kind: 'unknown' }
  /** The body names the operation, and has not been read, or cannot be read. */
  | { readonly kind: 'unread' }

export const PASSTHROUGH: Target = { kind: 'passthrough' }
export const UNKNOWN: Target = { kind: 'unknown' }
export const UNREAD: Target = { kind: 'unread' }

/** Targets of one slot match the same entries, apart from the names of methods and routes. */
export function slotOf (target: Target): string {
  return target.kind === 'operation' ? target.operation : `(${target.kind})`
}

/** @returns null when it cannot be known whether the entry is about the target */
export type TargetTest = (target: Target) => boolean | null

export function compileTarget ({ on, methods, routes }: AccessEntry): TargetTest {
  if (on.includes('all')) return () => true
  const operations = new Set(on.flatMap(name => (name === 'messages' ? ['SendMessage', 'SendStreamingMessage'] : [name])))
  const passthrough = operations.delete('passthrough')
  const extension = operations.has('Extension')
  const named = new Set(methods)
  const keys = new Set(routes?.map(keyOf))
  const narrow = methods !== undefined || routes !== undefined
  const unknown = operations.size > 0 ? null : false
  return target => {
    switch (target.kind) {
      case 'operation': return operations.has(target.operation)
      case 'extension': return extension &&
        (!narrow || (target.method !== null && named.has(target.method)) || keys.has(plainKey(target.route)))
      case 'method': return named.has(target.method) ? true : unknown
      case 'passthrough': return passthrough
      // A card that is loaded later may say that the path is an operation.
      case 'unknown': return passthrough ? null : unknown
      case 'unread': return unknown
    }
  }
}

/** @param route such as `POST /commands/{name}` */
function keyOf (route: string): string {
  const [verb = '', path = ''] = route.split(' ')
  return routeKey(verb, path)
}

/** The key without the base of the route: an entry names a route wherever it begins. */
function plainKey (key: string | null): string {
  if (key === null) return ''
  const { verb, path } = routeOfKey(key)
  return routeKey(verb, path)
}
