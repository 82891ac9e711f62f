/** The thread that compiles cards (compiler.ts). */
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { SchemaToWrite } from '#jsonschema/code.js'
import { precompile, writeSchemas } from '#jsonschema/code.js'

// On Linux, the priority applies to this thread only, so that requests come first. On other systems, it would apply to the whole process.
if (process.platform === 'linux') {
  try {
    setPriority(0, 5)
  } catch {
    // A sandbox may forbid it.
  }
}

parentPort?.on('message', (schemas: ReadonlyMap<string, SchemaToWrite>) => {
  const written = writeSchemas(schemas)
  parentPort?.postMessage(typeof written === 'string' ? written : precompile(written))
})
