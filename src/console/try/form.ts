/**
 * Collects the data for a form of calls to one agent: its interfaces, its extensions with their methods and routes, and the schemas that
 * the gateway enforces for callers.
 */
import { routeKey } from '#a2a/extension-routes.js'
import type {
  InlineSchema,
  MetadataSelectorConfig,
  PartSelectorConfig,
  PolicyConfig,
  RuleConfig,
  SchemaRef,
  SchemaSource
} from '#config/model/model.js'
import { compileGlob } from '#wire/glob.js'
import { isEnumFromCard, isFromCard, isSchemaRef, schemasAt } from '#policy/compile/schema-source.js'
import { valuesAt } from '#policy/selectors/values-at.js'
import { resolvePointer } from '#wire/json/pointer.js'
import type { JsonObject } from '#wire/json/object.js'
import { clip } from '../text.js'
import type { ConsoleAgent, MainAddress } from '../source.js'

/** Place in a message for the data of a schema. */
export type FormPlace =
  /** A DataPart of this media type. Null: any media type. */
  | { readonly kind: 'part', readonly mediaType: string | null }
  /** A member of a DataPart's object. */
  | { readonly kind: 'dataKey', readonly name: string }
  | { readonly kind: 'metadata', readonly in: 'message' | 'params', readonly name: string }

export interface FormSchema {
  readonly title: string
  readonly policy: string
  /** URI of the extension. */
  readonly uri: string
  readonly place: FormPlace
  readonly schema: unknown
}

/** A JSON-RPC method of an extension. */
export interface FormMethod {
  readonly name: string
  readonly policy: string
  /** URI of the extension. */
  readonly uri: string
  /** True when a call must request the extension. */
  readonly needsActive: boolean
  /** Schema of the params; null for none. */
  readonly schema: unknown
}

/** An HTTP route of an extension. The schema is of the body. */
export interface FormRoute extends Omit<FormMethod, 'name'> {
  /** Verb and path, as the page names the route in a call. */
  readonly id: string
  readonly verb: string
  /** Path of the main listener; `{name}` stands for one segment. */
  readonly path: string
}

export interface TryForm {
  readonly interfaces: readonly {
    readonly binding: string
    readonly version: string
    readonly path: string
    readonly tenant: string | null
  }[]
  /** True when the agent has gRPC interfaces too, which the page cannot call. */
  readonly grpc: boolean
  /** Value of the header Host that a call needs; null: that of `base`. */
  readonly host: string | null
  /** URL before the paths, for commands that the user runs elsewhere; null without a plain address. */
  readonly base: string | null
  readonly methods: readonly FormMethod[]
  readonly routes: readonly FormRoute[]
  readonly extensions: readonly { readonly uri: string; readonly description: string; readonly required: boolean }[]
  readonly schemas: readonly FormSchema[]
  readonly examples: readonly string[]
  readonly streaming: boolean
}

const EXTENSIONS = 500
const SCHEMAS = 100
/** Largest total size of all schemas, in characters of JSON. */
const ROOM = 1_000_000

/**
 * @param main address of the main listener
 * @param hosts names by which clients reach the main listener
 */
export function tryFormOf (agent: ConsoleAgent, main: MainAddress | null, hosts: readonly string[]): TryForm {
  const { config, state, publicBase } = agent
  const host = config.host ?? (publicBase === null ? hosts[0] ?? null : null)
  const base = baseOf(agent, main)
  if (state === null) {
    return { interfaces: [], grpc: false, host, base, methods: [], routes: [], extensions: [], schemas: [], examples: [], streaming: false }
  }
  const card = state.loaded.byVersion['1.0'].card
  const required = new Set([...state.policy['1.0'].required, ...state.policy['0.3'].required].map(requiredExtension => requiredExtension.uri))
  const declared = new Map([...card.extensions, ...state.loaded.byVersion['0.3'].card.extensions].map(cardExtension => [cardExtension.uri, cardExtension]))
  const { schemas } = config.card
  const raw =
    Object.keys(schemas).length === 0 ? card.raw : { ...card.raw, schemas: { ...(card.raw.schemas as object | undefined), ...schemas } }
  const uris = [...new Set([...declared.keys(), ...state.policy['1.0'].declared, ...required])]
  return {
    interfaces: state.interfaces.filter(mappedInterface => mappedInterface.binding !== 'GRPC').map(mappedInterface => ({
      binding: mappedInterface.binding,
      version: mappedInterface.version,
      path: config.path + mappedInterface.publicPath,
      tenant: mappedInterface.tenant
    })),
    grpc: state.interfaces.some(mappedInterface => mappedInterface.binding === 'GRPC'),
    host,
    base,
    methods: bounded(methodsOf(agent)),
    routes: bounded(routesOf(agent)),
    extensions: uris
      .slice(0, EXTENSIONS)
      .map(uri => ({ uri, description: clip(descriptionOf(card.raw, declared.get(uri)?.index ?? -1), 300), required: required.has(uri) })),
    schemas: bounded(
      config.policies.flatMap(({ name, policy }) =>
        schemasOf(name, policy, raw, state.policy['1.0'].declared, uri => declared.get(uri)?.index ?? -1)
      )
    ),
    examples: examplesOf(card.raw),
    streaming: card.streaming
  }
}

/** Without `publicUrl`, clients on this machine reach the gateway at its own address. */
function baseOf ({ config, publicBase }: ConsoleAgent, main: MainAddress | null): string | null {
  if (publicBase !== null) return publicBase.slice(0, publicBase.length - config.path.length)
  return main === null ? null : `http${main.tls ? 's' : ''}://${authorityOf(main)}`
}

export function authorityOf ({ host, port }: MainAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

function methodsOf ({ config, state }: ConsoleAgent): FormMethod[] {
  if (state === null) return []
  const offered = VERSIONS.flatMap(version => [...state.policy[version].methods.entries()])
  return distinct(offered, ([name]) => name).flatMap(([name, [first]]) => {
    if (first === undefined) return []
    const { policy, uri, needsActive } = first
    const method = config.policies.find(entry => entry.name === policy)?.policy.methods?.[name]
    return [{ name, policy, uri, needsActive, schema: inlined(method?.params) }]
  })
}

/** Returns the routes that the agent offers, each once. */
export function routesOf ({ config, state }: ConsoleAgent): FormRoute[] {
  if (state === null) return []
  const rest = state.interfaces.filter(mappedInterface => mappedInterface.binding === 'HTTP+JSON')
  const routeFields = config.policies.flatMap(({ name, policy }) => (policy.routes ?? []).flatMap(({ verb, path, base, body }) => {
    const key = routeKey(verb, path, base)
    const offered = VERSIONS.flatMap(version => state.policy[version].routes.get(key) ?? []).find(addition => addition.policy === name)
    if (offered === undefined) return []
    const prefixes = base === 'interface' ? rest.map(mappedInterface => mappedInterface.publicPath) : ['']
    return prefixes.map(prefix => {
      const full = config.path + prefix + path
      const { uri, needsActive } = offered
      return { id: `${verb} ${full}`, verb, path: full, policy: name, uri, needsActive, schema: inlined(body) }
    })
  }))
  return distinct(routeFields, route => route.id)
}

const VERSIONS = ['1.0', '0.3'] as const

function distinct<T> (items: readonly T[], keyOf: (item: T) => string): T[] {
  return [...new Map(items.map(element => [keyOf(element), element])).values()]
}

/** Returns the schema itself. */
function inlined (schema: InlineSchema | SchemaRef | undefined): unknown {
  return schema === undefined ? null : [...named(schema, {}, -1).values()][0] ?? null
}

function descriptionOf (raw: JsonObject, index: number): string {
  const text = resolvePointer(raw, `/capabilities/extensions/${index}/description`)
  return typeof text === 'string' ? text : ''
}

function examplesOf (raw: JsonObject): string[] {
  return valuesAt(raw, '/skills/*/examples/*').filter(text => typeof text === 'string').slice(0, 10).map(text => clip(text, 300))
}

function schemasOf (
  name: string,
  policy: PolicyConfig,
  raw: JsonObject,
  declared: readonly string[],
  indexOf: (uri: string) => number
): FormSchema[] {
  const pattern = policy.uriPattern === undefined ? null : compileGlob(policy.uriPattern)
  const spellings = [policy.uri, ...(policy.aliases ?? []).filter(alias => alias.relation === 'same').map(alias => alias.uri)]
  const uris = declared.filter(uri => spellings.includes(uri) || pattern?.test(uri) === true)
  return uris.flatMap(uri => (policy.request ?? []).flatMap(rule => ofRule(name, uri, rule, raw, indexOf(uri))))
}

function ofRule (policy: string, uri: string, { id, select, schema }: RuleConfig, card: JsonObject, self: number): FormSchema[] {
  if (schema === undefined) return []
  const places = select.part !== undefined ? placesOf(select.part) : select.metadata !== undefined ? placeOf(select.metadata, uri) : []
  return places.flatMap(place => [...named(schema, card, self)].map(([name, definition]) => {
    const at =
      place.kind === 'part' && place.mediaType !== null && name !== null
        ? { ...place, mediaType: place.mediaType.replace('*', name) }
        : place
    return { title: clip(name ?? titleOf(definition) ?? id, 100), policy, uri, place: at, schema: definition }
  }))
}

function placesOf ({ mediaType, dataKey, path }: PartSelectorConfig): FormPlace[] {
  if (path !== undefined) return []
  if (dataKey !== undefined) return dataKey.includes('*') ? [] : [{ kind: 'dataKey', name: dataKey }]
  const types = typeof mediaType === 'string' ? [mediaType] : mediaType ?? [null]
  return types.slice(0, 1).map(type => ({ kind: 'part', mediaType: type }))
}

function placeOf ({ in: places = ['message'], key, path }: MetadataSelectorConfig, uri: string): FormPlace[] {
  const at = places.find(place => place === 'message' || place === 'params')
  const name = key.startsWith('$uri') ? uri + key.slice(4) : key
  return at === undefined || path !== undefined || name.includes('*') ? [] : [{ kind: 'metadata', in: at, name }]
}

/** Returns the schemas by the name that a media type uses for them. The name is null when there is none. */
function named (source: SchemaSource, card: JsonObject, self: number): Map<string | null, unknown> {
  const valuesByKey = new Map<string | null, unknown>()
  if (isEnumFromCard(source)) {
    valuesByKey.set(null, { enum: valuesAt(card, source.enumFromCard.replaceAll('{self}', String(self))).slice(0, 500) })
  } else if (isFromCard(source)) {
    for (const template of source.fromCard) {
      for (const { name, schema } of schemasAt(
        template, { raw: card, self }
      ).found) if (!valuesByKey.has(name)) valuesByKey.set(name, schema)
    }
  } else if (isSchemaRef(source)) {
    const [document = '', fragment = ''] = source.ref.split('#', 2)
    valuesByKey.set(null, resolvePointer(source.set.documents.get(document)?.schema, fragment))
  } else {
    valuesByKey.set(null, source)
  }
  return valuesByKey
}

function titleOf (schema: unknown): string | null {
  return typeof schema === 'object' && schema !== null && 'title' in schema && typeof schema.title === 'string' ? schema.title : null
}

/** Omits entries whose schemas exceed the limit. The user can write their data as JSON. */
function bounded<T extends { readonly schema: unknown }> (schemas: readonly T[]): T[] {
  let room = ROOM
  return schemas.slice(0, SCHEMAS).filter(schema => {
    room -= JSON.stringify(schema.schema)?.length ?? 0
    return room >= 0
  })
}
