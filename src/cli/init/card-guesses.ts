/** Guesses where an extension has its data, from what its card says and from a policy of the catalogue for another version of it. */
import type { AgentCard, CardExtension } from '#a2a/card/card.js'
import { modesOf } from '#a2a/card/modes.js'
import { operationOfMethod } from '#a2a/operations.js'
import type { PolicyConfig, RuleConfig } from '#config/model/model.js'
import { isObject } from '#wire/json/object.js'
import { escapePointer, resolvePointer } from '#wire/json/pointer.js'
import { parseMediaType } from '#wire/media-type.js'
import type { Guess, GuessedMethod, Guesses, Place } from './proposal.js'

/** Members of `params` by which authors say where their data is. */
const MEDIA_TYPES = /^(?:data|part|payload|input|accepted|supported)?_?(?:media|mime|content)_?types?$/i
const DATA_KEYS = /^(?:data|part)_?(?:keys?|members?|fields?)$/i
const METADATA_KEYS = /^metadata_?(?:keys?|members?|fields?|names?)$/i
const METHODS = /^(?:(?:json)?_?rpc|extension|supported|custom|additional)?_?methods?$/i
const SCHEMA = /^(?:data|input|message|metadata|payload|request|value)?_?(?:json)?_?schema$/i
/** Texts that are read from a card. */
const MAX_TEXTS = 20
/** Media types that parts of every kind have. */
const COMMON = /^(?:application\/(?:json|octet-stream)|text\/.*)$/

/** @param name of the proposed policy: a media type with one of its words is probably its data */
export function guessesFromCard (
  extension: CardExtension,
  card: AgentCard,
  { name, catalogue }: { readonly name: string, readonly catalogue: Readonly<Record<string, PolicyConfig>> }
): Guesses {
  const relative = relativeOf(extension.uri, catalogue)
  if (relative !== null) return fromRelative(...relative)
  const { params } = extension
  const places = [...placesIn(params), ...typesInModes(card, name)]
  const schema = schemaIn(extension)
  const methods = methodsOf(extension, card)
  const request = places.map(({ place, why }, i): Guess => ({ place, why, schema: i === 0 && schema !== null ? schema : formOf(place) }))
  if (request.length > 0 || methods.length > 0) return { request, response: [], methods }
  return { request: usual(schema), response: [], methods: [] }
}

/** The usual shapes of an extension's data: one value named by the URI, or members whose names begin with the URI. */
function usual (schema: Guess['schema']): Guess[] {
  const why = 'the usual place of the data of an extension; the card does not name another'
  return [
    {
      place: { metadata: '$uri' },
      schema: schema ?? { type: 'object' },
      why: schema === null
        ? why
        : 'the schema in the params of the card'
    },
    {
      place: { metadata: '$uri/*' },
      schema: {
        type: ['string', 'number', 'boolean', 'object', 'array']
      },
      why: 'the other usual place, as in {"<uri>/code": 1}'
    }
  ]
}

function formOf (place: Place): Guess['schema'] {
  return 'mediaType' in place ? { type: 'object' } : { type: ['string', 'number', 'boolean', 'object', 'array'] }
}

interface NamedPlace { readonly place: Place, readonly why: string }

function placesIn (params: unknown): NamedPlace[] {
  if (!isObject(params)) return []
  return Object.entries(params).flatMap(([key, value]): NamedPlace[] => {
    const why = `params.${key} of the card`
    const texts = textsOf(value)
    if (MEDIA_TYPES.test(key)) return texts.filter(isOwnType).map(mediaType => ({ place: { mediaType }, why }))
    if (DATA_KEYS.test(key)) return texts.filter(isName).map(dataKey => ({ place: { dataKey }, why }))
    return METADATA_KEYS.test(key) ? texts.filter(isName).map(metadata => ({ place: { metadata }, why })) : []
  })
}

/** Media types of the card's input modes that share a word with the extension's name. */
function typesInModes (card: AgentCard, name: string): NamedPlace[] {
  const words = name.split('-').filter(word => word.length > 2)
  const types = modesOf(card.raw).filter(({ side }) => side === 'input')
    .filter(({ text }) => isOwnType(text) && words.some(word => text.toLowerCase().split(/[^a-z0-9]+/).includes(word)))
  return [...new Map(types.slice(0, MAX_TEXTS).map(({ text, path }) => [
    text, { place: { mediaType: text }, why: `${path} of the card` }
  ])).values()]
}

/** Where the card has a schema for the data. */
function schemaIn ({ params, index }: CardExtension): Guess['schema'] {
  if (!isObject(params) || index < 0) return null
  const key = Object.keys(params).find(name => SCHEMA.test(name) && isObject(params[name]))
  return key === undefined ? null : { fromCard: [`/capabilities/extensions/{self}/params/${escapePointer(key)}`] }
}

function methodsOf ({ params, pointer }: CardExtension, card: AgentCard): GuessedMethod[] {
  const named = !isObject(params)
    ? []
    : Object.entries(params).filter(([key]) => METHODS.test(key)).flatMap(([key, value]) => {
      const texts = isObject(value) ? Object.keys(value) : textsOf(value)
      return texts.map(name => ({ name, params: null, why: `params.${key} of the card` }))
    })
  const entry = resolvePointer(card.raw, pointer)
  const description = isObject(entry) && typeof entry.description === 'string' ? entry.description.slice(0, 4_000) : ''
  const described = !/\bmethods?\b/i.test(description)
    ? []
    : [
        ...description.matchAll(/[`"']([a-z][\w-]*(?:[/.][\w-]+)+)[`"']/gi)
      ].map(([, name = '']) => ({ name, params: null, why: 'the description in the card' }))
  const valid = [...named, ...described].filter(({ name }) => /^[A-Za-z][\w./:-]{0,199}$/.test(name) && !isOperation(name))
  return [...new Map(valid.slice(0, MAX_TEXTS).map(method => [method.name, method])).values()]
}

export function isOperation (method: string): boolean {
  return operationOfMethod(method, '1.0') !== null || operationOfMethod(method, '0.3') !== null
}

function textsOf (value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value : [value]
  return list.map(node => isObject(node) ? node.name : node).filter((text): text is string => typeof text === 'string').slice(0, MAX_TEXTS)
}

/** True for a media type that is not the type of ordinary parts. */
export function isOwnType (text: string): boolean {
  const type = parseMediaType(text)
  return type !== null && text.length <= 200 && !text.includes('*') && !(COMMON.test(type.essence) && type.parameters.size === 0)
}

/** True for a name that a selector takes literally. */
export function isName (text: string): boolean {
  return text !== '' && text.length <= 512 && !text.startsWith('$') && !text.includes('*')
}

/** A policy of the catalogue whose URI differs in the version only. */
function relativeOf (uri: string, catalogue: Readonly<Record<string, PolicyConfig>>): [name: string, policy: PolicyConfig] | null {
  const mine = versionless(uri)
  if (mine === uri) return null
  return Object.entries(catalogue).findLast(([, policy]) => policy.uri !== undefined && versionless(policy.uri) === mine) ?? null
}

function versionless (uri: string): string {
  return uri.replaceAll(/(?<=[/:#=@._-])v?\d+(?:[._-]\d+)*(?=$|[/:#?])/gi, '*')
}

function fromRelative (name: string, { uri = '', owns, request = [], methods = {} }: PolicyConfig): Guesses {
  const why = `as in the policy "${name}" of the catalogue, which is for ${uri}`
  const places: Place[] = [
    ...(owns?.metadata ?? []).map(metadata => ({ metadata })),
    ...(owns?.dataKeys ?? []).map(dataKey => ({ dataKey })),
    ...(owns?.mediaTypes ?? []).map(mediaType => ({ mediaType })),
    ...(owns?.data ?? []).map(data => ({ data }))
  ]
  const guesses = places.map((place): Guess => ({ place, why, schema: schemaOf(place, request) }))
  return {
    request: guesses.length > 0 || Object.keys(methods).length > 0 ? guesses : usual(null),
    response: [],
    methods: Object.keys(methods).map(method => ({ name: method, params: null, why }))
  }
}

/** The inline schema of an unconditional rule for the same place. */
function schemaOf (place: Place, rules: readonly RuleConfig[]): Guess['schema'] {
  const rule = rules.find(({ select, when, unless }) => {
    if (when !== undefined || unless !== undefined) return false
    if ('metadata' in place) return select.metadata?.key === place.metadata && select.metadata.path === undefined
    return 'dataKey' in place && select.part?.dataKey === place.dataKey && select.part.path === undefined
  })
  const schema = rule?.schema
  return isObject(schema) && ['fromCard', 'enumFromCard', 'ref', 'set'].every(key => !(key in schema)) ? schema : null
}
