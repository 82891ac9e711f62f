/** JSON Schema of the responses in a policy test file. */
import { choice, flag, mapping } from '../../config/schema/schema-kit.js'
import type { Schema } from '../../config/schema/schema-kit.js'

const object = (description: string): Schema => ({ type: 'object', description })
const string = (description: string): Schema => ({ type: 'string', description })
const uris = (description: string): Schema => ({ type: 'array', description, items: { type: 'string' }, uniqueItems: true, maxItems: 1000 })
const list = (description: string, items: Schema): Schema => ({ type: 'array', description, items, maxItems: 1000 })
const texts = (description: string): Schema => ({ type: 'object', description, additionalProperties: { type: ['string', 'null'] } })
const HTTP_STATUS = { type: 'integer', minimum: 200, maximum: 599 }

const taskId = string('Default: that of the request, or one that is made up.')
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
    description: string('What it is.'),
    parts: list('Its parts.', part),
    metadata: object('Metadata of the artifact.'),
    extensions: uris('URIs of `artifact.extensions`.')
  })
  const task = mapping('A task.', [], {
    id: taskId,
    contextId,
    status,
    artifacts: list('Its artifacts.', artifact),
    history: list('Its messages; each says its role.', message),
    metadata: object('Metadata of the task.')
  })
  const error = mapping('An error in place of a result.', ['code'], {
    code: { type: 'integer', description: 'That of JSON-RPC, also in HTTP+JSON 1.0, which has an HTTP status for it.' },
    message: string('What it says.'),
    data: { description: 'Its data or details.' }
  })
  const result: Schema = { description: 'The result as it stands, any JSON: what no agent should send.' }
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
  return mapping('What the agent answers, written as in A2A 1.0 and composed in the form of each version and binding: exactly one of task, message, tasks, events, result, error, http.', [], {
    task,
    message,
    tasks: list('Of ListTasks.', task),
    events: list('Of a stream.', event),
    result,
    error,
    http: string('A recorded answer, as it stands, relative to this file: status line, headers and body; or a body of JSON, or an event stream.'),
    extensions: uris('URIs of the header in which the agent says what it activated.'),
    headers: texts('Additional headers; null removes a header that would be sent.'),
    status: { ...HTTP_STATUS, description: 'HTTP status. Default 200, of errors that of their code.' }
  })
}

export const responseExpectation: Schema = mapping('What must come of the answer. Only what is written is compared.', ['decision'], {
  decision: choice('Whether the client gets it.', ['forward', 'reject']),
  rule: string('`extension/rule` that decides.'),
  reason: string('`reason` of the refusal.'),
  path: string('Where the deciding violation is, in the body or in the event.'),
  message: string('Text that the refusal\'s message contains.'),
  status: { ...HTTP_STATUS, description: 'HTTP status that the client gets.' },
  event: { type: 'integer', minimum: 1, description: 'Of a stream: which event is refused, from 1.' },
  violations: uris('All violated rules, including observed ones, as `extension/rule`, in any order.'),
  edited: uris('`extension/rule` of everything that changes the answer, in any order.'),
  annotations: uris('`extension/rule` of everything that the client is told of, in any order.'),
  confirmed: uris('URIs that were asked for, with proof that the agent heeded; in any order, so for the other sets.'),
  absent: uris('URIs that were asked for, without proof.'),
  unexpected: uris('URIs that nobody asked for, and that are there all the same.'),
  shown: uris('URIs of the header that the client gets.'),
  body: object('JSON Pointers into the result that the client gets (`result`, or the body of HTTP+JSON) and the values there; null: absent. Of a stream the first name is the number of the event, from 1.'),
  unchanged: flag('Whether the client gets the agent\'s bytes.'),
  attributes: object('Span attributes and their values; null: absent.'),
  measures: object('Metrics as `policy/metric`, or `policy/metric/by`, and what is measured: counters are added up; null: nothing.')
})
