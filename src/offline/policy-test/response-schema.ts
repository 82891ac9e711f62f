/** JSON Schema of the responses in a policy test file. */
import { GRPC_CODE_NAMES } from '#wire/grpc/code-names.js'
import { choice, flag, mapping } from '#config/schema/schema-builder.js'
import type { Schema } from '#config/schema/schema-builder.js'

const object = (description: string): Schema => ({ type: 'object', description })
const string = (description: string): Schema => ({ type: 'string', description })
const uris = (description: string): Schema => ({ type: 'array', description, items: { type: 'string' }, uniqueItems: true, maxItems: 1000 })
const list = (description: string, items: Schema): Schema => ({ type: 'array', description, items, maxItems: 1000 })
const texts = (description: string): Schema => ({ type: 'object', description, additionalProperties: { type: ['string', 'null'] } })
const HTTP_STATUS = { type: 'integer', minimum: 200, maximum: 599 }

const taskId = string('Default: that of the request, or a generated one.')
const contextId = string('Default: a generated one.')

/**
 * Returns the schema of a response.
 * @param message schema of a message, as in a request
 * @param part schema of a part, as in a request
 */
export function responseSchema (message: Schema, part: Schema): Schema {
  const status = mapping('The status of a task.', [], {
    state: string('State, by its name in either version: `input-required` or `TASK_STATE_INPUT_REQUIRED`. Default working.'),
    message,
    timestamp: string('Time of the status.')
  })
  const artifact = mapping('An artifact.', ['parts'], {
    artifactId: string('Default: a generated one.'),
    name: string('Its name.'),
    description: string('Its description.'),
    parts: list('Its parts.', part),
    metadata: object('Metadata of the artifact.'),
    extensions: uris('URIs of `artifact.extensions`.')
  })
  const task = mapping('A task.', [], {
    id: taskId,
    contextId,
    status,
    artifacts: list('Its artifacts.', artifact),
    history: list('Its messages; each has its role.', message),
    metadata: object('Metadata of the task.')
  })
  const error = mapping('An error in place of a result.', ['code'], {
    code: { type: 'integer', description: 'The JSON-RPC code; HTTP+JSON 1.0 gets the HTTP status for it, gRPC the status of gRPC.' },
    message: string('Its message.'),
    data: { description: 'Its data or details.' }
  })
  const result: Schema = { description: 'The result as any JSON, unchanged: for invalid responses.' }
  const event = mapping('One event of a stream: exactly one of these.', [], {
    task,
    message,
    statusUpdate: mapping('A status update.', [], { taskId, contextId, status, metadata: object('Metadata of the event.') }),
    artifactUpdate: mapping('An artifact update.', ['artifact'], {
      taskId,
      contextId,
      artifact,
      append: flag('Whether it adds to an artifact that was sent before.'),
      lastChunk: flag('Whether it is the last of the artifact.'),
      metadata: object('Metadata of the event.')
    }),
    result,
    error
  })
  return mapping(
    "The agent's response, written as in A2A 1.0 and sent in the form of each version and binding: exactly one of task, message, tasks, " +
      'events, result, error, http.',
    [],
    {
      task,
      message,
      tasks: list('Of ListTasks.', task),
      events: list('Of a stream.', event),
      result,
      error,
      http: string(
        'A recorded response, unchanged, relative to this file: status line, headers and body; or a body of JSON, or an event stream. ' +
          'gRPC gets their JSON as messages.'
      ),
      extensions: uris('URIs of the header in which the agent confirms active extensions.'),
      headers: texts('Additional headers; null removes a header that would be sent.'),
      status: { ...HTTP_STATUS, description: "HTTP status. Default: 200, or the status of the error's code. Not for GRPC." }
    }
  )
}

export const responseExpectation: Schema = mapping('The expected result for the response. Omitted keys are not compared.', ['decision'], {
  decision: choice('Whether the client gets the response.', ['forward', 'reject']),
  rule: string('The deciding `extension/rule`.'),
  reason: string('`reason` of the rejection.'),
  path: string('The path of the deciding violation, in the body or in the event.'),
  message: string('Text that the message of the rejection contains.'),
  status: { ...HTTP_STATUS, description: 'HTTP status that the client gets; not for GRPC.' },
  grpcStatus: choice('Status that the client gets over gRPC; other bindings do not compare it.', GRPC_CODE_NAMES),
  event: { type: 'integer', minimum: 1, description: 'In a stream: the number of the rejected event, from 1.' },
  violations: uris('All violated rules, including observed ones, as `extension/rule`, in any order.'),
  edited: uris('`extension/rule` of everything that changes the response, in any order.'),
  annotations: uris('`extension/rule` of all annotations for the client, in any order.'),
  confirmed: uris('Requested URIs that the response proves active, in any order; the same for the other sets.'),
  absent: uris('Requested URIs without proof in the response.'),
  unexpected: uris('URIs that nobody requested, but the response has.'),
  shown: uris("URIs in the client's header."),
  body: object(
    'JSON Pointers into the result that the client gets (`result`, the body of HTTP+JSON, or the message of gRPC as JSON) and the values ' +
      'there; null: absent. In a stream, the first segment is the number of the event, from 1.'
  ),
  unchanged: flag("Whether the client gets the agent's bytes."),
  attributes: object('Span attributes and their values; null: absent.'),
  measures: object(
    'Metrics as `policy/metric`, or `policy/metric/by`, and their values: the sum of a counter, the last value of a gauge; null: no value.'
  )
})
