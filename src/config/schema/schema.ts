import type { JsonObject } from '#wire/json/object.js'
import type { InlineSchema } from '../model/schema-model.js'
import { accessEntrySchema, accessSchema, accessSchemaRef } from './access-schema.js'
import { cardSecurity, cardTrust } from './card-schema.js'
import { credentialsSchema, sentCredentialSchema } from './credentials-schema.js'
import { delegationSchema } from './delegation-schema.js'
import { decisionPoints, externalSchema } from './external-schema.js'
import { agentGrpc } from '../listeners/grpc-schema.js'
import { clientTls } from '../listeners/tls-schema.js'
import { identitySchema } from './identity-schema.js'
import { policySchema } from './policy-schema.js'
import { pushSchema } from './push-schema.js'
import { budgetsSchema, ratesSchema } from './rates-schema.js'
import {
  array, choice, choiceOrNull, count, duration, flag, fraction, list, mapping, nullable, record, ref, section, size, string, text
} from './schema-builder.js'
import type { Schema, TypeOf } from './schema-builder.js'
import type { SecretHeaders } from './secret-headers-schema.js'
import { secretHeaders } from './secret-headers-schema.js'
import { serverSchema } from './server-schema.js'
import { agentSourcesSchema } from './source-schema.js'

/** The only version of the configuration format. */
export const CONFIG_VERSION = 1

/** Policies in use for an agent that lists none. */
export const DEFAULT_POLICIES: readonly string[] = ['object-schemas']

const limits = section('Limits for one request, one response and one client. The gateway rejects what exceeds them.', {
  headers: size('Maximum size of the request line and the headers.', '32KiB', '1KiB', '1MiB'),
  body: size('Maximum size of a request body, as sent and decompressed.', '20MiB', '1B', '256MiB'),
  response: size('Maximum size of a response body that the gateway has to read whole.', '16MiB', '1B', '256MiB'),
  event: size('Maximum size of one event of an event stream that the gateway has to read.', '1MiB', '1B', '64MiB'),
  card: size("Maximum size of an agent's card.", '1MiB', '1B', '16MiB'),
  jsonDepth: count('Maximum nesting of JSON in a request.', 64, 1, 512),
  jsonMembers: count('Maximum number of members and items of JSON in a request.', 100000, 1, 10000000),
  extensions: count('Maximum number of extension URIs in one request.', 64, 1, 1024),
  headersTimeout: duration('Maximum time to receive the headers of a request; never more than `requestTimeout`.', '10s', '1ms', '1h'),
  requestTimeout: duration('Maximum time to receive a whole request.', '30s', '1ms', '1h'),
  idleTimeout: duration('How long a client connection may stay open without a request.', '72s', '1s', '1h'),
  writeTimeout: duration(
    'The gateway disconnects a client that reads nothing of a pending response for this long. Over gRPC, it resets only the call, and ' +
    'the client must read 16 KiB in this time. 0s means no limit.',
    '60s',
    '0s',
    '1h'
  ),
  memory: size(
    'Maximum total size of the request bodies, and of the response bodies read whole, in memory at one time.',
    '128MiB',
    '1MiB',
    '64GiB'
  ),
  connections: count('Maximum number of client connections at one time; 0 means no limit.', 0, 0, 1000000)
})

const shedding = section(
  'When the process is overloaded, the gateway rejects new calls with 503 and Retry-After. Calls in flight continue. Measured once a second.',
  {
    eventLoopDelay: duration(
      'Maximum delay of the event loop, averaged over one second. The process is overloaded after two such seconds in a row. 0s disables ' +
        'the check.',
      '1s', '0s', '1m'
    ),
    eventLoopUtilization: fraction('Maximum share of a second that the process is busy; 0 disables the check.', 0),
    heapUsed: size('Maximum memory of JavaScript objects; 0B disables the check.', '0B', '0B', '64GiB'),
    rss: size('Maximum memory of the whole process; 0B disables the check.', '0B', '0B', '64GiB'),
    retryAfter: duration(
      'Value of Retry-After in whole seconds, for these calls and for calls that exceed a concurrency limit.', '5s', '1s', '1h'
    )
  }
)

const upstream = mapping('The agent behind the gateway.', ['url'], {
  url: {
    ...text(
      "URL of the agent: absolute, http or https, without query, fragment and credentials. Its path is the base of the agent's interfaces.",
      'base-url'
    ),
    examples: ['http://127.0.0.1:9999']
  },
  timeouts: section('How long to wait for the agent.', {
    connect: duration('How long to wait for a connection to open.', '3s', '1ms', '5m'),
    headers: duration('How long to wait for the headers of the response; 0s means no limit.', '120s', '0s', '24h'),
    idle: duration('How long to wait for the next chunk of the response; 0s means no limit.', '0s', '0s', '24h'),
    queue: duration('How long to wait for a free connection while all `connections` are in use.', '5s', '1ms', '1h'),
    total: duration('How long to wait for the end of the response or stream; 0s means no limit.', '0s', '0s', '24h')
  }),
  connections: count('Connections to the agent at once. Each call and each open stream uses one; further calls queue.', 2048, 1, 65535),
  tls: clientTls('agent'),
  credentials: credentialsSchema,
  extensionHeader: section('How the gateway writes the requested extensions for this agent.', {
    spelling: choice(
      "`A2A-Extensions` (v1), `X-A2A-Extensions` (v03), both, or the spelling of the interface's version (auto).",
      ['auto', 'v1', 'v03', 'both'],
      'auto'
    ),
    form: choice('One header line per extension, or one line with a comma-separated list.', ['repeated', 'joined'], 'repeated')
  })
})

/** An extension that the gateway adds to a card. */
export const advertisedSchema = mapping('One extension, an AgentExtension of the protocol.', ['uri'], {
  uri: { ...text('URI of the extension.', 'extension-uri'), examples: ['https://example.com/ext/v1'] },
  description: {
    type: 'string', description: 'How the agent uses the extension, for people. Default: none.', minLength: 1, maxLength: 1000
  } as Schema<string | undefined>,
  required: flag('Whether clients must request the extension. Default: false.'),
  params: { type: 'object', description: 'Further information for clients. Default: none.' } as Schema<JsonObject | undefined>
})

const card = section("The agent's AgentCard.", {
  url: nullable(
    'Where to fetch the card. `null`: below the upstream URL, `/.well-known/agent-card.json`, then `/.well-known/agent.json`. Excludes `file`.',
    'url'
  ),
  file: nullable('Card on disk, instead of fetching one; relative to the configuration file. Excludes `url`.', 'file'),
  refresh: duration('Minimum time between two fetches; above it, Cache-Control and ETag apply.', '60s', '10ms', '24h'),
  maxStale: duration('How long a card stays in use after its last successful fetch.', '1h', '0s', '720h'),
  headers: secretHeaders(
    'Headers with credentials, sent with every request for the card, by name. The gateway sends them to the address of the card only.'
  ),
  extended: {
    type: ['object', 'null'],
    description:
      'Load the authenticated extended card too, with the credentials in `headers`, and enforce both cards together. `null`: the gateway ' +
        'does not load it.',
    default: null,
    properties: {
      headers: secretHeaders('Headers with credentials, sent with the request for the extended card, by name.')
    },
    additionalProperties: false
  } as Schema<{ readonly headers: SecretHeaders } | null>,
  public: choiceOrNull(
    'The card for callers without credentials: `full`, `minimal` (what a client needs to call the agent, without skills and details) or ' +
      '`none` (401). With `minimal` and `none`, a caller whose own credentials the agent accepts for the card gets the full card. ' +
      '`null`: `none` with `headers`, otherwise `full`.',
    ['full', 'minimal', 'none']
  ),
  onUnavailable: choice(
    'What to do while the gateway has no usable card: `reject` calls with 503, or `forward` them without any checks.',
    ['reject', 'forward'], 'reject'
  ),
  changes: choice(
    '`apply`: a new card is in use at once. `hold`: a new or changed card waits until `agents.lock` beside the configuration file has ' +
      'it; the agreed card stays in use. `a2a-gateway agents lock` writes the file.',
    ['apply', 'hold'],
    'apply'
  ),
  texts: choice(
    'Texts of the card that give instructions to models, or contain invisible characters, secrets or internal addresses. `report`: ' +
      '`check --live` and `agents diff` report them. `strip`: the gateway also removes them from the served card.',
    ['report', 'strip'],
    'report'
  ),
  interfaces: list(
    'Additional path prefixes that interfaces of the card may have, from the root of the agent\'s origin. The path of `upstream.url` is ' +
      'always allowed; `/` allows all paths. The gateway does not serve interfaces at other paths, because they could belong to another agent.',
    string('path'),
    []
  ),
  signature: choice(
    '`strip`: the gateway rewrites the served card and removes its signatures. `resign`: it rewrites the card and signs it with `sign`. ' +
      '`verbatim`: it serves the card unchanged.',
    ['strip', 'resign', 'verbatim'],
    'strip'
  ),
  ...cardSecurity,
  advertise: array(
    'Extensions that the gateway adds to the served card and enforces as if the agent declared them. If the agent declares the same ' +
      'extension, the gateway merges both declarations. The extension is required if either declaration requires it. Not allowed with ' +
      '`signature: verbatim`.',
    ref('advertised', advertisedSchema),
    { maxItems: 64 },
    []
  ),
  schemas: record<InlineSchema>(
    "JSON Schemas by name, added to the root key `schemas` of the served card; `fromCard` finds them there. They replace the card's " +
      'schemas of the same name. Not allowed with `signature: verbatim`.',
    'schema-name',
    { type: ['object', 'boolean'], description: 'One JSON Schema.' },
    { maxProperties: 200 },
    {}
  ),
  ...cardTrust
})

const agent = mapping('One agent.', ['name', 'upstream'], {
  name: { ...text('Unique name, 1 to 63 of a-z, 0-9 and `-`; a metric label.', 'name'), examples: ['eightball'] },
  path: text('Path under which the gateway serves the agent, matched by whole segments. No two agents share host and path.', 'path', '/'),
  host: nullable('Host that requests must name, without port. `null`: any.', 'host'),
  upstream,
  grpc: agentGrpc,
  card,
  concurrency: section('Maximum load of the agent. The gateway rejects further calls with 503 and Retry-After.', {
    requests: count('Maximum number of calls in flight, without streams.', 1024, 1, 1000000),
    streams: count('Maximum number of calls of streaming operations in flight.', 1024, 1, 1000000)
  }),
  protocol: section('Versions and readings of the protocol.', {
    unknownMinor: choice(
      'Interfaces of the card and requests with a minor version of A2A 1 that the gateway does not know, such as 1.1. `carry`: apply the ' +
        'rules of 1.0. `reject`: do not serve the interfaces, and reject the requests.',
      ['carry', 'reject'],
      'carry'
    ),
    backslashNames: choice(
      'JSON requests with a member name such as `\\u00` or `https:\\/\\/a`, in which a backslash reads like the beginning of an escape. ' +
        'On Node 24, such a name can hide members of later requests from the agent. `reject` these requests, or `forward` them to agents ' +
        'that do not run on Node 24.',
      ['forward', 'reject'],
      'reject'
    )
  }),
  cors: section('Calls from pages of other origins (CORS).', {
    origins: list(
      'Origins whose pages may call the agent, such as `https://app.example.com`; `*` is every origin. The gateway then responds to ' +
        'preflights itself, and replaces the `Access-Control-*` headers of the agent. Empty: the policy of the agent, which the gateway ' +
        'also applies to the card and to its own responses.',
      string('origin'),
      []
    ),
    maxAge: duration('How long browsers may keep the response to a preflight, with `origins`.', '10m', '0s', '24h')
  }),
  mode: choice(
    '`enforce` rejects violations, `observe` only records them, `off` evaluates no rules.',
    ['enforce', 'observe', 'off'],
    'enforce'
  ),
  enforceOn: choice(
    'Operations for which the gateway checks required extensions: `all` but the extended card, or `messages` (operations that send a ' +
      'message, methods and routes of extensions). A2A requires the error on every request that lacks a required extension.',
    ['messages', 'all'],
    'all'
  ),
  unlistedExtensions: choice(
    'What to do with requested extensions that neither the card nor a policy names.',
    ['forward', 'strip', 'reject'],
    'forward'
  ),
  unknownMethods: choice('What to do with methods that are not operations of A2A.', ['reject', 'forward'], 'reject'),
  untaggedData: choice(
    'What to do with DataParts that no policy of the agent claims, by `owns` or by a `part` that one of its rules selects.',
    ['allow', 'reject'],
    'allow'
  ),
  access: accessSchemaRef('Who may call the agent, and what callers may do. Keys that you leave out come from `accessDefaults`.'),
  push: pushSchema,
  external: externalSchema,
  responses: choice(
    'What to do with violations in responses: `enforce` applies the verdict of the rule, `observe` only records violations, `off` ' +
      'evaluates no responses.',
    ['enforce', 'observe', 'off'],
    'observe'
  ),
  jsonSchema: section("How the gateway reads the JSON Schemas of the agent's card, and those schemas of policies that state `$schema`.", {
    formats: choice(
      '`assert`: a value that does not match `format` is invalid. `annotate`: the gateway ignores `format`. `draft`: `assert` for ' +
        'draft-07, and for schemas with the vocabulary `format-assertion` of 2020-12, or `format` of 2019-09 as `true`, in ' +
        '`$vocabulary`; `annotate` for other schemas of 2019-09 and 2020-12. Schemas of policies without `$schema` always assert.',
      ['draft', 'assert', 'annotate'],
      'draft'
    )
  }),
  extensions: list(
    'Policies of the agent, each by its name in `extensions` or in the built-in catalogue. To change a policy for this agent, use the ' +
      'name with keys: `{x: {mode: observe}}`.',
    {
      type: ['string', 'object'],
      propertyNames: string('name'),
      additionalProperties: { $ref: '#/$defs/policy' },
      minProperties: 1,
      maxProperties: 1
    },
    DEFAULT_POLICIES
  ),
  passthrough: list(
    "Path prefixes, below the agent's path, whose requests the gateway forwards without inspection. A prefix must not cover the card.",
    string('path-prefix'),
    []
  )
})

const state = section('State of tasks that the gateway remembers, for policies that use it.', {
  store: text(
    '`memory`, or the URL of a Redis or Valkey server that several gateways share: `redis://` or `rediss://`. Put a password into an ' +
      'environment variable.',
    'store',
    'memory'
  ),
  ttl: duration('How long the gateway remembers a task after it last saw the task.', '24h', '1s', '720h'),
  maxTasks: count('Tasks remembered in memory; the least recently seen is forgotten first.', 100000, 1, 10000000),
  timeout: duration(
    'How long the gateway waits for the server. After that time, the task is unknown to the gateway.', '100ms', '1ms', '10s'
  ),
  prefix: text('Prefix of the keys on the server.', 'store-prefix', 'a2a-gateway:')
})

const telemetry = section('Logs, traces, metrics and audit lines.', {
  logs: section('The log of the gateway, on stdout.', {
    level: choice('Minimum severity of log lines.', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'info'),
    format: choice(
      'Form of log lines and audit lines: `json` for machines, `pretty` for people; `auto` is `pretty` on a terminal, else `json`.',
      ['auto', 'json', 'pretty'],
      'auto'
    )
  }),
  traces: section('OpenTelemetry traces, set up by the OTEL_* variables.', {
    enabled: flag(
      'Whether to send traces. Default: when `OTEL_TRACES_EXPORTER`, `OTEL_EXPORTER_OTLP_ENDPOINT` or ' +
        '`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is set.'
    )
  }),
  metrics: section('Metrics, at `/metrics` of the admin listener.', {
    exemplars: flag(
      'Whether the histograms of calls include exemplars: the trace and span of the last traced call in each bucket. `/metrics` then ' +
        'also serves the OpenMetrics format.',
      false
    )
  }),
  audit: section('The audit log, on stdout.', {
    enabled: flag('Whether to write one line for each request or response that was rejected, broke an observed rule or was changed.', true),
    forwarded: flag(
      'Whether to write also one line for each call that was forwarded, and one for each change of a task\'s state. The gateway then ' +
        'reads every response.',
      false
    ),
    observedLines: count(
      'Maximum number of audit lines per second for each rule in observe mode, in each process. At the end of the second, one line ' +
        'contains the number of omitted lines.',
      20,
      0,
      100000
    )
  })
})

const root = mapping('The configuration file of a2a-gateway.', ['version', 'agents'], {
  version: { type: 'integer', const: CONFIG_VERSION, description: 'Version of this format.', examples: [CONFIG_VERSION] },
  server: serverSchema,
  limits,
  shedding,
  // The agents of sources are checked with those of the file.
  agents: array('The agents served: at least one, or `[]` beside `agentSources`.', agent, { maxItems: 20000 }),
  agentSources: agentSourcesSchema,
  extensions: {
    type: 'object',
    description:
      "Policies by name. A policy without `uri` and `uriPattern` changes the catalogue's policy of that name: its keys replace the " +
        "catalogue's. In `about`, `activation`, `card`, `inactive`, `methods` and `owns`, a member replaces only the member of the same name.",
    default: {},
    properties: {
      from: {
        type: ['string', 'object'],
        description:
          'Directory of policies beside the built-in catalogue, relative to the configuration file: each `NAME.yaml` is the policy ' +
            '`NAME`. Agents list these policies by name, as those of the catalogue. No policy can have the name `from`.',
        'x-format': 'file-or-directory',
        examples: ['policies'],
        required: ['directory'],
        properties: {
          directory: { ...text('The directory.', 'file-or-directory'), examples: ['policies'] },
          replace: list(
            'Names of built-in policies that policies of the directory replace. A policy of the directory with the name of a built-in ' +
              'one is otherwise an error.',
            string('name'),
            []
          )
        },
        additionalProperties: false
      }
    },
    propertyNames: string('name'),
    additionalProperties: { $ref: '#/$defs/policy' },
    maxProperties: 1000
  },
  bundles: {
    type: 'object',
    description: 'Sets of JSON Schemas on disk, by name, for `ref`. The schemas may refer to each other; the gateway fetches nothing.',
    default: {},
    propertyNames: string('name'),
    additionalProperties: mapping('One set.', ['base', 'dir'], {
      base: {
        ...text(
          'Base URI of the schemas. The URI of a schema is this URI with the name of its file appended; the gateway ignores its `$id`.',
          'schema-base'
        ),
        examples: ['https://example.com/schemas/']
      },
      dir: { ...text('Directory, relative to the configuration file; each `*.json` in it is a schema.', 'file-or-directory'), examples: ['schemas'] },
      draft: choice('Draft of all of them. Default: by `$schema` of each.', ['2020-12', '2019-09', 'draft-07'])
    }),
    maxProperties: 100
  },
  identity: identitySchema,
  delegation: delegationSchema,
  decisionPoints,
  rates: ratesSchema,
  budgets: budgetsSchema,
  accessDefaults: accessSchemaRef('`access` of all agents. A key in `access` of an agent replaces the same key here.'),
  state,
  telemetry
})

/**
 * The configuration file as JSON Schema 2020-12: the source of truth for keys, types, defaults and bounds. Validation, the documentation
 * and `config/gateway.schema.json` all derive from it. Objects are closed. A key is added only when it works.
 */
export const configSchema: Schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'a2a-extension-gateway configuration',
  ...root,
  $defs: {
    policy: policySchema,
    advertised: advertisedSchema,
    access: accessSchema,
    accessEntry: accessEntrySchema,
    sentCredential: sentCredentialSchema
  }
}

/** Returns the published schema: the content of `config/gateway.schema.json` and the output of `a2a-gateway schema`. */
export function schemaText (): string {
  return `${JSON.stringify(configSchema, null, 2)}\n`
}

/** Limits of one request, one response and one client: bytes and ms. */
export type Limits = TypeOf<typeof limits>
/** Thresholds that mark an overloaded process: ms, bytes, and a share from 0 to 1. 0 disables a threshold. */
export type SheddingConfig = TypeOf<typeof shedding>
/** Where the state of tasks is stored, for conditions on task states, `state` and `correlate`. Times are ms. */
export type StateStoreConfig = TypeOf<typeof state>
/** `traces.enabled` is undefined where the environment decides. */
export type TelemetryConfig = TypeOf<typeof telemetry>
/** The file, after validation has filled in the defaults, with the marks of the schema applied (marks.ts). */
export type ConfigKeys = TypeOf<typeof root>
/** Keys of an agent, of which the model keeps most as they are. */
export type AgentKeys = TypeOf<typeof agent>
/** Keys of the card, of which the model keeps most as they are. Times are ms. */
export type CardKeys = TypeOf<typeof card>
/** The connection to an agent. Times are ms. */
export type UpstreamKeys = TypeOf<typeof upstream>
