/** JSON Schema of a policy test file: its keys, types and defaults. */
import { TASK_STATES } from '#a2a/task-state.js'
import { GRPC_CODE_NAMES } from '#wire/grpc/code-names.js'
import { choice, flag, mapping } from '#config/schema/schema-builder.js'
import type { Schema } from '#config/schema/schema-builder.js'
import { recordedAnswers } from '../recorded-answers.js'
import { callerSpec } from '../caller.js'
import { responseExpectation, responseSchema } from './response-schema.js'

export const OPERATION_NAMES = [
  'SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask', 'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig', 'ListTaskPushNotificationConfigs', 'DeleteTaskPushNotificationConfig', 'GetExtendedAgentCard'
] as const

const object = (description: string): Schema => ({ type: 'object', description })
const string = (description: string): Schema => ({ type: 'string', description })
const uris = (description: string): Schema => ({ type: 'array', description, items: { type: 'string' }, uniqueItems: true, maxItems: 1000 })
const some = (description: string, items: Schema): Schema => ({
  type: 'array',
  description,
  items,
  uniqueItems: true,
  minItems: 1,
  maxItems: 1000
})
const texts = (description: string): Schema => ({ type: 'object', description, additionalProperties: { type: ['string', 'null'] } })

const card: Schema = {
  type: ['string', 'object'],
  description:
    'The AgentCard: a JSON file, relative to this file, or the card itself. A card written here may omit its interfaces; it then has ' +
      'JSON-RPC, HTTP+JSON and gRPC, in 0.3 and 1.0.'
}
const agent: Schema = {
  type: ['string', 'object'],
  description:
    'The name of an agent of the configuration, or the keys of an agent as in the configuration; name, path and upstream are optional.'
}

const part = mapping('One part, written as in A2A 1.0.', [], {
  text: string('A text part.'),
  raw: string('A file, Base64.'),
  url: string('A file, by URL.'),
  data: { description: 'A DataPart: any JSON.' },
  mediaType: string('In 0.3 this becomes `metadata.mimeType`.'),
  filename: string('Name of the file.'),
  metadata: object('Metadata of the part.')
})

const message = mapping('A message, written as in A2A 1.0 and sent in the form of each version and binding.', [], {
  messageId: string('Default: a generated one.'),
  role: choice('Who wrote it. Default: user; in a response: agent.', ['user', 'agent']),
  parts: { type: 'array', description: 'Its parts.', items: part, default: [], maxItems: 1000 },
  metadata: object('Metadata of the message.'),
  taskId: string('The task it belongs to.'),
  contextId: string('The context it belongs to.'),
  extensions: uris('URIs of `message.extensions`.'),
  referenceTaskIds: uris('Tasks it refers to.')
})

const request = mapping('What the client sends.', [], {
  operation: choice('The operation by its 1.0 name. Default: SendMessage.', OPERATION_NAMES),
  extensions: uris("URIs requested in the header of the version's spelling."),
  headers: texts('Additional headers, or metadata of a gRPC call; null removes one that would be sent.'),
  message,
  metadata: object('Metadata of the request itself, beside the message.'),
  params: object("The request object, unchanged, instead of `message`: for other operations and for an extension's methods."),
  method: string('JSON-RPC method of an extension, instead of `operation`.'),
  at: string('Time at which the gateway gets the request, for rules with `notOlderThan`: RFC 3339. Default: now.'),
  http: string(
    'A recorded request, unchanged, instead of all other keys: an .http file or captured JSON, relative to this file, followed by ' +
      '`#name` or `#number` if it contains several.'
  )
})

const response = responseSchema(message, part)

const memory: Schema = {
  ...mapping(
    'The remembered state of the task that the request names: `unknown`, or the state. Default: the result of `before`, else unknown.',
    [],
    {
      state: choice('The last state seen, by its name in 0.3.', [...TASK_STATES]),
      owner: choice(
        'With `access.tasks`: to whom the tasks and contexts of the request belong. Default: caller.',
        ['caller', 'other', 'unknown']
      )
    }
  ),
  minProperties: 1,
  type: ['string', 'object']
}

const caller: Schema = {
  ...callerSpec('Who calls, for conditions on the caller. null: nobody that the gateway knows, which is the default.'),
  type: ['object', 'null']
}

const expect = mapping('The expected result. Omitted keys are not compared.', ['decision'], {
  decision: choice('Whether the request is forwarded to the agent. `pause`: it waits for a person.', ['forward', 'reject', 'pause']),
  rule: string('The deciding `extension/rule`, as in the header gateway-decision.'),
  reason: string('`reason` of the rejection.'),
  path: string('The path of the deciding violation.'),
  message: string('Text that the message of the rejection contains.'),
  status: { type: 'integer', description: 'HTTP status of the rejection; not for GRPC.' },
  grpcStatus: choice('Status of the rejection over gRPC; other bindings do not compare it.', GRPC_CODE_NAMES),
  violations: uris('All violated rules, including observed ones, as `extension/rule`, in any order.'),
  declared: uris('URIs that the card declares, in any order; the same for the other sets.'),
  requested: uris('URIs that the client requests.'),
  listed: uris('Declared URIs that the message lists.'),
  evidenced: uris('Declared URIs whose data the request contains.'),
  active: uris('URIs of extensions that are active.'),
  injected: uris('URIs that only the gateway requests.'),
  missing: uris('Required URIs that nobody requests.'),
  forbidden: uris('URIs of extensions that the caller may not use.'),
  headers: texts('Headers of the forwarded request; null: absent. A2A-Extensions means the forwarded spelling.'),
  body: object(
    'JSON Pointers into the forwarded request object (`params`, the body of HTTP+JSON, or the message of gRPC as JSON) and the values ' +
      'there; null: absent.'
  ),
  unchanged: flag('Whether the agent gets the client\'s bytes.'),
  answer: responseExpectation
})

const test = mapping('One test.', ['name', 'request', 'expect'], {
  name: {
    type: 'string',
    description: 'The promise that the test checks.',
    minLength: 1,
    maxLength: 300,
    examples: ['a submitted payment names its task']
  },
  versions: some('Versions that the test runs in. Default: both.', choice('Version.', ['0.3', '1.0'])),
  bindings: some('Bindings that the test runs in. Default: JSONRPC.', choice('Binding.', ['JSONRPC', 'HTTP+JSON', 'GRPC'])),
  card,
  agent,
  caller,
  memory,
  external: recordedAnswers,
  before: {
    type: 'array',
    description: 'Exchanges that run first, in the same version and binding, so that the test knows their task state.',
    items: mapping('One exchange.', ['request', 'answer'], { caller, request, answer: response }),
    minItems: 1,
    maxItems: 100
  },
  request,
  answer: response,
  expect
})

export const testFileSchema: Schema = mapping('Tests of policies.', ['tests'], {
  card,
  agent,
  caller,
  extensions: object('Further policies by name, as in the configuration.'),
  bundles: object('Further sets of schemas by name, as in the configuration.'),
  tests: { type: 'array', description: 'The tests, at least one.', items: test, minItems: 1, maxItems: 10000 }
})

/** Returns the published schema: the content of `config/policy-test.schema.json` and the output of `a2a-gateway schema --tests`. */
export function testsSchemaText (): string {
  const published = {
    $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'Policy tests of a2a-extension-gateway', ...testFileSchema
  }
  return `${JSON.stringify(published, null, 2)}\n`
}
