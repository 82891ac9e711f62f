/** JSON Schema of the response rules of a policy, and of its rules across the messages of one task. */
import { TASK_STATES } from '#a2a/task-state.js'
import type { Format } from './formats.js'
import {
  askedServer, CALLED, freshness, responseCondition, MEMBER, occurrences, onUnknown, PART, rejection, required, source
} from './rule-schema.js'
import { choice, flag, list, mapping, text, string } from './schema-builder.js'
import type { Schema } from './schema-builder.js'

/** Operations whose responses are messages and tasks. */
export const RESPONDING: readonly string[] = [
  'SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask'
]

const CONTENTS = ['message', 'status', 'artifact']
const HOLDERS = [...CONTENTS, 'task', 'event']

const where = (description: string, places: readonly string[], initial: readonly string[]): Schema => ({
  ...list(description, { type: 'string', enum: places }, initial),
  minItems: 1,
  maxItems: places.length
})

const parts = mapping('Parts that the agent wrote; all given conditions must match.', [], {
  in: where('Whose parts: of a message, of the message of a task\'s `status`, of artifacts.', CONTENTS, CONTENTS),
  ...PART
})

const metadata = mapping('Values in metadata.', ['key'], {
  in: where(
    "Whose metadata: a message's, that of the message of a task's `status`, an artifact's, a task's, an update's (`event`), each part's.",
    [...HOLDERS, 'part'],
    HOLDERS
  ),
  ...MEMBER
})

const select: Schema = {
  ...mapping('The values of a result that the rule validates; use one of these keys.', [], {
    part: parts,
    metadata,
    event: choice(
      'The result itself, in the shape of `when.match`: the `first` of a response; each result that is a message or ends its task ' +
        '(`terminal`); the `last` of a stream, when it ends without an error.',
      ['first', 'terminal', 'last']
    ),
    result: text(
      'JSON Pointer into the JSON-RPC result of a method in `on`; `*` matches any item or member, and an empty text is the result itself.',
      'result-pointer'
    )
  }),
  minProperties: 1,
  maxProperties: 1
}

const responded: Schema = {
  ...mapping('As `select` of a rule in `response`, without `event`.', [], { part: parts, metadata }),
  minProperties: 1,
  maxProperties: 1
}

const sides = {
  part: parts,
  metadata: mapping('Values in metadata.', ['key'], {
    in: where('As in `response`, and `params`: of the request itself.', [...HOLDERS, 'part', 'params'], HOLDERS),
    ...MEMBER
  })
}
const EITHER = 'of requests too, whose places are `message`, `params` and `part`'
const eitherScalar = (description: string): Schema => ({
  ...mapping(`${description} As \`select\` of a rule in \`response\`, without \`event\`; ${EITHER}.`, [], sides),
  minProperties: 1,
  maxProperties: 1
})
const either: Schema = {
  ...mapping(`As \`select\` of a rule in \`response\`; ${EITHER}.`, [], { ...sides, event: select.properties?.event ?? {} }),
  minProperties: 1,
  maxProperties: 1
}

export const responseRule = mapping('One rule; needs `count`, `required: true`, `notOlderThan`, `schema` or `external`.', [
  'id', 'select'
], {
  id: { ...text('Name of the rule, unique in its policy; a metric label.', 'name'), examples: ['result-is-valid'] },
  on: {
    type: 'array',
    description:
      'Operations whose responses the rule applies to, and names from `methods` of the policy. Default: all that respond with messages or tasks.',
    items: { type: 'string', minLength: 1, maxLength: 200 },
    minItems: 1,
    maxItems: 100,
    uniqueItems: true
  },
  select,
  when: responseCondition('The rule applies only if all of these conditions match.'),
  unless: responseCondition('The rule does not apply if all of these conditions match.'),
  required: required('Whether the rule must select at least one value from a result that has one of the selected places.'),
  count: { ...occurrences, description: 'How many values the rule may select from a result that has one of the selected places.' },
  notOlderThan: freshness,
  schema: source,
  external: askedServer('result'),
  verdict: choice(
    '`warn`: the gateway records violations and forwards the response. `annotate`: like `warn`, and the header `gateway-decision` or a ' +
      'comment of the stream informs the client. `strip`: the gateway removes the data that breaks the rule (the selected value; the ' +
      'part, if parts are selected). `reject`: the gateway rejects the response. Default: `warn`.',
    ['reject', 'warn', 'strip', 'annotate']
  ),
  chunked: flag(
    'Whether a stream may append chunks to an artifact that break the rule alone. The gateway then only records violations of such ' +
      'chunks. Default: text and files may be chunks, each DataPart is whole, and another update may satisfy `count.min` or `required`.'
  ),
  error: mapping('The error of the rejection.', [], {
    message: rejection.properties?.message ?? {},
    reason: rejection.properties?.reason ?? {}
  })
})

const taskRejection: Schema = {
  ...rejection,
  description: 'Text of the rejection. As `error` of a rule in `request`, but without `class`.'
}

const MAX_SUBSTATES = 100

const bySubstate = (description: string, format: Format, value: Schema): Schema => ({
  type: 'object',
  description,
  propertyNames: { type: 'string', 'x-format': format },
  additionalProperties: value,
  minProperties: 1,
  maxProperties: MAX_SUBSTATES
})

export const taskStates = mapping(
  "How a task moves through the extension's own states, its substates. Needs one of `taskStates`, `transitions`, `monotonic` and " +
    '`maxVisits`.',
  ['from'],
  {
    from: eitherScalar('Where a message or a result contains the substate, a string.'),
    key: eitherScalar(
      'Where it contains the key of the substate, a string or a number, such as the id of a tool call: each key has a separate state, ' +
        'with its numbers and visits. Selects as many values as `from`, in the same order. A task may have about 400 keys.'
    ),
    taskStates: bySubstate(
      'For each substate, the A2A states that the task may have. A substate that is not listed allows every state.',
      'substate',
      {
        type: 'array',
        description: 'States of the task.',
        items: { type: 'string', enum: TASK_STATES },
        minItems: 1,
        maxItems: TASK_STATES.length,
        uniqueItems: true
      }
    ),
    transitions: bySubstate(
      "For each substate, the substates that may follow; `''` means no substate yet. Any substate may follow a substate that is not " +
        'listed. To report the current substate again is not a transition.',
      'substate-or-none',
      {
        type: 'array',
        description: 'Substates that may follow.',
        items: string('substate'),
        maxItems: MAX_SUBSTATES,
        uniqueItems: true
      }
    ),
    monotonic: eitherScalar('A number, or a numeric string, that must not decrease from one message or result of a task to the next.'),
    maxVisits: bySubstate('For each substate, how often the task may enter it.', 'substate', {
      type: 'integer',
      description: 'How often. From 1 to 1000000.',
      minimum: 1,
      maximum: 1000000
    }),
    onViolation: choice('`warn` records the violation; `reject` rejects the request or the response, if enforced. Default: `warn`.', [
      'warn',
      'reject'
    ]),
    onUnknown: onUnknown('For an unknown task: no check (`allow`), or a violation (`reject`). Default: `allow`.'),
    error: taskRejection
  }
)

const side = {
  on: { ...choice('Whether the values are in a request or in a response.', ['request', 'response']), examples: ['response'] },
  select: either,
  pick: {
    description:
      'JSON Pointers into each value, in which a step may be `*` for all; they select the values to compare. Default: the selected ' +
        'values themselves.',
    type: ['string', 'array'],
    'x-format': 'pointer',
    items: string('pointer'),
    minItems: 1,
    maxItems: 16,
    uniqueItems: true
  },
  first: flag('Of several pointers, use only the first one that finds a value. Default: false.')
} as const satisfies Readonly<Record<string, Schema>>

export const correlation = mapping('One comparison. Values are compared as JSON, at most 1000 of them.', ['id', 'remember', 'check'], {
  id: {
    ...text('Name of the comparison, unique among the rules of the policy; a metric label.', 'name'), examples: ['answers-what-was-asked']
  },
  remember: mapping(
    'The values to remember for a task: those of the last message or result in which something was selected.',
    ['on', 'select'],
    side
  ),
  check: mapping('The values to compare with the remembered ones.', ['on', 'select', 'relation'], {
    ...side,
    relation: {
      ...choice(
        'The checked values are a `subset` of the remembered ones, the same set (`equalSet`), one of them (`member`), or the same number ' +
          'of values (`sameLength`).',
        ['subset', 'equalSet', 'member', 'sameLength']
      ),
      examples: ['subset']
    }
  }),
  when: responseCondition(
    'The gateway compares the values only if the request or result matches all of these conditions. As `when` of a rule in `request` or ' +
      'in `response`.'
  ),
  unless: responseCondition('The gateway does not compare the values if all of these conditions match. As `unless` of a rule.'),
  verdict: choice('`warn` records the violation; `reject` rejects the request or the response, if enforced. Default: `reject`.', [
    'reject',
    'warn'
  ]),
  onUnknown: onUnknown('If the gateway remembers no value: no check (`allow`), or a violation (`reject`). Default: `allow`.'),
  error: taskRejection
})

const reported: Schema = { ...responded, description: 'Where the value is. As `select` of a rule in `response`, without `event`.' }

export const observe: Schema = {
  ...mapping("Values to report from the extension's data in responses. Traces and metrics contain these values: do not name secrets.", [], {
    spanAttributes: {
      type: 'object',
      description: 'By name of the span attribute, the place of its value: a number, a boolean, or a string of at most 256 characters.',
      propertyNames: string('attribute-name'),
      additionalProperties: responded,
      minProperties: 1,
      maxProperties: 50
    },
    metrics: {
      type: 'array',
      description: 'Numbers from the data, as `a2a_gateway_observed_total` and `a2a_gateway_observed_value`.',
      items: mapping('One metric.', ['name', 'type', 'from'], {
        name: { ...text('Value of the label `metric`, unique in the policy.', 'metric-name'), examples: ['tokens'] },
        type: {
          ...choice(
            '`counter`: the total of a task. A later result includes the earlier ones, so the gateway counts only the increase. `gauge`: ' +
              'the last value.',
            ['counter', 'gauge']
          ),
          examples: ['counter']
        },
        from: reported,
        by: mapping('Splits the metric by a string in the same result.', ['from', 'values'], {
          from: reported,
          values: {
            type: 'array',
            description: 'Values of the label `by`; any other is `other`.',
            items: { type: 'string', description: 'One value.', minLength: 1, maxLength: 100 },
            minItems: 1,
            maxItems: 50,
            uniqueItems: true
          }
        })
      }),
      minItems: 1,
      maxItems: 50
    }
  }),
  minProperties: 1
}

/** Schemas that the reference shows in one row, because an earlier table describes them in full. */
export const ABBREVIATED: ReadonlySet<Schema> = new Set([
  CALLED,
  responded,
  reported,
  either,
  taskRejection,
  ...[
    taskStates.properties?.from,
    taskStates.properties?.key,
    taskStates.properties?.monotonic,
    correlation.properties?.when,
    correlation.properties?.unless
  ].filter(schema => schema !== undefined)
])
