/** `rates` and `budgets`: how much callers may use. */
import type { Rate } from '../model/rates-model.js'
import { array, choice, count, list, mapping, nullable, oneOf, optionalDuration, orNull, text, string } from './schema-builder.js'
import type { Schema, TypeOf, ValuesOf } from './schema-builder.js'

const BUDGET_KEYS = ['caller', 'client', 'source', 'tenant', 'address', 'agent'] as const
/** `chain` is about what agents report, which a limit of requests does not know. */
const BUDGET_KEYS_OF_CHAINS = [...BUDGET_KEYS, 'chain'] as const
const OPERATIONS = [
  'SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask', 'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig', 'ListTaskPushNotificationConfigs', 'DeleteTaskPushNotificationConfig', 'GetExtendedAgentCard', 'Extension'
]

const keys = <V extends string>(values: readonly V[]): Schema<readonly V[] | undefined> => array(
  '`caller`: source and subject; `client`: the client of the caller, else its subject; `source`: name in `identity.sources`; `tenant`: ' +
  'of the caller, else of the request; `address`: IPv4 address or /64 of IPv6' +
    (has(values, 'operation') ? '; `operation`; `extension`: one count for each active extension' : '') +
    (has(values, 'chain')
      ? '; `chain`: a call of an initiator with all calls that agents send for it (`access.delegation`), alone in the list'
      : '') +
    '. The gateway keeps one count for each combination of values.',
  oneOf(values),
  { uniqueItems: true, minItems: 1, maxItems: values.length }
)

const has = (values: readonly string[], value: string): boolean => values.includes(value)

const id = {
  ...text('Name: a metric label, and `metadata.limit` of rejections. No two entries of `rates` and `budgets` share it.', 'name'),
  examples: ['per-caller']
}

const SCOPE = {
  scope: choice(
    '`process`: one count for this gateway and all its workers. `shared`: one count for all gateways that use the same server in ' +
      '`state.store`.',
    ['process', 'shared'],
    'process'
  ),
  onStoreDown: choice(
    'With `shared`, what to do while the server does not respond. `local`: count in this gateway. `allow`: admit every request. ' +
      '`reject`: respond with 503.',
    ['local', 'allow', 'reject'],
    'local'
  ),
  replicas: count('Number of gateways that share the limit. With `onStoreDown: local`, each admits its part.', 1, 1, 10000)
} satisfies Readonly<Record<string, Schema>>

const rateSchema = mapping('One limit.', ['id', 'by', 'rate'], {
  id,
  by: keys([...BUDGET_KEYS, 'operation', 'extension'] as const),
  rate: {
    ...text(
      'Number of requests and the time for them, such as `600/1m`. The requests become available one by one during the time. At most ' +
        '100000 in a second.',
      'rate'
    ),
    examples: ['600/1m']
  },
  burst: {
    type: ['integer', 'null'],
    description: 'How many requests may arrive at once after an idle period. `null`: the number in `rate`. From 1 to 10000000.',
    default: null,
    minimum: 1,
    maximum: 10000000
  } as Schema<number | null>,
  on: {
    type: ['array', 'string'],
    description:
      'Operations by their 1.0 names, `messages` (operations that send a message), `Extension` (methods and routes of extensions), or ' +
        '`all`. `all` includes `passthrough` prefixes and agents without a card. Or the text `failures`: requests with invalid ' +
        'credentials. Such an entry replaces the built-in limit of 20 in 10 s and 50 at once by `address`.',
    default: ['all'],
    'x-format': 'failures',
    items: { type: 'string', enum: ['all', 'messages', ...OPERATIONS] },
    uniqueItems: true,
    minItems: 1,
    maxItems: OPERATIONS.length + 2
  } as Schema<'failures' | readonly string[]>,
  agents: {
    ...orNull(list(
      'Names of the agents to which the limit applies. Without `agent` in `by`, these agents share the limit. `null`: all agents.',
      string('name'), []
    )),
    minItems: 1
  },
  extension: nullable(
    'Name of a policy: only requests in which its extension is active, or that use its methods and routes. `null`: all requests.', 'name'
  ),
  headers: choice(
    'With `caller` or `client` in `by`: `draft` adds the headers `RateLimit-Policy` and `RateLimit` of the IETF draft to responses, for ' +
      'the limit with the fewest requests left.',
    ['draft', 'none'],
    'draft'
  ),
  ...SCOPE
})

export const ratesSchema = array(
  'Limits of requests. The gateway rejects a request that exceeds a limit with 429 and Retry-After. A rejected request uses up no limit.',
  rateSchema,
  { maxItems: 100 },
  []
)

const budgetSchema = mapping('One budget.', ['id', 'by', 'of', 'limit', 'window'], {
  id,
  by: keys(BUDGET_KEYS_OF_CHAINS),
  of: {
    ...text(
      'A counter of a policy (`observe.metrics`), as `policy/metric`. All agents with the policy share the budget, without `agent` in `by`.',
      'metric-path'
    ),
    examples: ['usage/tokens']
  },
  limit: {
    type: 'number',
    description: 'Amount in each window. From 0.000001 to 1000000000000000.',
    minimum: 0.000001,
    maximum: 1e15,
    examples: [2000000]
  } as Schema<number>,
  window: { ...optionalDuration('Time from the first amount until the budget is whole again.', '1s', '8760h'), examples: ['24h'] },
  max: {
    type: ['number', 'null'],
    description: 'Upper bound for one response. Agents report these amounts themselves, so set it if you do not trust them. `null`: no limit.',
    default: null,
    minimum: 0.000001,
    maximum: 1e15
  } as Schema<number | null>,
  remaining: nullable(
    'With `by: [chain]`: JSON Pointer to the amount that is left in the request, such as `/metadata/tokens_left`. A lower amount than ' +
      'the limit counts, and the gateway lowers the amount that the agent reads. `null`: only the header `a2a-budget` and the signed ' +
      'chain name amounts.',
    'pointer'
  ),
  ...SCOPE
})

export const budgetsSchema = array(
  'Limits of what agents report in responses, such as tokens or cost. Once a budget is spent, the gateway rejects further messages with ' +
    '429. It never cuts a response.',
  budgetSchema,
  { maxItems: 100 },
  []
)

/** One entry of `rates`, as in the file. */
export type RateKeys = TypeOf<typeof rateSchema>

/** `of` is `policy/metric`, a counter of `observe.metrics`. `window` is in ms. */
export type BudgetConfig = TypeOf<typeof budgetSchema>

/** One limit of requests. */
export type RateConfig = Omit<RateKeys, 'rate' | 'burst'> & {
  readonly rate: Rate
  /** Requests at once. */
  readonly burst: number
}

/** Properties of a request by which limits count. */
export type RateKey = RateConfig['by'][number] | BudgetConfig['by'][number]

/** Where a limit counts, and what happens while the server of `state.store` cannot be reached. */
export type LimitScope = ValuesOf<typeof SCOPE>
