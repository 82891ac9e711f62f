/** The secrets of `upstream.credentials`. As in `secrets.ts`, their content is never part of the configuration. */
import { parseJson } from '#wire/json/parse-json.js'
import { OperatorError } from '#operator-errors.js'
import type { SentCredentialConfig, UpstreamCredentialsConfig } from './schema/credentials-schema.js'
import type { SecretConfig } from './schema/schema-builder.js'
import { readHeader, readSecret } from './secrets.js'
import { signingKeyFiles } from './signing-keys.js'
import type { Environment } from './yaml/substitute.js'

/** Secrets of one entry of `send`. */
export interface SentSecrets {
  /** Value of the header of a static secret; null for tokens. */
  readonly header: string | null
  /** Secret of the client; null for a static secret. */
  readonly client: string | null
  readonly actorToken: string | null
}

/**
 * Reads the secrets of the entries, in their order.
 * @throws Error in plain words when a secret cannot be read; the message has the secret's name and not its content
 */
export function readCredentialSecrets ({ send }: UpstreamCredentialsConfig, env: Environment): SentSecrets[] {
  return send.map(({ fromSecret, prefix, clientCredentials, exchange }, index) => {
    const key = `upstream.credentials.send[${index}]`
    const request = clientCredentials ?? exchange
    const actor = exchange?.actorToken ?? null
    return {
      header: fromSecret === null ? null : valueOf(readHeader({ ...fromSecret, prefix }, env), key),
      client: request === null ? null : textOf(request.client.secret, env, key),
      actorToken: actor === null ? null : textOf(actor, env, key)
    }
  })
}

/** Returns the absolute paths of all files of the key: secrets, and keys of the identity header. */
export function credentialSecretFiles ({ send, identity }: UpstreamCredentialsConfig): string[] {
  const files = send.flatMap(secretsOf).map(({ file }) => file).filter(file => file !== undefined)
  return identity === null ? files : [...files, ...signingKeyFiles(identity)]
}

function secretsOf ({ fromSecret, clientCredentials, exchange }: SentCredentialConfig): SecretConfig[] {
  return [fromSecret, clientCredentials?.client.secret, exchange?.client.secret, exchange?.actorToken]
    .filter(secret => secret !== null && secret !== undefined)
}

function textOf ({ file, env: variable }: SecretConfig, env: Environment, key: string): string {
  const source = file === undefined ? { ...variable === undefined ? {} : { env: variable } } : { file }
  const read = readSecret(source, 'text', env)
  return valueOf('problem' in read ? read : { value: parseJson(read.json) as string }, key)
}

function valueOf (read: { readonly value: string } | { readonly problem: string }, key: string): string {
  if ('problem' in read) throw new OperatorError('A2AGW_ERR_CONFIG_SECRET', `${key}: ${read.problem}`)
  return read.value
}
