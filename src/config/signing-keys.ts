/** The key files of `card.sign` and `upstream.credentials.identity`. */
import type { SigningKeyConfig } from './schema/signing-key-schema.js'

/** Returns the absolute paths of the files. */
export function signingKeyFiles ({ key, publish }: SigningKeyConfig): string[] {
  return [key, ...publish].map(({ file }) => file)
}
