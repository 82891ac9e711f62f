/** The keys of limits. A value that a client or an issuer chose becomes a digest, so that keys are short and reveal nothing. */
import { createHash } from 'node:crypto'
import type { Operation } from '#a2a/operations.js'
import type { RateKey } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import type { Charge, CompiledLimit } from './charge.js'
import { isBudget } from './charge.js'

/** The properties of a request that its head shows. */
export interface LimitedHead {
  /** Name of the agent. */
  readonly agent: string
  /** Null for a request without a caller. All such requests count as one caller. */
  readonly principal: Principal | null
  /** Network of the client, as `networkOf` returns it. */
  readonly network: string
  /** Id of the chain of callers; empty without `access.delegation`. */
  readonly chain?: string
}

/** The properties that only the call has. */
export interface LimitedCall {
  readonly operation: Operation
  /** Tenant that the request names. */
  readonly tenant: string | null
  /** Labels of the active extensions: names of policies, URIs of the card, or `other`. */
  readonly extensions: readonly string[]
}

/** @param call null before the body is read */
export function chargesOf (limits: readonly CompiledLimit[], head: LimitedHead, call: LimitedCall | null): Charge[] {
  const charges: Charge[] = []
  for (const limit of limits) {
    if (call !== null && limit.on !== null && !limit.on.has(call.operation)) continue
    if (limit.extension !== null && call?.extensions.includes(limit.extension) !== true) continue
    const open = isOpen(limit, head)
    if (!limit.by.includes('extension')) charges.push({ limit, key: keyOf(limit, head, call, ''), open })
    else for (const extension of new Set(call?.extensions)) charges.push({ limit, key: keyOf(limit, head, call, extension), open })
  }
  return charges
}

function isOpen ({ by }: CompiledLimit, { principal }: LimitedHead): boolean {
  return by.includes('address') || by.includes('chain') || (by.includes('tenant') && (principal === null || principal.tenant === null))
}

function keyOf (limit: CompiledLimit, head: LimitedHead, call: LimitedCall | null, extension: string): string {
  let key = prefixOf(limit)
  for (const by of limit.by) key += `\n${valueOf(by, head, call, extension)}`
  return key
}

const prefixes = new WeakMap<CompiledLimit, string>()

/** A limit whose meaning changes with a reload begins to count anew. A change of `burst` or of the limit of a budget is no such change. */
function prefixOf (limit: CompiledLimit): string {
  let prefix = prefixes.get(limit)
  if (prefix === undefined) {
    const { id, rule, by, spends } = limit
    prefix = `${id} ${isBudget(rule) ? `${spends?.of}` : `${rule.count}/${rule.period}`} ${by.join()}`
    prefixes.set(limit, prefix)
  }
  return prefix
}

function valueOf (
  by: RateKey, { agent, principal, network, chain = '' }: LimitedHead, call: LimitedCall | null, extension: string
): string {
  switch (by) {
    case 'caller': return principal === null ? '' : digestsOf(principal).caller
    case 'client': return principal === null ? '' : digestsOf(principal).client
    case 'source': return principal === null ? '' : principal.source
    case 'tenant': return tenantOf(principal, call)
    case 'address': return network
    case 'agent': return agent
    case 'chain': return chain.length > 63 ? digest([chain]) : chain
    case 'operation': return call === null ? '' : call.operation
    case 'extension': return extension.length > 63 ? digest([extension]) : extension
  }
}

/** A caller with a tenant cannot use up the limit of another tenant by naming it. */
function tenantOf (principal: Principal | null, call: LimitedCall | null): string {
  if (principal !== null && principal.tenant !== null) return digestsOf(principal).tenant
  return call === null || call.tenant === null ? '' : digest(['', call.tenant])
}

interface Digests { readonly caller: string, readonly client: string, readonly tenant: string }

/** Sources return the same object for the same credentials, most of the time. */
const cache = new WeakMap<Principal, Digests>()

function digestsOf (principal: Principal): Digests {
  let values = cache.get(principal)
  if (values === undefined) {
    const { source, subject, client, tenant } = principal
    values = {
      caller: digest(['caller', source, subject]),
      client: client === null ? digest(['caller', source, subject]) : digest(['client', source, client]),
      tenant: digest(['tenant', tenant])
    }
    cache.set(principal, values)
  }
  return values
}

function digest (parts: readonly (string | null)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}
