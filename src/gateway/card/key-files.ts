/** The key files of `card.verify` and `card.sign`, read once, so that a card is never verified or signed with half a change. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe } from '../../config/describe.js'
import { dotted } from '../../config/diagnostics.js'
import type { Path, PathProblem } from '../../config/diagnostics.js'
import type { CardConfig } from '../../config/model/model.js'
import { fault, items, mapping } from '../../config/yaml/values.js'
import type { PublishedKey, SigningKey } from '../../identity/card-signature.js'
import { readPublishedKey, readSigningKey } from '../../identity/card-signature.js'
import type { VerificationKey } from '../../identity/jwk-set.js'
import { readJwkSet } from '../../identity/jwk-set.js'

export interface CardKeys {
  /** Keys of `card.verify.keys.file`; null without a file. */
  readonly verification: readonly VerificationKey[] | null
  readonly signing: SigningKey | null
  /** The public keys of `card.sign`, the signing key first. */
  readonly published: readonly PublishedKey[]
  /** Changes when the keys that verify change. */
  readonly trust: string
  /** Changes when the content of any file changes. */
  readonly fingerprint: string
}

/** No files at all. */
export const NO_CARD_KEYS: CardKeys = { verification: null, signing: null, published: [], trust: '', fingerprint: '' }

type KeyUser = Pick<CardConfig, 'verify' | 'sign'>

/** Absolute paths of the key files of a card. */
export function cardKeyFiles ({ verify, sign }: KeyUser): string[] {
  const file = verify?.keys.file ?? null
  return [...(file === null ? [] : [file]), ...(sign === null ? [] : [sign.key.file, ...sign.publish.map(one => one.file)])]
}

/** @throws Error with a readable message when a file cannot be used */
export function readCardKeys ({ verify, sign }: KeyUser): CardKeys {
  if (verify === null && sign === null) return NO_CARD_KEYS
  const hash = createHash('sha256')
  const contentOf = (file: string, key: string): Buffer => {
    try {
      const content = readFileSync(file)
      hash.update(`${content.length}:`).update(content)
      return content
    } catch (error) {
      throw new Error(`${key}: cannot read ${file}: ${describe(error)}`, { cause: error })
    }
  }
  const file = verify?.keys.file ?? null
  const set = file === null ? null : usable(readJwkSet(contentOf(file, 'card.verify.keys.file')), 'card.verify.keys.file', file)
  const trust = hash.copy().update(JSON.stringify(verify)).digest('hex')
  const signing = sign === null ? null : usable(readSigningKey(contentOf(sign.key.file, 'card.sign.key.file'), sign.kid), 'card.sign.key.file', sign.key.file)
  const others = sign === null ? [] : sign.publish.map(one => usable(readPublishedKey(contentOf(one.file, 'card.sign.publish'), one.kid), 'card.sign.publish', one.file))
  return {
    verification: set === null ? null : set.keys,
    signing,
    published: signing === null ? [] : [signing.published, ...others],
    trust,
    fingerprint: hash.digest('hex')
  }
}

function usable<T extends object> (read: T | { readonly problem: string }, key: string, file: string): T {
  if ('problem' in read) throw new Error(`${key}: ${file} ${read.problem}`)
  return read
}

/** Checks the content of the key files of all agents. Another check reports files that cannot be read. */
export function unusableCardKeys (value: unknown, baseDir: string): PathProblem[] {
  /** Thumbprints of the published keys, by `kid`. */
  const kids = new Map<string, string>()
  return items(mapping(value).agents).flatMap((agent, index) => {
    const { verify, sign } = mapping(mapping(agent).card)
    const path: Path = ['agents', index, 'card']
    const published = (read: PublishedKey | SigningKey | { readonly problem: string }): { readonly problem: string } | null => {
      if ('problem' in read) return read as { readonly problem: string }
      const { kid, use: _, ...key } = 'published' in read ? (read as SigningKey).published : read as PublishedKey
      const known = kids.get(kid)
      kids.set(kid, JSON.stringify(key))
      return known === undefined || known === JSON.stringify(key) ? null : { problem: `has the kid ${JSON.stringify(kid)} of another key` }
    }
    const { key, kid, publish } = mapping(sign)
    return [
      ...problemsOf(mapping(mapping(verify).keys).file, [...path, 'verify', 'keys', 'file'], { baseDir, read: bytes => problemIn(readJwkSet(bytes)) }),
      ...problemsOf(mapping(key).file, [...path, 'sign', 'key', 'file'], { baseDir, read: bytes => published(readSigningKey(bytes, textOrNull(kid))) }),
      ...items(publish).map(mapping).flatMap((one, at) =>
        problemsOf(one.file, [...path, 'sign', 'publish', at, 'file'], { baseDir, read: bytes => published(readPublishedKey(bytes, textOrNull(one.kid))) })
      )
    ]
  })
}

interface Reading { readonly baseDir: string, readonly read: (bytes: Buffer) => { readonly problem: string } | null }

function problemsOf (file: unknown, path: Path, { baseDir, read }: Reading): PathProblem[] {
  if (typeof file !== 'string' || file === '' || file.includes('\0')) return []
  let bytes: Buffer
  try {
    bytes = readFileSync(resolve(baseDir, file))
  } catch {
    return []
  }
  const found = read(bytes)
  return found === null ? [] : [fault(path, `${dotted(path)}: ${JSON.stringify(file)} ${found.problem}`)]
}

function problemIn (read: object): { readonly problem: string } | null {
  return 'problem' in read ? read as { readonly problem: string } : null
}

function textOrNull (value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
