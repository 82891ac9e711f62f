/**
 * The thread of the playground: reads policies, compiles their schemas and evaluates requests, away from the event loop of the gateway. The
 * console starts the thread, and ends it when a task takes too long (console/playground/playground-thread.ts).
 */
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { Explained, PlaygroundTask, Results, SandboxAgent } from '#console/playground/tasks.js'
import { replay } from './replay.js'
import { keptText } from './request-text.js'
import { samplesFor } from './samples.js'
import { startDocument } from './start-document.js'
import type { Principal } from '#identity/principal.js'
import { CannotExplain } from '#offline/explain/cannot-explain.js'
import { explanationText } from '#offline/explain/explain-text.js'
import { explainRequest } from '#offline/explain/explain.js'
import type { ReadBeside } from '#offline/recording/http-file.js'
import { readRecording, RecordingError } from '#offline/recording/recording.js'
import { CannotEvaluate, policyOf, sandboxState } from './sandbox-agent.js'

// As in agents/card/compile-thread.ts: requests come first.
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

// Explains the decision of a policy about a request, as `a2a-gateway explain` does.

/** Name of the request in problems. */
const REQUEST = 'request'

async function explain (given: SandboxAgent, text: string, request: string, caller: Principal | null): Promise<Explained> {
  const { agent, problems, warnings } = policyOf(given, text)
  let wanted: string | null = null
  const noFiles: ReadBeside = file => {
    wanted = file
    throw new Error('no files')
  }
  const checked = { problems, warnings, explanation: null, text: null, problem: null }
  if (agent === null || request.trim() === '') return checked
  try {
    const { requests } = readRecording(Buffer.from(request), REQUEST, noFiles)
    const [first] = requests
    if (first === undefined) return checked
    const state = sandboxState(given, agent, text)
    const explanation = await explainRequest(first, { file: REQUEST, number: 1 }, {
      config: { ...given.config, agents: [agent] },
      agent: agent.name,
      caller,
      headers: [],
      known: async () => ({ state, card: state.loaded.origin })
    })
    return { ...checked, explanation, text: explanationText(explanation) }
  } catch (error) {
    if (!(error instanceof CannotExplain || error instanceof RecordingError || error instanceof CannotEvaluate)) throw error
    return {
      ...checked,
      problem: wanted === null
        ? error.message
        : `the request names the file ${JSON.stringify(wanted)}, and the playground reads no files (write its content here)`
    }
  }
}
