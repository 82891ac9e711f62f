/** The requests of one test: one for each version and binding, or the recorded one. */
import { join } from 'node:path'
import type { PlainRequest } from '../agent/judge.js'
import { CannotExplain } from './cannot-explain.js'
import type { Variant } from './compose.js'
import { compose } from './compose.js'
import { placeOf, plainRequest, sentHeaders } from './place.js'
import { loadRecording, pickRequest, RecordingError } from './recording.js'
import type { TestAgent } from './test-agent.js'
import type { PolicyTest } from './test-model.js'

/** A request and, where it was composed, its version and binding; or in words why there is none. */
export type TestRequest = { readonly request: PlainRequest, readonly variant: Variant | null } | { readonly problem: string }

/** @param directory that files are relative to */
export function requestsOf (test: PolicyTest, agent: TestAgent, directory: string): TestRequest[] {
  const { request, versions = ['0.3', '1.0'], bindings = ['JSONRPC'] } = test
  if (request.http !== undefined) return [recorded(request.http, agent, directory)]
  return versions.flatMap(version => bindings.map(binding => {
    const variant = { version, binding }
    const made = compose(request, variant, agent.state.interfaces)
    return typeof made === 'string' ? { problem: `${made} (in ${version} over ${binding})` } : { request: made, variant }
  }))
}

/** @param name file, `file#name` or `file#number` */
function recorded (name: string, { config, state }: TestAgent, directory: string): TestRequest {
  const mark = name.indexOf('#')
  const file = join(directory, mark < 0 ? name : name.slice(0, mark))
  try {
    const { requests } = loadRecording(file)
    const [first, second] = requests
    if (mark < 0 && second !== undefined) return { problem: `${file} holds ${requests.length} requests; write which, as in ${name}#1` }
    const one = mark < 0 && first !== undefined ? first : pickRequest(requests, name.slice(mark + 1), file)
    const request = { ...one, headers: sentHeaders(one, []) }
    return { request: plainRequest(request, placeOf(request, [config], config.name)?.path ?? null, state), variant: null }
  } catch (error) {
    if (error instanceof RecordingError || error instanceof CannotExplain) return { problem: error.message }
    throw error
  }
}
