/** The key `server`. */
import { grpcListener } from '../listeners/grpc-schema.js'
import type { ListenerTlsConfig } from '../listeners/tls-schema.js'
import { listenerTls } from '../listeners/tls-schema.js'
import type { HostPort } from '../model/listener-model.js'
import type { CallerConfig } from './caller-schema.js'
import { audiences, callerWithoutMatch } from './caller-schema.js'
import type { Schema, TypeOf, ValuesOf } from './schema-builder.js'
import { array, count, duration, flag, list, mapping, nullable, orNull, section, string, text } from './schema-builder.js'

/* `server.mesh`. */

const meshListener = section(
  'Where proxies of a mesh ask the gateway about each call: Envoy, Envoy Gateway, Istio, agentgateway. The listener serves `ext_authz` ' +
    'and `ext_proc` of Envoy. Changes need a restart.',
  {
    listen: nullable(
      'Address of the listener, in the form of `server.listen`. Any client that reaches it can probe the policies: use a loopback ' +
        'address, or `tls` with `clientCertificate: require`. `null`: no such listener.',
      'host-port'
    ),
    tls: listenerTls(
      'TLS of the listener, 1.2 or later. The gateway reads the files again when they change. Certificates that clients present here ' +
        'belong to proxies, never to callers. Paths are relative to the configuration file.',
      'HTTP/2 in clear text'
    )
  }
)

const ADMIN_ACCESS = {
  sources: array(
    'Names of sources in `identity.sources` whose callers may use the admin listener.',
    string('name'),
    { minItems: 1, maxItems: 100, uniqueItems: true }
  ),
  audience: {
    ...audiences(
      'Values of the claim `aud` of access tokens for the admin listener: a token must name one of them, besides one of the `audience` ' +
        'of its source. Set this key if agents use the same source. The admin listener then rejects tokens for an agent. `null`: every ' +
        'audience of the source.'
    ),
    default: null
  } as Schema<readonly string[] | null>,
  allow: array(
    'Conditions on the caller; one of them must match. Empty: every caller of `sources`.',
    callerWithoutMatch('A condition on the caller. All keys must match.') as Schema<CallerConfig>,
    { maxItems: 1000 },
    []
  ),
  session: duration(
    'Longest session of a browser. A session ends earlier when its credential expires or is revoked, and when the gateway restarts.',
    '8h', '1m', '168h'
  )
}

/** Who may use `/agents` and the console. `session` is in ms. */
export type AdminAccessConfig = ValuesOf<typeof ADMIN_ACCESS, 'sources'>

const adminAccess: Schema<AdminAccessConfig | null> = {
  type: ['object', 'null'],
  description:
    'Who may use `/agents` and the console: callers that `sources` verify and that `allow` names. Browsers sign in under `/console/` and ' +
      'get a session cookie. Probes and `/metrics` stay open; use `server.metrics` and a network policy for these. `null`: everybody who ' +
      'reaches the admin listener.',
  default: null,
  required: ['sources'],
  properties: ADMIN_ACCESS,
  additionalProperties: false
}

export const serverSchema = section('Where the gateway listens.', {
  listen: {
    ...nullable(
      'Address of the main listener, which serves the agents. `:8080` means every IPv4 interface; with port 0, the system chooses a ' +
        'port. `null`: no main listener; `server.mesh.listen` is then required.',
      'host-port'
    ),
    default: '0.0.0.0:8080'
  },
  admin: text('Address of the admin listener: probes, metrics, state of the agents.', 'host-port', '127.0.0.1:9901'),
  metrics: nullable(
    'Address of a separate listener for `/metrics` and the probes, so that a network policy can open them without the console. `null`: ' +
      'no separate listener. The admin listener always serves them too.',
    'host-port'
  ),
  adminHosts: list(
    'Host names, without port, by which the admin listener serves `/agents` and the console; IP addresses, localhost and the name in ' +
      '`admin` always work. The gateway rejects other names with 403, because an attacker could rebind them (DNS rebinding). `/metrics` ' +
      'and the probes respond to any name.',
    string('host'),
    []
  ),
  adminAccess,
  publicUrl: nullable(
    'URL at which clients reach the main listener; the gateway writes it into the cards it serves. `null`: the scheme and the Host of ' +
      'each request for a card, or X-Forwarded-Proto and X-Forwarded-Host of trusted proxies. Absolute, http or https, without query and fragment.',
    'base-url'
  ),
  hosts: list(
    'Host names, without port, by which clients reach the main listener. The gateway rejects requests for other hosts with 421; hosts of ' +
      'agents and of `publicUrl` are always served. Empty: any host.',
    string('host'),
    []
  ),
  trustedProxies: list(
    'IP addresses and CIDRs of proxies whose X-Forwarded-* headers the gateway trusts. If X-Forwarded-Host or X-Forwarded-Proto has ' +
      'several values, the gateway uses the last.',
    string('proxy'),
    []
  ),
  drainTimeout: duration('How long the gateway waits for calls and streams in flight when it stops.', '20s', '0s', '1h'),
  stateDir: nullable(
    'Directory for the last good state of `agentSources`. After a restart, the gateway uses this state while it cannot read a source. ' +
      'Relative to the configuration file; the gateway creates it. `null`: the state is lost with a restart.',
    'file-or-directory'
  ),
  workers: {
    type: ['integer', 'string'],
    description:
      'Processes that serve the main listener, 1 to 64. `auto`: one per processor that the process may use, by its CPU affinity and the ' +
        'CPU limit of its container.',
    default: 1,
    minimum: 1,
    maximum: 64,
    'x-format': 'workers'
  } as Schema<number | 'auto'>,
  tls: listenerTls(
    'TLS of the main listener, 1.2 or later. The gateway reads the files again when they change; `clientCertificate`, and switching TLS ' +
      'on or off, need a restart. Paths are relative to the configuration file.',
    'plain HTTP'
  ),
  grpc: grpcListener,
  mesh: meshListener,
  catalog: section(
    'The AI Catalog of the agents at `/.well-known/ai-catalog.json` of the main listener: an entry for each agent whose card callers ' +
      'without credentials may see. The gateway signs the catalog with the first ES256 key of `card.sign`, and publishes the keys at ' +
      '`/.well-known/did.json`.',
    {
      publish: flag('Whether the gateway publishes the catalog. Needs `publisher`.', false),
      publisher: orNull(
        mapping('The operator of the catalog. `null`: none.', ['domain', 'name'], {
          domain: {
            ...text(
              'Domain name that you control. The publisher is `did:web:` and this name, and identifiers begin with `urn:air:` and this name.',
              'domain'
            ),
            examples: ['agents.example.com']
          },
          name: {
            type: 'string',
            description: 'Name for people, such as that of your organization.',
            minLength: 1,
            maxLength: 200,
            examples: ['Example Inc.']
          } as Schema<string>
        })
      ),
      documentationUrl: nullable('URL of documentation about your agents. `null`: none.', 'url')
    }
  ),
  console: section('The page on the admin listener, under `/console/`, and the directory of agents. Changes need a restart.', {
    enabled: flag('Whether the gateway serves the console.', true),
    tryIt: flag('Whether the console can send calls to the agents, through the main listener.', false),
    playground: flag(
      'Whether the console has a playground: an editor that shows what a policy decides about one request, and about the requests that ' +
        '`requests` keeps. The playground changes nothing, and sends nothing to agents.',
      false
    ),
    requests: count(
      'Number of requests of each agent that each process keeps in memory, with their data, for the playground. The gateway removes the ' +
        'credentials. 0: none. Needs `playground`.',
      0,
      0,
      1000
    ),
    decisions: count('Number of rejections and violations that each process keeps for the console.', 200, 1, 10000),
    hosts: list(
      'Additional host names for `/agents` and the console, in the form of `server.adminHosts`.', string('host'), []
    ),
    traceUrl: nullable(
      'URL of a trace in the tool that shows your traces, with the placeholder `{traceId}`. The console links each decision to its ' +
        'trace. `null`: no link.',
      'trace-url'
    ),
    public: nullable(
      'Path of the directory of agents on the main listener, such as `/catalogue`: a page for developers of clients, which shows the ' +
        'cards as callers without credentials get them. `null`: no directory.',
      'directory-path'
    )
  })
})

/** The console on the admin listener, and the directory of agents on the main listener. */
export type ConsoleConfig = ServerKeys['console']

/** `server`, as in the file. Times are ms. */
export type ServerKeys = TypeOf<typeof serverSchema>

/** `server.mesh`, as in the file. */
export type MeshListenerKeys = ServerKeys['mesh']

export interface MeshListenerConfig {
  readonly listen: HostPort
  /** Null: clear-text HTTP/2 with prior knowledge (h2c). */
  readonly tls: ListenerTlsConfig | null
}
