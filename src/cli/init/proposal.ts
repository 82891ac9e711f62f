/** A proposed policy for an extension that the catalogue does not know, and its YAML. Every proposal is marked as a guess. */
import { slug, uniqueName } from './extension-name.js'
import { block, comment, flow, scalar } from './yaml-text.js'

/** A place of an extension's data: a member of metadata, a member of a part's data, a kind of part, or parts with one value. */
export type Place =
  | { readonly metadata: string }
  | { readonly dataKey: string }
  | { readonly mediaType: string }
  | { readonly data: { readonly path: string, readonly equals: string | number | boolean } }

export interface Guess {
  readonly place: Place
  /** Schema of a rule, or where the card has it. Null: the data belongs to the extension, and nothing is known about its form. */
  readonly schema: Readonly<Record<string, unknown>> | null
  /** Source of the guess, for the comment: the rest of a line that begins with "guess:". */
  readonly why: string
  /** For responses: the objects whose metadata has the member. */
  readonly places?: readonly string[]
}

export interface GuessedMethod {
  readonly name: string
  readonly params: Readonly<Record<string, unknown>> | null
  readonly why: string
}

export interface Guesses {
  readonly request: readonly Guess[]
  readonly response: readonly Guess[]
  readonly methods: readonly GuessedMethod[]
}

export interface Proposal extends Guesses {
  readonly uri: string
  readonly name: string
}

export interface ProposedRule {
  readonly id: string
  readonly guess: Guess
}

/** The request rules of a proposal, with the ids that its policy gives them. */
export function rulesOf (guesses: readonly Guess[], taken = new Set<string>()): ProposedRule[] {
  return guesses.filter(({ schema }) => schema !== null).map(guess => ({ id: uniqueName(idOf(guess.place), taken), guess }))
}

/** The lines of a proposal's policy, as a member of `extensions`. */
export function policyLines (proposal: Proposal): string[] {
  const { uri, name, request, response, methods } = proposal
  const owned = ownsOf(request)
  const ids = new Set<string>()
  const rules = rulesOf(request, ids)
  const results = rulesOf(response, ids)
  return [
    `  ${name}:`,
    `    uri: ${scalar(uri)}`,
    ...(Object.keys(owned).length === 0
      ? []
      : [
          comment('guess: the data that belongs to the extension, from the same sources as the rules below', 4), ...block({ owns: owned }, 4)
        ]),
    // Data alone must not replace the header: the card may require the extension.
    ...block({ activation: { signals: ['header'] } }, 4),
    ...(methods.length === 0 ? [] : ['    methods:', ...methods.flatMap(methodLines)]),
    ...(rules.length === 0 ? [] : ['    request:', ...rules.flatMap(rule => ruleLines(rule, selectorOf(rule.guess.place)))]),
    ...(results.length === 0 ? [] : ['    response:', ...results.flatMap(rule => ruleLines(rule, resultSelectorOf(rule.guess)))])
  ]
}

function methodLines ({ name, params, why }: GuessedMethod): string[] {
  return [
    comment(`guess: ${why}; with need: active, only requests that activate the extension may call the method`, 6),
    ...block({ [name]: { need: 'none' } }, 6),
    // A schema of parameters rejects at once, so this one needs a decision.
    ...(params === null ? [] : [comment(`guess: params: ${flow(params)}`, 8)])
  ]
}

/** A guess cannot know that a message must have the value, so the rule has `required: false` and rejects nothing. */
function ruleLines ({ id, guess: { schema, why } }: ProposedRule, select: object): string[] {
  const [first = '', ...rest] = block({ id, select, required: false, schema, verdict: 'warn' }, 8)
  return [comment(`guess: ${why}`, 6), `      - ${first.trimStart()}`, ...rest]
}

function resultSelectorOf ({ place, places }: Guess): object {
  return { metadata: { in: places, key: 'metadata' in place ? place.metadata : '$uri' } }
}

function selectorOf (place: Place): Readonly<Record<string, unknown>> {
  if ('metadata' in place) return { metadata: { key: place.metadata } }
  if ('dataKey' in place) return { part: { dataKey: place.dataKey } }
  if ('mediaType' in place) return { part: { data: true, mediaType: place.mediaType } }
  return { part: { data: true, where: place.data } }
}

function ownsOf (guesses: readonly Guess[]): Readonly<Record<string, unknown>> {
  const places = guesses.map(({ place }) => place)
  const lists = {
    metadata: unique(places.flatMap(place => 'metadata' in place ? [place.metadata] : [])),
    dataKeys: unique(places.flatMap(place => 'dataKey' in place ? [place.dataKey] : [])),
    mediaTypes: unique(places.flatMap(place => 'mediaType' in place ? [place.mediaType] : [])),
    data: places.flatMap(place => 'data' in place ? [place.data] : [])
  }
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0))
}

function unique (texts: readonly string[]): string[] {
  return [...new Set(texts)]
}

function idOf (place: Place): string {
  const text = 'metadata' in place
    ? place.metadata.replace(/^\$uri\/\*$/, 'members').replace(/^\$uri\/?/, '').split('/').at(-1) ?? ''
    : 'dataKey' in place
      ? place.dataKey
      : 'mediaType' in place
        ? place.mediaType.replace(
          /^[^/]*\/(?:vnd\.)?/, ''
        )
        : String(place.data.equals)
  const id = slug(text)
  // YAML reads some words as another type.
  return /^[a-z]/.test(id) && !/^(?:null|true|false)$/.test(id) ? id : id === '' ? 'value' : `value-${id}`.slice(0, 63)
}
