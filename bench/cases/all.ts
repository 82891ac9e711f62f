import type { Case } from '../bench.js'
import { COLD_AND_WARM } from './cold.js'
import { READING, SIZE } from './configurations.js'
import { CORE } from './core.js'
import { CROWDED } from './crowded.js'
import { DECISIONS } from './decisions.js'
import { GRPC } from './grpc.js'
import { IDENTITY } from './identity.js'
import { FIRST_EVENT, LATENCY } from './latency.js'
import { MEMORY } from './memory.js'
import { MESH } from './mesh.js'
import { SPREAD } from './spread.js'
import { START } from './start.js'
import { BODIES, RESPONSES, STREAM, THROUGHPUT } from './throughput.js'

/** All cases, in the order in which they run and in which the page shows them. */
export const CASES: readonly Case[] = [
  CORE, THROUGHPUT, BODIES, RESPONSES, STREAM, LATENCY, COLD_AND_WARM, FIRST_EVENT, CROWDED, MEMORY, SPREAD, START, SIZE, READING, IDENTITY,
  DECISIONS, GRPC, MESH
]
