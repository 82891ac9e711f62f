/** The thread in which cards are compiled (card-compiler.ts). */
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { writeSchemas } from '../jsonschema/code.js'

// On Linux the number is of this thread alone: requests come first. Elsewhere it would be of the whole process.
if (process.platform === 'linux') {
  try {
    setPriority(0, 5)
  } catch {
    // A sandbox may forbid it.
  }
}

parentPort?.on('message', (schemas: ReadonlyMap<string, unknown>) => { parentPort?.postMessage(writeSchemas(schemas)) })
