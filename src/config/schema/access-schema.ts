/** `access`: who may call an agent, and what callers may do. */
import { audiences, caller, inline } from './caller-schema.js'
import { agentDelegationSchema } from './delegation-schema.js'
import { OPERATIONS, presence } from './rule-schema.js'
import type { Schema, TypeOf, ValuesOf } from './schema-builder.js'
import { array, choice, mapping, oneOf, orNull, ref, section, string, text, withoutDefault } from './schema-builder.js'

/* `access.tasks`: tasks belong to the callers who created them. */

/** Without a default: an agent without the key has that of `accessDefaults`. */
const taskOwnershipSchema = withoutDefault(orNull(section(
  'A task belongs to the caller who created it. The gateway rejects requests for the tasks of others as if the task did not exist. Needs ' +
    '`identity`. `null`: every caller may use every task.',
  {
    owner: choice(
      'The owner of a task, within one source: the `subject`, or the `client`, whose subjects then share their tasks. Tasks of a caller ' +
        'without a client belong to its subject.',
      ['subject', 'client'],
      'subject'
    ),
    contexts: choice(
      '`own`: a context belongs to the caller to whom the agent first returned it, and clients cannot choose the id of a new context. ' +
        '`any`: the gateway does not check contexts.',
      ['own', 'any'],
      'own'
    ),
    list: choice(
      'ListTasks: `filter` removes the tasks of others from the response, `reject` rejects the operation.',
      ['filter', 'reject'],
      'filter'
    ),
    onUnknown: choice(
      'Tasks and contexts whose owner the gateway does not know, because they are older than the key or because the store has lost them: ' +
        '`reject` treats them as the tasks of others, `allow` forwards. While the store is unavailable, `reject` responds with 503.',
      ['reject', 'allow'],
      'reject'
    ),
    shared: orNull(
      caller('Callers who may use all tasks and contexts, such as support. All given keys must match. `null`: nobody.')
    )
  }
)))

/** A task belongs to the caller who created it. */
export type TaskOwnershipConfig = NonNullable<TypeOf<typeof taskOwnershipSchema>>

/* `access.require`: the credentials that callers need. */

/** The name `anonymous` in the place of a source stands for a request without credentials. */
export type RequireConfig = 'card' | readonly (readonly string[])[]

const requireSchema: Schema<RequireConfig | null | undefined> = {
  type: ['string', 'array', 'null'],
  description:
    'Credentials that callers need: a list of alternatives, each a list of names in `identity.sources`. A request must satisfy one ' +
      'alternative: **all** sources of the alternative verify the request. The alternative `[anonymous]` accepts requests without ' +
      'credentials. `card`: the alternatives of the agent\'s card, with the sources that cover its schemes. `null`, the default: any one source.',
  'x-format': 'require',
  items: {
    type: 'array',
    description: 'One alternative: names of sources.',
    items: string('name'),
    minItems: 1,
    maxItems: 10,
    uniqueItems: true
  },
  minItems: 1,
  maxItems: 100,
  examples: ['[[corp], [partners]]']
}

/** Values of `on` in an entry of `access`. */
const ACCESS_TARGETS = [...OPERATIONS.filter(name => name !== 'all'), 'Extension', 'messages', 'passthrough', 'all']

const CONDITIONS = {
  taskId: presence('taskId'),
  contextId: presence('contextId'),
  match: inline('JSON Schema that the request matches, in one shape for all versions and bindings (`a2a-gateway help rules`).')
}

/** A condition on the request. All given keys must match. */
export type AccessCondition = ValuesOf<typeof CONDITIONS>

const condition = (description: string): Schema<AccessCondition | undefined> =>
  ({ ...mapping(description, [], CONDITIONS), minProperties: 1 })

const some = <T>(description: string, items: Schema<T>): Schema<readonly T[] | undefined> =>
  array(description, items, { minItems: 1, maxItems: 100, uniqueItems: true })

/** One entry of `allow` or `deny`. */
export const accessEntrySchema = mapping('One entry. All given keys must match.', ['id', 'on'], {
  id: { ...text('Name, unique among the entries of the agent: a metric label, and `access_rule` of logs.', 'name'), examples: ['readers'] },
  on: {
    ...some(
      'Requests that the entry matches: operations by their A2A 1.0 names, in every version and binding; `messages` (SendMessage and ' +
        'SendStreamingMessage); `Extension` (methods and routes that policies declare); `passthrough` (paths below the prefixes of ' +
        '`passthrough`); `all`, which includes requests whose operation the gateway cannot know.',
      oneOf<string>(ACCESS_TARGETS)
    ),
    examples: ['[GetTask, ListTasks]']
  },
  methods: some(
    'With `Extension`: only these JSON-RPC methods, whether or not a policy declares them.', string('method-name')
  ),
  routes: some('With `Extension`: only these routes, with HTTP method and path as in the policy: `POST ' +
    '/commands/{name}`.', string('route')),
  caller: caller('The caller, as `identity` has authenticated it. Default: every caller, and requests without one.'),
  tenant: choice(
    "`own`: the request names the caller's tenant, in the path or in the body. A request without a tenant does not match.", ['own']
  ),
  when: condition('The entry matches only if all of these conditions match.'),
  unless: condition('The entry does not match if all of these conditions match.')
})

/** All given keys must match. `id` is a metric label. */
export type AccessEntry = TypeOf<typeof accessEntrySchema>

const entries = (description: string): Schema<readonly AccessEntry[] | undefined> =>
  array(description, ref('accessEntry', accessEntrySchema), { maxItems: 10000 })

/**
 * The value of `access` and `accessDefaults`. Its keys have no defaults here: a key that an agent does not give comes from `accessDefaults`
 * (`resolveAccess`).
 */
export const accessSchema = mapping(
  'Who may call the agent, and what callers may do. A matching entry of `deny` rejects the request. With `allow`, one of its entries ' +
    'must match. A key of the agent replaces the same key of `accessDefaults`.',
  [],
  {
    require: requireSchema,
    audience: {
      ...audiences(
        'Values of the claim `aud` of access tokens for this agent: a token must name one of them, besides one of the `audience` of its ' +
          'source. Set this key if agents share an issuer. An agent then rejects tokens for other agents. `null`, the default: every ' +
          'audience of the source.'
      ),
      examples: ['[https://agents.example.com/billing]']
    },
    mode: choice(
      '`enforce` rejects requests, `observe` only records which ones `enforce` would reject. Default: `enforce`.', ['enforce', 'observe']
    ),
    allow: entries(
      'Entries that allow requests. Without the key, everybody may do everything; with an empty list, nobody may do anything.'
    ),
    deny: entries('Entries that deny requests, also those that `allow` allows. Default: none.'),
    tasks: taskOwnershipSchema,
    delegation: agentDelegationSchema
  }
)

/** `access` of an agent, or `accessDefaults`: the keys that the file has. */
export type AccessKeys = TypeOf<typeof accessSchema>

export const accessSchemaRef = (description: string): Schema<AccessKeys> => ({ ...ref('access', accessSchema), description, default: {} })

/** Access of an agent, with the keys of `accessDefaults` that the agent does not have. */
export type AccessConfig = Required<Omit<AccessKeys, 'allow'>> & {
  /** Null: every caller. Empty: nobody. */
  readonly allow: readonly AccessEntry[] | null
}
