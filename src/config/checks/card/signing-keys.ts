/** Checks of the key files of `card.sign` and `upstream.credentials.identity`. Another check reads the keys in them. */
import type { Path, PathProblem } from '../../diagnostics.js'
import { items, mapping } from '../../yaml/values.js'
import type { Mapping } from '../../yaml/values.js'
import { readableByAll, unreadable } from '../named-files.js'

/** @param config mapping with `key` and `publish` */
export function signingKeyProblems (config: Mapping, path: Path, baseDir: string): PathProblem[] {
  return [
    ...unreadable(mapping(config.key).file, [...path, 'key', 'file'], baseDir),
    ...items(config.publish).flatMap((entry, index) => unreadable(mapping(entry).file, [...path, 'publish', index, 'file'], baseDir))
  ]
}

/** Warns of a private key that others can read. */
export function signingKeyWarnings (config: Mapping, path: Path, baseDir: string): PathProblem[] {
  return readableByAll(mapping(config.key).file, [...path, 'key', 'file'], baseDir)
}
