/** `server.mesh`. */
import { nullable, section } from '../schema/schema-builder.js'
import { listenerTls } from './tls-schema.js'

export const meshListener = section(
  'Where proxies of a mesh ask the gateway about each call: Envoy, Envoy Gateway, Istio, agentgateway. The listener serves `ext_authz` and `ext_proc` of Envoy. Changes need a restart.',
  {
    listen: nullable(
      'Address of the listener, in the form of `server.listen`. Any client that reaches it can probe the policies: use a loopback address, or `tls` with `clientCertificate: require`. `null`: no such listener.',
      'host-port'
    ),
    tls: listenerTls(
      'TLS of the listener, 1.2 or later. The gateway reads the files again when they change. Certificates that clients present here belong to proxies, never to callers. Paths are relative to the configuration file.',
      'HTTP/2 in clear text'
    )
  }
)
