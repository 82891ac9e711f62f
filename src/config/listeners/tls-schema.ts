/** TLS of a listener for clients: `server.tls` and `server.grpc.tls`. */
import type { Schema } from '../schema/schema-builder.js'
import { choice, nullable, section } from '../schema/schema-builder.js'

/** @param plain the protocol without a certificate */
export function listenerTls (description: string, plain: string): Schema {
  return section(description, {
    cert: nullable(`PEM file of the certificate, followed by its issuers; needs \`key\`. \`null\`: ${plain}.`, 'file'),
    key: nullable("PEM file of the certificate's private key; needs `cert`.", 'file'),
    clientCa: nullable('PEM file of the authorities that issue client certificates; needs `clientCertificate`.', 'file'),
    clientCertificate: choice(
      'Whether clients present a certificate. `none`: the gateway asks for none; `request`: the gateway accepts clients without a certificate, and rejects clients with an invalid one; `require`: only clients with a valid certificate can connect.',
      ['none', 'request', 'require'],
      'none'
    )
  })
}
