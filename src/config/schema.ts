import { policySchema } from './policy-schema.js'
import { choice, count, duration, flag, fraction, list, mapping, nullable, section, size, text } from './schema-kit.js'
import type { Schema } from './schema-kit.js'

/** The one version of the configuration format. */
export const CONFIG_VERSION = 1

/** Policies in force for an agent that names none. */
export const DEFAULT_POLICIES: readonly string[] = ['object-schemas']

const server = section('Where the gateway listens.', {
  listen: text('Address of the main listener, which serves the agents. `:8080` is every IPv4 interface; port 0 lets the system choose.', 'host-port', '0.0.0.0:8080'),
  admin: text('Address of the admin listener: probes, metrics, state of the agents.', 'host-port', '127.0.0.1:9901'),
  publicUrl: nullable('URL at which clients reach the main listener; served cards point here. `null`: `http://` and `listen`. Absolute, http or https, without query and fragment.', 'base-url'),
  trustedProxies: list('IP addresses and CIDRs of proxies in front whose X-Forwarded-* headers count.', { type: 'string', 'x-format': 'proxy' }, []),
  drainTimeout: duration('How long a stop waits for calls and streams in flight.', '20s', '0s', '1h'),
  workers: { type: ['integer', 'string'], description: 'Processes that serve the main listener, 1 to 64. `auto`: one per processor that this process may use, by its affinity and the CPU limit of its container.', default: 1, minimum: 1, maximum: 64, 'x-format': 'workers' },
  console: section('The page on the admin listener, under `/console/`. Changes need a restart.', {
    enabled: flag('Whether there is one.', true),
    tryIt: flag('Whether calls to the agents can be sent from it, through the main listener.', false),
    decisions: count('Refusals and findings that it can look back on, in each process.', 200, 1, 10000),
    hosts: list('Host names under which browsers may ask for it, without port; IP addresses, localhost and the name in `admin` always may. Other names are refused, for they may be rebound by a stranger (DNS rebinding).', { type: 'string', 'x-format': 'host' }, [])
  })
})

const limits = section('What one request, one answer and one client may cost. More is refused.', {
  headers: size('Request line and headers of a request.', '32KiB', '1KiB', '1MiB'),
  body: size('Body of a request.', '4MiB', '1B', '256MiB'),
  response: size('Body of an answer that the gateway has to read whole.', '16MiB', '1B', '256MiB'),
  event: size('One event of an event stream that the gateway has to read.', '1MiB', '1B', '64MiB'),
  card: size('An agent\'s card.', '1MiB', '1B', '16MiB'),
  jsonDepth: count('Nesting of JSON in a request.', 64, 1, 512),
  jsonMembers: count('Members and items of JSON in a request.', 100000, 1, 10000000),
  extensions: count('Extension URIs requested at once.', 64, 1, 1024),
  headersTimeout: duration('Time to receive the headers of a request; never more than `requestTimeout`.', '10s', '1ms', '1h'),
  requestTimeout: duration('Time to receive a whole request.', '30s', '1ms', '1h'),
  idleTimeout: duration('How long a client\'s connection may stay open without a request.', '72s', '1s', '1h'),
  writeTimeout: duration('A client that takes nothing of what waits for it for so long is disconnected; 0s waits for ever.', '60s', '0s', '1h'),
  memory: size('Bodies of requests and of answers read whole that the process holds at once.', '128MiB', '1MiB', '64GiB'),
  connections: count('Connections of clients at once; 0 is no limit.', 0, 0, 1000000)
})

const shedding = section('When the process has more to do than it can, new calls are refused with 503 and Retry-After; those under way go on. Measured once a second.', {
  eventLoopDelay: duration('How much later than due the process comes to do things, on average of a second and twice in a row; 0s does not look.', '1s', '0s', '1m'),
  eventLoopUtilization: fraction('Share of a second that the process is busy; 0 does not look.', 0),
  heapUsed: size('Memory of JavaScript objects; 0B does not look.', '0B', '0B', '64GiB'),
  rss: size('Memory of the whole process; 0B does not look.', '0B', '0B', '64GiB'),
  retryAfter: duration('What Retry-After tells clients, here and where too much is under way at once; in whole seconds.', '5s', '1s', '1h')
})

const upstream: Schema = mapping('The agent behind the gateway.', ['url'], {
  url: { ...text('URL of the agent: absolute, http or https, without query, fragment and credentials. Its path is the base from which the agent\'s interfaces are mapped.', 'base-url'), examples: ['http://127.0.0.1:9999'] },
  timeouts: section('How long to wait for the agent.', {
    connect: duration('To open a connection.', '3s', '1ms', '5m'),
    headers: duration('For the headers of its answer; 0s waits for ever.', '120s', '0s', '24h'),
    idle: duration('Between two pieces of its answer; 0s waits for ever.', '0s', '0s', '24h'),
    queue: duration('For a connection, while all `connections` are taken.', '5s', '1ms', '1h'),
    total: duration('For the whole of its answer, to the last event of a stream; 0s waits for ever.', '0s', '0s', '24h')
  }),
  connections: count('Connections to the agent at once; each call and each open stream holds one, further calls queue.', 2048, 1, 65535),
  tls: section('TLS towards an https agent. The agent\'s certificate is always verified. Paths are relative to the configuration file.', {
    ca: nullable('PEM file of certificate authorities to trust instead of the system\'s.', 'file'),
    cert: nullable('PEM file of the client certificate; needs `key`.', 'file'),
    key: nullable('PEM file of the client certificate\'s key; needs `cert`.', 'file'),
    serverName: nullable('Name to expect in the agent\'s certificate. `null`: the host of the URL.', 'host')
  }),
  extensionHeader: section('How requested extensions are written for this agent.', {
    spelling: choice('`A2A-Extensions` (v1), `X-A2A-Extensions` (v03), both, or by the version of the interface (auto).', ['auto', 'v1', 'v03', 'both'], 'auto'),
    form: choice('One header line per extension, or one line joined by commas.', ['repeated', 'joined'], 'repeated')
  })
})

/** An extension that the platform adds to a card. */
export const advertisedSchema = mapping('One extension, an AgentExtension of the protocol.', ['uri'], {
  uri: { ...text('Its URI.', 'extension-uri'), examples: ['https://example.com/ext/v1'] },
  description: { type: 'string', description: 'How the agent uses it, for people. Default: none.', minLength: 1, maxLength: 1000 },
  required: { type: 'boolean', description: 'Whether clients must request it. Default: false.' },
  params: { type: 'object', description: 'What else clients need to know. Default: none.' }
})

const card = section('The agent\'s AgentCard.', {
  url: nullable('Where to fetch the card. `null`: below the upstream URL, `/.well-known/agent-card.json`, then `/.well-known/agent.json`. Excludes `file`.', 'url'),
  file: nullable('Card on disk, used instead of fetching; relative to the configuration file. Excludes `url`.', 'file'),
  refresh: duration('Least time between two fetches; Cache-Control and ETag are honoured above it.', '60s', '10ms', '24h'),
  maxStale: duration('How long a card stays in use after it could last be fetched.', '1h', '0s', '720h'),
  onUnavailable: choice('Without a usable card: refuse calls (503), or forward them uninspected.', ['reject', 'forward'], 'reject'),
  signature: choice('`strip`: the served card is rewritten and loses its signatures. `verbatim`: it is served untouched.', ['strip', 'verbatim'], 'strip'),
  advertise: {
    type: 'array',
    description: 'Extensions added to the served card, and enforced as if the agent declared them. One that it does declare is merged, and required if either says so. Not with `signature: verbatim`.',
    default: [],
    items: { $ref: '#/$defs/advertised' },
    maxItems: 64
  },
  schemas: {
    type: 'object',
    description: 'JSON Schemas by name, added to the root key `schemas` of the served card and to what `fromCard` finds there. They replace the card\'s own of the same name. Not with `signature: verbatim`.',
    default: {},
    propertyNames: { type: 'string', 'x-format': 'schema-name' },
    additionalProperties: { type: ['object', 'boolean'], description: 'One JSON Schema.' },
    maxProperties: 200
  }
})

const agent = mapping('One agent.', ['name', 'upstream'], {
  name: { ...text('Unique name, 1 to 63 of a-z, 0-9 and `-`; a metric label.', 'name'), examples: ['eightball'] },
  path: text('Path under which the agent is served, matched by whole segments. No two agents share host and path.', 'path', '/'),
  host: nullable('Host that requests must name, without port. `null`: any.', 'host'),
  upstream,
  card,
  concurrency: section('What the agent may have to do at once. More is refused with 503 and Retry-After.', {
    requests: count('Calls under way, other than streams.', 1024, 1, 1000000),
    streams: count('Calls of streaming operations under way.', 1024, 1, 1000000)
  }),
  mode: choice('`enforce` refuses violations, `observe` only records them, `off` does not look.', ['enforce', 'observe', 'off'], 'enforce'),
  enforceOn: choice('Operations on which required extensions are checked: those that send messages, or all.', ['messages', 'all'], 'messages'),
  unlistedExtensions: choice('Requested extensions that neither the card nor a policy names.', ['forward', 'strip', 'reject'], 'forward'),
  unknownMethods: choice('Methods that are not operations of A2A.', ['reject', 'forward'], 'reject'),
  untaggedData: choice('DataParts that no policy of the agent claims, by what it `owns` or by a `part` that one of its rules selects.', ['allow', 'reject'], 'allow'),
  responses: choice('What becomes of what is found wrong with answers: `enforce` does what the rule says, `observe` only records it, `off` does not read them.', ['enforce', 'observe', 'off'], 'observe'),
  extensions: list('Policies in force, each by its name in `extensions` or the built-in catalogue; or that name with keys that replace the policy\'s for this agent, as `{x: {mode: observe}}`.', {
    type: ['string', 'object'],
    propertyNames: { type: 'string', 'x-format': 'name' },
    additionalProperties: { $ref: '#/$defs/policy' },
    minProperties: 1,
    maxProperties: 1
  }, DEFAULT_POLICIES),
  passthrough: list('Path prefixes below the agent\'s path that are forwarded without inspection. They must not cover the card.', { type: 'string', 'x-format': 'path-prefix' }, [])
})

const state = section('What the gateway remembers of tasks, for policies that ask for their states.', {
  store: text('`memory`, or the URL of a Redis or Valkey server that several gateways share: `redis://` or `rediss://`. A password in it is best substituted from the environment.', 'store', 'memory'),
  ttl: duration('How long a task is remembered after it was last seen.', '24h', '1s', '720h'),
  maxTasks: count('Tasks remembered in memory; the one not seen for longest is forgotten first.', 100000, 1, 10000000),
  timeout: duration('How long a server may take to answer; then the task counts as unknown.', '100ms', '1ms', '10s'),
  prefix: text('Put before the keys of a server.', 'store-prefix', 'a2a-gateway:')
})

const telemetry = section('What the gateway reports.', {
  logs: section('Its own log, on stdout.', {
    level: choice('Least severity logged.', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'info'),
    format: choice('`json` for machines, `pretty` for people.', ['json', 'pretty'], 'json')
  }),
  traces: section('OpenTelemetry traces, set up by the OTEL_* variables.', {
    enabled: flag('Whether to send traces.', false)
  }),
  audit: section('The audit log, on stdout.', {
    enabled: flag('Whether to write one line per request that was rejected, broke an observed rule or was changed.', true)
  })
})

/**
 * The configuration file as JSON Schema 2020-12: the source of truth for keys, types, defaults and bounds. Validation, the
 * documentation and `config/gateway.schema.json` all come from it. Objects are closed; a key enters when it works.
 */
export const configSchema: Schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'a2a-extension-gateway configuration',
  ...mapping('The configuration file of a2a-gateway.', ['version', 'agents'], {
    version: { type: 'integer', const: CONFIG_VERSION, description: 'Version of this format.', examples: [CONFIG_VERSION] },
    server,
    limits,
    shedding,
    agents: { type: 'array', description: 'The agents served, at least one.', items: agent, minItems: 1, maxItems: 10000 },
    extensions: {
      type: 'object',
      description: 'Policies by name. One without `uri` and `uriPattern` is laid over that of the built-in catalogue: its keys replace the catalogue\'s, those of `about`, `activation`, `card`, `inactive`, `methods` and `owns` one by one.',
      default: {},
      propertyNames: { type: 'string', 'x-format': 'name' },
      additionalProperties: { $ref: '#/$defs/policy' },
      maxProperties: 1000
    },
    bundles: {
      type: 'object',
      description: 'Sets of JSON Schemas on disk, by name, for `ref`. They may refer to each other; nothing is fetched.',
      default: {},
      propertyNames: { type: 'string', 'x-format': 'name' },
      additionalProperties: mapping('One set.', ['base', 'dir'], {
        base: { ...text('URI that the name of each file is appended to: what a schema is known by, whatever its `$id` says.', 'schema-base'), examples: ['https://example.com/schemas/'] },
        dir: { ...text('Directory, relative to the configuration file; each `*.json` in it is a schema.', 'file'), examples: ['schemas'] },
        draft: choice('Draft of all of them. Default: by `$schema` of each.', ['2020-12', '2019-09', 'draft-07'])
      }),
      maxProperties: 100
    },
    state,
    telemetry
  }),
  $defs: { policy: policySchema, advertised: advertisedSchema }
}

/** The schema as published: `config/gateway.schema.json` and the output of `a2a-gateway schema`. */
export function schemaText (): string {
  return `${JSON.stringify(configSchema, null, 2)}\n`
}
