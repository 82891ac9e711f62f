/** Finds and compiles the schema of a rule, once: inline, from a file, or from the agent's card by JSON Pointer template. */
import type { ExtendedCardNames } from '#a2a/card/extended-card-names.js'
import type { JsonSchemaConfig, SchemaRef, SchemaSource } from '#config/model/model.js'
import type { Program } from '#jsonschema/bytes/program.js'
import { programFor } from '#jsonschema/bytes/program.js'
import type { SchemaToWrite } from '#jsonschema/code.js'
import { formatsOf } from '#jsonschema/format-assertion.js'
import type { CompiledSchema, CompileResult } from '#jsonschema/schema.js'
import { compileSchema } from '#jsonschema/schema.js'
import { compileShared, schemaKey } from '#jsonschema/shared-schemas.js'
import { MAX_PATTERNS_SIZE, Patterns } from '#jsonschema/regexp.js'
import { costOf, countValues, SCHEMA_LIMITS } from '#jsonschema/lint.js'
import { compileRef, programOfRef } from '#jsonschema/schema-set.js'
import { valuesAt } from '../selectors/values-at.js'
import { escapePointer, resolvePointer } from '#wire/json/pointer.js'
import { isObject } from '#wire/json/object.js'

/** A schema that could not be compiled. The gateway rejects data that names it. The rest of the agent works. */
export interface UnusableSchema { readonly pointer: string, readonly message: string }

export type SchemaEntry = UsableSchema | ({ readonly usable: false } & UnusableSchema)

export interface UsableSchema {
  readonly usable: true
  readonly schema: CompiledSchema
  /** The schema for data that nobody has read. Made at the first read; null when the schema has no program. */
  readonly program: Program | null
}

export interface CompiledSource {
  /** Names that the card declares, for the rejection of an undeclared name. Empty for sources without a captured name. */
  readonly names: readonly string[]
  /** All schemas that `find` returns. */
  readonly entries: readonly SchemaEntry[]
  /** True when an extended card of the agent has a schema of that name, which the gateway does not know. */
  isSeen?: (captures: ReadonlyMap<string, string>) => boolean
  /** @returns null when the card has no schema of that name */
  find (captures: ReadonlyMap<string, string>): { readonly name: string | null, readonly entry: SchemaEntry } | null
}

/** A card to search, with the index of the extension in its `capabilities.extensions`. */
export interface CardToSearch { readonly raw: Readonly<Record<string, unknown>>, readonly self: number }

export interface SourceContext {
  /**
   * In order: the card of the request's version, then the agent's other card. The other card may hold root keys that this card has lost.
   */
  readonly cards: readonly CardToSearch[]
  /** Receives one entry per schema that cannot be used, with its pointer from the root of the card. */
  readonly report: (problem: UnusableSchema) => void
  readonly cache: SchemaCache
  /** Names in extended cards that callers got. */
  readonly seen?: ExtendedCardNames | null
}

export const MAX_SCHEMAS = 256
/** Maximum number of values in all schemas that one snapshot compiles: a value takes about 0.3 ms. */
export const MAX_VALUES = 10_000
/** Maximum pointers that are reported for one card. A card may hold any number of schemas that cannot be used. */
const MAX_REPORTED = 100

/** A compiled schema, with the sizes that count towards the limits. */
export interface KnownSchema {
  readonly result: CompileResult
  readonly values: number
  /** Patterns of the schema. Null for a schema of the operator, whose patterns do not count. */
  readonly patterns: Patterns | null
}

/** The card as a whole exceeds a limit. */
class CardTooLarge extends Error {}

/** A schema of the card is too large to be compiled here, and has not been compiled elsewhere. */
class SchemaNotReady extends Error {}

export interface SchemaCacheOptions {
  /** Cache of the previous snapshot. Schemas that the new snapshot does not use are dropped with it. */
  readonly previous?: SchemaCache | undefined
  /** Schemas compiled before, by key (`schemaKey`). */
  readonly ready?: ReadonlyMap<string, KnownSchema> | undefined
  /** The agent's treatment of `format`. Default: `draft`. */
  readonly formats?: JsonSchemaConfig['formats']
  /** Maximum cost (`costOf`) of card schemas that are compiled immediately, because all other work waits meanwhile. Default: no limit. */
  readonly here?: number | undefined
}

/** Compiled schemas by content. A card that is loaded again, unchanged or with other changes, compiles no schema twice. */
export class SchemaCache {
  readonly formats: JsonSchemaConfig['formats']
  private readonly previous: ReadonlyMap<string, KnownSchema>
  private readonly ready: ReadonlyMap<string, KnownSchema>
  private readonly current = new Map<string, KnownSchema>()
  /** Patterns of the card. */
  private readonly patterns = new Patterns(MAX_PATTERNS_SIZE)
  private valuesLeft = MAX_VALUES
  private hereLeft: number

  constructor ({ previous, ready, formats = 'draft', here }: SchemaCacheOptions = {}) {
    this.formats = formats
    this.previous = previous?.current ?? NONE_KNOWN
    this.ready = ready ?? NONE_KNOWN
    this.hereLeft = here ?? Number.POSITIVE_INFINITY
  }

  /**
   * Returns the compiled schema, from the cache if possible.
   * @param fromCard true if the card holds the schema, false for the configuration
   * @throws CardTooLarge, SchemaNotReady
   */
  compile (schema: unknown, fromCard = false): CompileResult {
    const formats = formatsOf(schema, this.formats, !fromCard)
    const key = schemaKey(schema, formats)
    const knownSchema = this.current.get(key)
    if (knownSchema !== undefined) return knownSchema.result
    if (this.current.size >= MAX_SCHEMAS) return tooMuch(`more than ${MAX_SCHEMAS} different schemas`)
    const before = this.previous.get(key) ?? this.ready.get(key)
    this.valuesLeft -= before?.values ?? countValues(schema, SCHEMA_LIMITS.nodes)
    if (this.valuesLeft < 0) return tooMuch(`schemas of more than ${MAX_VALUES} values together`)
    const entry = before ?? this.make({ schema, formats }, fromCard, key)
    if (fromCard && entry.patterns !== null) {
      this.patterns.adopt(entry.patterns)
      if (this.patterns.exceeded) throw new CardTooLarge(this.patterns.problem)
    }
    this.current.set(key, entry)
    return entry.result
  }

  /** True when the snapshot uses the schema with this key. */
  has (key: string): boolean {
    return this.current.has(key)
  }

  protected make ({ schema, formats }: SchemaToWrite, fromCard: boolean, _key: string): KnownSchema {
    const values = countValues(schema, SCHEMA_LIMITS.nodes)
    if (fromCard && this.hereLeft !== Number.POSITIVE_INFINITY && (this.hereLeft -= costOf(schema, this.hereLeft + 1)) < 0) {
      throw new SchemaNotReady('a schema of the card is not compiled yet')
    }
    if (!fromCard) return { result: compileShared(schema, formats), values, patterns: null }
    // Patterns with a limit detect an excessive sum before anything large is compiled.
    const patterns = new Patterns(MAX_PATTERNS_SIZE)
    return { result: compileSchema(schema, patterns, formats), values, patterns }
  }
}

const NONE_KNOWN: ReadonlyMap<string, KnownSchema> = new Map()

/** Replaces the cache in a walk over a card, to find the schemas that must be compiled. */
export class SchemaCollector extends SchemaCache {
  /** Schemas of the card that are not known yet, by key. */
  readonly found = new Map<string, SchemaToWrite>()

  protected override make (schemaToWrite: SchemaToWrite, fromCard: boolean, key: string): KnownSchema {
    const { schema } = schemaToWrite
    if (fromCard && typeof schema === 'object' && schema !== null) this.found.set(key, schemaToWrite)
    return { result: UNEVALUATED, values: countValues(schema, SCHEMA_LIMITS.nodes), patterns: null }
  }
}

const UNEVALUATED: CompileResult = { ok: true, schema: { validate: () => null, matches: () => null } }

/** Limits the number of reports about a card's schemas. */
export function reportTo (unusable: UnusableSchema[]): SourceContext['report'] {
  const reported = new Set<string>()
  return problem => {
    if (reported.has(problem.pointer)) return
    reported.add(problem.pointer)
    if (reported.size <= MAX_REPORTED) unusable.push(problem)
    else {
      unusable[MAX_REPORTED] = {
        pointer: problem.pointer,
        message: `${problem.message} (and ${reported.size - MAX_REPORTED - 1} more schemas that cannot be used)`
      }
    }
  }
}

function tooMuch (what: string): CompileResult {
  return { ok: false, problem: { pointer: '', message: `the card has ${what}` } }
}

/** Compiles a schema that selects values instead of validating them. The result is null when it is undecidable. */
export function compileMatcher (schema: unknown, context: SourceContext): (value: unknown) => boolean | null {
  const entry = compileEntry(schema, '', context)
  return entry.usable ? value => entry.schema.matches(value) : () => null
}

/** A step `{name}`, which is any member, or `{member=name,...}`, which is any item of a list that has these members. `?` follows both. */
const LOOKUP = /^\{([^{}]+)\}(\?)?$/
const NAMED = /^(?:([^=,]+)=)?([a-z][a-z0-9_-]*)$/
/** Joins the values of several captures to one name. */
const BETWEEN = '\0'

export function compileSource (source: SchemaSource, context: SourceContext): CompiledSource {
  if (isEnumFromCard(source)) return always(compileEnum(source.enumFromCard, context))
  if (!isFromCard(source)) return always(isSchemaRef(source) ? compileRefEntry(source, context) : compileEntry(source, '', context))
  const fixed: SchemaEntry[] = []
  const named = new Map<string, SchemaEntry>()
  let wanted: readonly string[] = []
  for (const { card, template } of searches(source.fromCard, context.cards)) {
    const place = schemasAt(template, card)
    if (place.captures.length > 0) wanted = place.captures
    for (const { name, pointer, schema } of place.found) {
      if (name === null) fixed.push(compileEntry(schema, pointer, context, true))
      else if (!named.has(name)) named.set(name, compileEntry(schema, pointer, context, schema !== ANYTHING))
    }
  }
  const { seen: extendedCardNames } = context
  const nameOf = (captures: ReadonlyMap<string, string>): string | undefined => {
    const values = wanted.map(name => captures.get(name))
    return values.length === 0 || values.includes(undefined) ? undefined : values.join(BETWEEN)
  }
  return {
    names: [...named.keys()].map(name => name.replaceAll(BETWEEN, ', ')),
    entries: [...fixed.slice(0, 1), ...named.values()],
    isSeen: captures => {
      const name = nameOf(captures)
      return name !== undefined && extendedCardNames?.hasSchema(name) === true
    },
    find: captures => {
      const name = nameOf(captures)
      const entry = name === undefined ? undefined : named.get(name)
      // A fixed schema has no name. The gateway does not repeat the client's own name to the client.
      if (name === undefined || entry === undefined) return fixed[0] === undefined ? null : { name: null, entry: fixed[0] }
      return { name: name.replaceAll(BETWEEN, ', '), entry }
    }
  }
}

/** A schema that a card holds. `name` is null when the template has no lookup. */
interface CardSchema { readonly name: string | null, readonly pointer: string, readonly schema: unknown }

/** Stands for the schema that a place with `?` does not have. */
const ANYTHING = true

interface Lookup {
  /** Member of an item and the capture that it must equal; the member is null for the name of a member itself. */
  readonly by: readonly { readonly member: string | null, readonly capture: string }[]
  readonly optional: boolean
}

function lookupOf (step: string): Lookup | null {
  const [, text, optional] = LOOKUP.exec(step) ?? []
  const by = text?.split(',').map(part => NAMED.exec(part)) ?? []
  if (by.length === 0 || by.includes(null)) return null
  return { by: by.map(match => ({ member: match?.[1] ?? null, capture: match?.[2] ?? '' })), optional: optional === '?' }
}

/**
 * Lists the schemas of a card at one template of `fromCard`. `{self}` is the index of the extension. `{name}` is any name there, and
 * `{member=name}` any item of a list, by the value of its member. Behind `?`, a place without the rest of the template has the schema
 * `true`.
 * @returns the schemas, and the names of the captures in order; their values, joined, are the name of a schema
 */
export function schemasAt (
  template: string,
  { raw, self }: CardToSearch
): { readonly captures: readonly string[]; readonly found: readonly CardSchema[] } {
  const steps = template.replaceAll('{self}', String(self)).split('/').slice(1)
  const lookups = steps.map(lookupOf)
  const captures = lookups.flatMap(lookup => lookup?.by.map(({ capture }) => capture) ?? [])
  const cardSchemas: CardSchema[] = []
  const walk = (value: unknown, at: number, pointer: string, names: readonly string[], optional: boolean): void => {
    const step = steps[at]
    const lookup = lookups[at] ?? null
    if (step === undefined || (value === undefined && optional)) {
      const schema = value === undefined && optional ? ANYTHING : value
      if (schema !== undefined) cardSchemas.push({ name: captures.length === 0 ? null : names.join(BETWEEN), pointer, schema })
    } else if (lookup === null) {
      walk(resolvePointer(value, `/${step}`), at + 1, `${pointer}/${step}`, names, optional)
    } else if (isObject(value) && lookup.by.length === 1 && lookup.by[0]?.member === null) {
      for (const name of Object.keys(value)) {
        walk(value[name], at + 1, `${pointer}/${escapePointer(name)}`, [...names, name], optional || lookup.optional)
      }
    } else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) {
        const values = lookup.by.map(({ member }) => isObject(item) && member !== null ? item[member] : undefined)
        if (values.every(value => typeof value === 'string')) {
          walk(item, at + 1, `${pointer}/${index}`, [...names, ...values], optional || lookup.optional)
        }
      }
    }
  }
  walk(raw, 0, '', [], false)
  return { captures, found: cardSchemas }
}

function always (entry: SchemaEntry): CompiledSource {
  return { names: [], entries: [entry], find: () => ({ name: null, entry }) }
}

/** Compiles a schema for one of the values that the card lists. The first of the agent's cards that lists any values is used. */
function compileEnum (template: string, context: SourceContext): SchemaEntry {
  for (const card of context.cards) {
    const values = valuesAt(card.raw, template.replaceAll('{self}', String(card.self)))
    if (values.length > 0) return compileEntry({ enum: values }, template, context, true)
  }
  return entryOf({ ok: false, problem: { pointer: '', message: 'the card lists no values there' } }, template, context, NO_PROGRAM)
}

function searches (templates: readonly string[], cards: readonly CardToSearch[]): { card: CardToSearch, template: string }[] {
  return cards.flatMap(card => templates.map(template => ({ card, template })))
}

/**
 * Distinguishes the two kinds of source. An object with `fromCard` as the only key, with a list, is not a JSON Schema that anyone writes.
 */
export function isFromCard (source: SchemaSource): source is { readonly fromCard: readonly string[] } {
  return typeof source === 'object' && 'fromCard' in source && Object.keys(source).length === 1 && Array.isArray(source.fromCard)
}

/** Pointer into the card: `*` represents every item or member, `{self}` the index of the extension. */
export function isEnumFromCard (source: SchemaSource): source is { readonly enumFromCard: string } {
  return (
    typeof source === 'object' && 'enumFromCard' in source && Object.keys(source).length === 1 && typeof source.enumFromCard === 'string'
  )
}

/** True for a reference into a set of schemas. The Map identifies it, because no text of a configuration creates a Map. */
export function isSchemaRef (source: unknown): source is SchemaRef {
  return (
    typeof source === 'object' &&
    source !== null &&
    'set' in source &&
    (source.set as { documents?: unknown } | null)?.documents instanceof Map
  )
}

function compileEntry (schema: unknown, pointer: string, context: SourceContext, fromCard = false): SchemaEntry {
  const { cache } = context
  return entryOf(cache.compile(schema, fromCard), pointer, context, () => programFor(schema, formatsOf(schema, cache.formats, !fromCard)))
}

function compileRefEntry (source: SchemaRef, context: SourceContext): SchemaEntry {
  const { formats } = context.cache
  return entryOf(compileRef(source, formats), '', context, () => programOfRef(source, formats))
}

function NO_PROGRAM (): null {
  return null
}

/** A schema whose program is made when it is asked for: most processes never need most of them. */
class LazyEntry implements UsableSchema {
  readonly usable = true
  readonly schema: CompiledSchema
  readonly #make: () => Program | null
  #program: Program | null | undefined

  constructor (schema: CompiledSchema, make: () => Program | null) {
    this.schema = schema
    this.#make = make
  }

  get program (): Program | null {
    if (this.#program === undefined) this.#program = this.#make()
    return this.#program
  }
}

function entryOf (result: CompileResult, pointer: string, context: SourceContext, program: () => Program | null): SchemaEntry {
  if (result.ok) return new LazyEntry(result.schema, program)
  const [first, ...others] = [result.problem, ...result.problem.others ?? []].map(problem => ({
    pointer: `${pointer}${problem.pointer}`,
    message: problem.message
  }))
  const problem = first as UnusableSchema
  for (const unusableSchema of [problem, ...others]) context.report(unusableSchema)
  return { usable: false, ...problem }
}
