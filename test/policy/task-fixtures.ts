/**
 * What the tests of a task's memory share: subjects of both sides, read from what clients and agents send, and a policy around what is
 * tested.
 */
import { readCall } from '#a2a/message/call.js'
import { viewResponse } from '#a2a/message/read-result.js'
import type { CompiledResponses, CompiledPolicy } from '#policy/compile/compiled.js'
import { ResultSubject } from '#policy/response/result-subject.js'
import { compileMatcher, SchemaCache } from '#policy/compile/schema-source.js'
import type { SelectContext } from '#policy/selectors/selection.js'
import { RequestSubject } from '#policy/selectors/subject.js'

export const URI = 'urn:ext'

const sources = { cards: [], cache: new SchemaCache(), report: () => {} }
export const context: SelectContext = {
  uris: [URI],
  policy: 'p',
  matcher: schema => compileMatcher(schema, sources),
  activeAs: uri => [uri]
}

export function compiled (more: Partial<CompiledPolicy>): CompiledPolicy {
  return {
    name: 'p',
    uri: URI,
    same: [URI],
    activators: [URI],
    activation: { signals: null, owned: [], inactive: 'forward', ownedHeaders: new Set(), requires: [], addsMissing: false, scope: null },
    mode: 'enforce',
    rules: [],
    inject: [],
    verbatim: false,
    responses: null,
    state: null,
    correlations: [],
    ...more
  }
}

export function answers (more: Partial<CompiledResponses>): CompiledResponses {
  return { acts: true, silent: false, rules: [], owned: [], strips: false, redact: [], attributes: [], metrics: [], ...more }
}

/** @param message as a client of 1.0 writes it */
export function request (message: object): RequestSubject {
  const bytes = Buffer.from(
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: { parts: [{ text: 'x' }], ...message } } })
  )
  return new RequestSubject(
    readCall({
      bytes,
      binding: 'JSONRPC',
      version: '1.0',
      contentType: 'application/json',
      restOperation: null,
      limits: { depth: 64, members: 1_000_000 }
    }),
    []
  )
}

/** @param result as an agent of 1.0 writes it in an event: `{task}`, `{message}`, `{statusUpdate}`, `{artifactUpdate}` */
export function result (result: object, first = true): ResultSubject {
  const view = viewResponse(JSON.parse(JSON.stringify({ jsonrpc: '2.0', id: 1, result })), {
    version: '1.0',
    binding: 'JSONRPC',
    operation: 'SubscribeToTask',
    id: 1,
    stream: true
  })
  if (view.results[0] === undefined) throw new Error(JSON.stringify(view))
  return new ResultSubject(view.results[0], 'SubscribeToTask', { matched: new Set(), active: [], caller: null }, first)
}

/** A status update whose message carries this metadata. */
export function status (metadata: object, state = 'TASK_STATE_WORKING'): ResultSubject {
  return result({ statusUpdate: { taskId: 't', status: { state, message: { role: 'ROLE_AGENT', parts: [{ text: 'x' }], metadata } } } })
}
