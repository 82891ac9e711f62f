/** Keys that the gateway signs with: `key`, `kid` and `publish` of `card.sign` and `upstream.credentials.identity`. */
import { mapping, text } from './schema-builder.js'
import type { Schema } from './schema-builder.js'

const kid: Schema = {
  type: ['string', 'null'],
  description: 'Key ID (`kid`) of the key. `null`: its thumbprint (RFC 7638). Two keys cannot have one ID, whatever they sign.',
  default: null,
  minLength: 1,
  maxLength: 256
}

/** @param example path of the private key */
export function signingKey (example: string): Readonly<Record<string, Schema>> {
  const next = example.replace('.pem', '-next.pub.pem')
  return {
    key: mapping('The private key.', ['file'], {
      file: {
        ...text(
          'PEM file without a password: EC P-256 (ES256), Ed25519 (EdDSA), or RSA of 2048 bits or more (RS256); relative to the configuration file. The gateway reads it again when it changes.',
          'file'
        ),
        examples: [example]
      }
    }),
    kid,
    publish: {
      type: 'array',
      description:
        'Additional keys in the key set of the gateway. List the next key before you sign with it. List a previous key until nothing that it signed is in use.',
      default: [],
      items: mapping('One key.', ['file'], {
        file: { ...text('PEM file of the key, public or private.', 'file'), examples: [next] },
        kid
      }),
      maxItems: 16
    }
  }
}
