/** Reads the key files of `card.sign`, `upstream.credentials.identity` and `delegation`, and checks them. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileErrorText } from '#config/describe.js'
import { dotted, formatValue } from '#config/diagnostics.js'
import type { Path, PathProblem } from '#config/diagnostics.js'
import type { SigningKeyConfig } from '#config/model/model.js'
import { problemAt, items, mapping } from '#config/yaml/values.js'
import type { KeyProblem, PublicJwk, SigningKey } from '#identity/signing-key.js'
import { readPublicKey, readSigningKey } from '#identity/signing-key.js'
import { OperatorError } from '#operator-errors.js'

export interface SigningKeys {
  readonly signing: SigningKey
  /** The keys for the key set of the gateway, the signing one first. */
  readonly published: readonly PublicJwk[]
}

/**
 * @param place keys of the configuration, such as `card.sign`
 * @throws Error with a readable message when a file cannot be used
 */
export function readSigningKeys ({ key, kid, publish }: SigningKeyConfig, place: string): SigningKeys {
  const signing = readKeyFile(key.file, `${place}.key.file`, pem => readSigningKey(pem, kid))
  return {
    signing, published: [signing.jwk, ...publish.map(ref => readKeyFile(ref.file, `${place}.publish`, pem => readPublicKey(pem, ref.kid)))]
  }
}

/** @throws Error with a readable message when the file cannot be used */
export function readKeyFile<T extends object> (file: string, place: string, read: (bytes: Buffer) => T | KeyProblem): T {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    throw new OperatorError('A2AGW_ERR_CONFIG_FILE', `${place}: cannot read ${file}: ${fileErrorText(error)}`, { cause: error })
  }
  const keyPair = read(bytes)
  if ('problem' in keyPair) throw new OperatorError('A2AGW_ERR_CONFIG_FILE', `${place}: ${file} ${String(keyPair.problem)}`)
  return keyPair as T
}

const PLACES = [['card', 'sign'], ['upstream', 'credentials', 'identity']] as const

/** Checks the key files of all agents: they have keys, and no two keys have one `kid`, because all of them are in one key set. */
export function unusableSigningKeys (value: unknown, baseDir: string): PathProblem[] {
  /** The public keys, by `kid`. */
  const texts = new Map<string, string>()
  const problemOf = (key: PublicJwk | KeyProblem): KeyProblem | null => {
    if ('problem' in key) return key
    const text = JSON.stringify(key)
    const other = texts.get(key.kid) ?? text
    texts.set(key.kid, other)
    return other === text ? null : { problem: `has the kid ${formatValue(key.kid)} of another key` }
  }
  const publicPart = (key: SigningKey | KeyProblem): PublicJwk | KeyProblem => 'problem' in key ? key : key.jwk
  const { agents, delegation } = mapping(value)
  const ofAgents = items(agents).flatMap((agent, index) => PLACES.map(place => {
    const path: Path = ['agents', index, ...place]
    return { path, keys: place.reduce<unknown>((node, name) => mapping(node)[name], agent) }
  }))
  return [...ofAgents, { path: ['delegation'] as Path, keys: delegation }].flatMap(({ path, keys }) => {
    const { key, kid, publish } = mapping(keys)
    return [
      ...keyFileProblems(
        mapping(key).file, [...path, 'key', 'file'], { baseDir, read: pem => problemOf(publicPart(readSigningKey(pem, textOrNull(kid)))) }
      ),
      ...items(publish).map(mapping).flatMap((entry, at) =>
        keyFileProblems(
          entry.file, [...path, 'publish', at, 'file'], { baseDir, read: pem => problemOf(readPublicKey(pem, textOrNull(entry.kid))) }
        )
      )
    ]
  })
}

interface Reading { readonly baseDir: string, readonly read: (bytes: Buffer) => KeyProblem | null }

/** Checks the content of a file. Another check reports files that cannot be read. */
export function keyFileProblems (file: unknown, path: Path, { baseDir, read }: Reading): PathProblem[] {
  if (typeof file !== 'string' || file === '' || file.includes('\0')) return []
  let bytes: Buffer
  try {
    bytes = readFileSync(resolve(baseDir, file))
  } catch {
    return []
  }
  const keyPair = read(bytes)
  return keyPair === null
    ? []
    : [problemAt(path, `${dotted(path)}: ${formatValue(file)} ${keyPair.problem}`, undefined, 'value', 'A2AGW_ERR_CONFIG_FILE')]
}

function textOrNull (value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
