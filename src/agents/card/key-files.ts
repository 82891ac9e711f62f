/** The key files of `card.verify` and `card.sign`, read once, so that a card is never verified or signed with half a change. */
import { createHash } from 'node:crypto'
import type { Path, PathProblem } from '#config/diagnostics.js'
import { digest } from '#config/digest.js'
import type { CardConfig } from '#config/model/model.js'
import { signingKeyFiles } from '#config/signing-keys.js'
import { items, mapping } from '#config/yaml/values.js'
import type { VerificationKey } from '#identity/jwk-set.js'
import { readJwkSet } from '#identity/jwk-set.js'
import type { PublicJwk, SigningKey } from '#identity/signing-key.js'
import { keyFileProblems, readKeyFile, readSigningKeys } from '../keys/signing-keys.js'

export interface CardKeys {
  /** Keys of `card.verify.keys.file`; null without a file. */
  readonly verification: readonly VerificationKey[] | null
  readonly signing: SigningKey | null
  /** The public keys of `card.sign`, the signing key first. */
  readonly published: readonly PublicJwk[]
  /** Changes when the keys that verify change. Empty without `card.verify`. */
  readonly trust: string
  /** Changes when any key changes. */
  readonly fingerprint: string
}

/** No files at all. */
export const NO_CARD_KEYS: CardKeys = { verification: null, signing: null, published: [], trust: '', fingerprint: '' }

type KeyUser = Pick<CardConfig, 'verify' | 'sign'>

/** Absolute paths of the key files of a card. */
export function cardKeyFiles ({ verify, sign }: KeyUser): string[] {
  const file = verify?.keys.file ?? null
  return [...(file === null ? [] : [file]), ...(sign === null ? [] : signingKeyFiles(sign))]
}

/** @throws Error with a readable message when a file cannot be used */
export function readCardKeys ({ verify, sign }: KeyUser): CardKeys {
  if (verify === null && sign === null) return NO_CARD_KEYS
  const hash = createHash('sha256')
  const file = verify?.keys.file ?? null
  const readSet = (bytes: Buffer): ReturnType<typeof readJwkSet> => {
    hash.update(bytes)
    return readJwkSet(bytes)
  }
  const set = file === null ? null : readKeyFile(file, 'card.verify.keys.file', readSet)
  const trust = verify === null ? '' : digest([verify, hash.digest('hex')])
  const { signing, published } = sign === null ? { signing: null, published: [] } : readSigningKeys(sign, 'card.sign')
  return { verification: set === null ? null : set.keys, signing, published, trust, fingerprint: digest([trust, published]) }
}

/** Checks the content of the key files that verify cards. */
export function unusableCardKeys (value: unknown, baseDir: string): PathProblem[] {
  return items(mapping(value).agents).flatMap((agent, index) => {
    const path: Path = ['agents', index, 'card', 'verify', 'keys', 'file']
    const { file } = mapping(mapping(mapping(mapping(agent).card).verify).keys)
    return keyFileProblems(file, path, {
      baseDir,
      read: bytes => {
        const set = readJwkSet(bytes)
        return 'problem' in set ? set : null
      }
    })
  })
}
