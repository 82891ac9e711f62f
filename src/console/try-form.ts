/**
 * Collects the data for a form of calls to one agent: its interfaces, its extensions, and the schemas that the gateway enforces for
 * callers.
 */
import type { MetadataSelectorConfig, PartSelectorConfig, PolicyConfig, RuleConfig, SchemaSource } from '../config/model/model.js'
import { compileGlob } from '../wire/glob.js'
import { isEnumFromCard, isFromCard, isSchemaRef, schemasAt } from '../policy/compile/schema-source.js'
import { valuesAt } from '../policy/selectors/values-at.js'
import { resolvePointer } from '../wire/json/pointer.js'
import type { JsonObject } from '../wire/json/object.js'
import { clip } from './text.js'
import type { ConsoleAgent } from './source.js'

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

export interface TryForm {
  readonly interfaces: readonly {
    readonly binding: string
    readonly version: string
    readonly path: string
    readonly tenant: string | null
  }[]
  /** True when the agent has gRPC interfaces too, which the page cannot call. */
  readonly grpc: boolean
  readonly host: string | null
  readonly extensions: readonly { readonly uri: string; readonly description: string; readonly required: boolean }[]
  readonly schemas: readonly FormSchema[]
  readonly examples: readonly string[]
  readonly streaming: boolean
}

const EXTENSIONS = 500
const SCHEMAS = 100
/** Largest total size of all schemas, in characters of JSON. */
const ROOM = 1_000_000

export function tryFormOf ({ config, state }: ConsoleAgent): TryForm {
  if (state === null) return { interfaces: [], grpc: false, host: config.host, extensions: [], schemas: [], examples: [], streaming: false }
  const card = state.loaded.byVersion['1.0'].card
  const required = new Set([...state.policy['1.0'].required, ...state.policy['0.3'].required].map(one => one.uri))
  const declared = new Map([...card.extensions, ...state.loaded.byVersion['0.3'].card.extensions].map(one => [one.uri, one]))
  const { schemas } = config.card
  const raw =
    Object.keys(schemas).length === 0 ? card.raw : { ...card.raw, schemas: { ...(card.raw.schemas as object | undefined), ...schemas } }
  const uris = [...new Set([...declared.keys(), ...state.policy['1.0'].declared, ...required])]
  return {
    interfaces: state.interfaces.filter(one => one.binding !== 'GRPC').map(one => ({
      binding: one.binding,
      version: one.version,
      path: config.path + one.publicPath,
      tenant: one.tenant
    })),
    grpc: state.interfaces.some(one => one.binding === 'GRPC'),
    host: config.host,
    extensions: uris
      .slice(0, EXTENSIONS)
      .map(uri => ({ uri, description: clip(describe(card.raw, declared.get(uri)?.index ?? -1), 300), required: required.has(uri) })),
    schemas: bounded(
      config.policies.flatMap(({ name, policy }) =>
        schemasOf(name, policy, raw, state.policy['1.0'].declared, uri => declared.get(uri)?.index ?? -1)
      )
    ),
    examples: examplesOf(card.raw),
    streaming: card.streaming
  }
}

function describe (raw: JsonObject, index: number): string {
  const text = resolvePointer(raw, `/capabilities/extensions/${index}/description`)
  return typeof text === 'string' ? text : ''
}

function examplesOf (raw: JsonObject): string[] {
  return valuesAt(raw, '/skills/*/examples/*').filter(one => typeof one === 'string').slice(0, 10).map(one => clip(one, 300))
}

function schemasOf (
  name: string,
  policy: PolicyConfig,
  raw: JsonObject,
  declared: readonly string[],
  indexOf: (uri: string) => number
): FormSchema[] {
  const pattern = policy.uriPattern === undefined ? null : compileGlob(policy.uriPattern)
  const spellings = [policy.uri, ...(policy.aliases ?? []).filter(one => one.relation === 'same').map(one => one.uri)]
  const uris = declared.filter(uri => spellings.includes(uri) || pattern?.test(uri) === true)
  return uris.flatMap(uri => (policy.request ?? []).flatMap(rule => ofRule(name, uri, rule, raw, indexOf(uri))))
}

function ofRule (policy: string, uri: string, { id, select, schema }: RuleConfig, card: JsonObject, self: number): FormSchema[] {
  if (schema === undefined) return []
  const places = select.part !== undefined ? placesOf(select.part) : select.metadata !== undefined ? placeOf(select.metadata, uri) : []
  return places.flatMap(place => [...named(schema, card, self)].map(([name, found]) => {
    const at =
      place.kind === 'part' && place.mediaType !== null && name !== null
        ? { ...place, mediaType: place.mediaType.replace('*', name) }
        : place
    return { title: clip(name ?? titleOf(found) ?? id, 100), policy, uri, place: at, schema: found }
  }))
}

function placesOf ({ mediaType, dataKey, path }: PartSelectorConfig): FormPlace[] {
  if (path !== undefined) return []
  if (dataKey !== undefined) return dataKey.includes('*') ? [] : [{ kind: 'dataKey', name: dataKey }]
  const types = typeof mediaType === 'string' ? [mediaType] : mediaType ?? [null]
  return types.slice(0, 1).map(one => ({ kind: 'part', mediaType: one }))
}

function placeOf ({ in: places = ['message'], key, path }: MetadataSelectorConfig, uri: string): FormPlace[] {
  const at = places.find(one => one === 'message' || one === 'params')
  const name = key.startsWith('$uri') ? uri + key.slice(4) : key
  return at === undefined || path !== undefined || name.includes('*') ? [] : [{ kind: 'metadata', in: at, name }]
}

/** Returns the schemas by the name that a media type uses for them. The name is null when there is none. */
function named (source: SchemaSource, card: JsonObject, self: number): Map<string | null, unknown> {
  const found = new Map<string | null, unknown>()
  if (isEnumFromCard(source)) {
    found.set(null, { enum: valuesAt(card, source.enumFromCard.replaceAll('{self}', String(self))).slice(0, 500) })
  } else if (isFromCard(source)) {
    for (const template of source.fromCard) {
      for (const { name, schema } of schemasAt(template, { raw: card, self }).found) if (!found.has(name)) found.set(name, schema)
    }
  } else if (isSchemaRef(source)) {
    const [document = '', fragment = ''] = source.ref.split('#', 2)
    found.set(null, resolvePointer(source.set.documents.get(document)?.schema, fragment))
  } else {
    found.set(null, source)
  }
  return found
}

function titleOf (schema: unknown): string | null {
  return typeof schema === 'object' && schema !== null && 'title' in schema && typeof schema.title === 'string' ? schema.title : null
}

/** Omits schemas that exceed the limit. The user can write their data as JSON. */
function bounded (schemas: readonly FormSchema[]): FormSchema[] {
  let room = ROOM
  return schemas.slice(0, SCHEMAS).filter(one => {
    room -= JSON.stringify(one.schema)?.length ?? 0
    return room >= 0
  })
}
