/** JSON Schema of one policy: the source of truth for its keys, their types, bounds and defaults. */
import { correlation, observe, responseRule, taskStates } from './response-schema.js'
import { caller } from './caller-schema.js'
import { condition, dataValue, diskSource, names, rule } from './rule-schema.js'
import { choice, flag, mapping, SECRET_SOURCES, text, string } from './schema-builder.js'
import type { Schema } from './schema-builder.js'

const secret: Schema = {
  ...mapping('The value is a secret from one of these sources. It appears only in the request to the agent.', [], SECRET_SOURCES),
  minProperties: 1,
  maxProperties: 1
}

const injection = mapping('One member of metadata. Needs `value`, `fromSecret` or `fromCaller`.', ['metadata'], {
  on: choice('Where the gateway adds the member. Default: `request`.', ['request']),
  metadata: {
    ...text("Name of the member; `$uri` or `$uri/...` is the extension's URI, with or without a suffix.", 'name-pattern'),
    examples: ['$uri']
  },
  in: choice("Whose metadata: the message's, or the request's own (`params`). Default: `message`.", ['message', 'params']),
  value: { description: 'The value itself.' },
  fromSecret: secret,
  fromCaller: {
    ...text(
      'The value is a property of the caller: `subject`, `client`, `tenant`, `source`, or a JSON Pointer into the claims. If the caller ' +
        'has no such value, the gateway adds nothing. With `existing: replace`, it then also removes a member that the client sent.',
      'caller-value'
    ),
    examples: ['subject']
  },
  required: flag('With `fromCaller`: whether the gateway rejects a message of a caller without the value. Default: false.'),
  as: choice('Type of the secret: the gateway adds a `text` as a string, and `json` as JSON. Default: `text`.', ['text', 'json']),
  existing: choice(
    "What to do if the client sends a member of that name: `replace` it with the platform's, `keep` it, or `reject` the request. " +
      'Default: `replace`.',
    ['replace', 'keep', 'reject']
  ),
  when: condition('The gateway adds the member only if all of these conditions match.'),
  unless: condition('The gateway does not add the member if all of these conditions match.')
})

function sentence (description: string, maxLength: number): Schema {
  return { type: 'string', description, minLength: 1, maxLength }
}

/** Schema of one policy: an entry of `extensions`, or a file of the built-in catalogue. */
export const policySchema: Schema = mapping(
  'Policy for one extension. Needs `uri` or `uriPattern`, unless it changes a policy of the catalogue.',
  [],
  {
    uri: { ...text("The extension's URI, compared character by character.", 'extension-uri'), examples: ['https://example.com/ext/v1'] },
    uriPattern: text('Instead of `uri`: every extension of the card whose URI matches; `*` matches any characters.', 'uri-pattern'),
    aliases: {
      type: 'array',
      description: 'Other URIs by which clients may request the extension.',
      items: mapping('One alias.', ['uri', 'relation'], {
        uri: { ...text('The other URI.', 'extension-uri'), examples: ['https://example.com/ext/v0'] },
        relation: {
          ...choice(
            "`same`: another spelling of the URI, equal everywhere; the agent gets the card's spelling. `satisfies`: another extension " +
              'that satisfies the requirement for this one; the gateway forwards its URI unchanged. The rules of the policy also run for ' +
              'an alias that the card declares.',
            ['same', 'satisfies']
          ),
          examples: ['same']
        }
      }),
      maxItems: 100
    },
    about: {
      ...mapping('Description of the extension, for people. It does not affect the gateway.', [], {
        title: sentence('Name of the extension.', 100),
        source: { ...text('URL of its specification.', 'url'), examples: ['https://example.com/spec'] },
        read: {
          type: 'string',
          description: 'Day on which the specification was read for this policy: `YYYY-MM-DD`.',
          pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$',
          examples: ['2026-11-28']
        },
        status: choice(
          'Status of the specification that day: `stable`, a published version; `draft`, a proposal or an experiment that its authors ' +
            'still change; `vendor`, documented by the one product that uses it.',
          ['stable', 'draft', 'vendor']
        ),
        summary: sentence('Purpose of the extension, in one or two sentences.', 1000),
        drift: {
          type: 'array',
          description: 'Differences between its specification and its implementations, and how this policy treats them.',
          items: sentence('One disagreement.', 1000),
          maxItems: 50
        },
        notes: {
          type: 'array',
          description: 'What to know before enabling the policy, such as requirements that cannot be checked.',
          items: sentence('One note.', 1000),
          maxItems: 50
        }
      }),
      minProperties: 1
    },
    mode: choice("Overrides the agent's mode for this extension; an agent that is `off` stays off. Default: the agent's.", [
      'enforce',
      'observe',
      'off'
    ]),
    owns: {
      ...mapping(
        'Data of requests and responses that belongs to the extension. Rules validate this data even if the extension is not active.',
        [],
        {
          metadata: names(
            'Members of the metadata of message, request or parts, and of any metadata in a response; as `select.metadata.key`.',
            'name-pattern'
          ),
          dataKeys: names('Members of the data of parts; as `select.part.dataKey`.', 'data-key'),
          data: {
            type: 'array',
            description: 'Parts whose data has one of these values; as `select.part.where`.',
            items: dataValue('One value.'),
            minItems: 1,
            maxItems: 100
          },
          mediaTypes: names('Media types of parts; as `select.part.mediaType`.', 'media-type'),
          headers: names('Request headers.', 'header-name')
        }
      ),
      minProperties: 1
    },
    inactive: mapping('What to do with data that the extension owns if the extension is not active.', [], {
      request: choice(
        'In a request that does not activate the extension. `strip` removes the data, and rules then run only if the extension is ' +
          'active; `reject` rejects the request. Default: `forward`.',
        ['forward', 'strip', 'reject']
      ),
      response: choice(
        'In a response to a client that did not activate the extension. An extension that only the gateway requested, without `expose`, ' +
          'is not activated for the client. `strip` removes the data. Default: `forward`.',
        ['forward', 'strip']
      )
    }),
    activation: mapping('When the extension is active in a request.', [], {
      signals: {
        type: 'array',
        description:
          'Signals, each of which activates the extension: `header` (the client requests it), `listed` (in `message.extensions`), ' +
            '`evidence` (the request contains data it owns), `always`. Rules then run if the extension is active or the request contains ' +
            'data it owns. Default: `header`, and rules always run.',
        items: { type: 'string', enum: ['header', 'listed', 'evidence', 'always'] },
        minItems: 1,
        maxItems: 4,
        uniqueItems: true
      },
      scope: choice(
        "Operations for which the gateway checks `required` and `requires`. Default: the agent's `enforceOn`.", ['messages', 'all']
      ),
      requires: names('Policies whose extensions must be active whenever this extension is active.', 'name'),
      onMissing: choice(
        'What to do if one of `requires` is not active: reject the request, or request the extension for the client. Default: `reject`.',
        ['reject', 'add']
      ),
      required: choice(
        "Whether clients must request the extension. `card` follows `required` of the agent's card. `observe` follows the card too, but " +
          'the gateway only records requests without the extension. `always` and `never` also set `required` in the served card. With ' +
          '`card`, the gateway warns when `mode` lowers what the card requires. Default: `card`.',
        ['card', 'observe', 'always', 'never']
      ),
      default: choice('`inject`: the gateway requests the extension for the client. Default: `none`.', ['none', 'inject']),
      callers: caller(
        'Who may use the extension. All given keys must match. For other callers, and for requests without a caller, no signal activates ' +
          'the extension, and the gateway never requests it. The gateway rejects its methods and routes. It handles data that the ' +
          'extension owns by `inactive.request`, but never forwards the data. Default: everybody.'
      ),
      onForbidden: choice(
        'What to do if such a caller names the extension in the header or in `message.extensions`: `reject` the request, or remove the ' +
          'name (`strip`) and evaluate the request without it. Default: `reject`.',
        ['reject', 'strip']
      ),
      equivalent: choice(
        'What to do if a caller who may not use the extension names its URI in another spelling. Only lenient agents read it as the same ' +
          'URI: other case of scheme or host, a default port, a trailing slash, percent-encoding, quotes, parameters. `report` records a ' +
          'violation and forwards the request, `reject` rejects the request. Default: `report`.',
        ['report', 'reject']
      ),
      expose: flag("Whether the client gets the agent's echo of an injected extension. Default: false.")
    }),
    methods: {
      type: 'object',
      description:
        'JSON-RPC methods that the extension adds to A2A, by name. The gateway then accepts them. Each may have `need` (the extension ' +
          'must be `active`, the card must have `declared` it, or `none`) and `params`, a JSON Schema.',
      propertyNames: string('method-name'),
      additionalProperties: mapping('One method.', [], {
        need: choice(
          'Condition for the call: the extension must be `active`, the card must have `declared` it, or none. Default: `active`.',
          ['active', 'declared', 'none']
        ),
        params: diskSource("JSON Schema of the request's `params`.")
      }),
      maxProperties: 100
    },
    routes: {
      type: 'array',
      description: 'HTTP endpoints that the extension adds to the operations of A2A. The gateway then accepts these paths.',
      items: mapping('One HTTP endpoint.', ['verb', 'path'], {
        verb: { ...choice('HTTP method of the endpoint.', ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']), examples: ['POST'] },
        path: {
          ...text(
            'Path of the endpoint, below `base`; a segment `{name}` matches any one segment. If several routes match, the one with the ' +
              'earlier literal segment wins.',
            'route-path'
          ),
          examples: ['/executeCommand']
        },
        base: choice(
          'Where the path begins: at the path of the `agent`, or at the URL of each HTTP+JSON `interface` of the card. Default: `agent`.',
          ['agent', 'interface']
        ),
        need: choice(
          'Condition for the call: the extension must be `active`, the card must have `declared` it, or none. Default: `active`.',
          ['active', 'declared', 'none']
        ),
        body: diskSource('JSON Schema of the body, which is then required. Default: any JSON, or no body.')
      }),
      minItems: 1,
      maxItems: 100
    },
    card: mapping("Requirements for an agent's card that declares the extension. The gateway checks both cards of an agent.", [], {
      params: diskSource('JSON Schema of `params` of the declaration; `{}` if it has none.'),
      schema: diskSource("JSON Schema of the whole card. It is enough that one of the agent's cards satisfies it."),
      onInvalid: choice(
        '`warn` logs and counts the problem. `refuse`: the gateway does not use the card, if the extension is enforced. Default: `warn`.',
        ['refuse', 'warn']
      )
    }),
    request: {
      type: 'array',
      description: 'Rules for requests.',
      items: rule,
      maxItems: 1000
    },
    response: {
      type: 'array',
      description:
        'Rules for responses. Each rule validates every result separately: the message or task of a response, each task of a list, each ' +
          'event of a stream. The rules ignore messages of the client and `history`. Rules reject and change responses only if both the ' +
          "policy's mode and the agent's `responses` are `enforce`.",
      items: responseRule,
      maxItems: 1000
    },
    state: taskStates,
    correlate: {
      type: 'array',
      description: 'Values that a later message or response of a task must have in common with an earlier one.',
      items: correlation,
      minItems: 1,
      maxItems: 100
    },
    observe,
    echo: choice(
      "Whether the response header of activated extensions names this extension, if the policy's mode and the agent's `responses` are " +
        '`enforce`. `passthrough`: if the agent sends it. `verify`: if the agent sends it, the client requested it, and the card ' +
        'declares it. `synthesize`: also if the agent does not send it, but the response proves that the extension is active. Proof is ' +
        '`extensions` of its message or artifacts, or data that the extension owns. Default: `passthrough`.',
      ['passthrough', 'verify', 'synthesize']
    ),
    inject: {
      type: 'array',
      description: 'Members that the platform adds to requests in which the extension is active.',
      items: injection,
      minItems: 1,
      maxItems: 100
    },
    integrity: choice(
      '`verbatim`: if the extension is active, the gateway forwards the body and the extension headers unchanged. If another policy ' +
        'would have to remove something, the gateway rejects the request. Default: `normal`.',
      ['normal', 'verbatim']
    ),
    redact: names(
      "Secrets in the extension's data: `<metadata key>` or `<metadata key>#<JSON Pointer>`, in which a step may be `*` for all. The " +
        "gateway removes them from the `history` of tasks in responses, if the policy's mode and the agent's `responses` are `enforce`; " +
        'otherwise it only records them. The agent always gets the secrets.',
      'redaction'
    )
  }
)
