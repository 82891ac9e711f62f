/** `upstream.credentials`: what the agent gets in the place of the credentials of callers. */
import type { Schema, TypeOf, ValuesOf } from './schema-builder.js'
import {
  array, boundedString, choice, duration, flag, list, mapping, nullable, oneOf, orNull, ref, section, SECRET_SOURCES, string, text
} from './schema-builder.js'
import { signingKey } from './signing-key-schema.js'

const optionalText = (description: string): Schema<string | null> => ({
  type: ['string', 'null'],
  description,
  default: null,
  minLength: 1,
  maxLength: 1024
})

const callers: Schema<readonly string[] | null> = {
  type: ['array', 'null'],
  description: 'Names of sources in `identity.sources`: the entry applies to callers of these sources. `null`: to all requests, even ' +
    'those without a caller.',
  default: null,
  items: string('name'),
  minItems: 1,
  maxItems: 100,
  uniqueItems: true
}

/** Last part of a token type identifier (RFC 8693 §3). */
const TOKEN_TYPES = ['access_token', 'jwt'] as const

const tokenRequest = {
  endpoint: {
    ...text('URL of the token endpoint: https, or http on this machine. The gateway follows no redirect.', 'endpoint'),
    examples: ['https://idp.example.com/token']
  },
  client: mapping('The gateway as a client of the authorization server.', ['id', 'secret'], {
    id: { type: 'string', description: 'The `client_id`.', minLength: 1, maxLength: 1024 } as Schema<string>,
    secret: mapping('The `client_secret`. Needs `file` or `env`.', [], SECRET_SOURCES)
  }),
  auth: choice('How the client authenticates: `basic` (header `Authorization`) or `post` (form).', ['basic', 'post'], 'basic'),
  audience: optionalText('Parameter `audience` of the request: the service that the token is for.'),
  resource: optionalText('Parameter `resource` of the request (RFC 8707), for authorization servers that use it instead of `audience`.'),
  scopes: list(
    'Scopes to request. The gateway rejects a token with other scopes than these.',
    boundedString(256),
    []
  ),
  for: { ...callers, description: 'The same as `for` of the entry.' }
}

/** One entry of `send`. */
export const sentCredentialSchema = mapping('One credential: exactly one of `fromSecret`, `clientCredentials` and `exchange`.', [], {
  for: callers,
  header: nullable('Header that carries the secret. Needs `fromSecret`. Tokens always go into `Authorization`.', 'header-name'),
  fromSecret: orNull(mapping('A static secret. Needs `file` or `env`.', [], SECRET_SOURCES)),
  prefix: {
    type: ['string', 'null'],
    description: 'Text before the secret, such as `Bearer ` with its space.',
    default: null,
    minLength: 1,
    maxLength: 100
  } as Schema<string | null>,
  clientCredentials: orNull(
    mapping('An access token of the gateway (RFC 6749 §4.4), the same for all callers.', ['endpoint', 'client'], tokenRequest)
  ),
  exchange: orNull(
    mapping(
      'An access token that the authorization server issues in exchange for the verified access token of the caller (RFC 8693). For ' +
        'callers of `jwt` sources only.',
      ['endpoint', 'client'],
      {
        ...tokenRequest,
        subjectTokenType: choice("Type under which the caller's token is sent.", TOKEN_TYPES, 'access_token'),
        actorToken: orNull(
          mapping('A token of the gateway itself, for authorization servers that record who acts for the caller. Needs `file` or `env`.', [], {
            ...SECRET_SOURCES,
            type: choice('Type under which the token is sent.', TOKEN_TYPES, 'access_token')
          })
        )
      }
    )
  )
})

const identity = orNull(
  mapping(
    'A signed header that names the caller to the agent: a JSON Web Token. The agent verifies the token with the key set at ' +
      '`/.well-known/jwks.json` of the gateway. Needs `identity` and `server.publicUrl`. `null`: none.',
    ['key'],
    {
      header: text('Name of the header.', 'header-name', 'gateway-identity'),
      ...signingKey('secrets/identity.pem'),
      claims: list(
        'Properties of the caller in the token: `subject` (`sub`), `client` (`client_id`), `scopes` (`scope`), `groups` and `tenant`.',
        oneOf(['subject', 'client', 'scopes', 'groups', 'tenant']),
        ['subject', 'client', 'scopes', 'tenant']
      ),
      ttl: duration('How long the token is valid.', '60s', '5s', '10m'),
      body: flag(
        'Whether the token contains the SHA-256 of the body that the agent gets (`body_sha256`). If so, the gateway signs a token for ' +
          'each request. Tokens for `passthrough` paths contain no digest, because the gateway does not read those bodies.',
        false
      )
    }
  )
)

export const credentialsSchema = section('Credentials that the gateway sends to the agent.', {
  client: choice(
    'Credentials of callers whom `identity` has authenticated. `strip`: the gateway removes the credentials that it has verified. ' +
      '`forward`: the agent gets them too.',
    ['strip', 'forward'],
    'strip'
  ),
  send: array(
    'Credentials that the gateway sends. For each header, the gateway uses the first entry whose `for` matches the caller. The gateway ' +
      'removes these headers from all requests of clients.',
    ref('sentCredential', sentCredentialSchema),
    { maxItems: 100 },
    []
  ),
  identity
})

/** `upstream.credentials`, as in the file. */
export type CredentialsKeys = TypeOf<typeof credentialsSchema>

/** One entry of `send`, as in the file. */
export type SentKeys = CredentialsKeys['send'][number]

/** A request to the token endpoint of an authorization server (RFC 6749 §4.4). */
export type TokenRequestConfig = Omit<ValuesOf<typeof tokenRequest, 'endpoint' | 'client'>, 'for'>

/** The token of the caller becomes a token for the agent (RFC 8693). */
export type ExchangeConfig = Omit<NonNullable<SentKeys['exchange']>, 'for'>

/** Last part of a token type identifier (RFC 8693 §3). */
export type TokenType = (typeof TOKEN_TYPES)[number]

/** The signed header that names the caller. `header` is in lower case, `ttl` is in ms. */
export type IdentityHeaderConfig = NonNullable<TypeOf<typeof identity>>

/** Claims of the identity header that the configuration chooses. */
export type IdentityClaim = IdentityHeaderConfig['claims'][number]

/** Exactly one of `fromSecret`, `clientCredentials` and `exchange` is not null. */
export type SentCredentialConfig = Pick<SentKeys, 'for' | 'fromSecret'> & {
  /** In lower case. `authorization` for tokens. */
  readonly header: string
  readonly prefix: string
  readonly clientCredentials: TokenRequestConfig | null
  readonly exchange: ExchangeConfig | null
}

/** The credentials that the agent gets in the place of those of callers. */
export type UpstreamCredentialsConfig = Omit<CredentialsKeys, 'send'> & { readonly send: readonly SentCredentialConfig[] }
