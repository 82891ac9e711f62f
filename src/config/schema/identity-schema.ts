/** The key `identity`. */
import type { Schema, TypeOf, ValuesOf } from './schema-builder.js'
import {
  array, boundedString, choice, count, duration, flag, list, mapping, nullable, oneOf, optional, record, section, string, text
} from './schema-builder.js'

/* `identity.sources.<name>.certificate`: callers by their client certificate. */

const certificateSchema = mapping(
  'Client certificates. A caller is its SPIFFE ID, if the certificate has one, else its name of the kind `san`; never its common name. ' +
    'Needs `trustDomains`, `san` or both.',
  ['from'],
  {
    from: choice(
      'Who has verified the certificate. `tls`: the listener of the gateway, see `server.tls.clientCertificate`. `xfcc` and `rfc9440`: a ' +
        'proxy, which passes it on in `x-forwarded-client-cert` (Envoy, Istio) or `Client-Cert` (RFC 9440).',
      ['tls', 'xfcc', 'rfc9440']
    ),
    proxies: list(
      'IP addresses and CIDRs of the proxies that may send the header; required for `xfcc` and `rfc9440`. The gateway looks only at the ' +
        'peer that connects directly, and removes the header of all other peers. List only proxies that replace a header of the client: ' +
        'a load balancer in `server.trustedProxies` passes it through.',
      { ...string('proxy'), examples: ['127.0.0.1/32'] },
      []
    ),
    hops: count(
      'Number of proxies that add an element to `x-forwarded-client-cert`. The header must have exactly this number of elements; the ' +
        'first is the caller.',
      1, 1, 10
    ),
    trustDomains: list(
      'Accepted trust domains of SPIFFE IDs, in lower case. The gateway rejects a certificate with a SPIFFE ID of another trust domain, ' +
        'whatever its other names.',
      { ...string('trust-domain'), examples: ['prod.example.com'] },
      []
    ),
    san: {
      type: ['string', 'null'],
      description: 'Kind of subject alternative name that identifies a caller without a SPIFFE ID. The certificate must have exactly one ' +
        'of this kind. `null`: only SPIFFE IDs.',
      default: null,
      enum: ['dns', 'uri', 'email', null]
    } as Schema<'dns' | 'uri' | 'email' | null>
  }
)

const keys = mapping('The accepted keys.', ['file'], {
  file: {
    ...text(
      'File with the digests of the keys, as `a2a-gateway key` prints them: a list of `{id, sha256, client, expires, groups, scopes, ' +
        'tenant}` in YAML; relative to the configuration file. The gateway reads it again when it changes.',
      'file'
    ),
    examples: ['secrets/keys.yaml']
  }
})

const apiKey = mapping('API keys. Needs one of `header`, `cookie` and `query`.', ['keys'], {
  header: nullable('Header that carries the key.', 'header-name'),
  cookie: nullable('Cookie that carries the key.', 'header-name'),
  query: nullable('Query parameter that carries the key; needs `allowQuery`. URLs end up in the logs of proxies.', 'header-name'),
  allowQuery: flag('Whether `query` is allowed.', false),
  keys
})

const basic = mapping(
  '`Authorization: Basic`, with the `id` or `client` of an API key as the user and the key as the password.', ['keys'], { keys }
)

const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA', 'RS384', 'PS384', 'ES384', 'RS512', 'PS512', 'ES512']

const issuer = {
  ...text('Value of the claim `iss`: an https URL, or http on this machine. Compared exactly, with or without a final slash.', 'issuer'),
  examples: ['https://idp.example.com/']
}

const audience = array(
  'Accepted values of the claim `aud`: the audiences of tokens for these agents. `"*"` accepts any token of the issuer, even a token for ' +
    'another service.',
  boundedString(1024),
  { minItems: 1, maxItems: 100, uniqueItems: true }
)

/** What all sources of access tokens validate, and read. */
const tokenKeys = {
  leeway: duration('Maximum difference between the clocks of issuer and gateway, for `exp`, `nbf` and `iat`.', '30s', '0s', '10m'),
  maxLifetime: duration('Longest time from `iat` to `exp`.', '24h', '1m', '8760h'),
  claims: section('Claims that describe the caller, as JSON Pointers.', {
    subject: text('The subject.', 'pointer', '/sub'),
    client: nullable('The client. `null`: `/client_id`, else `/azp`.', 'pointer'),
    scopes: nullable('The scopes: a list, or a text with blanks. `null`: `/scope`, else `/scp`.', 'pointer'),
    groups: text('The groups: a list, or a text with blanks.', 'pointer', '/groups'),
    tenant: nullable('The tenant. `null`: none.', 'pointer')
  })
}

const JWT_KEYS = {
  url: nullable('URL of a JSON Web Key Set: https, or http on this machine.', 'issuer'),
  file: nullable('File with a JSON Web Key Set, relative to the configuration file. The gateway reads it again when it changes.', 'file'),
  maxStale: duration('How long the gateway uses fetched keys while it cannot reach the issuer.', '24h', '1m', '720h')
}

const jwt = mapping('Access tokens of one issuer: JSON Web Tokens (RFC 7519, RFC 9068).', ['issuer', 'audience', 'keys'], {
  issuer,
  audience,
  keys: {
    type: ['string', 'object'],
    description: '`discover`: the address of the keys is in the metadata of the issuer. Or a mapping with `url` or `file`.',
    'x-format': 'discover',
    properties: JWT_KEYS,
    additionalProperties: false
  } as Schema<'discover' | ValuesOf<typeof JWT_KEYS>>,
  tls: section('Connections to the issuer, for its metadata and its keys.', {
    ca: nullable(
      'PEM file of the certificate authorities of the issuer; they replace those of the system. Relative to the configuration file.', 'file'
    )
  }),
  header: nullable('Header that carries the token, without a scheme. `null`: `Authorization: Bearer`.', 'header-name'),
  algorithms: list('Accepted signature algorithms.', oneOf<string>(ALGORITHMS), ['RS256', 'PS256', 'ES256', 'EdDSA']),
  types: list(
    'Accepted values of the header `typ`, without `application/`. To reject ID tokens and other JWTs that are not access tokens, list ' +
      'only `at+jwt`.',
    boundedString(100),
    ['at+jwt', 'JWT']
  ),
  ...tokenKeys
})

const metadataText = (description: string, initial: string): Schema<string> => ({
  type: 'string', description, default: initial, minLength: 1, maxLength: 1024
})

const envoyJwt = mapping(
  'Access tokens of one issuer that the filter `jwt_authn` of Envoy has verified, for calls through `server.mesh` only. The gateway ' +
    'reads the payload from the metadata that Envoy sends, never from a header, and validates all but the signature. On other listeners, ' +
    'the source finds no callers.',
  ['issuer', 'audience'],
  {
    metadata: section('Where the filter writes the payload. Envoy must send the namespace to the gateway.', {
      namespace: metadataText('The namespace: the name of the filter.', 'envoy.filters.http.jwt_authn'),
      key: metadataText('The key: `payload_in_metadata` of the provider.', 'jwt_payload')
    }),
    issuer,
    audience,
    header: nullable(
      'Header in which clients send the token to Envoy, without a scheme; `from_headers` of the provider. The agent does not get it, ' +
        'unless `upstream.credentials.client` is `forward`. `null`: `Authorization: Bearer`.',
      'header-name'
    ),
    ...tokenKeys
  }
)

export const sourceSchema = {
  ...section('One source of callers: exactly one kind.', {
    apiKey: optional(apiKey),
    basic: optional(basic),
    jwt: optional(jwt),
    envoyJwt: optional(envoyJwt),
    certificate: optional(certificateSchema)
  }),
  minProperties: 1,
  maxProperties: 1
}

const IDENTITY = {
  sources: record(
    'Sources of callers, by name; the name is a metric label. A caller needs the credentials of one source. The gateway rejects a ' +
      'request with credentials of two sources. A client certificate may come together with the credentials of one other source.',
    'name',
    sourceSchema,
    { minProperties: 1, maxProperties: 100 }
  ),
  audit: choice(
    'How log lines, audit lines and spans name a caller: `digest`, which changes when the gateway restarts, or `subject`, the name itself.',
    ['digest', 'subject'],
    'digest'
  )
}

/** `identity`, as in the file. */
export type IdentityKeys = ValuesOf<typeof IDENTITY, 'sources'>

export const identitySchema: Schema<IdentityKeys | null> = {
  type: ['object', 'null'],
  description:
    'Who may call the agents. With `identity`, every path of every agent needs a caller: operations, routes of extensions, `passthrough` ' +
      'prefixes, and agents without a card. Exceptions: the public card (`card.public`) and CORS preflights. `null`: the gateway ' +
      'authenticates nobody.',
  default: null,
  required: ['sources'],
  properties: IDENTITY,
  additionalProperties: false
}

/** One source, as in the file. */
type SourceKeys = TypeOf<typeof sourceSchema>

/** `keys` without `url` and `file`: the address of the keys is in the metadata of the issuer. */
export type JwtConfig = Omit<NonNullable<SourceKeys['jwt']>, 'keys'> & { readonly keys: JwtKeysConfig }

/** `maxStale` is in ms. */
export type JwtKeysConfig = ValuesOf<typeof JWT_KEYS>

export type EnvoyJwtConfig = NonNullable<SourceKeys['envoyJwt']>

export type TokenConfig = Pick<JwtConfig & EnvoyJwtConfig, keyof JwtConfig & keyof EnvoyJwtConfig>

export type CertificateConfig = NonNullable<SourceKeys['certificate']>

/** Exactly one of `header`, `cookie` and `query` is not null. */
export type ApiKeyConfig = NonNullable<SourceKeys['apiKey']>

export type BasicConfig = NonNullable<SourceKeys['basic']>

/** Exactly one kind. Names of headers, and values of `types`, are in lower case. */
export type SourceConfig = Omit<SourceKeys, 'jwt'> & { readonly jwt?: JwtConfig }

/** `identity`: who may call the agents. */
export type IdentityConfig = Omit<IdentityKeys, 'sources'> & { readonly sources: Readonly<Record<string, SourceConfig>> }

/** One line of a key file. */
export interface KeyEntry {
  readonly id: string
  /** SHA-256 of the key, 64 lower-case hex digits. */
  readonly sha256: string
  readonly client: string | null
  /** Milliseconds since the epoch. Null: never. */
  readonly expires: number | null
  readonly groups: readonly string[]
  readonly scopes: readonly string[]
  readonly tenant: string | null
}
