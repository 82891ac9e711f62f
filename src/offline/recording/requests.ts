/** Builds the requests of a test: composed in each version and binding, or recorded. */
import { join } from 'node:path'
import { CannotExplain } from '../explain/cannot-explain.js'
import { grpcHeaders, grpcRequestOf, isGrpcCall } from '../explain/grpc-call.js'
import type { Variant } from '#a2a/message/wire-spec.js'
import { compose } from './compose.js'
import { placeOf, plainRequest, sentHeaders } from '../place.js'
import { loadRecording, pickRequest, RecordingError } from './recording.js'
import type { TestAgent } from '../policy-test/test-agent.js'
import type { PolicyTest, RequestSpec } from '../policy-test/test-model.js'
import type { PlainRequest } from '#pipeline/dry-run-operation.js'

/** A request, or in words why there is none. */
export type TestRequest = { readonly request: PlainRequest } | { readonly problem: string }

/** Returns the variants that a test runs in. Null for a recorded request, which has its own version and binding. */
export function variantsOf ({ request, versions = ['0.3', '1.0'], bindings = ['JSONRPC'] }: PolicyTest): (Variant | null)[] {
  return request.http !== undefined ? [null] : versions.flatMap(version => bindings.map(binding => ({ version, binding })))
}

/**
 * Builds the request of a test.
 * @param variant null only for a recorded request
 * @param directory directory that files are relative to
 */
export function requestOf (request: RequestSpec, variant: Variant | null, agent: TestAgent, directory: string): TestRequest {
  if (request.http !== undefined) return recorded(request.http, agent, directory)
  if (variant === null) return { problem: 'it has neither version nor binding' }
  const outcome = compose(request, variant, agent.state.interfaces)
  return typeof outcome === 'string' ? { problem: `${outcome} (in ${variant.version} over ${variant.binding})` } : { request: outcome }
}

/**
 * Loads a recorded request.
 * @param name file, `file#name` or `file#number`
 */
function recorded (name: string, { config, state, limits }: TestAgent, directory: string): TestRequest {
  const mark = name.indexOf('#')
  const file = join(directory, mark < 0 ? name : name.slice(0, mark))
  try {
    const { requests } = loadRecording(file)
    const [first, second] = requests
    if (mark < 0 && second !== undefined) return { problem: `${file} contains ${requests.length} requests; choose one, as in ${name}#1` }
    const recordedRequest = mark < 0 && first !== undefined ? first : pickRequest(requests, name.slice(mark + 1), file)
    if (isGrpcCall(recordedRequest)) {
      return { request: grpcRequestOf(recordedRequest, grpcHeaders(recordedRequest, []), limits.body).request }
    }
    const request = { ...recordedRequest, headers: sentHeaders(recordedRequest, []) }
    return { request: plainRequest(request, placeOf(request, [config], config.name)?.path ?? null, state) }
  } catch (error) {
    if (error instanceof RecordingError || error instanceof CannotExplain) return { problem: error.message }
    throw error
  }
}
