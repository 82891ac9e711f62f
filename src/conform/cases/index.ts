/** All cases, in the order of the report. */
import { createHash } from 'node:crypto'
import type { Case } from '../model.js'
import { DISCOVERY_CASES } from './discovery.js'
import { ENFORCING_CASES } from './enforcing.js'
import { ERROR_CASES } from './errors.js'
import { GRPC_CASES } from './grpc.js'
import { NEGOTIATION_CASES } from './negotiation.js'
import { OBSERVABILITY_CASES } from './observability.js'
import { OPERATION_CASES } from './operations.js'
import { SAFETY_CASES } from './safety.js'
import { STREAM_CASES } from './streams.js'
import { TRANSPARENT_CASES } from './transparent.js'

export const CASES: readonly Case[] = [
  ...OPERATION_CASES, ...TRANSPARENT_CASES, ...STREAM_CASES, ...GRPC_CASES, ...DISCOVERY_CASES, ...NEGOTIATION_CASES, ...ERROR_CASES,
  ...SAFETY_CASES, ...OBSERVABILITY_CASES, ...ENFORCING_CASES
]

/** SHA-256 of the cases as JSON: two reports with the same digest have asked the same. */
export function casesDigest (cases: readonly Case[] = CASES): string {
  if (cases !== CASES) return hashOf(cases)
  digest ??= hashOf(cases)
  return digest
}

/** Of {@link CASES}. Their JSON has some megabytes. */
let digest: string | null = null

const hashOf = (cases: readonly Case[]): string => createHash('sha256').update(JSON.stringify(cases)).digest('hex')
