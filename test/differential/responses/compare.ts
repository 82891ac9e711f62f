/** Compares the gateway's reading of a response with a client's reading. */
import { isDeepStrictEqual } from 'node:util'
import type { PartReading } from '../oracle.js'
import type { Same } from '../same.js'
import { NO_PART, plain, sameParts } from '../same.js'
import type { ContentReading, ResultReading } from './reading.js'
import { NO_CONTENT } from './reading.js'

export interface Mismatch {
  /** Such as `artifacts[0].parts[1].value`. */
  readonly path: string
  readonly gateway: unknown
  readonly client: unknown
  /** The client's part, when the mismatch concerns a part. */
  readonly clientPart: PartReading | null
  /** The whole result as both read it. */
  readonly results: { readonly gateway: ResultReading, readonly client: ResultReading }
}

export function compareResults (gateway: ResultReading, client: ResultReading): Mismatch[] {
  const found: Mismatch[] = []
  const same: Same = (path, one, other, clientPart) => {
    if (!isDeepStrictEqual(plain(one), plain(other))) {
      found.push({ path, gateway: one, client: other, clientPart: clientPart ?? null, results: { gateway, client } })
    }
  }
  for (const name of ['kind', 'taskId', 'contextId', 'state', 'append', 'metadata'] as const) same(name, gateway[name], client[name])
  for (const name of ['message', 'status'] as const) {
    const theirs = client[name]
    // When the gateway reads no message, the client's message must be empty.
    if (theirs !== null) contents(name, gateway[name] ?? NO_CONTENT, theirs, same)
  }
  for (const name of ['artifacts', 'history'] as const) {
    for (let i = 0; i < client[name].length; i++) {
      contents(`${name}[${i}]`, gateway[name][i] ?? NO_CONTENT, client[name][i] ?? NO_CONTENT, same)
    }
  }
  return found
}

function contents (path: string, gateway: ContentReading, client: ContentReading, same: Same): void {
  for (const name of ['id', 'taskId', 'contextId', 'metadata', 'extensions'] as const) same(`${path}.${name}`, gateway[name], client[name])
  // A client without this role has no role at all.
  if (client.role === 'user' || client.role === 'agent') same(`${path}.role`, gateway.role, client.role)
  for (let i = 0; i < client.parts.length; i++) {
    sameParts(`${path}.parts[${i}]`, gateway.parts[i] ?? NO_PART, client.parts[i] ?? NO_PART, same)
  }
}
