/** One policy as JSON Schema: the source of truth for its keys, their types, bounds and defaults. */
import { correlation, observe, responseRule, taskStates } from './answer-schema.js'
import { condition, diskSource, names, rule } from './rule-schema.js'
import { choice, flag, mapping, text } from './schema-kit.js'
import type { Schema } from './schema-kit.js'

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
    ...mapping('What in a request or an answer belongs to the extension. Rules look at it even where the extension is not active.', [], {
      metadata: names('Members of the metadata of message, request or parts, and of whatever has metadata in an answer; as `select.metadata.key`.', 'name-pattern'),
      dataKeys: names('Members of the data of parts; as `select.part.dataKey`.', 'name-pattern'),
      mediaTypes: names('Media types of parts; as `select.part.mediaType`.', 'media-type'),
      headers: names('Request headers.', 'header-name')
    }),
    minProperties: 1
  },
  inactive: mapping('What becomes of what the extension owns where it is not active.', [], {
    request: choice('In a request that does not activate it. `strip` removes it, and rules then run only where the extension is active; `reject` refuses the request. Default: `forward`.', ['forward', 'strip', 'reject']),
    response: choice('In an answer to a client that did not activate it; what only the gateway asked for, unexposed, counts as that. `strip` removes it. Default: `forward`.', ['forward', 'strip'])
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
  response: {
    type: 'array',
    description: 'Rules for what agents answer. Each looks at every result by itself: the message or task of an answer, each task of a list, each event of a stream. What the client wrote, and `history`, is not judged. They refuse and change only where the policy\'s mode and the agent\'s `responses` are `enforce`.',
    items: responseRule,
    maxItems: 1000
  },
  state: taskStates,
  correlate: {
    type: 'array',
    description: 'What a later message or answer of a task must have in common with an earlier one.',
    items: correlation,
    minItems: 1,
    maxItems: 100
  },
  observe,
  echo: choice('Whether the client finds this extension in the header in which the agent says what it activated, where the policy\'s mode and the agent\'s `responses` are `enforce`. `passthrough`: if the agent says it. `verify`: only if the client asked for it as well, and the card declares it. `synthesize`: also if the agent does not say it, but the answer proves it, by `extensions` of its message or artifacts or by data that the extension owns. Default: `passthrough`.', ['passthrough', 'verify', 'synthesize']),
  inject: {
    type: 'array',
    description: 'What the platform adds to requests in which the extension is active.',
    items: injection,
    minItems: 1,
    maxItems: 100
  },
  integrity: choice('`verbatim`: a request in which the extension is active is forwarded with the body and the extension headers as the client sent them; where another policy would have to remove something, the request is refused. Default: `normal`.', ['normal', 'verbatim']),
  redact: names('Secrets in the extension\'s data: `<metadata key>` or `<metadata key>#<JSON Pointer>`, in which a step may be `*` for all. Taken out of the `history` of tasks in answers, where the policy\'s mode and the agent\'s `responses` are `enforce`; elsewhere only noted. The agent gets the secrets in any case.', 'redaction')
})
