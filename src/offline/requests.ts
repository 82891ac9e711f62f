/** The requests of one test: one for each version and binding, or the recorded one. */
import { join } from 'node:path'
import type { PlainRequest } from '../agent/judge.js'
import { splitTarget } from '../wire/target.js'
import type { Variant } from './compose.js'
import { compose } from './compose.js'
import type { RecordedRequest } from './recorded-request.js'
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
function recorded (name: string, agent: TestAgent, directory: string): TestRequest {
  const mark = name.indexOf('#')
  const file = join(directory, mark < 0 ? name : name.slice(0, mark))
  try {
    const { requests } = loadRecording(file)
    const [first, second] = requests
    if (mark < 0 && second !== undefined) return { problem: `${file} holds ${requests.length} requests; write which, as in ${name}#1` }
    const request = mark < 0 && first !== undefined ? first : pickRequest(requests, name.slice(mark + 1), file)
    return plain(request, agent)
  } catch (error) {
    if (error instanceof RecordingError) return { problem: error.message }
    throw error
  }
}

/** A request to the gateway's address of the agent, or one recorded at the agent itself. */
function plain ({ method, target, headers, body }: RecordedRequest, { config }: TestAgent): TestRequest {
  if (target === null) return { problem: 'the recording is a bare JSON-RPC envelope, without address and headers; record the whole request' }
  const { path, query } = splitTarget(target)
  const below = path === config.path || path.startsWith(`${config.path}/`) ? path.slice(config.path.length) : path
  return { request: { method, path: below, query, rawHeaders: headers, body: body.length === 0 ? null : body }, variant: null }
}
