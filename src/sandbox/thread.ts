/**
 * The thread of the playground: reads policies, compiles their schemas and evaluates requests, away from the event loop of the gateway. The
 * console starts the thread, and ends it when a task takes too long (console/playground/playground-thread.ts).
 */
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { Explained, PlaygroundTask, Results, SandboxAgent, Sample } from '#console/playground/tasks.js'
import { replay } from './replay.js'
import { keptText, requestText } from './request-text.js'
import { startDocument } from './start-document.js'
import type { Principal } from '#identity/principal.js'
import { CannotExplain } from '#offline/explain/cannot-explain.js'
import { explanationText } from '#offline/explain/explain-text.js'
import { explainRequest } from '#offline/explain/explain.js'
import type { ReadBeside } from '#offline/recording/http-file.js'
import { readRecording, RecordingError } from '#offline/recording/recording.js'
import { CannotEvaluate, policyOf, sandboxState, agentIn } from './sandbox-agent.js'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#config/paths.js'
import type { AgentConfig } from '#config/model/model.js'
import type { Variant } from '#a2a/message/wire-spec.js'
import { compose } from '#offline/recording/compose.js'
import { loadTests } from '#offline/policy-test/test-file.js'
import type { RequestSpec } from '#offline/policy-test/test-model.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import { joinPath } from '#wire/target.js'

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

async function explain (sandboxAgent: SandboxAgent, text: string, request: string, caller: Principal | null): Promise<Explained> {
  const { agent, problems, warnings } = policyOf(sandboxAgent, text)
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
    const state = sandboxState(sandboxAgent, agent, text)
    const explanation = await explainRequest(first, { file: REQUEST, number: 1 }, {
      config: { ...sandboxAgent.config, agents: [agent] },
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

/* Sample requests for an agent: the tests of the catalogue for its policies, written for the interfaces of its card. */

/** Largest number of samples of one policy. */
const SAMPLES = 12
const VARIANTS: readonly Variant[] = [
  { version: '1.0', binding: 'JSONRPC' },
  { version: '1.0', binding: 'HTTP+JSON' },
  { version: '0.3', binding: 'JSONRPC' },
  { version: '0.3', binding: 'HTTP+JSON' }
]

/** The first sample is a message with a text. */
function samplesFor (sandboxAgent: SandboxAgent): Sample[] {
  const agent = agentIn(sandboxAgent)
  const state = stateOrNull(sandboxAgent, agent)
  const variant = state === null
    ? undefined
    : VARIANTS.find(({ version, binding }) => state.interfaces.some(entry => entry.version === version && entry.binding === binding))
  if (state === null || variant === undefined) return []
  const text = (request: RequestSpec): string | null => {
    const httpRequest = compose(request, variant, state.interfaces)
    if (typeof httpRequest === 'string') return null
    return requestText({
      method: httpRequest.method,
      target: joinPath(agent.path, httpRequest.path) + httpRequest.query,
      headers: httpRequest.rawHeaders,
      body: httpRequest.body ?? new Uint8Array()
    })
  }
  const plain = text({ message: { messageId: 'm1', parts: [{ text: 'hello' }] } })
  return [
    ...plain === null ? [] : [{ name: 'a message with a text', expected: 'forward' as const, policy: '', text: plain }],
    ...agent.extensions.flatMap(policy => samplesOf(policy, text))
  ]
}

function stateOrNull (sandboxAgent: SandboxAgent, agent: AgentConfig): AgentState | null {
  try {
    return sandboxState(sandboxAgent, agent, null)
  } catch (error) {
    if (error instanceof CannotEvaluate) return null
    throw error
  }
}

/** @param policy name of a policy, perhaps of the catalogue */
function samplesOf (policy: string, text: (request: RequestSpec) => string | null): Sample[] {
  const file = join(packageRoot(), 'config/extensions', `${policy}.test.yaml`)
  if (!existsSync(file)) return []
  const loaded = loadTests(file, {})
  if (!loaded.ok) return []
  // Samples show one request: tests of recordings, and of requests that depend on earlier ones, are none.
  const single = loaded.tests.value.tests.filter(({ request, before, memory }) =>
    request.http === undefined && before === undefined && memory === undefined)
  return single.flatMap(({ name, request, expect }) => {
    const written = text(request)
    return written === null || expect.decision === 'pause' ? [] : [{ name, expected: expect.decision, policy, text: written }]
  }).slice(0, SAMPLES)
}
