/** Where a rule's schema comes from: inline, from a file, or from the agent's card by JSON Pointer template. Everything is compiled here, once. */
import { createHash } from 'node:crypto'
import type { SchemaRef, SchemaSource } from '../../config/model/model.js'
import type { CompiledSchema, CompileResult } from '../../jsonschema/schema.js'
import { compileSchema } from '../../jsonschema/schema.js'
import { MAX_PATTERNS_SIZE, Patterns } from '../../jsonschema/regexp.js'
import { costOf, countValues, SCHEMA_LIMITS } from '../../jsonschema/lint.js'
import { compileRef } from '../../jsonschema/schema-set.js'
import { valuesAt } from '../selectors/values-at.js'
import { escapePointer, resolvePointer } from '../../wire/json/pointer.js'

/** A schema that could not be compiled: data that names it is refused, the rest of the agent works. */
export interface UnusableSchema { readonly pointer: string, readonly message: string }

export type SchemaEntry = { readonly usable: true, readonly schema: CompiledSchema } | ({ readonly usable: false } & UnusableSchema)

export interface CompiledSource {
  /** Names the card declares, for the refusal of an undeclared one; empty for sources without a captured name. */
  readonly names: readonly string[]
  /** @returns null when the card has no schema of that name */
  find (captures: ReadonlyMap<string, string>): { readonly name: string | null, readonly entry: SchemaEntry } | null
}

/** A card to look in, with the index of the extension in its `capabilities.extensions`. */
export interface CardToSearch { readonly raw: Readonly<Record<string, unknown>>, readonly self: number }

export interface SourceContext {
  /** In order: the card of the request's version, then the agent's other one, which may hold root keys that this one lost. */
  readonly cards: readonly CardToSearch[]
  /** Receives one entry per schema that cannot be used, with its pointer from the root of the card. */
  readonly report: (problem: UnusableSchema) => void
  readonly cache: SchemaCache
}

export const MAX_SCHEMAS = 256
/** Values in all schemas that one snapshot compiles: a value takes about 0.3 ms. */
export const MAX_VALUES = 10_000
/** Pointers that are told of one card: it may hold any number of schemas that cannot be used. */
const MAX_TOLD = 100

/** A schema that is compiled, with what it counts for. */
export interface KnownSchema {
  readonly result: CompileResult
  readonly values: number
  /** Those of the schema; null for a schema of the operator, whose patterns do not count. */
  readonly patterns: Patterns | null
}

/** The card as a whole asks for too much. */
export class CardTooLarge extends Error {}

/** A schema of the card is too large to be compiled here, and has not been compiled elsewhere. */
export class SchemaNotReady extends Error {}

export interface SchemaCacheOptions {
  /** Of the snapshot before; what this one does not use again is forgotten with it. */
  readonly previous?: SchemaCache | undefined
  /** Compiled before, by key (`keyOf`). */
  readonly ready?: ReadonlyMap<string, KnownSchema> | undefined
  /** What schemas from the card may cost (`costOf`) that are compiled here and now, because everything else waits meanwhile; default: anything. */
  readonly here?: number | undefined
}

/** Compiled schemas by content, so that a card that comes back unchanged, or with other changes, compiles nothing twice. */
export class SchemaCache {
  private readonly previous: ReadonlyMap<string, KnownSchema>
  private readonly ready: ReadonlyMap<string, KnownSchema>
  private readonly current = new Map<string, KnownSchema>()
  /** Of the card. */
  private readonly patterns = new Patterns(MAX_PATTERNS_SIZE)
  private valuesLeft = MAX_VALUES
  private hereLeft: number

  constructor ({ previous, ready, here }: SchemaCacheOptions = {}) {
    this.previous = previous?.current ?? NONE_KNOWN
    this.ready = ready ?? NONE_KNOWN
    this.hereLeft = here ?? Number.POSITIVE_INFINITY
  }

  /**
   * @param fromCard whether the card holds it, rather than the configuration
   * @throws CardTooLarge, SchemaNotReady
   */
  compile (schema: unknown, fromCard = false): CompileResult {
    const key = keyOf(schema)
    const known = this.current.get(key)
    if (known !== undefined) return known.result
    if (this.current.size >= MAX_SCHEMAS) return tooMuch(`more than ${MAX_SCHEMAS} different schemas`)
    const before = this.previous.get(key) ?? this.ready.get(key)
    this.valuesLeft -= before?.values ?? countValues(schema, SCHEMA_LIMITS.nodes)
    if (this.valuesLeft < 0) return tooMuch(`schemas of more than ${MAX_VALUES} values together`)
    const made = before ?? this.make(schema, fromCard, key)
    if (fromCard && made.patterns !== null) {
      this.patterns.adopt(made.patterns)
      if (this.patterns.exceeded) throw new CardTooLarge(this.patterns.problem)
    }
    this.current.set(key, made)
    return made.result
  }

  /** Whether the snapshot uses it. */
  has (key: string): boolean {
    return this.current.has(key)
  }

  protected make (schema: unknown, fromCard: boolean, _key: string): KnownSchema {
    const values = countValues(schema, SCHEMA_LIMITS.nodes)
    if (fromCard && this.hereLeft !== Number.POSITIVE_INFINITY && (this.hereLeft -= costOf(schema, this.hereLeft + 1)) < 0) throw new SchemaNotReady('a schema of the card is not compiled yet')
    // A sum that is exceeded is noticed before anything large is compiled.
    const patterns = new Patterns(fromCard ? MAX_PATTERNS_SIZE : undefined)
    return { result: compileSchema(schema, patterns), values, patterns: fromCard ? patterns : null }
  }
}

const NONE_KNOWN: ReadonlyMap<string, KnownSchema> = new Map()

/** Goes through a card in the place of a cache, to find what has to be compiled for it. */
export class SchemaCollector extends SchemaCache {
  /** From the card and not known yet, by key. */
  readonly found = new Map<string, unknown>()

  protected override make (schema: unknown, fromCard: boolean, key: string): KnownSchema {
    if (fromCard && typeof schema === 'object' && schema !== null) this.found.set(key, schema)
    return { result: UNJUDGED, values: countValues(schema, SCHEMA_LIMITS.nodes), patterns: null }
  }
}

const UNJUDGED: CompileResult = { ok: true, schema: { validate: () => null, matches: () => null } }

const keys = new WeakMap<object, string>()

/** By the content of a schema. */
export function keyOf (schema: unknown): string {
  const isObject = typeof schema === 'object' && schema !== null
  let key = isObject ? keys.get(schema) : undefined
  if (key === undefined) {
    key = createHash('sha256').update(JSON.stringify(schema) ?? 'undefined').digest('base64')
    if (isObject) keys.set(schema, key)
  }
  return key
}

/** Keeps what is told of a card's schemas within bounds. */
export function reportTo (unusable: UnusableSchema[]): SourceContext['report'] {
  const told = new Set<string>()
  return problem => {
    if (told.has(problem.pointer)) return
    told.add(problem.pointer)
    if (told.size <= MAX_TOLD) unusable.push(problem)
    else unusable[MAX_TOLD] = { pointer: problem.pointer, message: `${problem.message} (and ${told.size - MAX_TOLD - 1} more schemas that cannot be used)` }
  }
}

function tooMuch (what: string): CompileResult {
  return { ok: false, problem: { pointer: '', message: `the card holds ${what}` } }
}

/** A schema that decides rather than judges: what it cannot tell is null. */
export function compileMatcher (schema: unknown, context: SourceContext): (value: unknown) => boolean | null {
  const entry = compileEntry(schema, '', context)
  return entry.usable ? value => entry.schema.matches(value) : () => null
}

const CAPTURE = /^\{([a-z][a-z0-9_-]*)\}$/

export function compileSource (source: SchemaSource, context: SourceContext): CompiledSource {
  if (isEnumFromCard(source)) return always(compileEnum(source.enumFromCard, context))
  if (!isFromCard(source)) return always(isSchemaRef(source) ? entryOf(compileRef(source), '', context) : compileEntry(source, '', context))
  const fixed: SchemaEntry[] = []
  const named = new Map<string, SchemaEntry>()
  let capture: string | null = null
  for (const { card, template } of searches(source.fromCard, context.cards)) {
    const pointer = template.replaceAll('{self}', String(card.self))
    const segments = pointer.split('/')
    const at = segments.findIndex(segment => CAPTURE.test(segment))
    if (at < 0) {
      const schema = resolvePointer(card.raw, pointer)
      if (schema !== undefined) fixed.push(compileEntry(schema, pointer, context, true))
      continue
    }
    capture = CAPTURE.exec(segments[at] as string)?.[1] ?? null
    const parent = segments.slice(0, at).join('/')
    const rest = segments.slice(at + 1).map(segment => `/${segment}`).join('')
    const container = resolvePointer(card.raw, parent)
    if (typeof container !== 'object' || container === null || Array.isArray(container)) continue
    for (const name of Object.keys(container)) {
      if (named.has(name)) continue
      const path = `${parent}/${escapePointer(name)}${rest}`
      const schema = resolvePointer(card.raw, path)
      if (schema !== undefined) named.set(name, compileEntry(schema, path, context, true))
    }
  }
  return {
    names: [...named.keys()],
    find: captures => {
      const name = capture === null ? undefined : captures.get(capture)
      const entry = name === undefined ? undefined : named.get(name)
      // A fixed schema has no name; the client's own is not repeated to it.
      if (name === undefined || entry === undefined) return fixed[0] === undefined ? null : { name: null, entry: fixed[0] }
      return { name, entry }
    }
  }
}

function always (entry: SchemaEntry): CompiledSource {
  return { names: [], find: () => ({ name: null, entry }) }
}

/** One of the values that the card lists: the first of the agent's cards that lists any. */
function compileEnum (template: string, context: SourceContext): SchemaEntry {
  for (const card of context.cards) {
    const values = valuesAt(card.raw, template.replaceAll('{self}', String(card.self)))
    if (values.length > 0) return compileEntry({ enum: values }, template, context, true)
  }
  return entryOf({ ok: false, problem: { pointer: '', message: 'the card lists no values there' } }, template, context)
}

function searches (templates: readonly string[], cards: readonly CardToSearch[]): { card: CardToSearch, template: string }[] {
  return cards.flatMap(card => templates.map(template => ({ card, template })))
}

/** Tells the two kinds of source apart: `fromCard` as the only key, with a list, is not a JSON Schema anyone writes. */
export function isFromCard (source: SchemaSource): source is { readonly fromCard: readonly string[] } {
  return typeof source === 'object' && 'fromCard' in source && Object.keys(source).length === 1 && Array.isArray(source.fromCard)
}

/** Of the card; `*` stands for every item or member, `{self}` for the index of the extension. */
export function isEnumFromCard (source: SchemaSource): source is { readonly enumFromCard: string } {
  return typeof source === 'object' && 'enumFromCard' in source && Object.keys(source).length === 1 && typeof source.enumFromCard === 'string'
}

/** No text of a configuration makes a Map. */
export function isSchemaRef (source: unknown): source is SchemaRef {
  return typeof source === 'object' && source !== null && 'set' in source && (source.set as { documents?: unknown } | null)?.documents instanceof Map
}

function compileEntry (schema: unknown, pointer: string, context: SourceContext, fromCard = false): SchemaEntry {
  return entryOf(context.cache.compile(schema, fromCard), pointer, context)
}

function entryOf (result: CompileResult, pointer: string, context: SourceContext): SchemaEntry {
  if (result.ok) return { usable: true, schema: result.schema }
  const problem = { pointer: `${pointer}${result.problem.pointer}`, message: result.problem.message }
  context.report(problem)
  return { usable: false, ...problem }
}
