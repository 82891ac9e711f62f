/**
 * The thread of the playground: reads policies, compiles their schemas and evaluates requests, away from the event loop of the gateway. The
 * console starts the thread, and ends it when a task takes too long (console/playground/playground-thread.ts).
 */
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { PlaygroundTask, Results } from '#console/playground/tasks.js'
import { explain } from './explain.js'
import { replay } from './replay.js'
import { keptText } from './request-text.js'
import { samplesFor } from './samples.js'
import { startDocument } from './start-document.js'

// As in gateway/card/compile-thread.ts: requests come first.
if (process.platform === 'linux') {
  try {
    setPriority(0, 5)
  } catch {
    // A sandbox may forbid it.
  }
}

async function run (task: PlaygroundTask): Promise<Results[keyof Results]> {
  switch (task.kind) {
    case 'document':
      return startDocument(task.agent, task.file)
    case 'samples':
      return samplesFor(task.agent)
    case 'request':
      return keptText(task.request)
    case 'explain':
      return await explain(task.agent, task.policy, task.request, task.caller)
    case 'replay':
      return replay(task.agent, task.policy, task.requests)
  }
}

parentPort?.on('message', (task: PlaygroundTask) => {
  run(task).then(
    // Results are JSON: the text is cheaper to clone, and holds nothing that a page cannot read.
    result => { parentPort?.postMessage({ result: JSON.stringify(result) }) },
    (error: unknown) => { parentPort?.postMessage({ error: error instanceof Error ? error.stack : String(error) }) }
  )
})
