/** JSON Schema of a policy's rules: selectors, conditions, counts, schemas. */
import { TASK_STATES } from '#a2a/task-state.js'
import { caller, inline } from './caller-schema.js'
import type { Format } from './formats.js'
import { choice, flag, list, mapping, optionalDuration, text, string } from './schema-builder.js'
import type { Schema } from './schema-builder.js'

/** Values of `on` in a request rule. */
export const OPERATIONS: readonly string[] = [
  'SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask', 'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs', 'DeleteTaskPushNotificationConfig', 'GetExtendedAgentCard', 'all'
]

const CLASSES = ['invalid', 'unsupportedContent', 'conflict', 'extensionRequired', 'forbidden']

/** Whether the message of the request has an id. */
export const presence = (what: string): Schema<'present' | 'absent' | undefined> => choice(`Whether the message has a ${what}.`, ['present', 'absent'])

const active = (where: 'request' | 'result'): Schema<string | undefined> => ({
  ...text(
    'URI of an extension, usually another one, that is active in the ' +
      `request${where === 'request' ? '' : ' that the result responds to'}. Aliases with \`same\` count; the card must declare the ` +
      'extension.',
    'extension-uri'
  ),
  examples: ['https://example.com/ext/other/v1']
})

/** A condition on the caller. The reference describes its keys once, at `activation.callers`. */
export const CALLED = caller('The caller of the request; all given keys must match. Keys as in `activation.callers`.')

/** Conditions on a request. */
export const CONDITIONS = {
  taskId: presence('taskId'),
  contextId: presence('contextId'),
  listed: flag('Whether `message.extensions` names the extension.'),
  active: active('request'),
  caller: CALLED,
  match: inline('JSON Schema that the request matches, in one shape for all versions and bindings (`a2a-gateway help rules`).')
}

const taskState = (description: string): Schema => ({
  type: 'array',
  description,
  items: { type: 'string', enum: TASK_STATES },
  minItems: 1,
  maxItems: TASK_STATES.length,
  uniqueItems: true
})

/** Condition on a request that needs no stored task state. */
export const condition = (description: string): Schema => ({ ...mapping(description, [], CONDITIONS), minProperties: 1 })

const taskCondition = (description: string): Schema => ({
  ...mapping(description, [], {
    ...CONDITIONS,
    taskState: taskState('The task that the message names was last seen in one of these states.')
  }),
  minProperties: 1
})

/** Condition on one result of a response, or on the side that is checked. */
export const responseCondition = (description: string): Schema => ({
  ...mapping(description, [], {
    taskId: choice('Whether the result has a task id.', ['present', 'absent']),
    contextId: choice('Whether the result has a contextId.', ['present', 'absent']),
    listed: flag('Whether `extensions` of its message or artifacts names the extension.'),
    active: active('result'),
    taskState: taskState('In the result, the task is in one of these states.'),
    requestMatched: text('Name of a rule in `request` of the same policy that selected a value in the request and accepted it.', 'name'),
    caller: CALLED,
    match: inline('JSON Schema that the result matches, in one shape for all versions and bindings (`a2a-gateway help rules`).')
  }),
  minProperties: 1
})

const mediaType: Schema = {
  description:
    'Media types of the parts; one of them must match. Applies to parts of every kind, unless `data` is true. A parameter value `*` ' +
      "matches any value and captures it under the parameter's name.",
  type: ['string', 'array'],
  'x-format': 'media-type',
  items: string('media-type'),
  minItems: 1,
  maxItems: 100,
  uniqueItems: true
}

/** Keys of a metadata selector, without `in`. */
export const MEMBER = {
  key: {
    ...text(
      "Name of the member; `*` matches any characters, `$uri` or `$uri/...` is the extension's URI, with or without a suffix.",
      'name-pattern'
    ),
    examples: ['$uri']
  },
  path: text('JSON Pointer into the value; it selects the value it points to.', 'pointer'),
  equals: { type: ['string', 'number', 'boolean'], description: 'Only values equal to this.' }
}

/** A scalar that identifies parts. */
export const dataValue = (description: string): Schema =>
  mapping(description, ['path', 'equals'], {
    path: { ...text('JSON Pointer into the data.', 'pointer'), examples: ['/type'] },
    equals: { type: ['string', 'number', 'boolean'], description: 'The value there.', examples: ['acme/order'] }
  })

/** Keys of a part selector, without `in`. */
export const PART = {
  data: flag('Only parts with data.', false),
  mediaType,
  dataKey: text('Members of the part\'s data object; each is a selected value. `*` matches any characters.', 'data-key'),
  where: dataValue('Only parts whose data has this value; such as `{path: /type, equals: acme/order}`.'),
  path: text('JSON Pointer into the data, or into the member that `dataKey` selects; it selects the value it points to.', 'pointer'),
  match: inline('JSON Schema that the part matches, in the shape of `when.match`.'),
  captures: {
    type: 'object',
    description:
      'Texts that `fromCard` refers to by name, and where they are: JSON Pointers into the part in the shape of `when.match`, such as ' +
        '`/metadata/$uri/schema`; behind `..`, into the request or the result, such as `../metadata/$uri/schema`. A step `$uri` is the ' +
        "extension's URI.",
    propertyNames: string('name'),
    additionalProperties: { type: 'string', description: 'Where the text is.', pattern: '^([.][.])?(/[^/]*)+$', examples: ['/mediaType'] },
    minProperties: 1,
    maxProperties: 16
  },
  take: choice('All matching parts, or the first. Not with `verdict: strip`.', ['first', 'all'], 'all')
}

const metadataSelector = mapping('Values in metadata.', ['key'], {
  in: {
    ...list(
      "Whose metadata: the message's, the request's own (`params`), or each part's.",
      { type: 'string', enum: ['message', 'params', 'part'] },
      ['message', 'params']
    ),
    minItems: 1
  },
  ...MEMBER
})

const selector: Schema = {
  ...mapping('The values of the request that the rule validates; use one of these keys.', [], {
    part: mapping('Parts of the message; all given conditions must match.', [], PART),
    metadata: metadataSelector,
    header: text(
      'Name of a request header; each of its lines is a string value. A line whose name has `_` instead of `-` breaks the rule, because ' +
        'some agents treat both names as the same.',
      'header-name'
    ),
    pointer: text(
      'JSON Pointer into the request object (`params` of JSON-RPC, the body of HTTP+JSON). Fields of the request, message and parts have ' +
        "their A2A 1.0 names, regardless of the client's spelling.",
      'pointer'
    )
  }),
  minProperties: 1,
  maxProperties: 1
}

export const occurrences: Schema = {
  ...mapping('How many values the rule may select.', [], {
    min: { type: 'integer', description: 'Minimum number. Default: no lower bound. From 0 to 100000.', minimum: 0, maximum: 100000 },
    max: {
      type: 'integer',
      description: 'Maximum number; 0 forbids any. Default: no upper bound. From 0 to 100000.',
      minimum: 0,
      maximum: 100000
    }
  }),
  minProperties: 1
}

export const freshness: Schema = {
  ...mapping(
    'Every selected value must be fresh. Needs one of `age`, `ttl` and `expires`; with several, the earliest end applies. A time is a ' +
      'text of RFC 3339, or seconds since 1970.',
    [],
    {
      age: optionalDuration('Maximum age since `time`.', '1s', '8760h'),
      time: text('JSON Pointer into the value, to the time from which `age` and `ttl` count. Default: the value itself.', 'pointer'),
      ttl: text('JSON Pointer into the value, to its lifetime in seconds; a value without one passes.', 'pointer'),
      expires: text('JSON Pointer into the value, to the time at which it expires; a value without one passes.', 'pointer'),
      skew: optionalDuration(
        'Maximum difference between clocks. The rule also rejects times that are further in the future. Default: `30s`.', '0s', '1h'
      )
    }
  ),
  minProperties: 1
}

const unique = mapping(
  'Rejects a selected value that the gateway has accepted before, such as a replayed nonce or payment id. Requests to the agent that ' +
    'break no rule store their values in `state.store`. Not with `verdict: strip`.',
  ['window'],
  {
    window: {
      ...optionalDuration(
        'How long the gateway remembers an accepted value. After that time, the gateway accepts the value again.', '1s', '8760h'
      ),
      examples: ['10m']
    },
    onUnknown: choice(
      'While the store cannot be reached, or is full: no check (`allow`), or a violation (`reject`). Default: `reject`.',
      ['allow', 'reject']
    )
  }
)

export const required = (description: string): Schema => flag(`${description} Not with \`count.min\`.`)

/** Requires that a key, when present, is the only key. */
const alone = (key: string, value: Schema): Schema => ({
  if: { type: 'object', required: [key] },
  then: { type: 'object', properties: { [key]: value }, additionalProperties: false }
})

const FILE = alone('file', text('A JSON or YAML file with one schema; relative to the configuration file.', 'file'))
const REF = alone('ref', text('URI of a schema in one of `bundles`; its fragment may be a JSON Pointer.', 'uri'))
const FROM_DISK =
  'Instead of the schema, you can write `{file: path}` for a JSON or YAML file, or `{ref: URI}` for a schema of `bundles`. An inline ' +
    'schema may contain `{file: path}` in place of a schema, and `$ref` with the URI of a bundle.'

export const diskSource = (description: string): Schema => ({
  type: ['object', 'boolean'],
  description: `${description} ${FROM_DISK}`,
  allOf: [FILE, REF]
})

export const source: Schema = {
  type: ['object', 'boolean'],
  description: `JSON Schema that every selected value must satisfy. ${FROM_DISK} Or only \`fromCard\`: JSON Pointers into the agent's ` +
    'card; the first that resolves is the schema. Or only `enumFromCard`: one such pointer to the allowed values, in which `*` ' +
    'matches every item. `{self}` is the index of the extension in `capabilities.extensions`. `{name}` is the value captured by a ' +
    'media type parameter `name=*` or by `captures`. `{member=name}` is the item of a list whose member has that value. If a step ' +
    'ends in `?`, the card may lack the rest, and every value is then valid.',
  allOf: [
    alone('fromCard', {
      type: 'array',
      description: 'JSON Pointers into the card.',
      items: string('json-pointer'),
      minItems: 1,
      maxItems: 16
    }),
    alone('enumFromCard', text('JSON Pointer into the card; `*` matches every item or member.', 'json-pointer')),
    FILE,
    REF
  ]
}

export const rejection = mapping('The error of the rejection.', [], {
  class: choice('Kind of the rejection. Default: `invalid`.', CLASSES),
  undeclared: choice('Kind of the rejection if `fromCard` finds no schema. Default: that of `class`.', CLASSES),
  message: {
    type: 'string',
    description: 'Error message for the client. Default: a message generated from the rule.',
    minLength: 1,
    maxLength: 500
  },
  reason: text(
    'The gateway\'s reason in the error, in a separate `ErrorInfo`. Default: that of the class. The reason of A2A for the class stays ' +
      'beside it.',
    'reason'
  )
})

export const onUnknown = (description: string): Schema => choice(description, ['allow', 'reject'])

/** `external` of a rule. */
export const askedServer = (what: 'request' | 'result'): Schema =>
  text(
    'Name of a policy server in `decisionPoints`, in the place of `schema`: the server gets the values that the rule selects from ' +
      `the ${what}, and decides whether they pass. It is not asked when the rule selects nothing.`,
    'name'
  )

const pause: Schema = mapping(
  'A person must agree. If the request breaks the rule, the gateway keeps the request and responds with a task in this state, instead of ' +
    'an error. A later message on the task that has the evidence lets the request pass. Only for rules that reject, and for ' +
    '`SendMessage` and `SendStreamingMessage` over HTTP and gRPC. Otherwise the rule rejects the request with its error.',
  ['state', 'text', 'evidence'],
  {
    state: {
      ...choice(
        'State of the task: `input-required` asks for a decision, `auth-required` for credentials of another kind.',
        ['input-required', 'auth-required']
      ),
      examples: ['input-required']
    },
    text: {
      type: 'string',
      description: 'Question to the person: the text of the message in the task.',
      minLength: 1,
      maxLength: 1000,
      examples: ['May the agent send this order?']
    },
    data: { type: ['object', 'array'], description: 'Data of a second part of the message, such as a form.' },
    metadata: {
      type: ['object', 'array', 'string', 'number', 'boolean'],
      description: "Value in the metadata of the message, under the extension's URI. The message then names the extension."
    },
    evidence: {
      ...mapping('What a message on the task must have, so that the request passes.', [], {
        select: selector,
        schema: inline('JSON Schema that every selected value must satisfy. The message must have at least one.'),
        caller: CALLED
      }),
      minProperties: 1,
      examples: [{ select: { metadata: { key: '$uri' } } }]
    },
    declined: inline('JSON Schema of a selected value that declines. The task then ends as rejected, and the request with it.')
  }
)

export const rule = mapping('One rule; needs `count`, `required: true`, `notOlderThan`, `unique`, `schema` or `external`.', [
  'id', 'select'
], {
  id: { ...text('Name of the rule, unique in its policy; a metric label.', 'name'), examples: ['payload-is-valid'] },
  on: {
    type: 'array',
    description: 'Operations that the rule applies to, by their 1.0 names, or `all`. Default: those that carry a message.',
    items: { type: 'string', enum: OPERATIONS },
    minItems: 1,
    maxItems: 100,
    uniqueItems: true
  },
  select: selector,
  when: taskCondition('The rule applies only if all of these conditions match.'),
  unless: taskCondition('The rule does not apply if all of these conditions match.'),
  required: required(
    'Whether the rule must select at least one value. `schema` applies to selected values only, so without `required` and `count` a ' +
      'request without the value passes.'
  ),
  count: occurrences,
  notOlderThan: freshness,
  unique,
  schema: source,
  external: askedServer('request'),
  verdict: choice(
    '`warn`: the gateway records violations and forwards the request, in every mode. `strip`: the gateway records and removes the data ' +
      'that breaks the rule (the selected value; the part, if parts are selected; the line of a header). Default: `reject`.',
    ['reject', 'warn', 'strip']
  ),
  onUnknown: onUnknown(
    'With `taskState`, for a task whose state is unknown: the rule does not apply (`allow`), or it does (`reject`). Default: `allow`.'
  ),
  pause,
  error: rejection
})

export function names (description: string, format: Format): Schema {
  return { type: 'array', description, items: { type: 'string', 'x-format': format }, minItems: 1, maxItems: 100, uniqueItems: true }
}
