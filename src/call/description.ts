/** Describes a call for telemetry and rejections. Nothing else sets these fields of an exchange. */
import type { Exchange, Label } from './exchange.js'
import type { Kind } from './step.js'

/** Sets the kind, on which the steps of the call depend. */
export function setKind (exchange: Exchange, kind: Kind): void {
  exchange.kind = kind
}

/** Sets the binding and the version of the call, and of its rejections. */
export function describeRoute (exchange: Exchange, { binding, version }: Pick<Exchange, 'binding' | 'version'>): void {
  exchange.binding = binding
  exchange.version = version
}

/** Sets the version that the request asks for. */
export function describeVersion (exchange: Exchange, asked: Exchange['asked'] & object): void {
  exchange.asked = asked
}

/**
 * Sets the name of the operation.
 * @param addition name of the method or route of an extension; null for other requests
 */
export function describeOperation (exchange: Exchange, label: Label, addition: string | null = null): void {
  exchange.label = label
  exchange.addition = addition
}

/** Sets the name of a request that reaches no operation of a card, for its span too. */
export function nameRequest (exchange: Exchange, label: Label): void {
  exchange.label = label
  exchange.span.name(label)
}

/** Sets the raw JSON token of the JSON-RPC id. */
export function describeId (exchange: Exchange, token: () => string): void {
  exchange.idToken = token
}
