import { choice, flag, list, mapping, text } from './schema-kit.js'
import type { Format } from './formats.js'
import type { Schema } from './schema-kit.js'

/** What a rule may be `on`. */
export const OPERATIONS = [
  'SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask', 'CreateTaskPushNotificationConfig', 'GetTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs', 'DeleteTaskPushNotificationConfig', 'GetExtendedAgentCard', 'all'
]

const CLASSES = ['invalid', 'unsupportedContent', 'conflict', 'extensionRequired', 'forbidden']

const presence = (what: string): Schema => choice(`Whether the message carries a ${what}.`, ['present', 'absent'])

const inline = (description: string): Schema => ({ type: ['object', 'boolean'], description })

const condition = (description: string): Schema => ({
  ...mapping(description, [], {
    taskId: presence('taskId'),
    contextId: presence('contextId'),
    listed: flag('Whether `message.extensions` names the extension.'),
    match: inline('JSON Schema that the request matches, in the one shape for all versions and bindings that docs/how-it-decides.md describes.')
  }),
  minProperties: 1
})

const mediaType: Schema = {
  description: 'Media types of the parts, any of which matches; of parts of every kind, unless `data` is true. A parameter value `*` matches any value and captures it under the parameter\'s name.',
  type: ['string', 'array'],
  'x-format': 'media-type',
  items: { type: 'string', 'x-format': 'media-type' },
  minItems: 1,
  maxItems: 100,
  uniqueItems: true
}

const metadataSelector = mapping('Values in metadata.', ['key'], {
  in: { ...list('Whose metadata: the message\'s, the request\'s own (`params`), or each part\'s.', { type: 'string', enum: ['message', 'params', 'part'] }, ['message']), minItems: 1 },
  key: { ...text('Name of the member; `*` stands for any characters, `$uri` or `$uri/...` for the extension\'s URI and what follows it.', 'name-pattern'), examples: ['$uri'] },
  path: text('JSON Pointer into the value: what it leads to is the value selected.', 'pointer'),
  equals: { type: ['string', 'number', 'boolean'], description: 'Only values equal to this.' }
})

const selector: Schema = {
  ...mapping('Which values of the request the rule looks at; one of these.', [], {
    part: mapping('Parts of the message; every condition given must hold.', [], {
      data: flag('Only parts that carry data.', false),
      mediaType,
      dataKey: text('Members of the part\'s data object, each of which is a value; `*` stands for any characters.', 'name-pattern'),
      match: inline('JSON Schema that the part matches, in the one shape of `when.match`.'),
      take: choice('All matching parts, or the first. Not with `verdict: strip`.', ['first', 'all'], 'all')
    }),
    metadata: metadataSelector,
    header: text('Name of a request header; each of its lines is a value, a string. A line with `_` for `-` cannot be judged, because some agents take the two for one: it breaks the rule.', 'header-name'),
    pointer: text('JSON Pointer into the request object (`params` of JSON-RPC, the body of HTTP+JSON). Fields of the request, message and parts are named as in A2A 1.0, however the client spells them.', 'pointer')
  }),
  minProperties: 1,
  maxProperties: 1
}

const occurrences: Schema = {
  ...mapping('How many values may be selected.', [], {
    min: { type: 'integer', description: 'At least so many. Default: no lower bound. From 0 to 100000.', minimum: 0, maximum: 100000 },
    max: { type: 'integer', description: 'At most so many; 0 forbids them. Default: no upper bound. From 0 to 100000.', minimum: 0, maximum: 100000 }
  }),
  minProperties: 1
}

/** A key that, where it is there, stands alone. */
const alone = (key: string, value: Schema): Schema => ({
  if: { type: 'object', required: [key] },
  then: { type: 'object', properties: { [key]: value }, additionalProperties: false }
})

const FILE = alone('file', text('A file, JSON or YAML, that holds one schema; relative to the configuration file.', 'file'))
const REF = alone('ref', text('URI of a schema in one of `bundles`; a JSON Pointer may follow as its fragment.', 'uri'))
const FROM_DISK = '`{file: path}`, a JSON or YAML file that holds it, or `{ref: URI}`, one of `bundles`'

const diskSource = (description: string): Schema => ({ type: ['object', 'boolean'], description: `${description} Or ${FROM_DISK}.`, allOf: [FILE, REF] })

const source: Schema = {
  type: ['object', 'boolean'],
  description: `JSON Schema that every selected value must satisfy; or ${FROM_DISK}; or \`fromCard\` alone: JSON Pointers into the agent's card, of which the first that resolves is the schema; or \`enumFromCard\` alone: one such pointer, in which \`*\` stands for every item, to the values allowed. \`{self}\` is the index of the extension in \`capabilities.extensions\`, \`{name}\` the value captured by a media type parameter \`name=*\`.`,
  allOf: [
    alone('fromCard', { type: 'array', description: 'JSON Pointers into the card.', items: { type: 'string', 'x-format': 'json-pointer' }, minItems: 1, maxItems: 16 }),
    alone('enumFromCard', text('JSON Pointer into the card; `*` stands for every item or member.', 'json-pointer')),
    FILE,
    REF
  ]
}

const refusal = mapping('How the refusal reads.', [], {
  class: choice('What kind of refusal. Default: `invalid`.', CLASSES),
  undeclared: choice('What kind when `fromCard` finds no schema. Default: that of `class`.', CLASSES),
  message: { type: 'string', description: 'What the caller is told. Default: a sentence made from the rule.', minLength: 1, maxLength: 500 },
  reason: text('Reason of the ErrorInfo in the refusal. Default: that of the class.', 'reason')
})

const rule = mapping('One rule; it needs `count` or `schema`, or both.', ['id', 'select'], {
  id: { ...text('Name of the rule, unique in its policy; a metric label.', 'name'), examples: ['payload-is-valid'] },
  on: {
    type: 'array',
    description: 'Operations that the rule is for, by their 1.0 names, or `all`. Default: those that carry a message.',
    items: { type: 'string', enum: OPERATIONS },
    minItems: 1,
    maxItems: 100,
    uniqueItems: true
  },
  select: selector,
  when: condition('The rule applies only if all of these hold.'),
  unless: condition('The rule does not apply if all of these hold.'),
  count: occurrences,
  schema: source,
  verdict: choice('`warn`: what breaks the rule is recorded and forwarded, whatever the mode. `strip`: it is removed (the value selected; the part, where parts are selected; the line of a header) and recorded. Default: `reject`.', ['reject', 'warn', 'strip']),
  error: refusal
})

const secret: Schema = {
  ...mapping('The value is a secret, from one of these. It shows nowhere but in the request to the agent.', [], {
    file: text('File that holds it, at most 64 KiB; relative to this file. A newline at its end is left out.', 'file'),
    env: text('Environment variable that holds it.', 'variable')
  }),
  minProperties: 1,
  maxProperties: 1
}

const injection = mapping('One member of metadata. Needs `value` or `fromSecret`.', ['metadata'], {
  on: choice('What it is added to. Default: `request`.', ['request']),
  metadata: { ...text('Name of the member; `$uri` or `$uri/...` for the extension\'s URI and what follows it.', 'name-pattern'), examples: ['$uri'] },
  in: choice('Whose metadata: the message\'s, or the request\'s own (`params`). Default: `message`.', ['message', 'params']),
  value: { description: 'The value, as it stands here.' },
  fromSecret: secret,
  as: choice('What the secret is: `text` becomes a string, `json` is added as it stands. Default: `text`.', ['text', 'json']),
  existing: choice('What becomes of the client\'s own member of that name: the platform\'s replaces it, it is kept, or the request is refused. Default: `replace`.', ['replace', 'keep', 'reject']),
  when: condition('Added only if all of these hold.'),
  unless: condition('Not added if all of these hold.')
})

function names (description: string, format: Format): Schema {
  return { type: 'array', description, items: { type: 'string', 'x-format': format }, minItems: 1, maxItems: 100, uniqueItems: true }
}

function sentence (description: string, maxLength: number): Schema {
  return { type: 'string', description, minLength: 1, maxLength }
}

/** Schema of one policy: an entry of `extensions`, or a file of the built-in catalogue. */
export const policySchema: Schema = mapping('Policy for one extension. Needs `uri` or `uriPattern`, unless it is laid over another.', [], {
  uri: { ...text('The extension\'s URI, compared character by character.', 'extension-uri'), examples: ['https://example.com/ext/v1'] },
  uriPattern: text('Instead of `uri`: every extension of the card whose URI matches; `*` stands for any characters.', 'uri-pattern'),
  aliases: {
    type: 'array',
    description: 'Other URIs by which clients may ask for the extension.',
    items: mapping('One alias.', ['uri', 'relation'], {
      uri: { ...text('The other URI.', 'extension-uri'), examples: ['https://example.com/ext/v0'] },
      relation: { ...choice('`same`: another spelling, which counts everywhere; the agent is asked in the card\'s. `satisfies`: another extension that counts where this one is required, forwarded as it is.', ['same', 'satisfies']), examples: ['same'] }
    }),
    maxItems: 100
  },
  about: {
    ...mapping('What the extension is, for people. The gateway does not act on it.', [], {
      title: sentence('Its name.', 100),
      source: { ...text('URL of its specification.', 'url'), examples: ['https://example.com/spec'] },
      summary: sentence('What it is for, in a sentence or two.', 1000),
      drift: { type: 'array', description: 'Where its texts and its implementations disagree, and what this policy does about that.', items: sentence('One disagreement.', 1000), maxItems: 50 },
      notes: { type: 'array', description: 'What a reader should know before turning it on, such as what cannot be checked.', items: sentence('One note.', 1000), maxItems: 50 }
    }),
    minProperties: 1
  },
  mode: choice('Overrides the agent\'s mode for this extension; an agent that is `off` stays off. Default: the agent\'s.', ['enforce', 'observe', 'off']),
  owns: {
    ...mapping('What in a request belongs to the extension. Rules look at it even where the extension is not active.', [], {
      metadata: names('Members of the metadata of message, request or parts; as `select.metadata.key`.', 'name-pattern'),
      dataKeys: names('Members of the data of parts; as `select.part.dataKey`.', 'name-pattern'),
      mediaTypes: names('Media types of parts; as `select.part.mediaType`.', 'media-type'),
      headers: names('Request headers.', 'header-name')
    }),
    minProperties: 1
  },
  inactive: mapping('What becomes of what the extension owns in a request that does not activate it.', [], {
    request: choice('`strip` removes it, and rules then run only where the extension is active; `reject` refuses the request. Default: `forward`.', ['forward', 'strip', 'reject'])
  }),
  activation: mapping('How the extension comes to be active in a request.', [], {
    signals: {
      type: 'array',
      description: 'What activates it, any of: `header` (it is asked for), `listed` (in `message.extensions`), `evidence` (something it owns is there), `always`. Rules then run where it is active or something it owns is there. Default: `header`, and rules run in any case.',
      items: { type: 'string', enum: ['header', 'listed', 'evidence', 'always'] },
      minItems: 1,
      maxItems: 4,
      uniqueItems: true
    },
    scope: choice('Operations on which `required` and `requires` are checked. Default: the agent\'s `enforceOn`.', ['messages', 'all']),
    requires: names('Policies whose extensions must be active whenever this one is.', 'name'),
    onMissing: choice('What to do when one of `requires` is not: refuse, or ask for it on the client\'s behalf. Default: `reject`.', ['reject', 'add']),
    required: choice('Must clients request it? `card` follows `required` of the agent\'s card. Default: `card`.', ['card', 'always', 'never']),
    default: choice('`inject`: the gateway requests it on the client\'s behalf. Default: `none`.', ['none', 'inject']),
    expose: flag('When injected: does the client see the agent\'s echo? Default: false.')
  }),
  methods: {
    type: 'object',
    description: 'JSON-RPC methods that the extension adds to those of A2A, by name. They are then no unknown methods. Each may have `need` (what a caller needs: the extension `active`, the card to have `declared` it, or `none`) and `params`, a JSON Schema.',
    propertyNames: { type: 'string', 'x-format': 'method-name' },
    additionalProperties: mapping('One method.', [], {
      need: choice('What a caller needs: the extension `active`, the card to have `declared` it, or nothing. Default: `active`.', ['active', 'declared', 'none']),
      params: diskSource('JSON Schema of the request\'s `params`.')
    }),
    maxProperties: 100
  },
  routes: {
    type: 'array',
    description: 'HTTP endpoints that the extension adds beside the operations of A2A. They are then no unknown paths.',
    items: mapping('One HTTP endpoint.', ['verb', 'path'], {
      verb: { ...choice('Its HTTP method.', ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']), examples: ['POST'] },
      path: { ...text('Its path, below the agent\'s path; a segment `{name}` stands for any one segment. Where several match, the one with the earlier plain segment counts.', 'route-path'), examples: ['/executeCommand'] },
      need: choice('What a caller needs: the extension `active`, the card to have `declared` it, or nothing. Default: `active`.', ['active', 'declared', 'none']),
      body: diskSource('JSON Schema of the body, which must then be there. Default: any JSON, or no body.')
    }),
    minItems: 1,
    maxItems: 100
  },
  card: mapping('What the agent\'s card must hold where it declares the extension. Both cards of an agent are looked at.', [], {
    params: diskSource('JSON Schema of `params` of the declaration; `{}` where it has none.'),
    schema: diskSource('JSON Schema of the whole card. It is enough that one of the agent\'s cards satisfies it.'),
    onInvalid: choice('`warn` logs and counts it; `refuse` does not use the card, where the extension is enforced. Default: `warn`.', ['refuse', 'warn'])
  }),
  request: {
    type: 'array',
    description: 'Rules for what clients send.',
    items: rule,
    maxItems: 1000
  },
  inject: {
    type: 'array',
    description: 'What the platform adds to requests in which the extension is active.',
    items: injection,
    minItems: 1,
    maxItems: 100
  },
  integrity: choice('`verbatim`: a request in which the extension is active is forwarded with the body and the extension headers as the client sent them; where another policy would have to remove something, the request is refused. Default: `normal`.', ['normal', 'verbatim']),
  redact: names('Secrets in the extension\'s data: `<metadata key>` or `<metadata key>#<JSON Pointer>`, in which a step may be `*` for all. Takes effect where the gateway shows or returns data of requests, and it does so nowhere yet: so far it is checked and kept, and changes nothing. The agent gets the secrets in any case.', 'redaction')
})
