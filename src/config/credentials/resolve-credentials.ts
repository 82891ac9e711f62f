/** Turns the valid key `upstream.credentials` into the model. */
import type {
  ExchangeConfig, IdentityHeaderConfig, SentCredentialConfig, TokenRequestConfig, UpstreamCredentialsConfig
} from '../model/credentials-model.js'

type For = SentCredentialConfig['for']

/** The value after validation has filled in the defaults, with the marks of the schema applied. */
export interface CredentialsFile extends Omit<UpstreamCredentialsConfig, 'send' | 'identity'> {
  readonly send: readonly SentFile[]
  readonly identity: IdentityHeaderConfig | null
}

interface SentFile extends Omit<SentCredentialConfig, 'header' | 'prefix' | 'clientCredentials' | 'exchange'> {
  readonly header: string | null
  readonly prefix: string | null
  readonly clientCredentials: (TokenRequestConfig & { readonly for: For }) | null
  readonly exchange: (ExchangeConfig & { readonly for: For }) | null
}

/** Names of headers become lower case, and `for` moves from the kind of the credential to its entry. */
export function resolveCredentials ({ client, send, identity }: CredentialsFile): UpstreamCredentialsConfig {
  return {
    client,
    send: send.map(sentOf),
    identity: identity === null ? null : { ...identity, header: identity.header.toLowerCase() }
  }
}

function sentOf (entry: SentFile): SentCredentialConfig {
  const { header, fromSecret, prefix, clientCredentials, exchange } = entry
  return {
    for: entry.for ?? clientCredentials?.for ?? exchange?.for ?? null,
    header: header?.toLowerCase() ?? 'authorization',
    fromSecret,
    prefix: prefix ?? '',
    clientCredentials: clientCredentials === null ? null : requestOf(clientCredentials),
    exchange: exchange === null
      ? null
      : { ...requestOf(exchange), subjectTokenType: exchange.subjectTokenType, actorToken: exchange.actorToken }
  }
}

function requestOf ({ endpoint, client, auth, audience, resource, scopes }: TokenRequestConfig): TokenRequestConfig {
  return { endpoint: new URL(endpoint).href, client, auth, audience, resource, scopes }
}
