/** `decisionPoints` and `agents[].external`: decisions of a policy server. */
import { clientTls } from '../listeners/tls-schema.js'
import { CONDITIONS, OPERATIONS } from './rule-schema.js'
import type { TypeOf } from './schema-builder.js'
import { array, choice, count, duration, list, mapping, nullable, oneOf, optional, record, section, string, text } from './schema-builder.js'
import { secretHeaders } from './secret-headers-schema.js'

/** Values of `operations`. */
export const ASKED_OPERATIONS: readonly string[] = [...OPERATIONS.filter(name => name !== 'all'), 'Extension', 'messages', 'all']

const decisionPoint = mapping('One policy server.', ['url'], {
  url: {
    ...text(
      'Address of its evaluation endpoint. An address without a path is an origin: the gateway then reads the endpoints from ' +
        '`/.well-known/authzen-configuration`. The gateway follows no redirect.',
      'url'
    ),
    examples: ['https://pdp.example.com/access/v1/evaluation']
  },
  batchUrl: nullable(
    'Address of its evaluations endpoint: several questions about one call then go in one request. `null`: one request for each question.',
    'url'
  ),
  timeout: duration('Time for one question, with the wait for a connection.', '300ms', '1ms', '30s'),
  onError: choice(
    'A call whose question has no valid answer in time: `reject` it with 503, or `forward` it as if the server had allowed it.',
    ['reject', 'forward'],
    'reject'
  ),
  headers: secretHeaders('Headers with credentials, sent with every question, by name.'),
  contextIn: choice(
    'Where policies of the server read what the gateway knows about the call: in `context`; or in `resource`, where ' +
      '`resource.properties.context` is a copy of `context`, for servers whose policies cannot read `context`, such as Cerbos.',
    ['context', 'resource'],
    'context'
  ),
  tls: clientTls('server'),
  concurrency: count('Questions under way at once, in each process. Further questions wait until their `timeout`.', 64, 1, 10000),
  cache: section('Answers that the gateway remembers, by everything that was asked, also the caller.', {
    ttl: duration('How long an answer is used again; 0s remembers none. The server then decides about every call.', '0s', '0s', '1h'),
    entries: count('Answers that each process remembers; the least recently used is forgotten first.', 10000, 1, 1000000)
  })
})

export const decisionPoints = record(
  'Policy servers that decide about calls by the OpenID AuthZEN Authorization API 1.0, by name. `external` of an agent, and `external` ' +
    'of a rule, name them.',
  'name',
  decisionPoint,
  { maxProperties: 100 },
  {}
)

/** One policy server. Times are ms; `cache.ttl` 0: the gateway remembers no answer. */
export type DecisionPointConfig = TypeOf<typeof decisionPoint>

const condition = {
  ...mapping('The gateway asks only if all of these conditions match. An undecidable condition matches.', [], {
    taskId: CONDITIONS.taskId,
    contextId: CONDITIONS.contextId,
    active: {
      ...text('URI of an extension that is active in the request, as the card spells it.', 'extension-uri'),
      examples: ['https://example.com/ext/payments/v1']
    },
    caller: CONDITIONS.caller,
    match: CONDITIONS.match
  }),
  minProperties: 1
}

const question = mapping('One question.', ['id', 'use'], {
  id: {
    ...text('Name, unique among the entries of the agent: a metric label, and the rule of rejections.', 'name'), examples: ['spend']
  },
  use: { ...text('Name of the policy server in `decisionPoints`.', 'name'), examples: ['corp'] },
  operations: array(
    'Operations by their A2A 1.0 names; `messages` (SendMessage and SendStreamingMessage); `Extension` (methods and routes that policies ' +
      'declare); `all`, also methods that nothing declares.',
    oneOf<string>(ASKED_OPERATIONS),
    { uniqueItems: true, minItems: 1, maxItems: ASKED_OPERATIONS.length },
    ['all']
  ),
  phase: choice(
    'When to ask: before the agent gets the `request`, before the client gets the `response` or an event of a stream, or `both`. ' +
      'Responses of operations about messages and tasks only.',
    ['request', 'response', 'both'],
    'request'
  ),
  send: choice(
    'What the server gets: `facts` about caller, operation, task and extensions; or also the whole `message`, which is the request ' +
      'object or the result.',
    ['facts', 'message'],
    'facts'
  ),
  redact: list(
    'With `send: message`: JSON Pointers into the request object or the result, in which `*` is any step. The server does not get these values.',
    string('pointer'),
    []
  ),
  mode: choice(
    '`enforce` does what the server answers. `observe` asks without waiting, and only records the answer.',
    ['enforce', 'observe'],
    'enforce'
  ),
  when: optional(condition)
})

/** `external` of an agent. */
export const externalSchema = array(
  'Calls about which a policy server decides, after the rules of the gateway. Every entry that applies to a call must allow the call.',
  question,
  { maxItems: 100 },
  []
)

/** One entry of `external`. */
export type ExternalConfig = TypeOf<typeof question>

/** A condition on the request. All given keys must match. */
export type ExternalCondition = TypeOf<typeof condition>
