/** The key files of `card.sign` and `upstream.credentials.identity`. */
import { resolve } from 'node:path'
import type { SigningKeyConfig } from './model/signing-key-model.js'
import { items, mapping } from './yaml/values.js'

/** Returns the configuration with absolute paths. */
export function resolveSigningKeys<T extends SigningKeyConfig> (config: T, baseDir: string): T {
  const onDisk = <F extends { readonly file: string }>(one: F): F => ({ ...one, file: resolve(baseDir, one.file) })
  return { ...config, key: onDisk(config.key), publish: config.publish.map(onDisk) }
}

/** Returns the absolute paths of the files. */
export function signingKeyFiles ({ key, publish }: SigningKeyConfig): string[] {
  return [key, ...publish].map(({ file }) => file)
}

/** Returns the paths that the configuration names, as written. The value may still be wrong. */
export function namedKeyFiles (value: unknown): unknown[] {
  const { key, publish } = mapping(value)
  return [key, ...items(publish)].map(one => mapping(one).file)
}
