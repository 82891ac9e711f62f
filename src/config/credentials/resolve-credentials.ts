/** Turns the valid key `upstream.credentials` into the model: paths become absolute, names of headers lower case. */
import { resolve } from 'node:path'
import type {
  ExchangeConfig,
  IdentityHeaderConfig,
  SentCredentialConfig,
  TokenRequestConfig,
  UpstreamCredentialsConfig
} from '../model/credentials-model.js'
import type { SecretConfig } from '../model/policy-model.js'
import { duration } from '../model/units.js'
import { namedKeyFiles, resolveSigningKeys } from '../signing-keys.js'
import { items, mapping } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'

type For = SentCredentialConfig['for']

/** The value after validation has filled in the defaults. */
export interface CredentialsFile extends Omit<UpstreamCredentialsConfig, 'send' | 'identity'> {
  readonly send: readonly SentFile[]
  readonly identity: (Omit<IdentityHeaderConfig, 'ttl'> & { readonly ttl: string }) | null
}

interface SentFile extends Omit<SentCredentialConfig, 'header' | 'prefix' | 'clientCredentials' | 'exchange'> {
  readonly header: string | null
  readonly prefix: string | null
  readonly clientCredentials: (TokenRequestConfig & { readonly for: For }) | null
  readonly exchange: (ExchangeConfig & { readonly for: For }) | null
}

export function resolveCredentials ({ client, send, identity }: CredentialsFile, baseDir: string): UpstreamCredentialsConfig {
  return {
    client,
    send: send.map(entry => sentOf(entry, baseDir)),
    identity: identity === null
      ? null
      : {
          ...resolveSigningKeys(identity, baseDir),
          header: identity.header.toLowerCase(),
          ttl: duration(identity.ttl)
        }
  }
}

function sentOf (entry: SentFile, baseDir: string): SentCredentialConfig {
  const { header, fromSecret, prefix, clientCredentials, exchange } = entry
  return {
    for: entry.for ?? clientCredentials?.for ?? exchange?.for ?? null,
    header: header?.toLowerCase() ?? 'authorization',
    fromSecret: fromSecret === null ? null : secretOf(fromSecret, baseDir),
    prefix: prefix ?? '',
    clientCredentials: clientCredentials === null ? null : requestOf(clientCredentials, baseDir),
    exchange: exchange === null
      ? null
      : {
          ...requestOf(exchange, baseDir),
          subjectTokenType: exchange.subjectTokenType,
          actorToken: exchange.actorToken === null
            ? null
            : { ...secretOf(exchange.actorToken, baseDir), type: exchange.actorToken.type }
        }
  }
}

function requestOf ({ endpoint, client, auth, audience, resource, scopes }: TokenRequestConfig, baseDir: string): TokenRequestConfig {
  return {
    endpoint: new URL(endpoint).href,
    client: { id: client.id, secret: secretOf(client.secret, baseDir) },
    auth,
    audience,
    resource,
    scopes
  }
}

function secretOf ({ file, env }: SecretConfig, baseDir: string): SecretConfig {
  return file === undefined ? { ...env === undefined ? {} : { env } } : { file: resolve(baseDir, file) }
}

/** Returns the paths that the key names, as written. The value may still be wrong. */
export function credentialFiles (credentials: Mapping): unknown[] {
  return [...items(credentials.send).flatMap(secretsOf).map(secret => secret.file), ...namedKeyFiles(credentials.identity)]
}

/** The mappings of an entry that name a secret. The value may still be wrong. */
function secretsOf (entry: unknown): Mapping[] {
  const { fromSecret, clientCredentials, exchange } = mapping(entry)
  return [
    fromSecret,
    ...[clientCredentials, exchange].map(one => mapping(mapping(one).client).secret),
    mapping(exchange).actorToken
  ].map(mapping)
}
