/** Checks of `card.verify` and `card.sign`. */
import { dotted } from '../../diagnostics.js'
import type { Path, PathProblem } from '../../diagnostics.js'
import { unreadable } from '../named-files.js'
import { signingKeyProblems, signingKeyWarnings } from './signing-keys.js'
import { isObject } from '#wire/json/object.js'
import { fault, mapping } from '../../yaml/values.js'
import type { Mapping } from '../../yaml/values.js'

/** Where the card belongs to. `publicUrl` is that of `server`, and may be of any type. */
export interface CardPlace { readonly path: Path, readonly baseDir: string, readonly publicUrl: unknown }

export function signatureProblems (card: Mapping, { path, baseDir, publicUrl }: CardPlace): PathProblem[] {
  return [
    ...(isObject(mapping(card.verify).keys)
      ? verifyProblems(mapping(mapping(card.verify).keys), [...path, 'verify', 'keys'], baseDir)
      : []),
    ...signingKeyProblems(mapping(card.sign), [...path, 'sign'], baseDir),
    ...resignProblems(card, path, publicUrl)
  ]
}

function verifyProblems (keys: Mapping, path: Path, baseDir: string): PathProblem[] {
  const { url, file } = keys
  if (typeof url === 'string' && typeof file === 'string') {
    return [
      fault([...path, 'file'], `${dotted(path)} has both url and file`, 'keep one', 'key')
    ]
  }
  if ((url ?? file ?? null) === null) return [fault(path, `${dotted(path)} needs url or file`, 'such as "file: vendor.jwks.json"', 'key')]
  return unreadable(file, [...path, 'file'], baseDir)
}

function resignProblems (card: Mapping, path: Path, publicUrl: unknown): PathProblem[] {
  if (card.signature !== 'resign') return []
  const at: Path = [...path, 'signature']
  if (card.sign === null || card.sign === undefined) {
    return [
      fault(at, `${dotted(at)}: resign needs sign`, 'such as "sign: {key: {file: secrets/card.pem}}"')
    ]
  }
  // Without it, the URLs in the card follow the Host of each request, and a client that chooses the Host would get them signed.
  return publicUrl === null || publicUrl === undefined
    ? [fault(at, `${dotted(at)}: resign needs server.publicUrl`, 'the signed card names the address of the gateway')]
    : []
}

/** Warns of keys that sign nothing, and of private keys that others can read. */
export function signatureWarnings (card: Mapping, path: Path, baseDir: string): PathProblem[] {
  const at: Path = [...path, 'sign']
  if (card.sign === null || card.sign === undefined) return []
  return [
    ...(card.signature === 'resign'
      ? []
      : [fault(at, `${dotted(at)} signs no card: its keys are published only`, 'write signature: resign', 'key')]),
    ...signingKeyWarnings(mapping(card.sign), at, baseDir)
  ]
}
