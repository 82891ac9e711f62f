/** Completed calls for tests of the kept decisions. */
import type { Ended } from '#console/entry.js'

export function ended (extra: Partial<Ended> = {}): Ended {
  return {
    at: 1,
    agent: 'a',
    operation: 'SendMessage',
    binding: 'JSONRPC',
    version: '1.0',
    front: 'http',
    outcome: 'forwarded',
    status: 200,
    grpcStatus: null,
    seconds: 0.01,
    requestId: '1',
    traceId: null,
    taskId: null,
    contextId: null,
    extensions: [],
    caller: null,
    port: 0,
    refusal: null,
    found: [],
    answers: [],
    ...extra
  }
}

export const REFUSED = ended({ outcome: 'rejected', refusal: { reason: 'PARSE_ERROR', message: 'is no JSON', rule: 'gateway/json' } })
