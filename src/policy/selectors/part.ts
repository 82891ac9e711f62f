/** Selects parts by kind, media type, keys of their data and schema. */
import type { MediaTypePlace, PartView, StatedMediaType } from '#a2a/message/message.js'
import { partSteps, statedTypes } from '#a2a/message/message.js'
import { memberPath } from '#a2a/fields.js'
import { normalisePart } from '#a2a/message/normalise.js'
import type { PartSelectorConfig } from '#config/model/model.js'
import type { JsonPath } from '#wire/json/edit.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import type { UnreadValue } from '#wire/json/unread-value.js'
import type { MediaType, MediaTypePattern } from '#wire/media-type.js'
import { compileMediaTypePattern, looseMediaType, parseMediaType } from '#wire/media-type.js'
import type { NameMatch } from '../compile/glob.js'
import { matchingKeys } from '../compile/glob.js'
import { compileGlob } from '#wire/glob.js'
import { isInexact, NOT_EXACT, spendBudget } from '#jsonschema/evaluation.js'
import { parsePointer } from '#wire/json/pointer.js'
import type { SelectContext, Selected, Selector, Steps } from './selection.js'
import { descend, descendPath, NAME_LIMIT, NO_CAPTURES, NOWHERE } from './selection.js'
import type { Subject } from './subject.js'

export function compilePart (config: PartSelectorConfig, context: SelectContext, located: boolean): Selector<Subject> {
  const matchesPart = compileMatch(config, context)
  const capture = compileCaptures(config.captures, context)
  const steps = stepsOf(config.path)
  const firstOnly = config.take === 'first'
  const owners = config.in ?? MESSAGE
  const select = (subject: Subject): Selected[] => {
    const selected: Selected[] = []
    const places = firstOnly ? new Set<MediaTypePlace>() : null
    for (const content of subject.contents(owners)) {
      for (let i = 0; i < content.parts.length; i++) {
        const part = content.parts[i] as PartView
        const matched = matchesPart(part)
        if (matched === null) continue
        const { byType, values } = matched
        // An agent may read only one of the places and compare plain text. That agent takes the first part that states its type there
        // plainly. The gateway evaluates each part that could be the first one for some agent.
        if (places !== null) {
          if (selected.length > 0 && byType.places.every(place => places.has(place))) continue
          for (const place of byType.plainPlaces) places.add(place)
        }
        const ambiguous = byType.ambiguous ?? matched.inexact ?? (firstOnly && part.ambiguity !== null
          ? `${part.path} ${part.ambiguity}`
          : null)
        const { typePath } = byType
        const captures = capture === null ? byType.captures : capture(part, subject, byType.captures)
        const at = located ? partSteps(content, part) : NOWHERE
        for (const value of values) {
          if (value === null && steps.length === 0) {
            const { isData, unread } = part
            selected.push(
              unread === undefined
                ? { path: isData ? part.dataPath : part.path, typePath, value: part.data, captures, ambiguous, fragment: !isData, at }
                : new UnreadSelection(part, unread, { typePath, captures, ambiguous, at })
            )
            continue
          }
          const inside: Steps | null = located ? [] : null
          const path = value === null ? part.dataPath : memberPath(part.dataPath, value.key, value.exact ? NAME_LIMIT : undefined)
          selected.push({
            path: descendPath(path, steps),
            typePath,
            value: descend(memberOf(part, value), steps, inside),
            captures,
            ambiguous,
            fragment: false,
            at: inside === null ? NOWHERE : [...at, ...part.dataSteps, ...(value === null ? [] : [value.key]), ...inside]
          })
        }
      }
    }
    return selected
  }
  return { select, needsMessage: true, selectsData: config.dataKey === undefined && steps.length === 0, missing: null }
}

/**
 * A part whose data nobody has read. A getter of an object literal instead would keep the part, and with it the body, through young
 * collections (docs/contributing/benchmarks.md, "Getters").
 */
class UnreadSelection implements Selected {
  readonly path: string
  readonly typePath: string | null
  readonly unread: UnreadValue
  readonly captures: ReadonlyMap<string, string>
  readonly ambiguous: string | null
  readonly fragment = false
  readonly at: JsonPath
  private readonly part: PartView

  constructor (part: PartView, unread: UnreadValue, match: Pick<Selected, 'typePath' | 'captures' | 'ambiguous' | 'at'>) {
    this.part = part
    this.path = part.dataPath
    this.unread = unread
    this.typePath = match.typePath
    this.captures = match.captures
    this.ambiguous = match.ambiguous
    this.at = match.at
  }

  get value (): unknown {
    return this.part.data
  }
}

const MESSAGE = ['message'] as const
/** Begins a pointer into the request or the result, instead of into the part. */
const WHOLE_SUBJECT = '..'

type Capture = (part: PartView, subject: Subject, typed: ReadonlyMap<string, string>) => ReadonlyMap<string, string>

/** Compiles `captures` of a part selector: strings that templates of `fromCard` name. A place without a string captures nothing. */
function compileCaptures (captures: PartSelectorConfig['captures'], { uris }: SelectContext): Capture | null {
  if (captures === undefined) return null
  const places = Object.entries(captures).map(([name, pointer]) => {
    const [first, ...steps] = pointer.split('/')
    const outside = first === WHOLE_SUBJECT
    return { name, outside, spellings: uris.map(uri => parsePointer(['', ...steps].join('/')).map(step => step === '$uri' ? uri : step)) }
  })
  return (part, subject, typed) => {
    const types = new Map(typed)
    let shape: JsonObject | null = null
    for (const { name, outside, spellings } of places) {
      spendBudget(spellings.length * POINTED)
      const root = outside ? subject.normalised : shape ??= normalisePart(part)
      const value = spellings.map(steps => descend(root, steps, null)).find(candidate => candidate !== undefined)
      if (typeof value === 'string') types.set(name, value)
    }
    return types
  }
}

/** Returns a test for the parts that the selector matches, without regard to `take: first`. */
export function compilePartTest (config: PartSelectorConfig, context: SelectContext): (part: PartView) => boolean {
  const matchesPart = compileMatch(config, context)
  return part => matchesPart(part) !== null
}

function stepsOf (path: string | undefined): readonly string[] {
  return path === undefined ? NO_STEPS : parsePointer(path)
}

const NO_STEPS: readonly string[] = []

type SelectedKey = NameMatch | null

/** The selected member of a part's data; null selects all of the data. */
function memberOf (part: PartView, key: SelectedKey): unknown {
  return key === null ? part.data : (part.data as Readonly<Record<string, unknown>>)[key.key]
}

const WHOLE: readonly SelectedKey[] = [null]
/**
 * Steps of a part, of a value that is found, of a step of a pointer, of a media type that is parsed for the first time, and of one
 * character of that type.
 */
const PART = 0.3
const FOUND = 0.5
const POINTED = 0.1
const TYPE = 2
const CHARACTER = 1 / 20

interface MatchedPart {
  readonly byType: Match
  /** The selected keys of its data; null represents all of the data. */
  readonly values: readonly SelectedKey[]
  /** Reason why `where` cannot be decided, or null. */
  readonly inexact: string | null
}

function compileMatch (
  { data, mediaType, dataKey, where, path, match }: PartSelectorConfig,
  context: SelectContext
): (part: PartView) => MatchedPart | null {
  const types =
    mediaType === undefined
      ? null
      : new TypeReader((typeof mediaType === 'string' ? [mediaType] : mediaType).map(compileMediaTypePattern), context.modes)
  const keys = dataKey === undefined ? null : [compileGlob(dataKey)]
  const matches = match === undefined ? null : context.matcher(match)
  const steps = stepsOf(path)
  const whereSteps = stepsOf(where?.path)
  return part => {
    spendBudget(PART)
    if (data === true && !part.isData) return null
    let inexact: string | null = null
    if (where !== undefined) {
      spendBudget(whereSteps.length * POINTED)
      const value = descend(part.data, whereSteps, null)
      if (isInexact(value) && typeof where.equals === 'number') inexact = NOT_EXACT
      else if (value !== where.equals) return null
    }
    const byType = types === null ? UNTYPED : byMediaType(part, types)
    if (byType === null) return null
    let values: readonly SelectedKey[] = keys === null ? WHOLE : isObject(part.data) ? matchingKeys(part.data, keys) : []
    if (steps.length > 0) {
      spendBudget(values.length * steps.length * POINTED)
      values = values.filter(key => descend(memberOf(part, key), steps, null) !== undefined)
    }
    spendBudget(values.length * FOUND)
    if (values.length === 0) return null
    return matches !== null && matches(normalisePart(part)) === false ? null : { byType, values, inexact }
  }
}

interface Match {
  readonly captures: ReadonlyMap<string, string>
  readonly ambiguous: string | null
  readonly typePath: string | null
  readonly places: readonly MediaTypePlace[]
  /** The places of `places` whose text equals the plain form of the pattern, which the simplest reader finds too. */
  readonly plainPlaces: readonly MediaTypePlace[]
}

const UNTYPED: Match = { captures: NO_CAPTURES, ambiguous: null, typePath: null, places: [], plainPlaces: [] }

/**
 * Matches the media types of a part. A part may state its media type in several places. One match selects the part, and all places must
 * then state the same type.
 */
function byMediaType (part: PartView, types: TypeReader): Match | null {
  const statements = statedTypes(part)
  if (statements.length === 0) return null
  let captures: ReadonlyMap<string, string> | null = null
  let ambiguous: string | null = null
  let typePath: string | null = null
  const places: MediaTypePlace[] = []
  const plainPlaces: MediaTypePlace[] = []
  for (const stated of statements) {
    const read = types.read(stated.text)
    if (read === 'other') continue
    if (read === 'malformed' || read === 'unquoted') {
      ambiguous ??= `${stated.path} is not a well-formed media type${read === 'unquoted' ? types.howToQuote : ''}`
    } else {
      captures ??= read.captures
      if (read.plain) plainPlaces.push(stated.place)
    }
    typePath ??= stated.path
    places.push(stated.place)
  }
  if (typePath === null) return null
  if (ambiguous === null && disagree(statements, types)) {
    ambiguous = `${statements.map(stated => stated.path).join(' and ')} state different media types`
  }
  return { captures: captures ?? NO_CAPTURES, ambiguous, typePath, places, plainPlaces }
}

/**
 * Result of a stated media type for the patterns of one selector. `malformed`: some reader may take it for one of the types. `unquoted`:
 * the same, and quotes would make it a media type.
 */
type TypeReading = 'other' | 'malformed' | 'unquoted' | { readonly captures: ReadonlyMap<string, string>, readonly plain: boolean }

/**
 * Maximum texts that are kept, and maximum characters of one text. Agents use few types, and untrusted clients must not fill the memory.
 */
const NO_MODES: ReadonlyMap<string, MediaType> = new Map()
const TYPES_KEPT = 64
const TYPE_LENGTH = 256

/** Parses each text once, because the clients of an agent state few types. */
class TypeReader {
  /** The end of a message about a type that needs quotes. Names the parameter that the patterns capture, and no text of the client. */
  readonly howToQuote: string
  private readonly patterns: readonly MediaTypePattern[]
  private readonly modes: ReadonlyMap<string, MediaType>
  private readonly known = new Map<string, TypeReading>()

  /** @param modes media types of the card by their text, which count although they are not well-formed */
  constructor (patterns: readonly MediaTypePattern[], modes: ReadonlyMap<string, MediaType> = NO_MODES) {
    this.patterns = patterns
    this.modes = modes
    const [captured] = patterns.flatMap(pattern => pattern.captured)
    const example = captured === undefined ? '' : `, as in ${patterns[0]?.essence ?? ''};${captured}="a:b"`
    this.howToQuote = `; a name with special characters needs quotes${example}`
  }

  /** Reads a media type that is well-formed, or that the card writes in the same way. */
  parse (text: string): MediaType | null {
    return parseMediaType(text) ?? this.modes.get(text) ?? null
  }

  read (text: string): TypeReading {
    const typeReading = this.known.get(text)
    if (typeReading !== undefined) return typeReading
    spendBudget(TYPE + text.length * CHARACTER * this.patterns.length)
    const reading = this.readAnew(text)
    if (text.length > TYPE_LENGTH) return reading
    if (this.known.size >= TYPES_KEPT) this.known.clear()
    this.known.set(text, reading)
    return reading
  }

  private readAnew (text: string): TypeReading {
    const { patterns } = this
    const type = this.parse(text)
    if (type === null) {
      if (!patterns.some(pattern => looksLike(text, pattern.essence))) return 'other'
      return looseMediaType(text) === null ? 'malformed' : 'unquoted'
    }
    const captures = firstMatch(type, patterns)
    return captures === null ? 'other' : { captures, plain: isPlain(text, type, captures.size) }
  }
}

/** True for text in lower case without blanks, quotes or parameters besides the captured ones: `application/json;schema=order`. */
function isPlain (text: string, type: MediaType, captured: number): boolean {
  if (type.parameters.size !== captured) return false
  let plain = type.essence
  for (const [name, value] of type.parameters) plain += `;${name}=${value}`
  return plain === text
}

function firstMatch (type: MediaType, patterns: readonly MediaTypePattern[]): ReadonlyMap<string, string> | null {
  for (const pattern of patterns) {
    const captures = pattern.match(type)
    if (captures !== null) return captures
  }
  return null
}

function looksLike (text: string, essence: string): boolean {
  return text.trimStart().toLowerCase().startsWith(essence)
}

function disagree (statements: readonly StatedMediaType[], types: TypeReader): boolean {
  if (statements.length < 2) return false
  const first = normalised(statements[0]?.text ?? '', types)
  return statements.some(stated => normalised(stated.text, types) !== first)
}

function normalised (text: string, types: TypeReader): string {
  const type = types.parse(text)
  if (type === null) return text
  return JSON.stringify([type.essence, [...type.parameters].sort()])
}
