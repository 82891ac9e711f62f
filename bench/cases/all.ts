import type { Case } from '../bench.js'
import { READING, SIZE } from './configurations.js'
import { FIRST_EVENT, LATENCY } from './latency.js'
import { MEMORY } from './memory.js'
import { START } from './start.js'
import { STREAM, THROUGHPUT } from './throughput.js'

/** All cases, in the order in which they run and in which the page shows them. */
export const CASES: readonly Case[] = [THROUGHPUT, STREAM, LATENCY, FIRST_EVENT, MEMORY, START, SIZE, READING]
