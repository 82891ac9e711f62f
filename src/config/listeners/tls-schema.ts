/** TLS of listeners, and of connections that the gateway opens. */
import type { TypeOf } from '../schema/schema-builder.js'
import { choice, nullable, section } from '../schema/schema-builder.js'

/** @param plain the protocol without a certificate */
export const listenerTls = (description: string, plain: string) =>
  section(description, {
    cert: nullable(`PEM file of the certificate, followed by its issuers; needs \`key\`. \`null\`: ${plain}.`, 'file'),
    key: nullable("PEM file of the certificate's private key; needs `cert`.", 'file'),
    clientCa: nullable('PEM file of the authorities that issue client certificates; needs `clientCertificate`.', 'file'),
    clientCertificate: choice(
      'Whether clients present a certificate. `none`: the gateway asks for none; `request`: the gateway accepts clients without a ' +
        'certificate, and rejects clients with an invalid one; `require`: only clients with a valid certificate can connect.',
      ['none', 'request', 'require'],
      'none'
    )
  })

/** @param peer noun for the other side in the descriptions: `agent` or `server` */
export const clientTls = (peer: string) =>
  section(`TLS towards an https ${peer}. The ${peer}'s certificate is always verified. Paths are relative to the configuration file.`, {
    ca: nullable("PEM file of certificate authorities to trust instead of the system's.", 'file'),
    cert: nullable('PEM file of the client certificate; needs `key`.', 'file'),
    key: nullable("PEM file of the client certificate's key; needs `cert`.", 'file'),
    serverName: nullable(`Expected name in the ${peer}'s certificate. \`null\`: the host of the URL.`, 'host')
  })

/** TLS of connections that the gateway opens. Paths are absolute. */
export type ClientTlsConfig = TypeOf<ReturnType<typeof clientTls>>

/** TLS of a listener, as in the file. Files are PEM. */
export type ListenerTlsKeys = TypeOf<ReturnType<typeof listenerTls>>

/** TLS of a listener. `clientCa` is not null unless `clientCertificate` is `none`. */
export type ListenerTlsConfig = ListenerTlsKeys & { readonly cert: string, readonly key: string }
