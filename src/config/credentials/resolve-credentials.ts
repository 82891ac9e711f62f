/** Turns the valid key `upstream.credentials` into the model. */
import type {
  CredentialsKeys, SentCredentialConfig, SentKeys, TokenRequestConfig, UpstreamCredentialsConfig
} from '../schema/credentials-schema.js'

/** Names of headers become lower case, and `for` moves from the kind of the credential to its entry. */
export function resolveCredentials ({ client, send, identity }: CredentialsKeys): UpstreamCredentialsConfig {
  return {
    client,
    send: send.map(sentOf),
    identity: identity === null ? null : { ...identity, header: identity.header.toLowerCase() }
  }
}

function sentOf (entry: SentKeys): SentCredentialConfig {
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
