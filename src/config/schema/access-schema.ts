/** `access`: who may call an agent, and what callers may do. */
import { audiences, caller } from './caller-schema.js'
import { agentDelegationSchema } from './delegation-schema.js'
import { OPERATIONS } from './rule-schema.js'
import type { Schema } from './schema-builder.js'
import { choice, mapping, text, section, string } from './schema-builder.js'

/* `access.tasks`: tasks belong to the callers who created them. */

const { default: _, ...ownershipKeys } = section(
  'A task belongs to the caller who created it. The gateway rejects requests for the tasks of others as if the task did not exist. Needs `identity`. `null`: every caller may use every task.',
  {
    owner: choice(
      'The owner of a task, within one source: the `subject`, or the `client`, whose subjects then share their tasks. Tasks of a caller without a client belong to its subject.',
      ['subject', 'client'],
      'subject'
    ),
    contexts: choice(
      '`own`: a context belongs to the caller to whom the agent first returned it, and clients cannot choose the id of a new context. `any`: the gateway does not check contexts.',
      ['own', 'any'],
      'own'
    ),
    list: choice(
      'ListTasks: `filter` removes the tasks of others from the response, `reject` rejects the operation.',
      ['filter', 'reject'],
      'filter'
    ),
    onUnknown: choice(
      'Tasks and contexts whose owner the gateway does not know, because they are older than the key or because the store has lost them: `reject` treats them as the tasks of others, `allow` forwards. While the store is unavailable, `reject` responds with 503.',
      ['reject', 'allow'],
      'reject'
    ),
    shared: {
      ...caller('Callers who may use all tasks and contexts, such as support. All given keys must match. `null`: nobody.'),
      type: ['object', 'null'],
      default: null
    }
  }
)

/** Without a default: an agent without the key has that of `accessDefaults`. */
const taskOwnershipSchema: Schema = { ...ownershipKeys, type: ['object', 'null'] }

/* `access.require`: the credentials that callers need. */

const requireSchema: Schema = {
  type: ['string', 'array', 'null'],
  description:
    'Credentials that callers need: a list of alternatives, each a list of names in `identity.sources`. A request must satisfy one alternative: **all** sources of the alternative verify the request. The alternative `[anonymous]` accepts requests without credentials. `card`: the alternatives of the agent\'s card, with the sources that cover its schemes. `null`, the default: any one source.',
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
const ACCESS_TARGETS: readonly string[] = [...OPERATIONS.filter(name => name !== 'all'), 'Extension', 'messages', 'passthrough', 'all']

const presence = (what: string): Schema => choice(`Whether the message has a ${what}.`, ['present', 'absent'])

const condition = (description: string): Schema => ({
  ...mapping(description, [], {
    taskId: presence('taskId'),
    contextId: presence('contextId'),
    match: {
      type: ['object', 'boolean'],
      description: 'JSON Schema that the request matches, in one shape for all versions and bindings (`a2a-gateway help rules`).'
    }
  }),
  minProperties: 1
})

const some = (description: string, items: Schema): Schema => ({
  type: 'array',
  description,
  items,
  minItems: 1,
  maxItems: 100,
  uniqueItems: true
})

/** One entry of `allow` or `deny`. */
export const accessEntrySchema: Schema = mapping('One entry. All given keys must match.', ['id', 'on'], {
  id: { ...text('Name, unique among the entries of the agent: a metric label, and `access_rule` of logs.', 'name'), examples: ['readers'] },
  on: {
    ...some(
      'Requests that the entry matches: operations by their A2A 1.0 names, in every version and binding; `messages` (SendMessage and SendStreamingMessage); `Extension` (methods and routes that policies declare); `passthrough` (paths below the prefixes of `passthrough`); `all`, which includes requests whose operation the gateway cannot know.',
      { type: 'string', enum: ACCESS_TARGETS }
    ),
    examples: ['[GetTask, ListTasks]']
  },
  methods: some(
    'With `Extension`: only these JSON-RPC methods, whether or not a policy declares them.', string('method-name')
  ),
  routes: some('With `Extension`: only these routes, with HTTP method and path as in the policy: `POST /commands/{name}`.', {
    type: 'string',
    'x-format': 'route'
  }),
  caller: caller('The caller, as `identity` has authenticated it. Default: every caller, and requests without one.'),
  tenant: choice(
    "`own`: the request names the caller's tenant, in the path or in the body. A request without a tenant does not match.", ['own']
  ),
  when: condition('The entry matches only if all of these conditions match.'),
  unless: condition('The entry does not match if all of these conditions match.')
})

const entries = (description: string): Schema => ({
  type: 'array',
  description,
  items: { $ref: '#/$defs/accessEntry' },
  maxItems: 10000
})

/**
 * The value of `access` and `accessDefaults`. Its keys have no defaults here: a key that an agent does not give comes from `accessDefaults`
 * (`resolveAccess`).
 */
export const accessSchema: Schema = mapping(
  'Who may call the agent, and what callers may do. A matching entry of `deny` rejects the request. With `allow`, one of its entries must match. A key of the agent replaces the same key of `accessDefaults`.',
  [],
  {
    require: requireSchema,
    audience: {
      ...audiences(
        'Values of the claim `aud` of access tokens for this agent: a token must name one of them, besides one of the `audience` of its source. Set this key if agents share an issuer. An agent then rejects tokens for other agents. `null`, the default: every audience of the source.'
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

export const accessSchemaRef = (description: string): Schema => ({ $ref: '#/$defs/access', description, default: {} })
