/**
 * Secrets that policies inject. Their content is never part of the configuration, so nothing that shows or hashes the configuration can
 * reveal them.
 */
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import type { AgentConfig, CardConfig, InjectionConfig } from './model/model.js'
import type { SecretConfig } from './schema/schema-builder.js'
import { readBounded } from './yaml/read-bounded.js'
import type { Environment } from './yaml/substitute.js'
import { parseStrict } from '#wire/json/json.js'
import { OperatorError } from '#operator-errors.js'
import { fileErrorText } from './describe.js'
import type { SecretHeaderConfig, SecretHeaders } from './schema/secret-headers-schema.js'

const MAX_SECRET_BYTES = 64 * 1024

/** Headers with their values, by name in lower case. */
export type Headers = Readonly<Record<string, string>>

export interface Secrets {
  /** Returns the content of an injected secret as JSON text. */
  of (injection: InjectionConfig): string
  /** `card.headers` */
  readonly card: Headers
  /** `card.extended.headers` */
  readonly extended: Headers
  /** Changes when the content of a secret changes. */
  readonly fingerprint: string
}

/** The parts of an agent's configuration that name secrets. */
type SecretUser = Pick<AgentConfig, 'policies'> & { readonly card: Pick<CardConfig, 'headers' | 'extended'> }

type As = 'text' | 'json'

/**
 * Reads every secret of an agent: those that its policies inject, and those for its card.
 * @throws Error in plain words when a secret cannot be read; the message has the secret's name and not its content
 */
export function readSecrets ({ policies, card }: SecretUser, env: Environment): Secrets {
  const values = new Map<string, string>()
  const keyOf = ({ fromSecret, as = 'text' }: InjectionConfig): string =>
    JSON.stringify([as, fromSecret?.file ?? null, fromSecret?.env ?? null])
  const hash = createHash('sha256')
  for (const { name, policy } of policies) {
    for (const injection of policy.inject ?? []) {
      const { fromSecret, as } = injection
      if (fromSecret === undefined) continue
      const read = readSecret(fromSecret, as, env)
      if ('problem' in read) throw new OperatorError('A2AGW_ERR_CONFIG_SECRET', `extensions.${name}: ${read.problem}`)
      const key = keyOf(injection)
      values.set(key, read.json)
      hash.update(`${key.length}:${read.json.length}:`).update(key).update(read.json)
    }
  }
  const headers = readHeaders(card.headers, env)
  const extended = readHeaders(card.extended?.headers ?? {}, env, 'card.extended.headers')
  hash.update(JSON.stringify([headers, extended]))
  return {
    card: headers,
    extended,
    of: injection => {
      const json = values.get(keyOf(injection))
      if (json === undefined) throw new Error('a secret was not read')
      return json
    },
    fingerprint: hash.digest('hex')
  }
}

/** Returns the absolute paths of all secret files that an agent uses. */
export function secretFiles ({ policies, card }: SecretUser): string[] {
  const headers = [card.headers, card.extended?.headers ?? {}].flatMap(group => Object.values(group))
  return [...policies.flatMap(({ policy }) => policy.inject ?? []).map(({ fromSecret }) => fromSecret), ...headers]
    .map(source => source?.file)
    .filter(file => file !== undefined)
}

/**
 * Reads the values of headers.
 * @param key of the configuration, for messages
 * @throws Error in plain words when a secret cannot be read; the message has the secret's name and not its content
 */
export function readHeaders (headers: SecretHeaders, env: Environment, key = 'card.headers'): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, source]) => {
      const read = readHeader(source, env)
      if ('problem' in read) throw new OperatorError('A2AGW_ERR_CONFIG_SECRET', `${key}.${name}: ${read.problem}`)
      return [name.toLowerCase(), read.value]
    })
  )
}

/** Reads the value of one header: at least one visible ASCII character, and no control character. */
export function readHeader (
  { prefix = '', ...source }: SecretHeaderConfig,
  env: Environment
): { readonly value: string } | { readonly problem: string } {
  const secret = source.file === undefined ? fromEnvironment(source.env ?? '', env) : fromFile(source.file)
  if ('problem' in secret) return secret
  if (secret.text === '') return { problem: `${secret.name} is empty` }
  const value = (prefix + secret.text).trim()
  return /^[\x20-\x7e]+$/.test(value)
    ? { value }
    : { problem: `${secret.name} contains a character that a header cannot contain` }
}

/**
 * Reads one secret.
 * @param source location with an absolute `file`
 * @returns the secret as JSON text, or the problem
 */
export function readSecret (
  source: SecretConfig,
  as: As | undefined,
  env: Environment
): { readonly json: string } | { readonly problem: string } {
  const secret = source.file === undefined ? fromEnvironment(source.env ?? '', env) : fromFile(source.file)
  if ('problem' in secret) return secret
  const { text, name } = secret
  if (as !== 'json') return text === '' ? { problem: `${name} is empty` } : { json: JSON.stringify(text) }
  const parsed = parseStrict(Buffer.from(text), { depth: 64, members: 10_000 })
  return parsed.ok ? { json: text.trim() } : { problem: `${name} is not valid JSON` }
}

type SecretLookup = { readonly text: string, readonly name: string } | { readonly problem: string }

function fromEnvironment (variable: string, env: Environment): SecretLookup {
  const text = Object.hasOwn(env, variable) ? env[variable] : undefined
  const name = `environment variable ${variable}`
  if (text === undefined) return { problem: `${name} is not set` }
  return Buffer.byteLength(text) > MAX_SECRET_BYTES ? { problem: `${name} is larger than 64 KiB` } : { text, name }
}

function fromFile (file: string): SecretLookup {
  let bytes: Buffer | null
  try {
    // Reading a pipe would block.
    if (!statSync(file).isFile()) return { problem: `cannot read ${file}: not a file` }
    bytes = readBounded(file, MAX_SECRET_BYTES)
  } catch (error) {
    return { problem: `cannot read ${file}: ${fileErrorText(error)}` }
  }
  const name = `the file ${file}`
  if (bytes === null) return { problem: `${name} is larger than 64 KiB` }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes).replace(/\r?\n$/, ''), name }
  } catch {
    return { problem: `${name} is not UTF-8` }
  }
}
