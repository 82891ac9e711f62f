/** `rates` and `budgets`: how much callers may use. */
import { choice, count, list, mapping, nullable, optionalDuration, text } from './schema-kit.js'
import type { Schema } from './schema-kit.js'

const BUDGET_KEYS = ['caller', 'client', 'source', 'tenant', 'address', 'agent']
const OPERATIONS = [
  'SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask', 'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig', 'ListTaskPushNotificationConfigs', 'DeleteTaskPushNotificationConfig', 'GetExtendedAgentCard', 'Extension'
]

const keys = (values: readonly string[]): Schema => ({
  type: 'array',
  description:
    '`caller`: source and subject; `client`: the client of the caller, else its subject; `source`: name in `identity.sources`; `tenant`: of the caller, else of the request; `address`: IPv4 address or /64 of IPv6' +
    (values.length > BUDGET_KEYS.length ? '; `operation`; `extension`: each active extension counts for itself' : '') +
    '. One count for each combination of values.',
  items: { type: 'string', enum: values },
  uniqueItems: true,
  minItems: 1,
  maxItems: values.length
})

const id: Schema = {
  ...text('Name: a metric label, and `metadata.limit` of rejections. No two entries of `rates` and `budgets` share it.', 'name'),
  examples: ['per-caller']
}

const SCOPE = {
  scope: choice(
    '`process`: this gateway counts for itself, all its workers together. `shared`: all gateways that share the server in `state.store` count together.',
    ['process', 'shared'],
    'process'
  ),
  onStoreDown: choice(
    'With `shared`, while the server does not respond: `local` counts in this gateway, `allow` does not limit, `reject` responds with 503.',
    ['local', 'allow', 'reject'],
    'local'
  ),
  replicas: count('Number of gateways that share the limit. With `onStoreDown: local`, each admits its part.', 1, 1, 10000)
} satisfies Readonly<Record<string, Schema>>

export const ratesSchema: Schema = {
  type: 'array',
  description: 'Limits of requests. A request that exceeds one gets 429 with Retry-After, and counts in none.',
  default: [],
  maxItems: 100,
  items: mapping('One limit.', ['id', 'by', 'rate'], {
    id,
    by: keys([...BUDGET_KEYS, 'operation', 'extension']),
    rate: {
      ...text('Requests and the time for them. They become available one by one, not all at the end of the time. At most 100000 in a second.', 'rate'),
      examples: ['600/1m']
    },
    burst: {
      type: ['integer', 'null'],
      description: 'How many requests may arrive at once after an idle period. `null`: the number in `rate`. From 1 to 10000000.',
      default: null,
      minimum: 1,
      maximum: 10000000
    },
    on: {
      type: ['array', 'string'],
      description:
        'Operations by their 1.0 names, `messages` (those that send one), `Extension` (methods and routes of extensions), or `all`, which includes `passthrough` prefixes and agents without a card. Or the text `failures`: requests with credentials that are not valid, which replaces the built-in limit of 20 in 10 s and 50 at once by `address`.',
      default: ['all'],
      'x-format': 'failures',
      items: { type: 'string', enum: ['all', 'messages', ...OPERATIONS] },
      uniqueItems: true,
      minItems: 1,
      maxItems: OPERATIONS.length + 2
    },
    agents: {
      ...list('Names of the agents that have the limit; without `agent` in `by`, they share it. `null`: all agents.', { type: 'string', 'x-format': 'name' }, []),
      type: ['array', 'null'],
      default: null,
      minItems: 1
    },
    extension: nullable('Name of a policy: only requests in which its extension is active, or that use its methods and routes. `null`: all requests.', 'name'),
    headers: choice(
      'With `caller` or `client` in `by`: `draft` adds the headers `RateLimit-Policy` and `RateLimit` of the IETF draft to responses, for the limit with the fewest requests left.',
      ['draft', 'none'],
      'draft'
    ),
    ...SCOPE
  })
}

export const budgetsSchema: Schema = {
  type: 'array',
  description: 'Limits of what agents report in responses, such as tokens or cost. Once a budget is spent, further messages get 429; a response is never cut.',
  default: [],
  maxItems: 100,
  items: mapping('One budget.', ['id', 'by', 'of', 'limit', 'window'], {
    id,
    by: keys(BUDGET_KEYS),
    of: {
      ...text('A counter of a policy (`observe.metrics`), as `policy/metric`. All agents with the policy share the budget, without `agent` in `by`.', 'metric-path'),
      examples: ['usage/tokens']
    },
    limit: {
      type: 'number',
      description: 'Amount in each window. From 0.000001 to 1000000000000000.',
      minimum: 0.000001,
      maximum: 1e15,
      examples: [2000000]
    },
    window: { ...optionalDuration('Time from the first amount until the budget is whole again.', '1s', '8760h'), examples: ['24h'] },
    max: {
      type: ['number', 'null'],
      description: 'Upper bound for one response. Agents report these amounts themselves, so set it if you do not trust them. `null`: no limit.',
      default: null,
      minimum: 0.000001,
      maximum: 1e15
    },
    ...SCOPE
  })
}
