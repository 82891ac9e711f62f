/** `upstream.credentials`: what the agent gets in the place of the credentials of callers. */
import type { Schema } from './schema-builder.js'
import { choice, duration, flag, list, mapping, nullable, SECRET_SOURCES, section, text, string } from './schema-builder.js'
import { signingKey } from './signing-key-schema.js'

const optional = (schema: Schema): Schema => ({ ...schema, type: ['object', 'null'], default: null })

const optionalText = (description: string): Schema => ({
  type: ['string', 'null'],
  description,
  default: null,
  minLength: 1,
  maxLength: 1024
})

const callers: Schema = {
  type: ['array', 'null'],
  description: 'Names of sources in `identity.sources`: the entry applies to callers of these sources. `null`: to all requests, even those without a caller.',
  default: null,
  items: string('name'),
  minItems: 1,
  maxItems: 100,
  uniqueItems: true
}

const TOKEN_TYPES = ['access_token', 'jwt']

const tokenRequest: Readonly<Record<string, Schema>> = {
  endpoint: {
    ...text('URL of the token endpoint: https, or http on this machine. The gateway follows no redirect.', 'endpoint'),
    examples: ['https://idp.example.com/token']
  },
  client: mapping('The gateway as a client of the authorization server.', ['id', 'secret'], {
    id: { type: 'string', description: 'The `client_id`.', minLength: 1, maxLength: 1024 },
    secret: mapping('The `client_secret`. Needs `file` or `env`.', [], SECRET_SOURCES)
  }),
  auth: choice('How the client authenticates: `basic` (header `Authorization`) or `post` (form).', ['basic', 'post'], 'basic'),
  audience: optionalText('Parameter `audience` of the request: the service that the token is for.'),
  resource: optionalText('Parameter `resource` of the request (RFC 8707), for authorization servers that use it instead of `audience`.'),
  scopes: list(
    'Scopes to request. The gateway rejects a token with other scopes than these.',
    { type: 'string', minLength: 1, maxLength: 256 },
    []
  ),
  for: { ...callers, description: 'The same as `for` of the entry.' }
}

/** One entry of `send`. */
export const sentCredentialSchema: Schema = mapping('One credential: exactly one of `fromSecret`, `clientCredentials` and `exchange`.', [], {
  for: callers,
  header: nullable('Header that carries the secret. Needs `fromSecret`. Tokens always go into `Authorization`.', 'header-name'),
  fromSecret: optional(mapping('A static secret. Needs `file` or `env`.', [], SECRET_SOURCES)),
  prefix: {
    type: ['string', 'null'],
    description: 'Text before the secret, such as `Bearer ` with its space.',
    default: null,
    minLength: 1,
    maxLength: 100
  },
  clientCredentials: optional(
    mapping('An access token of the gateway (RFC 6749 §4.4), the same for all callers.', ['endpoint', 'client'], tokenRequest)
  ),
  exchange: optional(
    mapping(
      'An access token that the authorization server issues in exchange for the verified access token of the caller (RFC 8693). For callers of `jwt` sources only.',
      ['endpoint', 'client'],
      {
        ...tokenRequest,
        subjectTokenType: choice("Type under which the caller's token is sent.", TOKEN_TYPES, 'access_token'),
        actorToken: optional(
          mapping('A token of the gateway itself, for authorization servers that record who acts for the caller. Needs `file` or `env`.', [], {
            ...SECRET_SOURCES,
            type: choice('Type under which the token is sent.', TOKEN_TYPES, 'access_token')
          })
        )
      }
    )
  )
})

const identity: Schema = optional(
  mapping(
    'A signed header that names the caller to the agent: a JSON Web Token. The agent verifies the token with the key set at `/.well-known/jwks.json` of the gateway. Needs `identity` and `server.publicUrl`. `null`: none.',
    ['key'],
    {
      header: text('Name of the header.', 'header-name', 'gateway-identity'),
      ...signingKey('secrets/identity.pem'),
      claims: list(
        'Properties of the caller in the token: `subject` (`sub`), `client` (`client_id`), `scopes` (`scope`), `groups` and `tenant`.',
        { type: 'string', enum: ['subject', 'client', 'scopes', 'groups', 'tenant'] },
        ['subject', 'client', 'scopes', 'tenant']
      ),
      ttl: duration('How long the token is valid.', '60s', '5s', '10m'),
      body: flag(
        'Whether the token contains the SHA-256 of the body that the agent gets (`body_sha256`). If so, the gateway signs a token for each request. Tokens for `passthrough` paths contain no digest, because the gateway does not read those bodies.',
        false
      )
    }
  )
)

export const credentialsSchema: Schema = section('Credentials that the gateway sends to the agent.', {
  client: choice(
    'Credentials of callers whom `identity` has authenticated. `strip`: the gateway removes the credentials that it has verified. `forward`: the agent gets them too.',
    ['strip', 'forward'],
    'strip'
  ),
  send: {
    type: 'array',
    description:
      'Credentials that the gateway sends. For each header, the gateway uses the first entry whose `for` matches the caller. The gateway removes these headers from all requests of clients.',
    default: [],
    items: { $ref: '#/$defs/sentCredential' },
    maxItems: 100
  },
  identity
})
