/** Explains the decision of a policy about a request, as `a2a-gateway explain` does. */
import type { Explained, SandboxAgent } from '#console/playground/tasks.js'
import { CannotExplain } from '#offline/explain/cannot-explain.js'
import { explainRequest } from '#offline/explain/explain.js'
import { explanationText } from '#offline/explain/explain-text.js'
import type { ReadBeside } from '#offline/recording/http-file.js'
import { readRecording, RecordingError } from '#offline/recording/recording.js'
import type { Principal } from '#identity/principal.js'
import { CannotEvaluate, policyOf, stateOf } from './sandbox-agent.js'

/** Name of the request in problems. */
const REQUEST = 'request'

export async function explain (given: SandboxAgent, text: string, request: string, caller: Principal | null): Promise<Explained> {
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
    const state = stateOf(given, agent, text)
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
    return { ...checked, problem: wanted === null ? error.message : `the request names the file ${JSON.stringify(wanted)}, and the playground reads no files (write its content here)` }
  }
}
