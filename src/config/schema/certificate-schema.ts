/** `identity.sources.<name>.certificate`: callers by their client certificate. */
import type { Schema } from './schema-builder.js'
import { choice, count, list, mapping } from './schema-builder.js'

export const certificateSchema: Schema = mapping(
  'Client certificates. A caller is its SPIFFE ID, if the certificate has one, else its name of the kind `san`; never its common name. Needs `trustDomains`, `san` or both.',
  ['from'],
  {
    from: choice(
      'Who has verified the certificate. `tls`: the listener of the gateway, see `server.tls.clientCertificate`. `xfcc` and `rfc9440`: a proxy, which passes it on in `x-forwarded-client-cert` (Envoy, Istio) or `Client-Cert` (RFC 9440).',
      ['tls', 'xfcc', 'rfc9440']
    ),
    proxies: list(
      'IP addresses and CIDRs of the proxies that may send the header; required for `xfcc` and `rfc9440`. The gateway looks only at the peer that connects directly, and removes the header of all other peers. List only proxies that replace a header of the client: a load balancer in `server.trustedProxies` passes it through.',
      { type: 'string', 'x-format': 'proxy', examples: ['127.0.0.1/32'] },
      []
    ),
    hops: count(
      'Number of proxies that add an element to `x-forwarded-client-cert`. The header must have exactly this number of elements; the first is the caller.',
      1, 1, 10
    ),
    trustDomains: list(
      'Accepted trust domains of SPIFFE IDs, in lower case. The gateway rejects a certificate with a SPIFFE ID of another trust domain, whatever its other names.',
      { type: 'string', 'x-format': 'trust-domain', examples: ['prod.example.com'] },
      []
    ),
    san: {
      type: ['string', 'null'],
      description: 'Kind of subject alternative name that identifies a caller without a SPIFFE ID. The certificate must have exactly one of this kind. `null`: only SPIFFE IDs.',
      default: null,
      enum: ['dns', 'uri', 'email', null]
    }
  }
)
