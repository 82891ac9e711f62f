/** Keys that the gateway signs with: `key`, `kid` and `publish` of `card.sign` and `upstream.credentials.identity`. */
import { array, mapping, text } from './schema-builder.js'
import type { Schema, ValuesOf } from './schema-builder.js'

const kid: Schema<string | null> = {
  type: ['string', 'null'],
  description: 'Key ID (`kid`) of the key. `null`: its thumbprint (RFC 7638). Two keys cannot have one ID, whatever they sign.',
  default: null,
  minLength: 1,
  maxLength: 256
}

const published = (example: string) => mapping('One key.', ['file'], {
  file: { ...text('PEM file of the key, public or private.', 'file'), examples: [example] },
  kid
})

/** @param example path of the private key */
export const signingKey = (example: string) => ({
  key: mapping('The private key.', ['file'], {
    file: {
      ...text(
        'PEM file without a password: EC P-256 (ES256), Ed25519 (EdDSA), or RSA of 2048 bits or more (RS256); relative to the ' +
          'configuration file. The gateway reads it again when it changes.',
        'file'
      ),
      examples: [example]
    }
  }),
  kid,
  publish: array(
    'Additional keys in the key set of the gateway. List the next key before you sign with it. List a previous key until nothing that it ' +
      'signed is in use.',
    published(example.replace('.pem', '-next.pub.pem')),
    { maxItems: 16 },
    []
  )
})

/** A key that the gateway signs with. `kid` is null for the thumbprint of the key. */
export type SigningKeyConfig = ValuesOf<ReturnType<typeof signingKey>>

/** A further key in the key set of the gateway. */
export type PublishedKeyConfig = SigningKeyConfig['publish'][number]
