/** Entry of one agent in the directory: the parts of its served cards that a developer of a client needs, as data. */
import type { CardInterface } from '#a2a/card/card.js'
import { readCard } from '#a2a/card/card.js'
import type { SecurityAlternative, SecurityScheme } from '#a2a/card/security.js'
import { readSecurity } from '#a2a/card/security.js'
import type { GrpcInterface } from '#a2a/grpc/card-interface.js'
import { clip } from '#console/text.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject, own } from '#wire/json/object.js'
import { resolvePointer } from '#wire/json/pointer.js'

export interface DirectoryInterface {
  /** `host:port` for gRPC. */
  readonly url: string
  readonly binding: string
  /** Such as `1.0`. */
  readonly version: string
  readonly tenant: string | null
}

export interface DirectoryEntry {
  readonly name: string
  /** Version of the agent itself. */
  readonly version: string
  readonly description: string
  readonly provider: { readonly organization: string, readonly url: string }
  readonly documentationUrl: string
  /** URL of the served card. */
  readonly card: string
  /** In the card's order of preference. */
  readonly interfaces: readonly DirectoryInterface[]
  readonly streaming: boolean
  readonly pushNotifications: boolean
  readonly extendedCard: boolean
  readonly security: {
    readonly schemes: Readonly<Record<string, SecurityScheme>>
    /** Names of schemes; one alternative must be met. Empty: the card requires no credentials. */
    readonly alternatives: readonly SecurityAlternative[]
  }
  readonly extensions: readonly {
    readonly uri: string
    readonly required: boolean
    readonly description: string
    readonly params?: unknown
  }[]
  readonly skills: readonly {
    readonly id: string
    readonly name: string
    readonly description: string
    readonly tags: readonly string[]
    readonly examples: readonly string[]
    readonly inputModes: readonly string[]
    readonly outputModes: readonly string[]
  }[]
  /** By name. */
  readonly schemas: Readonly<Record<string, unknown>>
}

/** Bounds of one list and of one text: the page stays readable, and one card cannot fill it. The card itself has the rest. */
const MAX_LISTED = 100
const LONG = 2_000
/** Largest JSON of a schema, and of the parameters of an extension, in characters. */
const LARGE = 16_384

/**
 * @param cards the served cards of the agent, without duplicates; the first one describes it, the others add interfaces and extensions
 * @param url of the served card
 */
export function directoryEntryOf (cards: readonly JsonObject[], url: string): DirectoryEntry {
  const [raw = {}] = cards
  const read = cards.map(card => readCard(card)).flatMap(reading => reading.ok ? [reading.card] : [])
  const { schemes, alternatives } = readSecurity(raw)
  const interfaces = read.flatMap(({ interfaces, grpc }): DirectoryInterface[] => [
    ...interfaces.map(cardInterface => interfaceOf(cardInterface, cardInterface.binding)),
    ...grpc.map(grpcInterface => interfaceOf(grpcInterface, 'GRPC'))
  ])
  const extensions = read.flatMap(({ raw, extensions }) => extensions.map(({ uri, required, pointer, params }) => ({
    uri,
    required,
    description: text(resolvePointer(raw, `${pointer}/description`)),
    ...(params === undefined || isLarge(params) ? {} : { params })
  })))
  return {
    name: text(raw['name'], 200),
    version: text(raw['version'], 50),
    description: text(raw['description']),
    provider: { organization: text(resolvePointer(raw, '/provider/organization'), 200), url: text(resolvePointer(raw, '/provider/url')) },
    documentationUrl: text(own(raw, 'documentationUrl') ?? own(raw, 'documentation_url')),
    card: url,
    interfaces: [...new Map(interfaces.map(entry => [JSON.stringify(entry), entry])).values()].slice(0, MAX_LISTED),
    streaming: read.some(card => card.streaming),
    pushNotifications: read.some(card => card.pushNotifications),
    extendedCard: read.some(card => card.extendedCard),
    security: {
      schemes: Object.fromEntries([...schemes].flatMap(([name, scheme]) => scheme === null ? [] : [[name, scheme]])),
      alternatives: alternatives ?? []
    },
    extensions: [...new Map(extensions.map(extension => [extension.uri, extension])).values()],
    skills: list(raw['skills']).filter(isObject).slice(0, MAX_LISTED).map(skill => ({
      id: text(skill['id'], 200),
      name: text(skill['name'], 200),
      description: text(skill['description']),
      tags: texts(skill['tags']),
      examples: texts(skill['examples']),
      inputModes: texts(own(skill, 'inputModes') ?? own(skill, 'input_modes')),
      outputModes: texts(own(skill, 'outputModes') ?? own(skill, 'output_modes'))
    })),
    schemas: schemasOf(raw['schemas'])
  }
}

function interfaceOf ({ text, version, unknownMinor, tenant }: CardInterface | GrpcInterface, binding: string): DirectoryInterface {
  return { url: text, binding, version: unknownMinor ?? version, tenant }
}

function schemasOf (schemas: unknown): Readonly<Record<string, unknown>> {
  return isObject(schemas) ? Object.fromEntries(Object.entries(schemas).filter(([, schema]) => !isLarge(schema)).slice(0, MAX_LISTED)) : {}
}

function isLarge (value: unknown): boolean {
  return JSON.stringify(value).length > LARGE
}

/** @returns '' for a value that is not a text */
function text (value: unknown, length = LONG): string {
  return typeof value === 'string' ? clip(value, length) : ''
}

function texts (value: unknown): string[] {
  return list(value).map(element => text(element, 500)).filter(line => line !== '').slice(0, 20)
}

function list (value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
