/** The key `agentSources`. */
import type { JsonObject } from '#wire/json/object.js'
import { array, boundedString, choice, count, duration, list, mapping, nullable, orNull, section, string, text } from './schema-builder.js'
import type { Schema, TypeOf } from './schema-builder.js'

const keys = orNull(section('Keys that sign the catalog or its cards, for `admit: signed`. Needs one of `url` and `file`. `null`: the ' +
  'keys of `agent.card.verify`.', {
  url: nullable('URL of a JSON Web Key Set: https, or http on this machine.', 'issuer'),
  file: nullable('File with a JSON Web Key Set, relative to this file.', 'file'),
  maxStale: duration('How long fetched keys stay in use while their URL cannot be reached.', '24h', '1m', '720h')
}))

const kubernetes = orNull(mapping('Kubernetes Services as a source: one agent for each Service that the selector matches. `null`: the ' +
  'source is a catalog.', [
  'namespaces', 'selector'
], {
  namespaces: {
    ...array(
      'Namespaces of the Services. The gateway needs the right to get, list and watch `services` and `endpointslices` in each of them.',
      string('name'),
      { minItems: 1, maxItems: 100, uniqueItems: true }
    ),
    examples: [['agents']]
  },
  selector: {
    type: 'string',
    description: 'Label selector of the Services, as `kubectl --selector` reads it.',
    minLength: 1,
    maxLength: 1000,
    examples: ['a2a-gateway.io/agent=true']
  } as Schema<string>,
  port: {
    type: ['string', 'null'],
    description: 'Name or number of the port of each Service; the annotation `a2a-gateway.io/port` replaces it. `null`: the only port of ' +
      'the Service, or its port named `a2a` or `http`.',
    default: null,
    maxLength: 63
  } as Schema<string | null>,
  api: orNull(mapping('The API server. `null`: that of the cluster that the gateway runs in, with its service account.', ['url'], {
    url: text('URL of the API server.', 'base-url'),
    ca: nullable('File of the authorities that issue the certificate of the API server. `null`: those of the system.', 'file-or-directory'),
    token: nullable(
      'File with the token of a service account. The gateway reads it again for each connection. `null`: no token.', 'file-or-directory'
    )
  }))
}))

const source = mapping('One source.', ['name', 'agent'], {
  name: { ...text('Unique name, 1 to 63 of a-z, 0-9 and `-`; a metric label.', 'name'), examples: ['partners'] },
  catalog: {
    ...nullable('URL or file of an AI Catalog; files are relative to this file. `null`: the source is `kubernetes`.', 'catalog-place'),
    examples: ['https://agents.example.com/.well-known/ai-catalog.json']
  },
  kubernetes,
  refresh: duration('Time between two reads of the catalog.', '5m', '1s', '24h'),
  select: section('Conditions on entries of the catalog; an entry must match all of them.', {
    tags: list('Tags that an entry must have.', boundedString(200), []),
    identifiers: list(
      'Patterns of which one must match the identifier of an entry; `*` is any text. Empty: any identifier.',
      { ...boundedString(2000), examples: ['urn:air:example.com:*'] },
      []
    ),
    publisher: {
      type: ['string', 'null'],
      description: 'Identifier of the publisher that an entry must name, such as `did:web:example.com`. `null`: any. An entry only ' +
        'claims its publisher; a signature can prove the claim.',
      default: null,
      maxLength: 2000
    } as Schema<string | null>
  }),
  agent: {
    type: 'object',
    description: 'Template: keys of each agent of the source, as in `agents`, without `upstream.url` and `card.url`, which come from the ' +
      'source. `path` is required. `{name}` in `path` and `name` is the name of the entry: the last part of its identifier in lower ' +
      'case, or the name of the Service.',
    examples: [{ path: '/agents/{name}', extensions: ['traceability'] }]
  } as Schema<JsonObject>,
  admit: choice(
    'Which entries become agents: `pinned` those in `agents.lock`, with the same address of the card (of the agent, if the catalog ' +
      'itself has the card), and `card.changes: hold` for each; `signed` those of a catalog that a key of `keys` has signed, and those ' +
      'whose card a key of `agent.card.verify` has signed; `all` every entry. Entries that wait are in `/agent-sources`.',
    ['pinned', 'signed', 'all'],
    'pinned'
  ),
  keys,
  allowPrivate: list(
    'Networks (CIDR) in which addresses of entries and cards may be although they are private, local or reserved. With a network, the ' +
      'addresses may also be http. Empty: only public addresses, over https.',
    string('proxy'),
    []
  ),
  limit: count(
    'Largest number of agents of the source. A catalog with more entries that `select` matches is not used; its last good state stays in use.',
    100, 1, 10000
  )
})

export const agentSourcesSchema = array(
  'Sources of agents: AI Catalogs, and Services of Kubernetes. The agents of the file come first: no source can replace or move an agent ' +
    'of the file, or an agent of an earlier source.',
  source,
  { maxItems: 50 },
  []
)

/** One source, as in the file. */
export type SourceKeys = TypeOf<typeof source>

/** One source of agents beside the list in the file. Exactly one of `catalog` and `kubernetes` is not null. Times are ms. */
export type AgentSourceConfig = Omit<SourceKeys, 'catalog'> & {
  /** `file` is absolute. */
  readonly catalog: { readonly url: string | null, readonly file: string | null } | null
}

/** `pinned`: agents of the lock file. `signed`: entries of a signed catalog, and entries with a signed card. `all`: every entry. */
export type Admission = SourceKeys['admit']

/** Conditions on entries; all must match. */
export type SourceSelection = SourceKeys['select']

/** Keys that sign a catalog or its cards. `maxStale` is in ms. */
export type SourceKeysConfig = NonNullable<SourceKeys['keys']>

export type KubernetesSourceConfig = NonNullable<SourceKeys['kubernetes']>
